"""Command lines that begin with `docs`, read into a command. Light: imports no engine."""

import argparse
from collections.abc import Sequence

from modules.cli.docs_command import DocsAction, ManageDocuments
from modules.cli.parser_parts import AddArguments, CommandParser, parsers_of_actions, read_options

PASSAGES_MAX = 50

DOCS_HELP = """\
Your documents, by hand, with no model involved: what lies in the folders of the profile's
documents section (documents/ under CORTEX_HOME by default) is indexed and searched, always with
its source. Answers go to stdout, progress to stderr.

examples:
  agent.py docs add report.pdf notes/
  agent.py docs search "notice period of the lease"
  agent.py docs status"""

DOCS_ACTION_HELP: dict[DocsAction, tuple[str, str]] = {
    "add": (
        "copy files into the first document folder, and index them",
        """\
A folder is copied with all that is in it. A file whose name is taken by another one is refused,
never overwritten. Ctrl-C stops indexing; what is left is done by the next run.

examples:
  agent.py docs add report.pdf
  agent.py docs add ~/papers""",
    ),
    "list": (
        "every document, and why one can't be searched",
        """\
examples:
  agent.py docs list
  agent.py docs list --json | jq -r '.[] | select(.status == "failed").file'""",
    ),
    "status": (
        "folders, index, embedder, and what went wrong",
        """\
examples:
  agent.py docs status
  agent.py docs status --json | jq .chunks""",
    ),
    "search": (
        "the passages that fit best, with their sources",
        """\
Changes in the folders are indexed first. Exits with 3 where nothing fits.

examples:
  agent.py docs search "how long is the warranty?"
  agent.py docs search warranty --file manual.pdf --mode words -k 3""",
    ),
    "reindex": (
        "read every document anew",
        """\
Searching works meanwhile, on what was there before.

examples:
  agent.py docs reindex""",
    ),
    "remove": (
        "delete a document from its folder, and from the index",
        """\
The file itself is deleted, so you are asked first, or say --yes.

examples:
  agent.py docs remove report.pdf
  agent.py docs remove old/report.pdf --yes""",
    ),
    "watch": (
        "index changes as they happen, until Ctrl-C",
        """\
The documents server does the same while it runs.

examples:
  agent.py docs watch""",
    ),
}
"""What an action does, as a summary and as the rest of its help."""


def parse_docs(argv: Sequence[str], program: str = "agent.py") -> ManageDocuments:
    """Parse `argv`, whose first word is `docs`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    arguments: dict[DocsAction, AddArguments] = {
        "add": _add_paths,
        "search": _add_search,
        "remove": _add_removal,
    }
    whole, parsers = parsers_of_actions(f"{program} docs", DOCS_HELP, DOCS_ACTION_HELP, arguments)
    found, unknown = whole.parse_known_args(argv[1:])
    action: DocsAction = found.action
    if unknown:
        parsers[action].refuse(unknown)
    options = read_options(found)
    words = [action, *(["--json"] if options.json else []), *(["--quiet"] if options.quiet else [])]
    words += ["--verbose"] if options.verbose else []
    return ManageDocuments(options, action, (*words, *_words_of(action, found)))


def _words_of(action: DocsAction, found: argparse.Namespace) -> list[str]:
    """What the action got, in the form that `servers.rag.command` reads."""
    match action:
        case "add":
            return ["--", *found.paths]
        case "search":
            only = ["--file", found.file] if found.file is not None else []
            told = ["--top-k", str(found.top_k), "--mode", found.mode, *only]
            return [*told, "--", " ".join(found.query)]
        case "remove":
            return [*(["--yes"] if found.yes else []), "--", found.file]
        case _:
            return []


def _add_paths(parser: CommandParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder")


def _add_search(parser: CommandParser) -> None:
    parser.add_argument("query", metavar="WORDS", nargs="+", help="a question, or words")
    parser.add_argument(
        "-k", "--top-k", metavar="N", type=_passages, default=5, help="passages (5)"
    )
    parser.add_argument("--file", metavar="FILE", help="only in this document, as listed")
    parser.add_argument(
        "--mode",
        choices=["hybrid", "words", "vectors"],
        default="hybrid",
        help="by words, by meaning (vectors), or by both",
    )


def _add_removal(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a document, as listed")
    parser.add_argument("--yes", action="store_true", help="don't ask")


def _passages(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= PASSAGES_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {PASSAGES_MAX}")
    return int(text)
