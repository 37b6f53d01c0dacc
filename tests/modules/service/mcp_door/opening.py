"""A door over a real agent, and SDK clients of both eras of the protocol that come to it."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
import uvicorn
from mcp.client import Client
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp_types import CallToolResult, TextContent
from starlette.routing import Route, Router
from starlette.types import Scope

from config.schema import load_profile
from config.settings import Places
from core.base.redaction import Redactor
from core.values import JsonObject
from modules.service.agents import AgentSetting
from modules.service.mcp_door.door import McpDoor
from modules.service.mcp_door.http import McpHttp
from modules.service.mcp_door.work import Caller
from modules.service.pool import AgentPool
from modules.service.served.runs import Runs
from tests.command_line import NO_MODEL_SERVER, ROOT, SUMS_SERVER, plan, script, write_profile

Era: TypeAlias = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")

WAIT_SECONDS = 20.0
"""A test that hangs fails after that."""

both_eras = pytest.mark.parametrize("era", ERAS)

ADDS = plan('return f"FINAL_ANSWER: {await tools.add(5, 7)}"')
ASKS = plan('return "CLARIFICATION_NEEDED: which colour?"')


def says(answer: str) -> str:
    """A plan that answers so."""
    return plan(f'return "FINAL_ANSWER: {answer}"')


@asynccontextmanager
async def open_door(
    home: Path,
    replies: Sequence[object] = (),
    *servers: str,
    more: str = "",
    approve: Sequence[str] = (),
    list_seconds: float = WAIT_SECONDS,
    works_max: int = 8,
    parked_max: int = 8,
) -> AsyncGenerator[McpDoor]:
    """A door whose agents have a scripted model; `more` goes into the profile."""
    file = write_profile(home, *(servers or (SUMS_SERVER,)))
    file.write_text(f"{file.read_text()}{more}\n")
    places = Places(ROOT, home)
    setting = AgentSetting(
        places,
        places,
        load_profile(file),
        file,
        NO_MODEL_SERVER,
        Redactor({}),
        model=script(home, replies),
        approve=approve,
        is_server=True,
    )
    async with (
        AgentPool(setting, lambda: 0.0) as pool,
        McpDoor(
            Runs(pool), list_seconds=list_seconds, works_max=works_max, parked_max=parked_max
        ) as door,
    ):
        yield door


@asynccontextmanager
async def client_of(
    door: McpDoor,
    era: Era,
    elicit: ElicitationFnT | None = None,
    hear: MessageHandlerFnT | None = None,
) -> AsyncGenerator[Client]:
    """A client in this process; `elicit` answers its person's questions."""
    client = Client(
        door.server,
        mode=era,
        elicitation_callback=elicit,
        message_handler=hear,
        read_timeout_seconds=WAIT_SECONDS,
    )
    async with client:
        yield client


@asynccontextmanager
async def serving(door: McpDoor, *callers: Caller) -> AsyncGenerator[str]:
    """The address at which a web server on loopback has the door; users differ by their path.

    `/0/mcp` is that of the first of `callers`, and so on; without any it is the owner's.
    """
    known = callers or (Caller(),)

    def caller_of(scope: Scope) -> Caller:
        return known[int(scope["path_params"]["user"])]

    listening = socket.create_server(("127.0.0.1", 0))
    http = McpHttp(door, caller_of)
    async with http.running():
        app = Router([Route("/{user}/mcp", http)])
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, timeout_graceful_shutdown=1, ws="none"
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


def text_of(result: CallToolResult) -> str:
    """All text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def structured(result: CallToolResult) -> JsonObject:
    """What a result says in structure."""
    found: JsonObject = result.structured_content
    return found
