"""The guest program as machine code of this processor, kept so that it is compiled once.

`modules.sandbox.build_component` makes the component, which is the same for every machine. wasmtime
turns it into machine code, and loads that from a file without a further look. So whoever can write
that file can do in a worker what they please: it lies in a folder that nobody else may enter, and
anything else is not used.
"""

import atexit
import errno
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from config.settings import ROOT, SettingsError, find_places
from core.base.files import folder_locked, make_private_folder
from core.errors import SandboxUnavailable
from modules.sandbox.build_component import COMPONENT, read_seal, sources_digest

WORKER_PROGRAM: Final = Path(__file__).with_name("worker_program.py")

COMPILE_SECONDS: Final = 300.0
"""Bound on compiling, and on waiting for another process that does; 7 s is usual on two cores."""

COMPILING: Final = "preparing the sandbox (once; about 7 s)"

KEPT: Final = 2
"""Files of machine code that are kept: the newest, and one for another version or processor."""

ENDING: Final = ".cwasm"

Tell: TypeAlias = Callable[[str], None]


def say_nothing(text: str) -> None:
    """For whoever has nobody to tell."""


def compiled(
    folder: Path | None = None,
    tell: Tell = say_nothing,
    component: Path = COMPONENT,
) -> Path:
    """The file of machine code, made if it is not there; that blocks for some seconds.

    `folder` is where it lies, by default `machine_code_folder()`. `tell` hears what takes time,
    and of a folder that can't be used: the code is then made for this process alone.

    Raises:
        SandboxUnavailable: there is no component, no wasmtime for this processor, or it fails.
    """
    name = _file_name(component)
    try:
        return _kept(folder or machine_code_folder(), name, component, tell)
    except (OSError, SettingsError) as error:
        own = _own_folder() / name
        if not own.is_file():
            tell(f"each start prepares the sandbox anew, as that can't be kept: {_why(error)}")
            _compile(component, own, tell)
        return own


def find_compiled(folder: Path | None = None, component: Path = COMPONENT) -> Path | None:
    """The file of machine code that a plan would use as it is; None where it would be made.

    Raises:
        SandboxUnavailable: it can't be made.
    """
    name = _file_name(component)
    with suppress(OSError, SettingsError):
        folder = folder or machine_code_folder()
        _check_folder(folder)
        if _is_sound(folder / name):
            return folder / name
    return None


def _why(error: OSError | SettingsError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def discard(file: Path) -> None:
    """Have machine code that a worker could not load made anew, when it is next asked for."""
    file.unlink(missing_ok=True)


def machine_code_folder() -> Path:
    """In a checkout its own cache, which all homes share; else the cache of the user's home.

    Raises:
        SettingsError: there is no home.
    """
    return find_places({} if (ROOT / "pyproject.toml").is_file() else os.environ).cache / "sandbox"


def wasmtime_packages() -> Path:
    """The folder in which the package wasmtime lies.

    Raises:
        SandboxUnavailable: there is none that runs on this processor.
    """
    found = find_spec("wasmtime")
    if found is None or found.origin is None:
        raise SandboxUnavailable(
            f"the sandbox needs wasmtime, which is not installed: install Cortex-R again. {_HAS}"
        )
    package = Path(found.origin).parent
    if not any(package.glob(f"{sys.platform}-{_processor()}/*wasmtime*")):
        raise SandboxUnavailable(
            f"no plan can run: wasmtime has no build for {sys.platform} on {_processor()}. {_HAS}"
        )
    return package.parent


_HAS: Final = "It exists for Linux and macOS on 64-bit x86 and ARM"


def _processor() -> str:
    """As wasmtime names it."""
    machine = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}.get(machine, machine)


def _file_name(component: Path) -> str:
    """Differs where the component, wasmtime or the processor does."""
    wasmtime_packages()
    seal = read_seal(component)
    if seal is None:
        raise SandboxUnavailable(
            f"the sandbox's program is missing or damaged: {component}. {_build_advice()}"
        )
    if seal.sources != sources_digest():
        raise SandboxUnavailable(
            f"the sandbox's program is older than its sources: {component}. {_build_advice()}"
        )
    wasmtime = version("wasmtime")
    key = "\n".join((wasmtime, sys.platform, _processor(), _features(), seal.content))
    return f"plan-{wasmtime}-{_processor()}-{hashlib.sha256(key.encode()).hexdigest()[:20]}{ENDING}"


def _build_advice() -> str:
    return "Type make" if (ROOT / "pyproject.toml").is_file() else "Install Cortex-R again"


@cache
def _features() -> str:
    """What the processor can do, as far as Linux tells; elsewhere all of one kind can the same.

    wasmtime compiles for all that this processor has, and refuses to load what was compiled for
    more.
    """
    with suppress(OSError), Path("/proc/cpuinfo").open(errors="replace") as lines:
        for line in lines:
            name, _, features = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return " ".join(sorted(features.split()))
    return ""


def _kept(folder: Path, name: str, component: Path, tell: Tell) -> Path:
    """The file in the folder, made if need be. Raises OSError where the folder can't be used."""
    file = folder / name
    make_private_folder(folder)
    _check_folder(folder)
    if _is_sound(file):
        return file
    with folder_locked(file, COMPILE_SECONDS):
        if not _is_sound(file):  # else another process has made it meanwhile
            _remove_drafts(folder)
            with tempfile.TemporaryDirectory(suffix=_DRAFT, dir=folder) as drafts:
                draft = Path(drafts, name)
                _compile(component, draft, tell)
                with draft.open("rb") as written:
                    os.fsync(written.fileno())  # half a file would be run as it is
                draft.replace(file)
            _remove_old(folder, file)
    return file


_DRAFT: Final = ".tmp"


_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


def _check_folder(folder: Path) -> None:
    """Raise OSError where somebody could put code who can't change our program anyway.

    Folders above may be a group's, as it may write the configuration there too: whose servers are
    programs.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(errno.ENOTDIR, "it is not a folder", str(folder))
    if not _is_trusted(found.st_uid):
        raise OSError(errno.EPERM, "it belongs to somebody else", str(folder))
    if found.st_mode & _WRITABLE_BY_OTHERS:
        raise OSError(errno.EPERM, "others may write there; remove it", str(folder))
    for above in folder.resolve().parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise OSError(errno.EPERM, "everybody may rename what lies in it", str(above))


def _is_sound(file: Path) -> bool:
    """Whether it is a file, and nobody else's."""
    try:
        found = file.lstat()
    except FileNotFoundError:
        return False
    is_kind = stat.S_ISREG(found.st_mode) and not found.st_mode & _WRITABLE_BY_OTHERS
    return is_kind and _is_trusted(found.st_uid)


def _is_trusted(owner: int) -> bool:
    """Whether a user could change what we do anyway."""
    return owner in (os.geteuid(), 0, Path(__file__).stat().st_uid)


def _remove_drafts(folder: Path) -> None:
    """What processes left that were killed; nobody writes any while the folder is locked."""
    for draft in folder.glob(f"*{_DRAFT}"):
        shutil.rmtree(draft, ignore_errors=True)


def _remove_old(folder: Path, newest: Path) -> None:
    """All but some; a worker that has loaded one goes on with it."""
    with suppress(OSError):
        files = sorted(folder.glob(f"*{ENDING}"), key=lambda file: file.lstat().st_mtime)
        others = [file for file in files if file != newest]
        for file in others[: len(others) - KEPT + 1]:
            file.unlink()


@cache
def _own_folder() -> Path:
    """A folder of this process, which goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="cortex-r-sandbox-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _compile(component: Path, target: Path, tell: Tell) -> None:
    """Write the component's machine code.

    Raises:
        SandboxUnavailable: that failed.
    """
    tell(COMPILING)
    command = [sys.executable, "-I", "-S", str(WORKER_PROGRAM), str(wasmtime_packages())]
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            [*command, "--compile", str(component), str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            umask=0o077,
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"the sandbox's program can't be compiled: {error}") from error
    if ran.returncode != 0:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise SandboxUnavailable(
            f"the sandbox's program can't be compiled ({ran.returncode}): "
            f"{said[0] if said else 'it was ended'}. {_build_advice()}"
        )


def set_up() -> None:
    """Have the machine code ready before the first plan: `make` calls it."""
    try:
        compiled(tell=lambda text: print(text, file=sys.stderr))  # noqa: T201
    except SandboxUnavailable as error:
        sys.exit(str(error))
