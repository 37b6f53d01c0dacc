"""The process that reads files and pages: `python -m servers.reading.process.program SETTINGS`.

It takes requests on stdin and replies on stdout (see `messages`), one at a time. It
limits its own memory, ends itself when a file takes too long or its parent is gone, and rests,
which is ending too, when nothing is asked for a while or it has grown large.
"""

import json
import os
import resource
import select
import signal
import sys
import threading
from typing import BinaryIO, cast

from servers.reading.files import FileExtractor
from servers.reading.kinds import as_source
from servers.reading.limits import Limits, seconds_with_scans
from servers.reading.pictures.captioner_choice import open_captioner
from servers.reading.process.messages import (
    EXIT_RESTS,
    REQUEST_BYTES_MAX,
    Refusal,
    Reply,
    Request,
    Scans,
    Settings,
    read_request,
    reply_line,
)
from servers.reading.source import ExtractionError, Source

RETIRED_AT_BYTES = 1_500_000_000
"""Parsers keep what they took for a large file; with more than this a new process is better."""

LATE_SECONDS = 5
"""The process ends itself so long after its parent should have done so."""


def main(arguments: list[str]) -> int:
    """Serve until stdin closes."""
    settings = cast(Settings, json.loads(arguments[0]))
    limits = Limits(**settings["limits"])  # pyright: ignore[reportArgumentType] - whole or not
    output = _claimed_stdout()
    _limit_memory(settings["memory_bytes"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    extractor = FileExtractor(
        lambda: open_captioner(settings["captions"], os.environ),
        limits=limits,
        fetch_page=fetch_page,
    )
    while _is_asked(settings["idle_seconds"]):
        line = sys.stdin.buffer.readline(REQUEST_BYTES_MAX)
        if not line.endswith(b"\n"):
            return 0
        serve(*read_request(line), extractor, limits, output)
        if _memory_bytes() > RETIRED_AT_BYTES:
            return EXIT_RESTS
    return EXIT_RESTS


def serve(
    number: int, request: Request, extractor: FileExtractor, limits: Limits, output: BinaryIO
) -> None:
    """Read one file and write the reply."""

    def write(reply: Reply) -> None:
        output.write(reply_line(number, reply))
        output.flush()

    def announce_scans(count: int) -> None:
        _end_after(seconds_with_scans(limits, count), limits.waiting)
        write(Scans(count))

    _end_after(limits.seconds, limits.waiting)
    try:
        reply: Reply = extractor.extract(request, announce_scans)
    except ExtractionError as error:
        reply = Refusal(str(error))
    write(reply)
    _end_after(0, limits.waiting)


def fetch_page(address: str) -> Source:
    """The page at an address, under guard as all of Cortex-R fetches; raises ExtractionError."""
    from servers.web.errors import WebError  # few files are links, and this costs half a second
    from servers.web.fetching.fetcher import fetch_blocking

    try:
        page = fetch_blocking(address)
    except WebError as error:
        raise ExtractionError(f"the page can't be read: {error}") from error
    return as_source(page.url, page.media_type, page.charset, page.body)


def _end_after(seconds: float, waiting: float) -> None:
    """Let the system end this process after so much of the processor's time; 0 calls it off.

    Also after `waiting` times as long by the clock, and a little more: its parent comes first.
    No handler runs, so a parser in C that never lets go of the interpreter is ended too.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * waiting + LATE_SECONDS if seconds else 0)


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
