"""`mcp logs`: the end of what a server wrote to stderr, and what comes after."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from core.errors import ExitCode, StorageError
from core.values import Json
from modules.cli.surroundings import Surroundings

TAIL_BYTES_MAX = 4 * 1024 * 1024
"""How far from the end of a log its last lines are looked for; logs are cut long before."""

FOLLOW_POLL_SECONDS = 0.2
"""How often a followed log is looked at; the standard library can't wait for a file to grow."""

_CHUNK_BYTES = 65_536


def show_log(around: Surroundings, wait: Callable[[float], None] = time.sleep) -> ExitCode:
    """Print the last lines, then with `follow` all that comes, until interrupted.

    Raises:
        UsageError: no such server.
        StorageError: the log can't be read.
    """
    around.tell_notes(to_users=True)
    options = around.options
    count: int = options.lines
    spec = around.find(options.name)
    if spec.url is not None:
        around.print(f"'{spec.id}' answers at a URL: its log is where it runs, not here")
        return ExitCode.ANSWERED
    path = around.places.server_logs / f"{spec.id}.log"  # ids hold no character that a path lacks
    lines, end = tail(path, count)
    if options.json:
        shown: list[Json] = [around.redactor.text(line) for line in lines]
        around.print_json({"id": spec.id, "log": str(path), "lines": shown})
    elif lines:
        around.print(around.redactor.text("\n".join(lines)))
    elif count:
        around.print(_nothing_yet(spec.id, path))
    if options.follow:
        for text in _growth(path, end, wait):
            around.print(around.redactor.text(text))
    return ExitCode.ANSWERED


def _nothing_yet(server: str, path: Path) -> str:
    if path.exists():
        return f"'{server}' has written nothing to stderr since its last start ({path} is empty)"
    return f"'{server}' has no log yet: it has not been started here (it will be {path})"


def tail(path: Path, count: int) -> tuple[list[str], int]:
    """The last lines of a file, none if there is no file, and the offset behind them."""
    try:
        with path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(0, end - TAIL_BYTES_MAX))
            lines = log.read(TAIL_BYTES_MAX).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise _unreadable(path, error) from error
    return lines[len(lines) - min(count, len(lines)) :], end


def _growth(path: Path, offset: int, wait: Callable[[float], None]) -> Iterator[str]:
    """What is written to the file from `offset` on, in whole lines; never ends by itself.

    A file that gets shorter was begun anew by the server's next start.
    """
    pending = b""
    while True:
        try:
            with path.open("rb") as log:
                if log.seek(0, os.SEEK_END) < offset:
                    offset, pending = 0, b""
                log.seek(offset)
                chunk = log.read(_CHUNK_BYTES)
        except FileNotFoundError:
            chunk = b""
        except OSError as error:
            raise _unreadable(path, error) from error
        offset += len(chunk)
        *complete, pending = (pending + chunk).split(b"\n")
        if complete:
            yield b"\n".join(complete).decode("utf-8", "replace")
        if not chunk:
            wait(FOLLOW_POLL_SECONDS)


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"the log {path} can't be read: {error.strerror or error}")
