"""`sessions`: what was asked before, listed, shown, exported, named and deleted."""

import argparse
import html
import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from config.server_list import memory_server
from core.base.clock import moment
from core.base.memory.exchanges import dated_exchanges, title_of
from core.base.text import counted, one_line
from core.errors import ExitCode, ServerError, StorageError, UsageError
from core.team.graph import GraphOutcome
from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.cli.composition import opened
from modules.cli.parser import (
    Action,
    CommandParser,
    read_action,
    whole_number,
)
from modules.cli.sessions_markdown import answer_text, asked_text, session_markdown
from modules.cli.stats import add_arguments, show_statistics
from modules.cli.surroundings import Options, Surroundings
from modules.cli.trace import kept_sessions, session_named
from modules.memory.earlier import search_memory
from modules.session.history import runs_in
from modules.session.kept import SUMMARY_HEADS, SessionSummary
from modules.session.records import storable
from modules.session.team_items import graph_outcome
from modules.terminal.answer import graph_document, plain_json
from modules.terminal.wording import parts_text
from modules.trace.page import plain_page

LISTED: Final = 20
"""How many sessions `list` shows where nothing else is said."""

FOUND: Final = 5
"""How many exchanges a search shows where nothing else is said."""

_DAY_SECONDS: Final = 86_400
_UNITS: Final = {"h": 3_600, "d": _DAY_SECONDS, "w": 7 * _DAY_SECONDS}

_HELP: Final = """\
What was asked and answered before. ID is a session's id, or a part of it that no other has, such
as its last six characters. A session goes on with: agent.py --resume ID

examples:
  agent.py sessions list
  agent.py sessions search "notice period of the lease"
  agent.py sessions show 2026/11/23/session-1763890000-4f8a1c
  agent.py sessions export 4f8a1c --html > session.html"""


def parse(words: Sequence[str], program: str = "agent.py") -> Options:
    """Read the words behind `sessions`; raises as `read_action`."""
    return read_action(words, program, "sessions", _HELP, _ACTIONS, usual="list")


def list_sessions(around: Surroundings) -> ExitCode:
    """Those that were used last, newest first; only the files that are shown are read."""
    kept = kept_sessions(around)
    ids = kept.ids()
    count: int = len(ids) if around.options.all else around.options.limit
    found = [*kept.summaries(ids[:count])]
    more = len(ids) - count
    return around.report_rows(
        [_summary(each, around) for each in found],
        [SUMMARY_HEADS, *(each.cells for each in found)],
        [f"and {more:,} more: --all shows them"] if more > 0 else [],
        none=f"no session is kept in {kept.folder} yet" if not ids else None,
    )


def show_session(around: Surroundings) -> ExitCode:
    """Its requests with their answers, and when each was asked."""
    session_id, items = session_named(around)
    return around.report(_document(session_id, items, around), _as_text(session_id, items, around))


def search_sessions(around: Surroundings) -> ExitCode:
    """Ask the memory server, also where the profile has none; it brings its index up to date.

    Raises:
        UsageError: memory is off.
        ServerError: the server did not start, or did not answer.
    """
    if not around.profile.memory.memory_service:
        raise UsageError("memory is off (memory_service in the profile): nothing is searched")
    return around.run(_search(around))


async def _search(around: Surroundings) -> ExitCode:
    options = around.options
    spec = memory_server(around.servers, around.profile, around.places, around.environ)
    arguments: JsonObject = {
        "query": " ".join(options.query),
        "top_k": options.limit,
        "mode": options.mode,
        "as_json": options.json,
    }
    async with opened([spec], around, tries_all=True) as (dispatcher, display):
        with display.progress.during("memory", "sessions to be searched"):
            result = await search_memory(dispatcher, spec.id, arguments)
    text = around.redactor.text(str(result.value))
    if result.is_error:
        return around.complaints.fail(one_line(text), ExitCode.TOOL_FAILED)
    if not options.json:
        around.print(text)
        return ExitCode.ANSWERED
    try:
        around.print_json(json.loads(text))
    except ValueError as error:
        raise ServerError(spec.id, "the memory server's answer is no JSON") from error
    return ExitCode.ANSWERED


def export_session(around: Surroundings) -> ExitCode:
    """The session to stdout: as markdown, a page of HTML, or JSON with every item."""
    session_id, items = session_named(around)
    if around.options.json:
        stored = [storable(item.model_dump(exclude_none=True)) for item in items]
        around.print_json(around.redactor.json(stored))
    elif around.options.html:
        around.print(_as_html(session_id, items, around))
    else:
        around.print(around.redactor.text(session_markdown(session_id, items)))
    return ExitCode.ANSWERED


def rename_session(around: Surroundings) -> ExitCode:
    """Give a session a title; its id stays.

    Raises:
        UsageError: no such session, or no title.
        StorageError: the title could not be written.
    """
    kept = kept_sessions(around)
    session_id = kept.find(around.options.session)
    title = kept.rename(session_id, " ".join(around.options.title), around.redactor)
    return around.report({"id": session_id, "title": title}, f"{session_id} is titled: {title}")


def delete_session(around: Surroundings) -> ExitCode:
    """Delete a session's file for good, and what was set aside of it.

    Raises:
        UsageError: no such session, or nobody said --yes.
        StorageError: it can't be deleted.
    """
    kept = kept_sessions(around)
    session_id = kept.find(around.options.session)
    if not around.options.yes:
        raise UsageError(
            f"this would delete {session_id} for good; say so: "
            f"agent.py sessions delete {session_id} --yes"
        )
    kept.delete(session_id)
    return around.report({"deleted": [session_id]}, f"deleted {session_id}")


def prune_sessions(around: Surroundings) -> ExitCode:
    """Delete all sessions that were last used before a time; with `dry_run`, only name them."""
    kept = kept_sessions(around)
    before = time.time() - around.options.older_than
    old: list[str] = []
    for session_id in kept.ids():
        with suppress(FileNotFoundError):
            if kept.path(session_id).stat().st_mtime < before:
                old.append(session_id)
    deleted: list[str] = []
    for session_id in old if not around.options.dry_run else ():
        try:
            if kept.delete(session_id, before):
                deleted.append(session_id)
        except StorageError as error:
            around.complaints.say("memory", str(error))
    told, done = (old, "would be deleted") if around.options.dry_run else (deleted, "deleted")
    document: JsonObject = {"deleted": [*deleted], "old": [*old]}
    return around.report(document, "\n".join([*told, f"{counted(len(told), 'session')} {done}"]))


def _summary(each: SessionSummary, around: Surroundings) -> Json:
    return {
        "id": each.session_id,
        "last_used": moment(each.last_used),
        "requests": each.requests,
        "title": around.redactor.text(each.title),
        "first_request": around.redactor.text(each.first_request),
    }


def _document(session_id: str, items: Iterable[MemoryItem], around: Surroundings) -> Json:
    items = [*items]
    graphs = {asked_at: graph_document(each) for asked_at, each in _graphs(items).items()}
    told: list[Json] = [
        {
            "asked_at": moment(each.asked_at),
            "request": around.redactor.text(each.request),
            "answer": None if each.answer is None else around.redactor.text(each.answer),
            "taken_back": each.undone,
            "graph": around.redactor.json(plain_json(graphs.get(each.asked_at))),
        }
        for each in dated_exchanges(items, with_undone=True)
    ]
    title = around.redactor.text(title_of(items))
    return {"id": session_id, "title": title, "exchanges": told}


def _graphs(items: Iterable[MemoryItem]) -> dict[float, GraphOutcome]:
    """How the requests ended that were answered in parts, by when they were asked."""
    ended = ((run[0].timestamp, graph_outcome(run)) for run in runs_in(items))
    return {asked_at: outcome for asked_at, outcome in ended if outcome is not None}


def _as_text(session_id: str, items: Sequence[MemoryItem], around: Surroundings) -> str:
    title = title_of(items)
    parts = [f"{session_id}: {title}" if title else session_id]
    graphs = _graphs(items)
    parts += [
        f"{asked_text(each)}  > {each.request}\n"
        + (f"({parts_text(graphs[each.asked_at])})\n" if each.asked_at in graphs else "")
        + answer_text(each)
        for each in dated_exchanges(items, with_undone=True)
    ]
    return around.redactor.text("\n\n".join(parts))


def _as_html(session_id: str, items: Sequence[MemoryItem], around: Surroundings) -> str:
    """One page that holds all that it needs and asks nobody for anything."""
    clean = around.redactor.text
    told = "\n".join(
        f"<section><h2>{asked_text(each)}</h2>\n"
        f"<blockquote>{html.escape(clean(each.request))}</blockquote>\n"
        f"<pre>{html.escape(clean(answer_text(each)))}</pre></section>"
        for each in dated_exchanges(items, with_undone=True)
    )
    head = f"<p>Session {html.escape(session_id)}</p>"
    body = f'<main class="session">\n{head}\n{told}\n</main>'
    return plain_page(clean(title_of(items) or session_id), body)


def _age(text: str) -> float:
    """Seconds, from `90d`, `12h` or `8w`."""
    number, unit = text[:-1], text[-1:].lower()
    if unit not in _UNITS or not (number.isascii() and number.isdigit()) or len(number) > 6:
        raise argparse.ArgumentTypeError(f"{text!r} is no age, such as 90d, 12h or 8w")
    return int(number) * _UNITS[unit]


_count = whole_number(1, 999_999, "whole number above 0")


def _add_list(parser: CommandParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--limit", metavar="N", type=_count, default=LISTED, help=f"how many ({LISTED})"
    )
    which.add_argument("--all", action="store_true", help="all of them")


def _add_session(parser: CommandParser) -> None:
    parser.add_argument("session", metavar="ID", help="a session's id, or a unique part of it")


def _add_search(parser: CommandParser) -> None:
    parser.add_argument("query", metavar="WORDS", nargs="+", help="a question, or words")
    parser.add_argument(
        "--limit", metavar="N", type=_count, default=FOUND, help=f"how many ({FOUND})"
    )
    parser.add_argument(
        "--mode",
        choices=("hybrid", "words", "vectors"),
        default="hybrid",
        help="words: exact words; vectors: meaning; hybrid: both, as by default",
    )


def _add_export(parser: CommandParser) -> None:
    _add_session(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="markdown, as by default")
    form.add_argument("--html", action="store_true", help="one page that needs nothing else")


def _add_title(parser: CommandParser) -> None:
    _add_session(parser)
    parser.add_argument("title", metavar="TITLE", nargs="+", help="what to call it")


def _add_deletion(parser: CommandParser) -> None:
    _add_session(parser)
    parser.add_argument("--yes", action="store_true", help="delete it for good")


def _add_prune(parser: CommandParser) -> None:
    parser.add_argument(
        "--older-than", metavar="AGE", type=_age, required=True, help="such as 90d, 12h or 8w"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say which")


_ACTIONS: Final = {
    "list": Action(
        "the sessions that were used last",
        """\
examples:
  agent.py sessions list --limit 5
  agent.py sessions list --json | jq -r '.[].id'""",
        list_sessions,
        _add_list,
    ),
    "show": Action(
        "a session's requests and answers",
        """\
examples:
  agent.py sessions show 4f8a1c""",
        show_session,
        _add_session,
    ),
    "search": Action(
        "what was asked and answered before, by words and by meaning",
        """\
examples:
  agent.py sessions search notice period of the lease
  agent.py sessions search lease --mode words --json | jq '.memories[].session'""",
        search_sessions,
        _add_search,
    ),
    "export": Action(
        "a session as markdown, HTML, or JSON with every item",
        """\
examples:
  agent.py sessions export 4f8a1c > session.md
  agent.py sessions export 4f8a1c --html > session.html
  agent.py sessions export 4f8a1c --json | jq length""",
        export_session,
        _add_export,
    ),
    "rename": Action(
        "give a session a title; its id stays",
        """\
examples:
  agent.py sessions rename 4f8a1c The lease""",
        rename_session,
        _add_title,
    ),
    "delete": Action(
        "delete a session for good",
        """\
examples:
  agent.py sessions delete 4f8a1c --yes""",
        delete_session,
        _add_deletion,
    ),
    "prune": Action(
        "delete the sessions that nobody has used for long",
        """\
examples:
  agent.py sessions prune --older-than 90d --dry-run
  agent.py sessions prune --older-than 90d""",
        prune_sessions,
        _add_prune,
    ),
    "stats": Action(
        "the older name of the command stats, which does the same",
        """\
examples:
  agent.py sessions stats --days 365""",
        show_statistics,
        add_arguments,
    ),
}
