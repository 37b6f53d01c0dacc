"""Makes the component of the sandbox where the project is installed or its wheel is built."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SANDBOX = Path("modules", "sandbox")


class ComponentHook(BuildHookInterface[Any]):
    """Runs modules/sandbox/build_component.py, whose result git ignores and the wheel contains."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the files of a wheel are collected, and for an editable installation."""
        program = Path(self.root, SANDBOX, "build_component.py")
        subprocess.run([sys.executable, program], cwd=self.root, check=True)  # noqa: S603
        build_data["artifacts"].append((SANDBOX / "guest" / "plan.wasm").as_posix())
