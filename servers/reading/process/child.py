"""The process that reads files: `python -m servers.reading.process.child SETTINGS`.

It takes requests on stdin and replies on stdout (see `messages`), one at a time. It limits its own
memory, ends itself when a file takes too long or its parent is gone, and rests, which is ending
too, when nothing is asked for a while or it has grown large.
"""

import json
import os
import resource
import select
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias, cast

from servers.rag.errors import ExtractionError
from servers.rag.passages import Extracted
from servers.reading.files import FileExtractor
from servers.reading.limits import Limits, seconds_with_scans
from servers.reading.pictures.captioner_choice import open_captioner
from servers.reading.process.messages import (
    REQUEST_BYTES_MAX,
    Refusal,
    Reply,
    Request,
    Scans,
    Settings,
    reply_line,
)

EXIT_RESTS = 64
"""Nothing was asked for, or too much memory is held: start another one for the next file."""

RETIRED_AT_BYTES = 1_500_000_000
"""Parsers keep what they took for a large file; with more than this a new process is better."""

LATE_SECONDS = 5
"""The process ends itself so long after its parent should have done so."""


class Extracting(Protocol):
    """Reads files in this process, as `FileExtractor` does."""

    def extract_within(
        self, path: Path, announce_scans: Callable[[int], None], *, is_careful: bool
    ) -> Extracted:
        """The text of a file; raises ExtractionError."""
        ...


OpenExtractor: TypeAlias = Callable[[Limits, str], Extracting]
"""Makes what reads, from its limits and the setting of captions."""


def file_extractor(limits: Limits, captions: str) -> FileExtractor:
    """What reads any file."""
    return FileExtractor(limits=limits, open_captioner=lambda: open_captioner(captions, os.environ))


def main(arguments: list[str], open_extractor: OpenExtractor = file_extractor) -> int:
    """Serve until stdin closes."""
    settings = cast(Settings, json.loads(arguments[0]))
    limits = limits_from(settings["limits"])
    output = _claimed_stdout()
    _limit_memory(settings["memory_bytes"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    extractor = open_extractor(limits, settings["captions"])
    while _is_asked(settings["idle_seconds"]):
        line = sys.stdin.buffer.readline(REQUEST_BYTES_MAX)
        if not line.endswith(b"\n"):
            return 0
        serve(cast(Request, json.loads(line)), extractor, limits, output, end_after)
        if _memory_bytes() > RETIRED_AT_BYTES:
            return EXIT_RESTS
    return EXIT_RESTS


def serve(
    request: Request,
    extractor: Extracting,
    limits: Limits,
    output: BinaryIO,
    end_after: Callable[[float, float], None],
) -> None:
    """Read one file and write the reply; `end_after` as the function of that name."""

    def announce_scans(count: int) -> None:
        end_after(seconds_with_scans(limits, count), limits.waiting)
        _write(output, request["id"], Scans(count))

    end_after(limits.seconds, limits.waiting)
    try:
        reply: Reply = extractor.extract_within(
            Path(request["path"]), announce_scans, is_careful=request["careful"]
        )
    except ExtractionError as error:
        reply = Refusal(str(error))
    _write(output, request["id"], reply)
    end_after(0, limits.waiting)


def end_after(seconds: float, waiting: float) -> None:
    """Let the system end this process after so much of the processor's time; 0 calls it off.

    Also after `waiting` times as long by the clock, and a little more: its parent comes first.
    No handler runs, so a parser in C that never lets go of the interpreter is ended too.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * waiting + LATE_SECONDS if seconds else 0)


def limits_from(fields: dict[str, float]) -> Limits:
    """The limits that another process sent."""
    return Limits(**fields)  # pyright: ignore[reportArgumentType] - JSON keeps int and float apart


def _write(output: BinaryIO, request_id: int, reply: Reply) -> None:
    output.write(reply_line(request_id, reply))
    output.flush()


def _claimed_stdout() -> BinaryIO:
    """The pipe to the parent; whatever prints from now on prints to nowhere."""
    own = os.dup(sys.stdout.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return os.fdopen(own, "wb")


def _limit_memory(most_bytes: int) -> None:
    """Bound the address space; where the system does not do that, the time bound remains."""
    for kind, most in ((resource.RLIMIT_AS, most_bytes), (resource.RLIMIT_CORE, 0)):
        try:
            hard = resource.getrlimit(kind)[1]
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (soft, hard))
        except (OSError, ValueError):
            continue


def _end_with_parent() -> None:
    """End the process when the other side of stdin is closed, also in the middle of a file."""
    watcher = select.poll()
    watcher.register(sys.stdin.fileno(), 0)  # no event but the hang-up, which always counts
    watcher.poll()
    os._exit(0)


def _is_asked(seconds: float) -> bool:
    """Wait for a request, or the end of stdin, which reads as an empty one."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _memory_bytes() -> int:
    """The most that was ever in memory; Linux counts in KiB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    # Nothing is worth the time of taking all the modules down.
    os._exit(main(sys.argv[1:]))
