"""Makes plan.wasm of the guest program: `python modules/sandbox/build_component.py`.

componentize-py puts CPython, its library, our program and tzdata together as one WebAssembly
component. A program of its own that needs the standard library alone beside them:
hatch_build.py runs it in an environment that has nothing of ours. Two builds of the same sources
differ, as CPython's state is stored with its random hash seed; so a component ends with a seal
that says what it was made of.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final, NamedTuple

GUEST: Final = Path(__file__).resolve().with_name("guest")
COMPONENT: Final = GUEST / "plan.wasm"

PROGRAM: Final = ("app.py", "local_time.py")
INTERFACE: Final = "plan.wit"
TOOLS: Final = ("componentize-py", "tzdata")

SEAL_NAME: Final = b"cortex-r"
SEAL_BYTES: Final = 512

BUILD_SECONDS: Final = 600
"""Bound on componentize-py; 8 s is usual."""


class BuildError(Exception):
    """There is no component; the text says why, and what to do."""


class Seal(NamedTuple):
    """What a component is: digests of our sources and of its content, and which tools made it."""

    sources: str
    content: str
    tools: str


def read_seal(component: Path) -> Seal | None:
    """The seal at the end of a component; None where there is none, or no such file."""
    try:
        with component.open("rb") as file:
            file.seek(-len(_section(b"")), os.SEEK_END)
            end = file.read()
    except OSError:  # absent, or shorter than that
        return None
    head = _section(b"")[:-SEAL_BYTES]
    parts = end[len(head) :].decode("ascii", "replace").strip().split("\n")
    return Seal(*parts) if end.startswith(head) and len(parts) == len(Seal._fields) else None


def sealed(content: bytes, sources: str, tools: str) -> bytes:
    """A component with its seal, which is a section that engines pass over."""
    seal = Seal(sources, hashlib.sha256(content).hexdigest(), tools)
    return content + _section("\n".join(seal).encode())


def sources_digest() -> str:
    """Changes where the guest program does."""
    digest = hashlib.sha256()
    for name in (*PROGRAM, INTERFACE):
        digest.update(hashlib.sha256((GUEST / name).read_bytes()).digest())
    return digest.hexdigest()


def build(component: Path = COMPONENT) -> bool:
    """Make the component, unless there is one of these sources and tools. Whether it was made.

    Raises:
        BuildError: it can't be made.
        OSError: files can't be read or written.
    """
    sources, tools = sources_digest(), _tools()
    seal = read_seal(component)
    if seal is not None and seal.sources == sources and tools in (seal.tools, None):
        return False
    if tools is None:
        raise BuildError(
            f"{component} can't be made: {' and '.join(TOOLS)} are needed and not installed; "
            "install the dependency group dev, or run make"
        )
    with tempfile.TemporaryDirectory(prefix="cortex-r-component-") as name:
        content = _componentized(Path(name))
    draft = component.with_name(f"{component.name}.{os.getpid()}")
    draft.write_bytes(sealed(content, sources, tools))
    draft.replace(component)
    return True


def _tools() -> str | None:
    """The tools with their versions; None where one is missing."""
    try:
        return ", ".join(f"{name} {version(name)}" for name in TOOLS)
    except PackageNotFoundError:
        return None


def _componentized(folder: Path) -> bytes:
    """The component, made in a folder that holds what may go into it and nothing else."""
    contents, made = folder / "contents", folder / "plan.wasm"
    contents.mkdir()
    for name in PROGRAM:
        shutil.copyfile(GUEST / name, contents / name)
    with as_file(files("tzdata")) as zones:
        kept = shutil.ignore_patterns("__pycache__")
        shutil.copytree(zones, contents / "tzdata", ignore=kept)
    # Packages are looked for here, else in the environment that runs the build.
    nothing = folder / "venv" / "lib" / "python3" / "site-packages"
    nothing.mkdir(parents=True)
    program = "import sys, componentize_py; sys.exit(componentize_py.script())"
    options = ["-q", "-d", GUEST / INTERFACE, "-w", "plan"]
    ran = subprocess.run(  # noqa: S603 - our own command line
        [
            sys.executable,
            "-c",
            program,
            *options,
            "componentize",
            "app",
            "-p",
            contents,
            "-o",
            made,
        ],
        cwd=folder,
        env={**os.environ, "VIRTUAL_ENV": str(folder / "venv"), "RUST_BACKTRACE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if ran.returncode != 0 or not made.is_file():
        raise BuildError(f"componentize-py failed ({ran.returncode}): {ran.stdout[-2000:].strip()}")
    return made.read_bytes()


def _section(payload: bytes) -> bytes:
    """A custom section of WebAssembly (id 0, size, name, payload), of the same size for each."""
    content = bytes([len(SEAL_NAME)]) + SEAL_NAME + payload.ljust(SEAL_BYTES)
    low, high = len(content) & 0x7F | 0x80, len(content) >> 7
    return bytes([0, low, high]) + content


def main() -> int:
    """Build; the exit code is 1 where that failed, with the reason on stderr."""
    try:
        build()
    except (BuildError, OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
