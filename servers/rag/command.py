"""Documents by hand: the program behind `agent.py docs` and `/docs`, which read the command line.

It gets one JSON object, such as '{"action": "search", "query": ["notice", "period"]}'. Where the
documents and their index lie says `servers.rag.library.options`. Exits with 0, 1 where the world
failed, 2 for bad usage or options, 3 where a search found nothing, 130 when interrupted.
"""

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from servers.rag.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, RagError, Refused

TIED: Final = "--tied"
"""In front of the object: end when stdin does."""

_DEFAULTS: Final = {
    "json": False,
    "quiet": False,
    "verbose": False,
    "paths": (),
    "query": (),
    "top_k": 5,
    "file": None,
    "mode": "hybrid",
    "yes": False,
}
"""What holds of arguments that the object leaves out."""


def read_task(text: str) -> argparse.Namespace:
    """The action and its arguments in a JSON object, as `modules.cli.docs` writes it."""
    given = json.loads(text)
    found = argparse.Namespace(**{**_DEFAULTS, **given})
    found.paths = [Path(path) for path in found.paths]
    return found


def run(found: argparse.Namespace) -> int:
    """Do one action; gives the exit code.

    Raises:
        KeyboardInterrupt: it was interrupted; nothing is left running.
    """
    from servers.rag.library.management import manage
    from servers.rag.library.options import read_options
    from servers.rag.library.reporter import Reporter

    reporter = Reporter(sys.stdout, sys.stderr, is_quiet=found.quiet, is_verbose=found.verbose)
    try:
        return manage(found, read_options(), reporter)
    except Refused as error:
        reporter.complain(str(error))
        return EXIT_USAGE
    except RagError as error:
        reporter.complain(str(error))
        return EXIT_FAILED
    finally:
        reporter.end()


def main() -> NoReturn:
    """Do what the command line says, and end the process."""
    signal.signal(signal.SIGTERM, _interrupt)
    *flags, task = sys.argv[1:] or [""]
    if TIED in flags:
        threading.Thread(target=_end_with_stdin, name="tie", daemon=True).start()
    try:
        found = read_task(task)
    except ValueError:
        sys.stderr.write("it takes one JSON object; what people type is read by agent.py docs\n")
        _end(EXIT_USAGE)
    try:
        code = run(found)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = EXIT_INTERRUPTED
    except BrokenPipeError:  # `| head` has seen enough
        code = EXIT_FAILED
    except OSError as error:  # such as a full disk behind stdout
        sys.stderr.write(f"[docs] {error.strerror or error}\n")
        code = EXIT_FAILED
    _end(code)


def _end(code: int) -> NoReturn:
    """End at once: no thread that still embeds is waited for, and the index is whole anyway."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_with_stdin() -> None:
    """End when whoever started this has gone, however that happened."""
    while os.read(0, 65_536):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    if not __package__:
        # Run as a file: Python put servers/rag on the path; what is wanted is the checkout.
        here = Path(__file__).resolve().parent
        sys.path[:] = [str(here.parents[1]), *(p for p in sys.path if Path(p).resolve() != here)]
    main()
