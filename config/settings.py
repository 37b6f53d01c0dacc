"""Where files lie, and the texts of those that configure us."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self, TypeAlias

from platformdirs import user_data_path

from core.base.frozen import frozen

ROOT = Path(__file__).resolve().parent.parent
"""The checkout, or the folder that an installed package lies in."""

HOME_VARIABLE = "CORTEX_HOME"
MAX_CONFIG_BYTES = 1024 * 1024

WORKFLOWS = "workflows"
"""The folder under CORTEX_HOME in which the user keeps them."""


FileState: TypeAlias = tuple[int, int, int]
"""When a file was changed, its size, and its number on the disk."""


class SettingsError(Exception):
    """A configuration file can't be used; the message names file, line, key and what is allowed."""

    @classmethod
    def at(cls, path: Path, line: int | None, message: str) -> Self:
        """With the place in front; `line` is None where it is not known."""
        return cls(f"{path}:{line}: {message}" if line is not None else f"{path}: {message}")


@frozen
class Places:
    """Where things are: `root` is the checkout or installation, `home` holds all state."""

    root: Path
    home: Path

    @property
    def cache(self) -> Path:
        """Cached tool lists."""
        return self.home / "cache"

    @property
    def server_logs(self) -> Path:
        """What servers write to stderr."""
        return self.home / "logs" / "servers"

    @property
    def failures_file(self) -> Path:
        """Which servers did not start, and when."""
        return self.home / "server_failures.json"

    @property
    def log_file(self) -> Path:
        """Tracebacks of our own bugs."""
        return self.home / "logs" / "cortex-r.log"

    @property
    def mcp_file(self) -> Path:
        """The user's own servers, beside those of the profile; `agent.py mcp add` writes it."""
        return self.home / "config" / "mcp.json"

    @property
    def permissions_file(self) -> Path:
        """What calls the user has allowed for good, by agent."""
        return self.home / "permissions.json"

    @property
    def pins_file(self) -> Path:
        """The tool definitions that were first seen."""
        return self.home / "tool_pins.json"

    @property
    def history_file(self) -> Path:
        """Lines typed at the interactive prompt."""
        return self.home / "history"

    def config_file(self, name: str) -> Path:
        """`config/<name>` under the user's home where there is one, else the one that ships."""
        own = self.home / "config" / name
        try:
            return own if own.is_file() else self.root / "config" / name
        except OSError:  # a home that may not be entered; writing there has its own message
            return self.root / "config" / name


def find_places(environ: Mapping[str, str], root: Path = ROOT) -> Places:
    """Where state lives: CORTEX_HOME, else the checkout, else the user-data folder.

    Without any home directory, state goes to a folder of this user under the temporary one.

    Raises:
        SettingsError: CORTEX_HOME begins with `~` and that home is not known, or the
            temporary folder of this user belongs to another.
    """
    if chosen := environ.get(HOME_VARIABLE):
        try:
            return Places(root, Path(chosen).expanduser().absolute())
        except RuntimeError as error:
            raise SettingsError(
                f"{HOME_VARIABLE}={chosen}: there is no such home directory; give a full path"
            ) from error
    if (root / "pyproject.toml").is_file():
        return Places(root, root)
    try:
        home = user_data_path("cortex-r", appauthor=False)
    except RuntimeError:  # no HOME, and no entry for this user either
        home = Path()
    if not home.is_absolute():  # what platformdirs before 4.14 gives then
        home = _temporary_home()
    return Places(root, home)


def _temporary_home() -> Path:
    """A folder of this user alone; its name is known to all, so its owner is looked at."""
    home = Path(tempfile.gettempdir()) / f"cortex-r-{os.getuid()}"
    with contextlib.suppress(OSError):
        home.mkdir(mode=0o700)
    if home.is_symlink() or (home.exists() and home.stat().st_uid != os.getuid()):
        raise SettingsError(
            f"{home} belongs to somebody else, and you have no home directory; "
            f"set {HOME_VARIABLE} to a folder of your own"
        )
    return home


def file_state(path: Path) -> FileState:
    """What changes when the file does, as far as a cheap look shows; zeros where there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_text(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        SettingsError: the file is missing, larger than MAX_CONFIG_BYTES, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: can't be read: {error.strerror or error}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_CONFIG_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start})") from error
