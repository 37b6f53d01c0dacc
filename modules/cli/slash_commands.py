"""What can be typed at the prompt about servers and tools; everything else is a request.

Each command is a word behind a slash, such as begins no question. A mistyped one is told and not
sent to a model; `/etc/hosts: how many lines?` and the like are requests.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence

from core.base.text import counted, near_names
from core.errors import ExitCode, UsageError
from core.session import MultiMCP
from core.turn import Usage
from modules.cli.command_line import COMMANDS
from modules.cli.mcp_servers import status_text, tool_line
from modules.session.history import Activity
from modules.session.kept import SUMMARY_HEADS, KeptSessions, SessionSummary
from modules.terminal.tables import table
from modules.terminal.wording import activity_text, usage_text

_COMMAND = re.compile(r"/[a-z]+")

COMMANDS_TOLD = (
    "there are /docs, /mcp, /resume, /sessions, /tools and /usage, and without a slash `new`, "
    "`help` and `exit`"
)


SESSIONS_SHOWN = 10
"""So many of the newest sessions are listed at the prompt."""


class PromptCommands:
    """What begins with a slash, told on stderr, for stdout carries answers only."""

    def __init__(
        self,
        dispatcher: MultiMCP,
        say: Callable[[str, str], None],
        session_usage: Callable[[], Mapping[str, Usage]],
        session_activity: Callable[[], Activity],
        manage_documents: Callable[[str], Coroutine[object, object, ExitCode]],
        resume: Callable[[str], None],
        kept: KeptSessions,
        disabled: Sequence[str] = (),
    ) -> None:
        """`say` writes one text under a stage; `session_usage` is by the names of models.

        `session_activity` is what was done, whoever planned it.
        `manage_documents` does what the words behind `/docs` say; `resume` has the next request
        go on with one of the `kept` sessions. `disabled` are servers that are switched off.
        """
        self._dispatcher = dispatcher
        self._session_usage = session_usage
        self._session_activity = session_activity
        self._say = say
        self._manage_documents = manage_documents
        self._resume = resume
        self._kept = kept
        self._disabled = disabled
        self._running: asyncio.Task[ExitCode] | None = None

    async def run(self, line: str) -> ExitCode | None:
        """Do what a line says, or say what is wrong with it; None if it is a request."""
        first, _, behind = line.strip().partition(" ")
        if first.lower() == "/docs":
            return await self._until_done(self._manage_documents(behind))
        if first.lower() == "/resume":
            return await self._until_done(self._resume_session(behind.strip()))
        commands = {
            "/mcp": self._tell_servers,
            "/sessions": self._tell_sessions,
            "/tools": self._tell_tools,
            "/usage": self._tell_usage,
        }
        name, *rest = line.lower().split() or [""]
        command = commands.get(name)
        if command is not None and not rest:
            return await self._until_done(command())
        if command is not None:
            wrong = f"{name} stands alone; {COMMANDS_TOLD}"
        elif name.startswith("/") and name[1:] in COMMANDS:
            wrong = f"{name[1:]} is for the command line: agent.py {name[1:]} --help"
        elif rest or not _COMMAND.fullmatch(name):
            return None
        else:
            near = near_names(name, (*commands, "/docs", "/resume"))
            meant = f"did you mean {' or '.join(near)}?" if near else COMMANDS_TOLD
            wrong = f"there is no command {name}; {meant}"
        self._say("loop", wrong)
        return ExitCode.BAD_USAGE

    def interrupt(self) -> None:
        """Stop a command that waits for servers; they start on."""
        if self._running is not None:
            self._running.cancel()

    async def _until_done(self, work: Coroutine[object, object, ExitCode]) -> ExitCode:
        """The work's exit code; `interrupt` ends it."""
        self._running = asyncio.create_task(work)
        try:
            await asyncio.wait({self._running})
            return ExitCode.INTERRUPTED if self._running.cancelled() else self._running.result()
        finally:
            self._running.cancel()
            self._running = None

    async def _tell_servers(self) -> ExitCode:
        """Each server and how it is; starts none."""
        statuses = self._dispatcher.status()
        table = f"\n{status_text(statuses)}" if statuses else ""
        is_any_down = any(status.state == "down" for status in statuses)
        hint = "; one that is down starts when it is needed" if is_any_down else ""
        off = ", ".join(self._disabled)
        told = f"\nswitched off: {off}; agent.py mcp enable NAME switches one on" if off else ""
        self._say("mcp", f"{counted(len(statuses), 'server')}{hint}{table}{told}")
        return ExitCode.ANSWERED

    async def _tell_sessions(self) -> ExitCode:
        """The sessions that were used last, newest first.

        Raises:
            UsageError: memory is off.
        """
        if not self._kept.is_on:  # reading one may mean to repair it
            raise UsageError("memory is off (memory_service, or --no-memory): none is read")
        ids = await asyncio.to_thread(self._kept.ids)
        shown = ids[:SESSIONS_SHOWN]
        rows = [each.cells for each in await asyncio.to_thread(self._summaries, shown)]
        if not rows:
            self._say("memory", f"no session is kept in {self._kept.folder} yet")
            return ExitCode.ANSWERED
        more = f"\nand {len(ids) - len(shown):,} more: agent.py sessions list --all"
        told = f"{table([SUMMARY_HEADS, *rows])}{more if len(ids) > len(shown) else ''}"
        self._say("memory", f"/resume ID goes on with one\n{told}")
        return ExitCode.ANSWERED

    def _summaries(self, session_ids: Sequence[str]) -> list[SessionSummary]:
        return [*self._kept.summaries(session_ids)]

    async def _resume_session(self, text: str) -> ExitCode:
        """Go on with a session; without a word, with the one that was used last.

        Raises:
            UsageError: there is none like that, or several.
        """
        if not self._kept.is_on:
            raise UsageError("memory is off (memory_service, or --no-memory): no session goes on")
        if not text:
            ids = await asyncio.to_thread(self._kept.ids)
            text = ids[0] if ids else ""
        session_id = await asyncio.to_thread(self._kept.find, text)
        recap = await asyncio.to_thread(self._kept.recap, session_id)
        self._resume(session_id)
        self._say("memory", f"continues the session {session_id}\n{recap}".rstrip())
        return ExitCode.ANSWERED

    async def _tell_usage(self) -> ExitCode:
        """What this session has used, by model, and what it has done."""
        used = self._session_usage()
        lines = [f"{name}: {usage_text(usage)}" for name, usage in used.items()]
        if len(lines) > 1:
            lines.append(f"in all: {usage_text(sum(used.values(), Usage()))}")
        lines = lines or ["no model has counted tokens in this session"]
        self._say("model", "\n".join([*lines, activity_text(self._session_activity())]))
        return ExitCode.ANSWERED

    async def _tell_tools(self) -> ExitCode:
        """Each tool as the planner sees it; starts the servers whose tools are not known."""
        await self._dispatcher.initialize()
        catalog = self._dispatcher.catalog
        lines = [tool_line(tool, catalog) for tool in catalog]
        self._say("mcp", "\n".join([counted(len(lines), "tool"), *lines]))
        return ExitCode.ANSWERED
