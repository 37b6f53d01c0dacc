"""What can be typed at the prompt about servers and tools; everything else is a request.

Each command is a word behind a slash, such as begins no question. A mistyped one is told and not
sent to a model; `/etc/hosts: how many lines?` and the like are requests.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence

from core.base.text import counted
from core.errors import ExitCode
from core.session import MultiMCP
from core.turn import Usage
from modules.cli.arguments import COMMANDS
from modules.cli.mcp_servers import status_text, tool_line
from modules.session.history import Activity
from modules.terminal.wording import activity_text, usage_text

_COMMAND = re.compile(r"/[a-z]+")

COMMANDS_TOLD = (
    "there are /docs, /mcp, /tools and /usage, and without a slash `new`, `help` and `exit`"
)


class PromptCommands:
    """`/docs`, `/mcp`, `/tools` and `/usage`, told on stderr, for stdout carries answers only."""

    def __init__(
        self,
        dispatcher: MultiMCP,
        say: Callable[[str, str], None],
        session_usage: Callable[[], Mapping[str, Usage]],
        session_activity: Callable[[], Activity],
        manage_documents: Callable[[str], Coroutine[object, object, ExitCode]],
        disabled: Sequence[str] = (),
    ) -> None:
        """`say` writes one text under a stage; `session_usage` is by the names of models.

        `session_activity` is what was done, whoever planned it.
        `manage_documents` does what the words behind `/docs` say. `disabled` are servers that
        are switched off.
        """
        self._dispatcher = dispatcher
        self._session_usage = session_usage
        self._session_activity = session_activity
        self._say = say
        self._manage_documents = manage_documents
        self._disabled = disabled
        self._running: asyncio.Task[ExitCode] | None = None

    async def run(self, line: str) -> ExitCode | None:
        """Do what a line says, or say what is wrong with it; None if it is a request."""
        first, _, behind = line.strip().partition(" ")
        if first.lower() == "/docs":
            return await self._until_done(self._manage_documents(behind))
        commands = {
            "/mcp": self._tell_servers,
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
            wrong = f"there is no command {name}; {COMMANDS_TOLD}"
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
