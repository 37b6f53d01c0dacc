"""Commands about sessions: new, listed, resumed, and what this one has used."""

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from core.base.files import write_atomically
from core.base.text import counted
from core.errors import UsageError, storing
from core.team.whiteboard import board_text
from core.turn import Usage
from core.version import __version__
from modules.cli.prompt_commands.command import AtPrompt, prompt_command
from modules.cli.prompt_commands.requests import paths
from modules.cli.sessions_markdown import session_markdown
from modules.sandbox import limits_of
from modules.sandbox.walls.launcher import examine_walls
from modules.session.history import activity_of, exchanges, runs_in, usage_of
from modules.session.kept import SUMMARY_HEADS, KeptSessions, SessionSummary
from modules.terminal.input.candidates import Candidate
from modules.terminal.input.codes import COPIED_BYTES_MAX, copy_text
from modules.terminal.tables import table_for
from modules.terminal.wording import activity_text, usage_text
from modules.trace.decisions import board_of
from modules.trace.spans import runs_of

SESSIONS_SHOWN: Final = 10
"""So many of the newest sessions are listed, where no number is said."""

SAVE_OPTIONS: Final = {"--session": "the whole session", "--force": "replace what is there"}

SESSIONS_PROPOSED: Final = 50
"""So many of the newest are there to choose from while an id is typed."""


@prompt_command(
    "new",
    "Sessions",
    "begin another session",
    details="What was said so far stays in its session; /resume goes back to it.",
    bare=("new",),
)
async def _new(at: AtPrompt, words: str) -> None:
    at.conversation.new_session()
    at.say("memory", "the next request begins a new session")


@prompt_command(
    "sessions",
    "Sessions",
    "the sessions that were used last",
    "[N]",
    f"The newest {SESSIONS_SHOWN}, or N of them.",
)
async def _sessions(at: AtPrompt, words: str) -> None:
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
        return
    more = f"\nand {len(ids) - count:,} more: /sessions N shows so many" if len(ids) > count else ""
    at.say("memory", f"/resume ID goes on with one\n{table_for([SUMMARY_HEADS, *rows])}{more}")


def _count(words: str) -> int:
    if not words:
        return SESSIONS_SHOWN
    if not (words.isascii() and words.isdigit()) or len(words) > 6 or int(words) == 0:
        raise UsageError(f"/sessions takes a number, such as 30, not {words!r}")
    return int(words)


def _summaries(kept: KeptSessions, session_ids: Sequence[str]) -> list[SessionSummary]:
    return [*kept.summaries(session_ids)]


def _session_ids(at: AtPrompt, text: str) -> Iterable[Candidate]:
    if at.kept.is_on:
        for each in at.kept.summaries(at.kept.ids()[:SESSIONS_PROPOSED]):
            yield Candidate(each.session_id, each.cells[-1])


@prompt_command(
    "resume",
    "Sessions",
    "go on with a session",
    "[ID]",
    "A part of the id is enough that no other has; without one it is the session that was "
    "used last before this one.",
    _session_ids,
    proposes_once=True,
)
async def _resume(at: AtPrompt, words: str) -> None:
    """Go on with a session; without a word, with the one that was used last.

    Raises:
        UsageError: there is none like that, or several.
    """
    if not at.kept.is_on:
        raise UsageError("memory is off (memory_service, or --no-memory): no session goes on")
    if not words:
        ids = await asyncio.to_thread(at.kept.ids)
        words = next((one for one in ids if one != at.conversation.session.id), "")
        if not words:
            raise UsageError("no other session is kept so far, with which to go on")
    session_id = await asyncio.to_thread(at.kept.find, words, "/sessions")
    recap = await asyncio.to_thread(at.kept.recap, session_id)
    at.conversation.resume(session_id)
    at.last_request = None
    at.say("memory", f"continues the session {session_id}\n{recap}".rstrip())


@prompt_command("usage", "Sessions", "tokens, cost, calls and times of this session")
async def _usage(at: AtPrompt, words: str) -> None:
    items = await at.conversation.session.load()
    used = usage_of(items)
    lines = [f"{name}: {usage_text(usage)}" for name, usage in used.items()]
    if len(lines) > 1:
        lines.append(f"in all: {usage_text(sum(used.values(), Usage()))}")
    lines = lines or ["no model has counted tokens in this session"]
    at.say("model", "\n".join([*lines, activity_text(activity_of(items))]))


@prompt_command(
    "trace",
    "Sessions",
    "what the runs did and how long it took, as a tree",
    "[ID]",
    "Of this session, or of another; agent.py trace makes a page of it.",
    _session_ids,
    proposes_once=True,
)
async def _trace(at: AtPrompt, words: str) -> None:
    """The runs of this session, or of another, as a tree.

    Raises:
        UsageError: there is no such session, or nothing was asked in it.
    """
    if words:
        session_id = await asyncio.to_thread(at.kept.find, words, "/sessions")
        items = await asyncio.to_thread(at.kept.items, session_id)
    else:
        items = await at.conversation.session.load()
    from modules.trace.text import tree_text  # late: it brings rich, which takes 0.06 s

    if not (runs := runs_of(items)):
        raise UsageError("nothing was asked in this session yet; /trace ID shows another")
    columns = shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else None
    at.say("trace", f"{counted(len(runs), 'run')}\n{tree_text(runs, columns)}")


@prompt_command(
    "board",
    "Sessions",
    "what the team that answered last knows in common",
    details="The whiteboard of the newest request that was answered in parts: mission, "
    "progress, blockers, decisions and facts, each with whose word it is, and from where.",
)
async def _board(at: AtPrompt, words: str) -> None:
    """The whiteboard of the newest run that had one.

    Raises:
        UsageError: none had.
    """
    runs = runs_in(await at.conversation.session.load())
    entries = next((found for run in reversed(runs) if (found := board_of(run))), ())
    if not entries:
        raise UsageError("no request of this session was answered in parts, by a team")
    at.say("team", at.redact(board_text(entries)))


@prompt_command(
    "copy",
    "Sessions",
    "the last answer to the clipboard",
    details=f"By OSC 52, which the terminal must allow; up to {COPIED_BYTES_MAX:,} bytes. "
    "Within tmux, that must let it pass: set -g allow-passthrough on.",
)
async def _copy(at: AtPrompt, words: str) -> None:
    """The last answer to the clipboard.

    Raises:
        UsageError: there is none, or no terminal that takes it.
    """
    text = await _last_answer(at)
    try:
        allows = copy_text(text, sys.stderr)
    except ValueError as error:
        raise UsageError(f"the answer is not copied: {error}; /save FILE writes it") from error
    at.say("loop", f"the last answer, {counted(len(text), 'character')}, is sent to the clipboard")
    at.say("loop", f"it is there if that is allowed by {allows}")


async def _last_answer(at: AtPrompt) -> str:
    for exchange in reversed(exchanges(await at.conversation.session.load())):
        if exchange.answer is not None:
            return exchange.answer
    raise UsageError("there is no answer in this session yet; ask something first")


def _save_words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    yield from (Candidate(name, told) for name, told in SAVE_OPTIONS.items())
    yield from paths(at, text)


@prompt_command(
    "save",
    "Sessions",
    "the last answer, or the session, into a file",
    "[--session] FILE",
    "The answer as it is, or the session as markdown. A file that is there is replaced with "
    "--force alone.",
    _save_words,
)
async def _save(at: AtPrompt, words: str) -> None:
    """The last answer, or the session as markdown, into a file.

    Raises:
        UsageError: no file is named, it is there already, or there is no answer.
        StorageError: it can't be written.
    """
    try:
        given = shlex.split(words)
    except ValueError:  # a quote that is not closed
        given = []
    options = [word for word in given if word in SAVE_OPTIONS]
    names = [word for word in given if word not in SAVE_OPTIONS]
    if len(names) != 1 or names[0].startswith("--"):
        raise UsageError("/save takes one file: /save answer.md, /save --session 'my session.md'")
    if "--session" in options:
        items = await at.conversation.session.load()
        if not items:
            raise UsageError("nothing was asked in this session yet")
        text = session_markdown(at.conversation.session.id or "", items)
    else:
        text = await _last_answer(at)
    file = await asyncio.to_thread(
        _write, names[0], at.redact(text), may_replace="--force" in options
    )
    at.say("loop", f"wrote {file} ({counted(len(text), 'character')})")


def _write(name: str, text: str, *, may_replace: bool) -> Path:
    file = Path(name).expanduser().absolute()
    if os.path.lexists(file) and not (may_replace and file.is_file()):
        hint = "add --force to replace it" if file.is_file() else "it is no file: name another"
        raise UsageError(f"{file} is there already; {hint}")
    with storing(file):
        write_atomically(file, f"{text}\n".encode(errors="replace"), keeps_mode=True)
    return file


@prompt_command("status", "Sessions", "model, profile, session, servers, places, walls")
async def _status(at: AtPrompt, words: str) -> None:
    conversation, places = at.conversation, at.setting.places
    profile, session_id = conversation.profile, conversation.session.id
    states = [f"{status.id} {status.state}" for status in at.dispatcher.status()]
    with at.during("sandbox", "the walls of the sandbox"):
        walls = await asyncio.to_thread(examine_walls, limits_of(profile.sandbox))
    rows = [
        ("version", __version__),
        ("model", conversation.model.reason),
        ("profile", str(at.setting.profile_file)),
        ("session", session_id or "the next request begins one"),
        ("its file", str(at.kept.path(session_id)) if session_id and at.kept.is_on else "none"),
        ("memory", "on" if at.kept.is_on else "off (memory_service, or --no-memory)"),
        ("CORTEX_HOME", str(places.home)),
        ("servers", ", ".join(states) or "none"),
        ("walls", ", ".join(wall.name for wall in walls if wall.stands) or "none"),
    ]
    if missing := [f"{wall.name} ({wall.detail})" for wall in walls if not wall.stands]:
        rows.append(("no wall", ", ".join(missing)))
    at.say("loop", f"as things are\n{table_for([('what', 'how it is'), *rows])}")


SESSION_COMMANDS: Final = (_new, _sessions, _resume, _usage, _trace, _board, _copy, _save, _status)
