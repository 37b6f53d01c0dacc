"""`stats`: what was asked in some days, a day a line, and how the calls of each tool went."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict

from core.base.clock import moment
from core.base.text import counted, one_line, size_text
from core.errors import ExitCode, StorageError
from core.tools.json_schema import as_object
from core.tools.record import ToolRecord
from core.turn import Usage
from core.values import JsonObject
from modules.cli.parser import CommandParser, command_parser, read_words, whole_number
from modules.cli.surroundings import Options, Surroundings
from modules.cli.trace import kept_sessions, write_page
from modules.memory.statistics import (
    DayStatistics,
    MemoryStatistics,
    RoleStatistics,
    memory_statistics,
)
from modules.models.serving.account import Budgets, Limit, limits_of
from modules.models.serving.ledger import Sums
from modules.session.kept import KeptSessions
from modules.terminal.answer import SCHEMA_VERSION, LimitDocument, plain_json
from modules.terminal.screen import wrapped
from modules.terminal.wording import usage_text
from modules.trace.text import time_text

DAYS: Final = 30
"""How many days count where nothing else is said."""

DAYS_MAX: Final = 3_650

DAYS_SHOWN: Final = 31
"""So many lines of days are shown at most, the newest."""

WIDE_COLUMNS: Final = 100
"""A narrower terminal is shown less of each day and tool."""

FAILURE_CHARACTERS: Final = 60
"""How much of a tool's last error is shown."""

BAR_CELLS: Final = 12
_EIGHTHS: Final = "▏▎▍▌▋▊▉█"

_HELP: Final = """\
What was asked in the last days: requests, answers, time, tokens and cost a day, how the calls of
each tool went, what each role did in requests with parts, and what is spent of the profile's
budgets. At most 10,000 sessions or 2 GB are read, those that were used last; the last line says
how many, and how long it took.

examples:
  agent.py stats
  agent.py stats --days 365 --html stats.html
  agent.py stats --json | jq '.tools[] | select(.failed > 0)'"""


class ToolDocument(TypedDict):
    """The calls of a tool; `success_rate` is (worked + 1) / (calls + 2): few calls say little."""

    tool: str
    calls: int
    failed: int
    success_rate: float
    median_seconds: float | None
    p95_seconds: float | None
    last_used: str
    last_failure: str


class StatsDocument(TypedDict):
    """What was asked from the day `since` on, and what was read to tell it.

    `older` sessions were last used before that day; those `beyond` the most that are read were not
    read either. `left_out` tells by id what is wrong with a session that can't be read. `budgets`
    are those that the profile sets for a day and for the user.
    """

    type: Literal["stats"]
    schema: Literal[1]
    since: str
    total: DayStatistics
    days: tuple[DayStatistics, ...]
    models: Mapping[str, Usage]
    tools: list[ToolDocument]
    roles: list[RoleStatistics]
    sessions: int
    bytes: int
    read_seconds: float
    older: int
    beyond: int
    left_out: dict[str, str]
    budgets: list[LimitDocument]


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `stats`; raises as `read_words`."""
    parser = command_parser(program, "stats", _HELP)
    add_arguments(parser)
    parser.set_defaults(run=show_statistics)
    return read_words(parser, words)


def add_arguments(parser: CommandParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "--days",
        metavar="N",
        type=whole_number(1, DAYS_MAX, f"number of days from 1 to {DAYS_MAX:,}"),
        default=DAYS,
        help=f"today and the days before it, N in all ({DAYS})",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page")


def show_statistics(around: Surroundings) -> ExitCode:
    """Tell what the sessions of some days come to; what can't be read is told.

    Raises:
        StorageError: the page can't be written.
    """
    kept = kept_sessions(around)
    with around.waits().during("memory", "sessions to be read"):
        found = memory_statistics(kept, around.options.days)
    for session_id, problem in found.left_out.items():
        around.complaints.say("memory", f"session {session_id} is left out: {problem}")
    if around.options.html is not None:
        title = f"Statistics since {found.since}"
        return write_page(around, "stats", title, _document(found, around))
    if around.options.json:
        around.print_json(_document(found, around))
        return ExitCode.ANSWERED
    budgets, sums = _budgets(around)
    columns = around.columns
    is_narrow = columns is not None and columns < WIDE_COLUMNS
    _say(around, _head(found, kept), columns)
    if found.days:
        around.print("")
        around.print_table(_day_rows(found, around, is_narrow=is_narrow))
    if found.tools:
        around.print("")
        around.print_table(_tool_rows(found.tools, around, is_narrow=is_narrow))
    if found.roles:
        around.print("")
        around.print_table(_role_rows(found.roles))
    if budgets:
        around.print("")
        around.print_table([(limit.key, limit.told(sums)) for limit in budgets])
    around.print("")
    _say(around, [_reading(found, kept)], columns)
    return ExitCode.ANSWERED


def _budgets(around: Surroundings) -> tuple[list[Limit], Sums]:
    """The limits of a day and of the user, and what is spent; none where that can't be read."""
    limits = [each for each in limits_of(around.profile.budgets) if each.scope in ("day", "user")]
    if not limits:
        return [], {}
    try:
        return limits, Budgets(around.places.home).sums(around.profile)
    except StorageError as error:
        around.complaints.say("memory", str(error))
        return [], {}


def bar(value: float, most: float, cells: int = BAR_CELLS, *, is_ascii: bool = False) -> str:
    """A bar as long as `value` is of `most`, to an eighth of a cell; what is above 0 is seen."""
    share = min(value / most, 1.0) if most > 0 and value > 0 else 0.0
    if is_ascii:
        return "#" * max(round(share * cells), share > 0)
    eighths = max(round(share * cells * 8), share > 0)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")


def _say(around: Surroundings, lines: Sequence[str], columns: int | None) -> None:
    """Lines to stdout, without secrets; broken at words where a terminal is narrower."""
    for line in map(around.redactor.text, lines):
        around.print(line if columns is None else "\n".join(wrapped(line, columns)))


def _head(found: MemoryStatistics, kept: KeptSessions) -> list[str]:
    total = found.total
    if not total.requests:
        if not (found.sessions or found.older or found.left_out):
            return [f"no session is kept in {kept.folder} yet"]
        return [f"nothing was asked since {found.since}; --days N looks further back"]
    answered = f"{total.answered:,} answered ({total.answered / total.requests:.0%})"
    asked = f"since {found.since}: {counted(total.requests, 'request')}, {answered}"
    lines = [f"{asked}, in {time_text(total.seconds)}"]
    lines += [f"{one_line(name, 100)}: {usage_text(used)}" for name, used in found.models.items()]
    if len(found.days) > DAYS_SHOWN:
        lines.append(f"the last {DAYS_SHOWN} of {len(found.days)} days; --html and --json have all")
    return lines


def _reading(found: MemoryStatistics, kept: KeptSessions) -> str:
    size = size_text(found.size_bytes)
    read = f"read {counted(found.sessions, 'session')}, {size}, in {time_text(found.read_seconds)}"
    more = f"; {counted(found.beyond, 'session')} more were not read" if found.beyond else ""
    return f"{read}, from {kept.folder}{more}"


def _day_rows(
    found: MemoryStatistics, around: Surroundings, *, is_narrow: bool
) -> list[tuple[str, ...]]:
    """A line a day, the newest last; where a person listens to it, without the bars."""
    days = found.days[-DAYS_SHOWN:]
    most = max(day.requests for day in days)
    cells = BAR_CELLS // 3 if is_narrow else BAR_CELLS
    is_ascii = "utf" not in (around.stdout.encoding or "utf-8").lower()
    has_tokens = any(day.tokens for day in days)
    chart = ("",) if not around.profile.terminal.plain else ()
    used_heads = ("cost",) if is_narrow else ("tokens", "cost")
    heads = ("day", *chart, "asked", "done", "time", *(used_heads if has_tokens else ()))
    rows: list[tuple[str, ...]] = [heads]
    for day in days:
        told = f"{day.day:%m-%d}" if is_narrow else str(day.day)
        drawn = (bar(day.requests, most, cells, is_ascii=is_ascii),) if chart else ()
        used = (_short(day.tokens), f"${day.cost:.2f}")[-len(used_heads) :] if has_tokens else ()
        done = f"{day.answered / day.requests:.0%}"
        took = _rough(day.seconds) if is_narrow else time_text(day.seconds)
        rows.append((told, *drawn, f"{day.requests:,}", done, took, *used))
    return rows


def _tool_rows(
    tools: Sequence[ToolRecord], around: Surroundings, *, is_narrow: bool
) -> list[tuple[str, ...]]:
    heads = ("tool", "calls", "failed", "median", "95 %", "last used", "last failure")
    rows: list[tuple[str, ...]] = [heads]
    for record in tools:
        # Secrets first: half of one, cut off, would not be found any more.
        failure = one_line(around.redactor.text(record.last_failure), FAILURE_CHARACTERS)
        rows.append(
            (
                one_line(record.tool),
                f"{record.calls:,}",
                f"{record.failures:,}",
                _milliseconds(record.median_seconds),
                _milliseconds(record.p95_seconds),
                moment(record.last_used),
                failure,
            )
        )
    return [row[:4] for row in rows] if is_narrow else rows


def _role_rows(roles: Sequence[RoleStatistics]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("role", "tries", "results", "time", "tokens", "cost")]
    rows += (
        (
            one_line(each.role),
            f"{each.tries:,}",
            f"{each.answered:,}",
            time_text(each.seconds),
            _short(each.tokens),
            f"${each.cost:.2f}",
        )
        for each in roles
    )
    return rows


def _rough(seconds: float) -> str:
    """`34 s`, `52 min`, `12 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:,.0f} h"


def _short(number: int) -> str:
    """`950`, `12k`, `3.4M`."""
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.0f}k" if number < 999_500 else f"{number / 1_000_000:.1f}M"


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return f"{seconds * 1000:,.1f} ms" if seconds < 0.01 else f"{seconds * 1000:,.0f} ms"


def _document(found: MemoryStatistics, around: Surroundings) -> JsonObject:
    budgets, sums = _budgets(around)
    redact = around.redactor.text
    document: StatsDocument = {
        "type": "stats",
        "schema": SCHEMA_VERSION,
        "since": str(found.since),
        "total": found.total,
        "days": found.days,
        "models": {redact(name): used for name, used in found.models.items()},
        "tools": [
            {
                "tool": redact(record.tool),
                "calls": record.calls,
                "failed": record.failures,
                "success_rate": round(record.success_rate, 4),
                "median_seconds": record.median_seconds,
                "p95_seconds": record.p95_seconds,
                "last_used": moment(record.last_used),
                "last_failure": redact(record.last_failure),
            }
            for record in found.tools
        ],
        "roles": [replace(each, role=redact(each.role)) for each in found.roles],
        "sessions": found.sessions,
        "bytes": found.size_bytes,
        "read_seconds": round(found.read_seconds, 3),
        "older": found.older,
        "beyond": found.beyond,
        "left_out": {name: redact(problem) for name, problem in found.left_out.items()},
        "budgets": [
            {
                "scope": limit.scope,
                "measure": limit.measure,
                "spent": round(limit.spent(sums), 6),
                "limit": limit.most,
                "key": limit.key,
            }
            for limit in budgets
        ],
    }
    return as_object(plain_json(document))
