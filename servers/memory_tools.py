"""The tools of the memory server, each a few lines over `servers.memory` and the facts.

A docstring here is the tool's description: planners read it and rank tools by its words. This file
stands beside the server's script because cached tool lists are valid while those files are.
"""

import asyncio
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Protocol

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from core.base.memory.facts import Fact, FactError, FactStore
from core.base.redaction import Redactor
from core.base.text import one_line
from servers.memory.options import MemoryOptions, read_options
from servers.memory.ranking import Found
from servers.memory.wording import NO_FACTS, fact_line, facts_text, memories_json, memories_text
from servers.rag.errors import OptionsError, RagError
from servers.rag.passages import SearchMode
from servers.schemas import (
    ForgetInput,
    RecallInput,
    RememberInput,
    SearchMemoryInput,
    TextOutput,
)
from servers.shared.bootstrap import EXIT_UNUSABLE
from servers.shared.errors import ToolInputError
from servers.tooling import ExplainedTool, read_only_tools

IS_OFF = (
    "memory is off (memory.memory_service: false in the profile, or --no-memory): nothing is kept, "
    "and nothing that was kept is read"
)

SESSIONS_STAY = (
    "Sessions in which it was said are kept: `agent.py sessions search` finds them, "
    "`agent.py sessions delete` deletes them."
)


class PastExchanges(Protocol):
    """What is searched; every method may block, and be called from any thread."""

    def search(self, query: str, top_k: int, mode: SearchMode) -> Found:
        """The exchanges that fit best."""
        ...

    def close(self) -> None:
        """End what runs; bounded in time."""
        ...


class MemoryTools:
    """The tools, over past exchanges, which are opened by the first search, and facts."""

    def __init__(
        self, options: MemoryOptions, facts: FactStore, open_past: Callable[[], PastExchanges]
    ) -> None:
        self._options = options
        self._facts = facts
        self._open_past = open_past
        self._past: PastExchanges | None = None
        self._opening = threading.Lock()

    async def search_memory(self, input: SearchMemoryInput) -> TextOutput:
        """Search earlier conversations: what the user asked in the past, and what was answered."""
        with self._explained():
            found = await asyncio.to_thread(self._search, input.query, input.top_k, input.mode)
        words = memories_json if input.as_json else memories_text
        return TextOutput(result=words(found.memories, found.notes))

    async def remember(self, input: RememberInput) -> TextOutput:
        """Remember a fact or preference that the user states about themselves, for good."""
        with self._explained():
            kept = await asyncio.to_thread(self._facts.keep, input.text)
        return self._told(f"Kept:\n{fact_line(kept)}")

    async def recall(self, input: RecallInput) -> TextOutput:
        """Recall what is known about the user: facts and preferences that they have stated."""
        with self._explained():
            found = await asyncio.to_thread(self._facts.find, input.subject)
            every = found or await asyncio.to_thread(self._facts.all)
        otherwise = NO_FACTS
        if every and not found:
            otherwise = f"No fact is about that. These are kept:\n{facts_text(every, (), '')}"
        return self._told(facts_text(found, (), otherwise))

    async def forget(self, input: ForgetInput) -> TextOutput:
        """Forget a fact or preference of the user that was remembered."""
        with self._explained():
            gone = await asyncio.to_thread(self._facts.forget, input.fact)
            kept: tuple[Fact, ...] = () if gone else await asyncio.to_thread(self._facts.all)
        if gone:
            return self._told(f"Forgotten:\n{facts_text(gone, (), '')}\n{SESSIONS_STAY}")
        told = f"These are kept:\n{facts_text(kept, (), '')}" if kept else NO_FACTS
        return self._told(f"No fact says that, so nothing was forgotten. {told}")

    def close(self) -> None:
        """End what runs; bounded in time."""
        if self._past is not None:
            self._past.close()

    def _search(self, query: str, top_k: int, mode: SearchMode) -> Found:
        with self._opening:
            if self._past is None:
                self._past = self._open_past()
        return self._past.search(query, top_k, mode)

    def _told(self, text: str) -> TextOutput:
        """The text, below what is to be known about the file of facts."""
        notes, self._facts.notes = self._facts.notes, []
        return TextOutput(result="\n".join([*(f"Note: {note}" for note in notes), text]))

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn what goes wrong into a message for the caller."""
        if not self._options.is_on:
            raise ToolInputError(IS_OFF)
        try:
            yield
        except (RagError, FactError) as error:
            raise ToolInputError(one_line(str(error))) from error
        except OSError as error:
            raise ToolInputError(
                f"the memory in {self._options.folder} can't be used: {error.strerror or error}"
            ) from error


def build_server() -> MCPServer:
    """The server with its tools, as the environment says; opens nothing.

    Raises:
        SystemExit: the options can't be used; what is wrong is on stderr.
    """
    redactor = Redactor(os.environ)
    try:
        options = read_options()
        redactor.mask(options.mask)
    except (OptionsError, re.error) as error:
        sys.stderr.write(f"memory server: {error}\n")
        sys.exit(EXIT_UNUSABLE)

    facts = FactStore(options.folder, redactor)
    return server_at(MemoryTools(options, facts, partial(_open_past, options)))


def _open_past(options: MemoryOptions) -> PastExchanges:
    from servers.memory.library import MemoryLibrary  # numpy and more: 0.16 s, by the first search

    return MemoryLibrary(options)


def server_at(tools: MemoryTools) -> MCPServer:
    """The server over these tools, which it closes when it ends."""

    @asynccontextmanager
    async def until_closed(server: MCPServer) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await asyncio.to_thread(tools.close)

    return MCPServer(
        "memory",
        title="Cortex-R memory server",
        instructions="Earlier conversations, and facts that the user has stated.",
        tools=memory_tools(tools),
        lifespan=until_closed,
        log_level="WARNING",
    )


def memory_tools(tools: MemoryTools) -> list[Tool]:
    """All tools of the memory server, in the order in which they are listed."""
    return [
        *read_only_tools([tools.search_memory, tools.recall]),
        *(
            ExplainedTool.from_function(
                tool,
                annotations=ToolAnnotations(
                    read_only_hint=False,
                    destructive_hint=is_destructive,
                    idempotent_hint=True,
                    open_world_hint=False,
                ),
            )
            for tool, is_destructive in ((tools.remember, False), (tools.forget, True))
        ),
    ]
