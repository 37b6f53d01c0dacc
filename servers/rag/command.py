"""Documents by hand: the program behind `agent.py docs` and `/docs`.

Runs alone too: `python -m servers.rag.command search "notice period"`. Where the documents and
their index lie says `servers.rag.library.options`. Exits with 0, 1 where the world failed, 2 for
bad usage or options, 3 where a search found nothing, 130 when interrupted.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOTHING_FOUND: Final = 3
EXIT_INTERRUPTED: Final = 130

PASSAGES_MAX: Final = 50


def run(arguments: Sequence[str]) -> int:
    """Do one command; gives the exit code.

    Raises:
        SystemExit: the words can't be used, or ask for help.
        KeyboardInterrupt: it was interrupted; nothing is left running.
    """
    found = parser().parse_args(arguments)
    if found.tied:
        threading.Thread(target=_end_with_stdin, name="tie", daemon=True).start()

    from servers.rag.errors import OptionsError, RagError
    from servers.rag.library.management import Refused, manage
    from servers.rag.library.options import read_options
    from servers.rag.library.reporter import Reporter

    teller = Reporter(sys.stdout, sys.stderr, is_quiet=found.quiet, is_verbose=found.verbose)
    try:
        return manage(found, read_options(), teller)
    except (OptionsError, Refused) as error:
        teller.complain(str(error))
        return EXIT_USAGE
    except RagError as error:
        teller.complain(str(error))
        return EXIT_FAILED
    finally:
        teller.end()


def main() -> NoReturn:
    """Do what the command line says, and end the process."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = EXIT_INTERRUPTED
    except BrokenPipeError:  # `| head` has seen enough
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


def parser() -> argparse.ArgumentParser:
    """Reads the words, as `modules.cli.docs_parser` writes them too."""
    whole = argparse.ArgumentParser(
        prog="python -m servers.rag.command", description="Documents by hand.", allow_abbrev=False
    )
    words = whole.add_subparsers(dest="action", metavar="ACTION", required=True)
    parsers = {
        name: words.add_parser(name, help=told, allow_abbrev=False)
        for name, told in (
            ("add", "copy files into the first document folder, and index them"),
            ("list", "every document, and why one can't be searched"),
            ("status", "folders, index, embedder, and what went wrong"),
            ("search", "the passages that fit best, with their sources"),
            ("reindex", "read every document anew"),
            ("remove", "delete a document from its folder, and from the index"),
            ("watch", "index changes as they happen, until Ctrl-C"),
        )
    }
    for each in parsers.values():
        each.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
        each.add_argument("--quiet", action="store_true", help="no progress on stderr")
        each.add_argument("--verbose", action="store_true", help="show more")
        each.add_argument("--tied", action="store_true", help=argparse.SUPPRESS)
    parsers["add"].add_argument("paths", metavar="PATH", nargs="+", type=Path)
    search = parsers["search"]
    search.add_argument("query", metavar="WORDS", nargs="+")
    search.add_argument(
        "--top-k", metavar="N", type=int, default=5, choices=range(1, PASSAGES_MAX + 1)
    )
    search.add_argument("--file", metavar="FILE")
    search.add_argument("--mode", choices=["hybrid", "words", "vectors"], default="hybrid")
    parsers["remove"].add_argument("file", metavar="FILE")
    parsers["remove"].add_argument("--yes", action="store_true", help="don't ask")
    return whole


if __name__ == "__main__":
    if not __package__:
        # Run as a file: Python put servers/rag on the path; what is wanted is the checkout.
        here = Path(__file__).resolve().parent
        sys.path[:] = [str(here.parents[1]), *(p for p in sys.path if Path(p).resolve() != here)]
    main()
