"""`agent.py` as a program that tells which files of ours ran, and what importing them took.

usage: `python -m tests.benchmarks.footprint_program files|imports FILE REQUEST`, JSON into FILE.
One thing at a time: a profiler would weigh on the CPU of imports.
"""

import gc
import importlib._bootstrap as bootstrap
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType

ROOT = Path(__file__).parent.parent.parent
OURS = ("agent", "config", "core", "modules", "servers")
"""The top of our own modules' names."""

IS_FUNCTION = 0x1
"""CO_OPTIMIZED: the code of a function, not of a module or a class."""


class FilesRun:
    """The files of ours whose functions run while no module of the thread is being imported."""

    def __init__(self) -> None:
        """Watch all threads from now on."""
        self._files: set[str] = set()
        self._of_thread = threading.local()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        code, here = frame.f_code, self._of_thread
        if code.co_name == "<module>":
            here.imports = getattr(here, "imports", 0) + (1 if event == "call" else -1)
        elif code.co_flags & IS_FUNCTION and getattr(here, "imports", 0) == 0:
            self._files.add(code.co_filename)

    def figures(self) -> dict[str, float]:
        """The files, relative to the checkout, each counted once."""
        sys.setprofile(None)
        found = (Path(file) for file in self._files if file.startswith(f"{ROOT}/"))
        names = (str(file.relative_to(ROOT)) for file in found)
        return {n: 1.0 for n in sorted(names) if n.split("/")[0].removesuffix(".py") in OURS}


class ImportCosts:
    """CPU seconds of each module's import, without those of what it imports."""

    def __init__(self) -> None:
        """Time every import from now on."""
        self._seconds: dict[str, float] = defaultdict(float)
        self._of_thread = threading.local()
        self._import: Callable[[str, object], ModuleType] = bootstrap.__dict__["_find_and_load"]
        bootstrap.__dict__["_find_and_load"] = self._timed

    def _timed(self, name: str, import_: object) -> ModuleType:
        inner: list[float] = getattr(self._of_thread, "inner", [])
        self._of_thread.inner = here = [0.0]
        started = time.thread_time()
        try:
            return self._import(name, import_)
        finally:
            taken = time.thread_time() - started
            self._seconds[name] += taken - here[0]
            if inner:
                inner[0] += taken
            self._of_thread.inner = inner

    def figures(self) -> dict[str, float]:
        """Our own modules' sum, and that of all others."""
        own = sum(s for name, s in self._seconds.items() if name.partition(".")[0] in OURS)
        return {"own": own, "others": sum(self._seconds.values()) - own}


def main() -> int:
    """Run the agent on the request; gives its exit code."""
    what, out, *arguments = sys.argv[1:]
    watch = FilesRun() if what == "files" else ImportCosts()
    gc.disable()  # as agent.py does
    from modules.app import run_agent  # now that it is watched

    code = run_agent(arguments)
    Path(out).write_text(json.dumps(watch.figures()))
    return code


if __name__ == "__main__":
    sys.exit(main())
