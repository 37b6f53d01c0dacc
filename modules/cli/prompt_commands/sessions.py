"""Commands about sessions: new, listed, resumed, and what this one has used."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from core.errors import ExitCode, UsageError
from core.turn import Usage
from modules.cli.prompt_commands.command import AtPrompt, PromptCommand
from modules.session.history import activity_of, usage_of
from modules.session.kept import SUMMARY_HEADS, KeptSessions, SessionSummary
from modules.terminal.input.candidates import Candidate
from modules.terminal.tables import table_for
from modules.terminal.wording import activity_text, usage_text

SESSIONS_SHOWN: Final = 10
"""So many of the newest sessions are listed, where no number is said."""

SESSIONS_PROPOSED: Final = 50
"""So many of the newest are there to choose from while an id is typed."""


async def _new(at: AtPrompt, words: str) -> ExitCode:
    """Let the next request begin another session."""
    at.conversation.new_session()
    at.say("memory", "the next request begins a new session")
    return ExitCode.ANSWERED


async def _sessions(at: AtPrompt, words: str) -> ExitCode:
    """The sessions that were used last, newest first.

    Raises:
        UsageError: memory is off.
    """
    count = _count(words)
    if not at.kept.is_on:  # reading one may mean to repair it
        raise UsageError("memory is off (memory_service, or --no-memory): none is read")
    ids = await asyncio.to_thread(at.kept.ids)
    rows = [each.cells for each in await asyncio.to_thread(_summaries, at.kept, ids[:count])]
    if not rows:
        at.say("memory", f"no session is kept in {at.kept.folder} yet")
        return ExitCode.ANSWERED
    more = f"\nand {len(ids) - count:,} more: /sessions N shows so many" if len(ids) > count else ""
    at.say("memory", f"/resume ID goes on with one\n{table_for([SUMMARY_HEADS, *rows])}{more}")
    return ExitCode.ANSWERED


def _count(words: str) -> int:
    if not words:
        return SESSIONS_SHOWN
    if not (words.isascii() and words.isdigit()) or len(words) > 6 or int(words) == 0:
        raise UsageError(f"/sessions takes a number, such as 30, not {words!r}")
    return int(words)


def _summaries(kept: KeptSessions, session_ids: Sequence[str]) -> list[SessionSummary]:
    return [*kept.summaries(session_ids)]


async def _resume(at: AtPrompt, words: str) -> ExitCode:
    """Go on with a session; without a word, with the one that was used last.

    Raises:
        UsageError: there is none like that, or several.
    """
    if not at.kept.is_on:
        raise UsageError("memory is off (memory_service, or --no-memory): no session goes on")
    if not words:
        ids = await asyncio.to_thread(at.kept.ids)
        words = next((one for one in ids if one != at.conversation.session_id), "")
    session_id = await asyncio.to_thread(at.kept.find, words)
    recap = await asyncio.to_thread(at.kept.recap, session_id)
    at.conversation.resume(session_id)
    at.last_request = None
    at.say("memory", f"continues the session {session_id}\n{recap}".rstrip())
    return ExitCode.ANSWERED


def _session_ids(at: AtPrompt, text: str) -> Iterable[Candidate]:
    if at.kept.is_on:
        for each in at.kept.summaries(at.kept.ids()[:SESSIONS_PROPOSED]):
            yield Candidate(each.session_id, each.cells[-1])


async def _usage(at: AtPrompt, words: str) -> ExitCode:
    """What this session has used, by model, and what it has done."""
    items = await at.conversation.loaded_items()
    used = usage_of(items)
    lines = [f"{name}: {usage_text(usage)}" for name, usage in used.items()]
    if len(lines) > 1:
        lines.append(f"in all: {usage_text(sum(used.values(), Usage()))}")
    lines = lines or ["no model has counted tokens in this session"]
    at.say("model", "\n".join([*lines, activity_text(activity_of(items))]))
    return ExitCode.ANSWERED


SESSION_COMMANDS: Final = (
    PromptCommand(
        "new",
        "Sessions",
        "begin another session",
        _new,
        details="What was said so far stays in its session; /resume goes back to it.",
        bare=("new",),
    ),
    PromptCommand(
        "sessions",
        "Sessions",
        "the sessions that were used last",
        _sessions,
        "[N]",
        f"The newest {SESSIONS_SHOWN}, or N of them.",
    ),
    PromptCommand(
        "resume",
        "Sessions",
        "go on with a session",
        _resume,
        "[ID]",
        "A part of the id is enough that no other has; without one it is the session that was "
        "used last before this one.",
        _session_ids,
    ),
    PromptCommand("usage", "Sessions", "tokens, cost, calls and times of this session", _usage),
)
