"""`trace`: what a session's runs did and how long each part took, as a tree, a page or data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from core.base.files import write_atomically
from core.base.memory.exchanges import title_of
from core.base.text import one_line
from core.errors import ExitCode, UsageError, storing
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
    return read_words(parser, words)


def trace(around: Surroundings) -> ExitCode:
    """Tell what the session's runs did.

    Raises:
        UsageError: there is no such session or run.
        StorageError: the session can't be read, or the page can't be written.
    """
    if around.options.depth is not None and not around.options.decisions:
        raise UsageError("--depth says how deeply --decisions are told; add --decisions")
    if around.options.session is not None and around.options.last:
        raise UsageError("give a SESSION or --last, not both")
    session_id, items = session_named(around)
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
        tree = tree_text(runs, around.columns, is_whole=around.options.verbose)
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
    told = whole_text(runs) if depth == "all" else paragraphs(runs, around.columns)
    around.print(f"{title}\n\n{around.redactor.text(told)}".rstrip())
    return ExitCode.ANSWERED


def _chosen(runs: tuple[_Run, ...], number: int | None) -> tuple[_Run, ...]:
    if number is None:
        return runs
    place = number - 1 if number > 0 else number
    if number == 0 or not -len(runs) <= place < len(runs):
        raise UsageError(f"the session has {len(runs)} runs: 1 is the first, -1 the last")
    return (runs[place],)


def kept_sessions(around: Surroundings) -> KeptSessions:
    """The profile's sessions; what it masks is taken out of all that is told of them."""
    around.redactor.mask(around.profile.memory.mask)
    return KeptSessions(around.profile, around.places.home, around.complaints.say)


def session_named(around: Surroundings) -> tuple[str, list[MemoryItem]]:
    """The session of the command line, else the one that was used last: its id, and its items.

    Raises:
        UsageError: there is no such session, or none at all.
        StorageError: it can't be read.
    """
    kept, named = kept_sessions(around), around.options.session
    ids = [kept.find(named)] if named is not None else kept.ids()
    if not ids:
        raise UsageError(f"no session is kept in {kept.folder} yet; ask something first")
    return ids[0], kept.items(ids[0])


def write_page(around: Surroundings, kind: PageKind, title: str, told: Json) -> ExitCode:
    """Write the page to the file of --html, and say so.

    Raises:
        StorageError: it can't be written.
    """
    file: Path = around.options.html
    with storing(file):
        write_atomically(file, html_page(kind, title, told).encode())
    return around.report({"file": str(file)}, f"wrote {file}")
