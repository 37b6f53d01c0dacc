"""Sessions with real servers, and the person who hears and answers what the servers say."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from config.servers import ServerSpec
from core.dispatch.hooks import DispatcherHooks
from core.mcp.hooks import Question, Reply
from core.session import MultiMCP
from modules.planning.prompt.stubs import describe_tool
from tests.core.dispatch.fixture_servers import all_gone, is_gone

START_SECONDS = 40.0
"""Bound on starting all servers of a session, side by side, on a busy machine."""

END_SECONDS = 15.0
"""Bound on what the servers' processes may take to be gone after the dispatcher has closed."""


@dataclass(frozen=True)
class Log:
    """What a server logged, or what was noted of it."""

    server: str
    level: str
    text: str


@dataclass
class Person:
    """Hears all notices and logs, and answers every question with `reply`, unless thinking."""

    is_thinking: bool = False
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    reply: Reply = field(default_factory=lambda: Reply("decline"))
    questions: list[Question] = field(default_factory=list[Question])
    notices: list[str] = field(default_factory=list[str])
    logs: list[Log] = field(default_factory=list[Log])
    heard_log: asyncio.Condition = field(default_factory=asyncio.Condition)

    def hooks(self) -> DispatcherHooks:
        """The ears and the mouth of this person."""
        return DispatcherHooks(on_notice=self._hear, on_log=self._hear_log, ask=self._answer)

    async def log_like(self, pattern: str) -> Log:
        """The first log whose text matches, as soon as it has been heard."""
        async with self.heard_log:
            while not (found := [log for log in self.logs if re.search(pattern, log.text)]):
                await self.heard_log.wait()
        return found[0]

    async def _hear(self, text: str) -> None:
        self.notices.append(text)

    async def _hear_log(self, server: str, level: str, text: str) -> None:
        async with self.heard_log:
            self.logs.append(Log(server, level, text))
            self.heard_log.notify_all()

    async def _answer(self, question: Question) -> Reply:
        self.questions.append(question)
        self.was_asked.set()
        if self.is_thinking:
            await asyncio.Event().wait()
        return self.reply


@dataclass
class Session:
    """A dispatcher whose servers are up, and who listens."""

    multi: MultiMCP
    person: Person

    def tools_of(self, server: str) -> list[str]:
        """The names of a server's tools, in its order."""
        return [tool.name for tool in self.multi.server_tools[server]]


ONLY_AS_A_TASK = "which only runs as a task"
"""Why the one tool that a server of ours can't offer is left out."""


@asynccontextmanager
async def session(*specs: ServerSpec) -> AsyncGenerator[Session]:
    """Servers that are up and listed; asserts at the end that no process of theirs is left."""
    person = Person()
    before = own_groups()
    async with MultiMCP(specs, hooks=person.hooks()) as multi:
        async with asyncio.timeout(START_SECONDS):
            await multi.initialize()
        told = [notice for notice in person.notices if ONLY_AS_A_TASK not in notice]
        assert (multi.failures, told) == ({}, [])
        started = own_groups() - before
        assert len(started) >= sum(spec.url is None for spec in specs)
        try:
            yield Session(multi, person)
        finally:
            started |= own_groups() - before  # those that were started again
    async with asyncio.timeout(END_SECONDS):
        await all_gone([str(pid) for pid in started])


def process_of(words: str) -> int:
    """The one server process of ours whose command line has these words."""
    (found,) = [
        pid
        for pid in own_groups()
        if words in Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
    ]
    return found


def own_groups() -> set[int]:
    """Our live children that lead a process group of their own, as servers do."""
    pids = (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return {pid for pid in pids if _is_our_group(pid) and not is_gone(pid)}


def _is_our_group(pid: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    _, parent, group, *_ = fields
    return (int(parent), int(group)) == (os.getpid(), pid)


def assert_all_described(multi: MultiMCP) -> None:
    """Each tool has a line for the prompt that names it and all its arguments."""
    for tool in multi.catalog:
        line = describe_tool(tool, multi.catalog)
        signature = line.partition(" -> ")[0]
        assert signature.startswith(f"- {multi.catalog.plan_name(tool)}("), line
        assert [p.name for p in tool.parameters if f"{p.name}: " not in signature] == [], line
        assert tool.description, line
