"""`sessions stats`: what all sessions come to, and how the calls of each tool went."""

from dataclasses import asdict
from typing import Final

from core.base.clock import moment
from core.base.text import counted, one_line, size_text
from core.errors import ExitCode
from core.tools.record import ToolRecord
from core.values import Json
from modules.cli.surroundings import Surroundings
from modules.memory.statistics import MemoryStatistics, memory_statistics
from modules.session.kept import KeptSessions
from modules.terminal.wording import usage_text

DAYS_SHOWN: Final = 3
"""How many of the days with the most requests are shown."""

HEADS: Final = (
    *("tool", "calls", "worked", "success rate"),
    *("median", "95 %", "last used", "last failure"),
)
FAILURE_CHARACTERS: Final = 60
"""How much of a tool's last error is shown."""

RATE_NOTE: Final = "success rate: (worked + 1) / (calls + 2), so that few calls say little"


def show_statistics(around: Surroundings, kept: KeptSessions) -> ExitCode:
    """Requests, answers, models and tools over all sessions; what can't be read is told."""
    with around.waits().during("memory", "sessions to be read"):
        found = memory_statistics(kept)
    for session_id, problem in found.left_out.items():
        around.complaints.say("memory", f"session {session_id} is left out: {problem}")
    if around.options.json:
        around.print_json(_document(found, around))
    elif not found.sessions and not found.left_out:
        around.print(f"no session is kept in {kept.folder} yet")
    else:
        around.print(around.redactor.text("\n".join(_lines(found, kept))))
        if found.tools:
            around.print("")
            rows = [HEADS, *(_cells(record, around) for record in found.tools)]
            around.print_table(rows, [RATE_NOTE])
    return ExitCode.ANSWERED


def _lines(found: MemoryStatistics, kept: KeptSessions) -> list[str]:
    size = size_text(found.size_bytes)
    lines = [f"{counted(found.sessions, 'session')}, {size} in {kept.folder}"]
    asked = f"{counted(found.requests, 'request')}, {found.answered:,} answered"
    if found.first_request is not None and found.last_request is not None:
        asked += f", from {moment(found.first_request)} to {moment(found.last_request)}"
    lines.append(asked)
    if len(found.days) > 1:
        most = [f"{day} ({count:,})" for day, count in [*found.days.items()][:DAYS_SHOWN]]
        lines.append(f"busiest: {', '.join(most)}")
    lines += [f"{one_line(name, 100)}: {usage_text(used)}" for name, used in found.models.items()]
    return lines


def _cells(record: ToolRecord, around: Surroundings) -> tuple[str, ...]:
    # Secrets first: half of one, cut off, would not be found any more.
    failure = one_line(around.redactor.text(record.last_failure), FAILURE_CHARACTERS)
    return (
        record.tool,
        f"{record.calls:,}",
        f"{record.successes:,}",
        f"{record.success_rate:.0%}",
        _milliseconds(record.median_seconds),
        _milliseconds(record.p95_seconds),
        moment(record.last_used),
        failure,
    )


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return f"{seconds * 1000:,.1f} ms" if seconds < 0.01 else f"{seconds * 1000:,.0f} ms"


def _document(found: MemoryStatistics, around: Surroundings) -> Json:
    redact = around.redactor.text
    tools: list[Json] = [
        {
            "tool": redact(record.tool),
            "calls": record.calls,
            "worked": record.successes,
            "success_rate": round(record.success_rate, 4),
            "median_seconds": record.median_seconds,
            "p95_seconds": record.p95_seconds,
            "last_used": moment(record.last_used),
            "last_failure": redact(record.last_failure),
        }
        for record in found.tools
    ]
    models: dict[str, Json] = {
        redact(name): dict(asdict(used)) for name, used in found.models.items()
    }
    first, last = found.first_request, found.last_request
    return {
        "sessions": found.sessions,
        "bytes": found.size_bytes,
        "requests": found.requests,
        "answered": found.answered,
        "first_request": None if first is None else moment(first),
        "last_request": None if last is None else moment(last),
        "requests_by_day": {f"{day}": count for day, count in sorted(found.days.items())},
        "models": models,
        "tools": tools,
        "left_out": {name: redact(problem) for name, problem in found.left_out.items()},
    }
