"""`trace`: what a session's runs did and how long each part took, as a tree, a page or data."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from core.base.files import write_atomically
from core.base.memory.exchanges import title_of
from core.base.text import one_line
from core.errors import ExitCode, StorageError, UsageError
from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.cli.parser import command_parser, read_words
from modules.cli.surroundings import Options, Surroundings
from modules.session.history import runs_in
from modules.session.kept import KeptSessions
from modules.session.team_items import graph_outcome
from modules.terminal.answer import SCHEMA_VERSION, plain_json
from modules.trace.decisions import DecidedRun, decisions_of, paragraphs, whole_text
from modules.trace.page import PageKind, html_page
from modules.trace.spans import runs_of, trace_document
from modules.trace.text import graph_mermaid, mermaid_text, tree_text

_HELP: Final = """\
Show what a session's runs did, as a tree with times: perception, plans, calls of models and of
tools, retries, and of a request in parts each subtask with its runs. SESSION is a session's id, or
a part of it that no other has; without one it is the last session. Where the profile has
trace.prompts, the beginnings of prompts and replies are shown.

--verbose shows plans, arguments, results, prompts and replies in full.
--html writes one page that needs no network, with all of that on a timeline. It is searched with
/, and read with the arrow keys.

--decisions tells instead who decided what, on which evidence: plans, repairs, refusals, what you
have allowed or answered, and what a team has decided. --depth says how deeply: a paragraph a run,
JSON that cites the items of the session (as --json does), or all.

examples:
  agent.py trace
  agent.py trace --run -1 --verbose
  agent.py trace 4f8a1c --html trace.html
  agent.py trace --run -1 --decisions
  agent.py trace --run -1 --json | jq '.runs[].children'"""

_Run = TypeVar("_Run")


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `trace`; raises as `read_words`."""
    parser = command_parser(program, "trace", _HELP)
    parser.add_argument("session", metavar="SESSION", nargs="?", help="a session's id, or a part")
    parser.add_argument(
        "--last", action="store_true", help="the session that was used last, as without SESSION"
    )
    parser.add_argument(
        "--run",
        metavar="N",
        dest="number",
        type=int,
        help="only one run: 1 is the first, -1 the last",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--html", metavar="FILE", type=Path, help="write a page")
    form.add_argument("--mermaid", action="store_true", help="a Gantt chart in Mermaid's language")
    form.add_argument(
        "--flowchart",
        action="store_true",
        help="the last run's parts, each behind those that it needs, in Mermaid's language",
    )
    form.add_argument("--decisions", action="store_true", help="who decided what, and why")
    parser.add_argument(
        "--depth", choices=("paragraph", "json", "all"), help="how deeply decisions are told"
    )
    parser.set_defaults(run=trace)
    return read_words(parser, words, is_mixed=True)


def trace(around: Surroundings) -> ExitCode:
    """Tell what the session's runs did.

    Raises:
        UsageError: there is no such session or run.
        StorageError: the session can't be read, or the page can't be written.
    """
    if around.options.depth is not None and not around.options.decisions:
        raise UsageError("--depth says how deeply --decisions are told; add --decisions")
    around.redactor.mask(around.profile.memory.mask)
    kept = KeptSessions(around.profile, around.places.home, around.complaints.say)
    session_id = _session_id(around, kept)
    items = kept.items(session_id)
    number: int | None = around.options.number
    title = one_line(around.redactor.text(title_of(items) or session_id))
    if around.options.decisions:
        decided = _chosen(decisions_of(items), number)
        return _tell_decisions(around, session_id, title, decided)
    runs = _chosen(runs_of(items), number)
    told = trace_document(session_id, title, runs, around.redactor)
    if around.options.html is not None:
        return write_page(around, "trace", title, told)
    if around.options.json:
        around.print_json(told)
    elif around.options.mermaid:
        around.print(around.redactor.text(mermaid_text(runs)))
    elif around.options.flowchart:
        around.print(around.redactor.text(_flowchart(runs_in(items), number)))
    else:
        tree = tree_text(runs, _width(around), is_whole=around.options.verbose)
        around.print(f"{title}\n\n{around.redactor.text(tree)}".rstrip())
    return ExitCode.ANSWERED


def _flowchart(runs: Sequence[Sequence[MemoryItem]], number: int | None) -> str:
    """The graph of the run of that number, else of the last that was answered in parts.

    Raises:
        UsageError: there is none.
    """
    chosen = _chosen((*runs,), number)
    found = filter(None, (graph_outcome(run) for run in reversed(chosen)))
    if (outcome := next(found, None)) is None:
        raise UsageError("no request was answered in parts there; --mermaid shows its times")
    return graph_mermaid(outcome.graph, outcome.states)


def _session_id(around: Surroundings, kept: KeptSessions) -> str:
    named: str | None = around.options.session
    if named is not None and around.options.last:
        raise UsageError("give a SESSION or --last, not both")
    if named is not None:
        return kept.find(named)
    ids = kept.ids()
    if not ids:
        raise UsageError(f"no session is kept in {kept.folder} yet; ask something first")
    return ids[0]


def _width(around: Surroundings) -> int | None:
    return shutil.get_terminal_size().columns if around.stdout.isatty() else None


def _tell_decisions(
    around: Surroundings, session_id: str, title: str, runs: tuple[DecidedRun, ...]
) -> ExitCode:
    depth: str | None = around.options.depth
    if depth == "json" or (around.options.json and depth is None):
        found = around.redactor.json(plain_json(runs))
        head: JsonObject = {"type": "decisions", "schema": SCHEMA_VERSION, "id": session_id}
        around.print_json({**head, "title": title, "runs": found})
        return ExitCode.ANSWERED
    if around.options.json:
        raise UsageError("--json prints JSON, which is --depth json; leave one of the two out")
    told = whole_text(runs) if depth == "all" else paragraphs(runs, _width(around))
    around.print(f"{title}\n\n{around.redactor.text(told)}".rstrip())
    return ExitCode.ANSWERED


def _chosen(runs: tuple[_Run, ...], number: int | None) -> tuple[_Run, ...]:
    if number is None:
        return runs
    place = number - 1 if number > 0 else number
    if number == 0 or not -len(runs) <= place < len(runs):
        raise UsageError(f"the session has {len(runs)} runs: 1 is the first, -1 the last")
    return (runs[place],)


def write_page(around: Surroundings, kind: PageKind, title: str, told: Json) -> ExitCode:
    """Write the page to the file of --html, and say so.

    Raises:
        StorageError: it can't be written.
    """
    file: Path = around.options.html
    try:
        write_atomically(file, html_page(kind, title, told).encode())
    except OSError as error:
        raise StorageError(f"{file} can't be written: {error.strerror or error}") from error
    return around.report({"file": str(file)}, f"wrote {file}")
