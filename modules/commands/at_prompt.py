"""What can be typed at the prompt about servers and tools; everything else is a request.

Each command is a whole line that begins with a slash, such as nobody asks a question; so no
request is swallowed.
"""

import asyncio
from collections.abc import Callable, Coroutine

from core.errors import ExitCode
from core.session import MultiMCP
from modules.commands.status import status_text
from modules.tools import describe_tool


class PromptCommands:
    """`/mcp` and `/tools`, told on stderr, for stdout carries answers only."""

    def __init__(self, dispatcher: MultiMCP, say: Callable[[str, str], None]) -> None:
        """`say` writes one text under a stage."""
        self._dispatcher = dispatcher
        self._say = say
        self._running: asyncio.Task[None] | None = None

    async def run(self, line: str) -> ExitCode | None:
        """Do what a line says; None, and nothing done, if it is no command."""
        commands: dict[str, Callable[[], Coroutine[object, object, None]]] = {
            "/mcp": self._tell_servers,
            "/tools": self._tell_tools,
        }
        command = commands.get(line.strip().lower())
        if command is None:
            return None
        self._running = asyncio.create_task(command())
        try:
            await asyncio.wait({self._running})
            if self._running.cancelled():
                return ExitCode.INTERRUPTED
            self._running.result()
        finally:
            self._running.cancel()
            self._running = None
        return ExitCode.ANSWERED

    def interrupt(self) -> None:
        """Stop a command that waits for servers; they start on."""
        if self._running is not None:
            self._running.cancel()

    async def _tell_servers(self) -> None:
        """Each server and how it is; starts none."""
        statuses = self._dispatcher.status()
        table = f"\n{status_text(statuses)}" if statuses else ""
        self._say("mcp", f"{_counted(len(statuses), 'server')}{table}")

    async def _tell_tools(self) -> None:
        """Each tool as the planner sees it; starts the servers whose tools are not known."""
        await self._dispatcher.initialize()
        catalog = self._dispatcher.catalog
        lines = [describe_tool(tool, catalog) for tool in catalog]
        self._say("mcp", "\n".join([_counted(len(lines), "tool"), *lines]))


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
