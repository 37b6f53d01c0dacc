"""An editor for `agent.py acp`: the SDK's own client, which records what it is shown."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from acp import PROTOCOL_VERSION, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    InitializeResponse,
    PromptResponse,
    RequestPermissionResponse,
)
from pydantic import BaseModel

from tests.command_line import ROOT, environment

Shown: TypeAlias = dict[str, Any]
"""An update as it came over the wire."""

BOUND_SECONDS = 30.0
"""How long a test waits for anything; nothing takes that long."""


@dataclass
class Editor:
    """What the user of an editor would see, and does: `choice` is the button that is pressed."""

    choice: str | None = None
    updates: list[tuple[str, Shown]] = field(default_factory=list[tuple[str, Shown]])
    asked: list[Shown] = field(default_factory=list[Shown])
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    connection: ClientSideConnection = field(init=False)
    process: asyncio.subprocess.Process = field(init=False)
    introduction: InitializeResponse = field(init=False)

    def on_connect(self, conn: object) -> None:
        """The SDK wants to tell."""

    async def session_update(self, session_id: str, update: BaseModel, **_: object) -> None:
        async with self.changed:
            shown = update.model_dump(mode="json", by_alias=True, exclude_none=True)
            self.updates.append((session_id, shown))
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: BaseModel, options: list[BaseModel], **_: object
    ) -> RequestPermissionResponse:
        call = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        plain = [each.model_dump(mode="json", by_alias=True) for each in options]
        offered = {each["optionId"]: each["kind"] for each in plain}
        self.asked.append({"session": session_id, "call": call, "options": offered})
        if self.choice is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = AllowedOutcome(outcome="selected", option_id=self.choice)
        return RequestPermissionResponse(outcome=chosen)

    async def open(self, folder: Path, **more: Any) -> str:
        """A new session in a folder."""
        opened = await self.connection.new_session(cwd=str(folder), **more)
        return opened.session_id

    async def prompt(self, session_id: str, *parts: Any) -> PromptResponse:
        """Ask, and wait for the end of the turn."""
        blocks = [text_block(part) if isinstance(part, str) else part for part in parts]
        asking = self.connection.prompt(session_id=session_id, prompt=blocks)
        return await asyncio.wait_for(asking, BOUND_SECONDS)

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Wait until what was shown is as it should be."""
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(is_there), BOUND_SECONDS)

    def shown(self, kind: str, session_id: str | None = None) -> list[Shown]:
        """The updates of a kind, of one session or of all."""
        return [
            told
            for id_, told in self.updates
            if told["sessionUpdate"] == kind and session_id in (None, id_)
        ]

    def said(self, session_id: str | None = None, kind: str = "agent_message_chunk") -> str:
        """What was told in words, message or thoughts."""
        return "".join(each["content"]["text"] for each in self.shown(kind, session_id))


@asynccontextmanager
async def editor(home: Path, *arguments: str, **settings: Any) -> AsyncGenerator[Editor]:
    """An editor that has started `agent.py acp ARGUMENTS` and introduced itself."""
    user = Editor(**settings)
    user.process = await started(home, *arguments)
    assert user.process.stdin is not None
    assert user.process.stdout is not None
    user.connection = connect_to_agent(
        cast("Client", user),
        user.process.stdin,
        user.process.stdout,
        use_unstable_protocol=True,
    )
    try:
        user.introduction = await asyncio.wait_for(
            user.connection.initialize(PROTOCOL_VERSION), BOUND_SECONDS
        )
        yield user
    finally:
        if user.process.returncode is None:
            user.process.stdin.close()
        await asyncio.wait_for(user.process.wait(), BOUND_SECONDS)
        await user.connection.close()


async def started(home: Path, *arguments: str) -> asyncio.subprocess.Process:
    """`agent.py acp`, as an editor starts it."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "agent.py"),
        "acp",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment(home),
        cwd=home,
        limit=64 * 1024 * 1024,
    )


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
