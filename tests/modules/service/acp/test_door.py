"""The connection with an editor: what is answered at once, and errors of all kinds."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from config.settings import SettingsError
from core.base.redaction import Redactor
from core.errors import StorageError, UsageError
from core.mcp.peer import RpcError
from core.values import JsonObject
from modules.service.acp.door import AcpDoor, Editor, Sessions
from modules.service.acp.messages import Params
from tests.modules.service.acp.test_stdio import BOUND_SECONDS, Ends, ends

TOKEN = "tok-1234567890abcdef"  # noqa: S105 - nobody's
TRACE = "0af7651916cd43dd8448eb211c80319c"


class FakeSessions:
    """Raises what it is given; keeps what is cancelled."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.cancelled: list[str] = []
        self.is_closed = False

    async def answer(self, method: str, params: Params) -> JsonObject:
        if self.error is not None:
            raise self.error
        return {"method": method}

    def cancel(self, session_id: str) -> None:
        self.cancelled.append(session_id)

    async def aclose(self) -> None:
        self.is_closed = True


@asynccontextmanager
async def door(open_: Callable[[], Sessions]) -> AsyncGenerator[Ends]:
    def opened(_: Editor) -> Sessions:
        return open_()

    async with ends() as made:
        served = AcpDoor(made.transport, opened, Redactor({"API_TOKEN": TOKEN}))
        serving = asyncio.create_task(served.serve())
        try:
            yield made
        finally:
            made.end()
            await asyncio.wait_for(serving, BOUND_SECONDS)


def request(method: str, id_: int = 1) -> bytes:
    meta = f'{{"traceparent":"00-{TRACE}-b7ad6b7169203331-01"}}'
    params = f'{{"sessionId":"s","_meta":{meta}}}'
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{params}}}'.encode()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UsageError(f"wrong {TOKEN}"), -32602, "wrong [redacted]"),
        (SettingsError("the file"), -32602, "the file"),
        (StorageError("the disk is full"), -32603, "the disk is full"),
        (RpcError(-32002, "not there"), -32002, "not there"),
        (ZeroDivisionError("oh"), -32603, "a bug in Cortex-R: ZeroDivisionError"),
    ],
)
async def test_an_error_says_what_is_wrong_and_in_which_trace(
    error: Exception, code: int, told: str
) -> None:
    async with door(lambda: FakeSessions(error)) as client:
        client.write(request("session/new"))
        answer = await client.answer()
        body = answer["error"]
        assert isinstance(body, dict)
        assert body["code"] == code
        assert told.replace("[redacted]", "") in str(body["message"])
        assert TOKEN not in str(body)
        assert body["data"] == {"traceId": TRACE}


async def test_what_could_not_be_loaded_is_tried_again() -> None:
    errors: list[Exception] = [SettingsError("profiles.yaml:3: wrong")]

    def load() -> Sessions:
        if errors:
            raise errors.pop()
        return FakeSessions()

    async with door(load) as client:
        client.write(request("session/new"))
        assert "profiles.yaml:3" in str((await client.answer())["error"])
        client.write(request("session/new", 2))
        assert (await client.answer())["result"] == {"method": "session/new"}


async def test_nothing_is_loaded_before_initialize_is_answered() -> None:
    may_load = asyncio.Event()
    loop = asyncio.get_running_loop()

    def load() -> Sessions:
        asyncio.run_coroutine_threadsafe(may_load.wait(), loop).result(BOUND_SECONDS)
        return FakeSessions()

    async with door(load) as client:
        client.write(request("initialize"), request("authenticate", 2), request("session/new", 3))
        assert "protocolVersion" in str((await client.answer())["result"])
        assert (await client.answer()) == {"jsonrpc": "2.0", "id": 2, "result": {}}
        may_load.set()
        assert (await client.answer())["id"] == 3


async def test_cancelling_reaches_the_session_and_the_end_closes_all() -> None:
    sessions = FakeSessions()
    async with door(lambda: sessions) as client:
        client.write(request("session/new"))
        await client.answer()
        client.write(
            b'{"method":"session/cancel","params":{"sessionId":5}}',
            b'{"method":"session/cancel","params":{"sessionId":"s"}}',
            request("session/list"),
        )
        await client.answer()
        assert sessions.cancelled == ["s"]
    assert sessions.is_closed
