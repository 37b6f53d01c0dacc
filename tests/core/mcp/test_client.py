"""One MCP session: handshake, listing, calls, logs and questions, over a transport in memory."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.errors import CallRefused
from core.mcp.client import (
    LISTING_BYTES_MAX,
    PROTOCOL_VERSION,
    TOOLS_MAX,
    McpClient,
    SessionRefused,
)
from core.mcp.decode import TOOL_BYTES_MAX
from core.mcp.hooks import Question, Reply, SessionHooks
from core.mcp.peer import TRANSPORT_ERROR, NotDelivered
from core.mcp.wire import messages_in
from core.run.execution import begin, working
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from tests.core.mcp.fake_transport import FakeTransport, settled

SPEC = ServerSpec("box", ("true",), Path.cwd())
ECHO: JsonObject = {"name": "echo", "inputSchema": {"type": "object"}}
HELLO: JsonObject = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "box", "title": "The Box", "version": "7"},
}


class Server:
    """A server's answers by method; a missing one is never answered."""

    def __init__(self, **answers: JsonObject) -> None:
        self.answers: dict[str, JsonObject] = {
            "initialize": {"result": HELLO},
            "tools/list": {"result": {"tools": [ECHO]}},
            **{name.replace("_", "/"): answer for name, answer in answers.items()},
        }

    def __call__(self, request: JsonObject) -> JsonObject | None:
        return self.answers.get(str(request["method"]))


@asynccontextmanager
async def session(
    server: Server, hooks: SessionHooks | None = None, spec: ServerSpec = SPEC
) -> AsyncGenerator[tuple[McpClient, FakeTransport]]:
    transport = FakeTransport(server)
    client = McpClient(transport, spec, hooks)
    async with asyncio.timeout(5):
        try:
            await client.open()
            yield client, transport
        finally:
            await client.aclose()


async def listed(*tools: Json, **page: Json) -> tuple[list[ToolSpec], list[str]]:
    """What a server's list of these tools comes to, and what of it is left out."""
    answer: JsonObject = {"result": {"tools": [*tools], **page}}
    async with session(Server(tools_list=answer)) as (client, _):
        return await client.list_tools(), client.skipped


async def test_the_handshake_says_who_both_sides_are() -> None:
    async with session(Server()) as (client, transport):
        assert client.info is not None
        assert (client.info.name, client.info.version) == ("The Box", "7")
        assert transport.version == PROTOCOL_VERSION
        assert transport.methods() == ["initialize", "notifications/initialized"]
        params = transport.sent[0]["params"]
        assert isinstance(params, dict)
        assert params["capabilities"] == {"elicitation": {"form": {}, "url": {}}}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"result": {**HELLO, "protocolVersion": "2031-01-01"}}, "version '2031-01-01' of the pro"),
        ({"result": {}}, "version 'None' of the protocol"),
        ({"error": {"code": 1, "message": "not today"}}, "initialize with an error .not today"),
        ({"error": {"code": TRANSPORT_ERROR, "message": "answered HTTP 401"}}, "^answered HTTP"),
    ],
)
async def test_a_session_that_is_no_use_is_refused_with_the_reason(
    answer: JsonObject, text: str
) -> None:
    with pytest.raises(SessionRefused, match=text):
        async with session(Server(initialize=answer)):
            pass


async def test_older_revisions_are_understood() -> None:
    old: JsonObject = {**HELLO, "protocolVersion": "2024-11-05"}
    async with session(Server(initialize={"result": old})) as (client, transport):
        assert transport.version == "2024-11-05"
        assert [tool.name for tool in await client.list_tools()] == ["echo"]


async def test_one_bad_tool_is_left_out_and_the_others_stay() -> None:
    found, skipped = await listed(
        ECHO,
        5,
        {"name": ""},
        {"name": "a\nb", "inputSchema": {}},
        {"name": "odd", "inputSchema": "text"},
        {"name": "bad output", "inputSchema": {}, "outputSchema": []},
        {"name": "chatty", "description": "x" * 300_000, "inputSchema": {}},
        {"name": "slow", "inputSchema": {}, "execution": {"taskSupport": "required"}},
        {"name": "bare"},
        {"name": "echo", "description": "a second one"},
    )
    assert [(tool.name, tool.description) for tool in found] == [("echo", ""), ("bare", "")]
    assert len(skipped) == 7


async def test_annotations_and_titles_are_read() -> None:
    hints: JsonObject = {"readOnlyHint": True, "idempotentHint": "yes", "title": "Look"}
    ((found,), _) = await listed({"name": "look", "inputSchema": {}, "annotations": hints})
    assert (found.read_only, found.idempotent, found.description) == (True, False, "Look")
    assert found.says_effects


@pytest.mark.parametrize(
    ("hints", "says"),
    [
        ({"readOnlyHint": False}, True),
        ({"destructiveHint": False}, True),
        ({"title": "Look", "openWorldHint": True}, False),
        ({"readOnlyHint": "no"}, False),
    ],
)
async def test_a_server_says_something_of_effects_by_a_hint_about_them_alone(
    hints: JsonObject, *, says: bool
) -> None:
    ((found,), _) = await listed({"name": "get", "inputSchema": {}, "annotations": hints})
    assert found.says_effects == says


async def test_a_listing_that_is_none_is_refused() -> None:
    async with session(Server(tools_list={"result": {"tools": {}}})) as (client, _):
        with pytest.raises(SessionRefused, match="no list of tools"):
            await client.list_tools()
    with pytest.raises(SessionRefused, match="more than 100 pages"):
        await listed(nextCursor="again")


async def test_a_server_without_tools_is_not_asked_for_them() -> None:
    dumb: JsonObject = {"result": {**HELLO, "capabilities": {}}}
    async with session(Server(initialize=dumb)) as (client, transport):
        assert await client.list_tools() == []
        assert "tools/list" not in transport.methods()


async def test_a_failed_delivery_is_told_from_an_error_of_the_tool() -> None:
    refused: JsonObject = {"error": {"code": -32602, "message": "no such tool"}}
    async with session(Server(tools_call=refused)) as (client, _):
        result = await client.call("echo", {})
        assert result.is_error
        assert result.text == "no such tool"
    failed: JsonObject = {"error": {"code": TRANSPORT_ERROR, "message": "answered HTTP 500"}}
    async with session(Server(tools_call=failed)) as (client, _):
        with pytest.raises(NotDelivered, match="answered HTTP 500"):
            await client.call("echo", {})


async def test_content_of_no_known_form_is_an_error_that_names_it() -> None:
    odd: JsonObject = {"result": {"content": [{"type": "smell"}]}}
    async with session(Server(tools_call=odd)) as (client, _):
        result = await client.call("echo", {})
        assert result.is_error
        assert "type 'smell'" in result.text


PLACE: JsonObject = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/Place"}, "tags": {"type": "array", "maxItems": 2}},
    "required": ["at"],
    "$defs": {
        "Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    },
}


@pytest.mark.parametrize(
    ("schema", "answer", "told"),
    [
        (PLACE, {"structuredContent": {"at": {"x": 1.5}, "tags": [1]}}, None),
        (
            PLACE,
            {"structuredContent": {"at": {"x": "far"}}},
            "['at']['x']: \"far\" is not of type \"number\"",
        ),
        (PLACE, {"structuredContent": {"tags": []}}, 'it: "at" is a required property'),
        (PLACE, {}, "it has no structured content"),
        (PLACE, {"isError": True}, None),
        ({"type": "nonsense"}, {"structuredContent": {}}, None),
        ({"type": "object"}, {}, "it has no structured content"),
        (None, {}, None),
    ],
)
async def test_a_result_is_held_to_its_tools_output_schema(
    schema: Json, answer: JsonObject, told: str | None
) -> None:
    tool: JsonObject = {**ECHO, "outputSchema": schema}
    said: JsonObject = {"content": [{"type": "text", "text": "said"}], **answer}
    server = Server(tools_list={"result": {"tools": [tool]}}, tools_call={"result": said})
    async with session(server) as (client, _):
        await client.list_tools()
        text = (await client.call("echo", {})).text
    promise = "the server's answer does not fit what it promised"
    assert text == ("said" if told is None else f"{promise}: {told}")


async def test_a_call_that_is_not_answered_in_time_is_cancelled() -> None:
    async with session(Server()) as (client, transport):
        with pytest.raises(TimeoutError):
            await client.call("echo", {}, seconds=0.01)
        await asyncio.sleep(0)
        assert transport.methods()[-1] == "notifications/cancelled"


async def test_arguments_that_are_no_text_are_refused() -> None:
    class Strict(FakeTransport):
        async def send(self, message: JsonObject) -> None:
            if message.get("method") == "tools/call":
                raise ValueError("surrogates not allowed")
            await super().send(message)

    client = McpClient(Strict(Server()), SPEC)
    await client.open()
    with pytest.raises(CallRefused, match="arguments of 'echo' can't be said in JSON: surrogates"):
        await client.call("echo", {})
    await client.aclose()


async def test_a_result_over_the_servers_cap_is_cut_with_a_note() -> None:
    long: JsonObject = {"result": {"content": [{"type": "text", "text": "é" * 100}]}}
    spec = replace(SPEC, result_bytes=51)
    async with session(Server(tools_call=long), spec=spec) as (client, _):
        result = await client.call("echo", {})
    assert result.omitted_bytes == 150
    assert result.text.startswith("é" * 25 + "\n[cut: 150 of the result's 200 bytes are left out")


async def test_logs_and_changed_tools_are_told() -> None:
    logs: list[tuple[str, str, str]] = []
    changes: list[int] = []

    def on_log(server: str, level: str, text: str) -> None:
        logs.append((server, level, text))

    hooks = SessionHooks(on_log, lambda: changes.append(1))
    async with session(Server(), hooks) as (_, transport):
        said: list[JsonObject] = [
            {"level": "error", "logger": "db", "data": "gone"},
            {"data": {"a": 1}},
            {"level": 3, "data": "x" * 10_000},
        ]
        for params in said:
            transport.say(notification("message", params))
        transport.say(notification("tools/list_changed", {}))
        transport.say(notification("resources/list_changed", {}))
    assert logs[:2] == [("box", "error", "db: gone"), ("box", "info", '{"a": 1}')]
    assert len(logs[2][2]) == 4000
    assert changes == [1]


def notification(name: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}


async def test_a_question_reaches_the_user_while_no_time_runs() -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Reply:
        asked.append(question)
        return await answer

    answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    async with session(Server(), SessionHooks(ask=ask)) as (client, transport):
        call = asyncio.create_task(client.call("echo", {}, seconds=0.2))
        await asyncio.sleep(0)
        schema: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}
        transport.ask(9, message="who?", requestedSchema=schema)
        done, _ = await asyncio.wait({call}, timeout=0.3)
        assert not done
        answer.set_result(Reply("accept", {"name": "Ada"}))
        with pytest.raises(TimeoutError):
            await call
        assert asked == [Question("box", "who?", schema)]
        reply: JsonObject = {"action": "accept", "content": {"name": "Ada"}}
        assert {"jsonrpc": "2.0", "id": 9, "result": reply} in transport.sent


async def asked_during_calls(calls: int, questions: int, hooks: SessionHooks) -> list[Json]:
    """What becomes of so many questions while so many calls are open."""
    async with session(Server(), hooks) as (client, transport):
        open_calls = [asyncio.create_task(client.call("echo", {}, 5)) for _ in range(calls)]
        await asyncio.sleep(0)
        said = len(transport.sent)
        for number in range(questions):
            transport.ask(number, message="who?" if number else 5)
        await settled()
        for call in open_calls:
            call.cancel()
        return [message["result"] for message in transport.sent[said:]]


async def test_by_default_nobody_is_there_to_be_asked() -> None:
    assert await asked_during_calls(1, 2, SessionHooks()) == [{"action": "decline"}] * 2


async def agree(question: Question) -> Reply:
    return Reply("accept", {})


@pytest.mark.parametrize(("calls", "put"), [(0, 0), (1, 3), (2, 6)])
async def test_a_call_may_ask_three_times_and_that_more_was_declined_is_said_once(
    calls: int, put: int
) -> None:
    logs: list[str] = []
    hooks = SessionHooks(on_log=lambda _, level, text: logs.append(f"{level}: {text}"), ask=agree)
    replies = await asked_during_calls(calls, 12, hooks)
    accepted: Json = {"action": "accept", "content": {}}
    assert len(replies) == 12
    assert replies.count(accepted) == put
    assert logs == ["warning: its questions are declined: at most 3 may be asked for one call"]


async def test_a_question_ends_with_its_call() -> None:
    asked: list[asyncio.Task[None] | None] = []

    async def ask(question: Question) -> Reply:
        asked.append(asyncio.current_task())
        return await asyncio.get_running_loop().create_future()

    async with session(Server(), SessionHooks(ask=ask)) as (client, transport):
        call = asyncio.create_task(client.call("echo", {}, 5))
        await asyncio.sleep(0)
        transport.ask(9, message="who?")
        await settled()
        call.cancel()
        await settled()
        (asking,) = asked
        assert asking is not None
        assert asking.cancelled()
        assert {"jsonrpc": "2.0", "id": 9, "result": {"action": "cancel"}} in transport.sent


async def test_a_list_of_too_many_tools_is_refused_before_it_is_looked_through() -> None:
    items: list[Json] = [1] * (TOOLS_MAX + 1)
    server = Server(tools_list={"result": {"tools": items}})
    async with session(server) as (client, _):
        with pytest.raises(SessionRefused, match="more than 10,000 tools"):
            await client.list_tools()
        assert client.skipped == []


async def test_a_tool_with_a_giant_schema_is_left_out() -> None:
    giant: JsonObject = {"name": "giant", "inputSchema": {"x": "x" * TOOL_BYTES_MAX}}
    found, skipped = await listed(giant, ECHO)
    assert [tool.name for tool in found] == ["echo"]
    assert skipped == ["tool 'giant', whose schema has over 262,144 bytes"]


async def test_a_schema_400_levels_deep_costs_its_tool_alone() -> None:
    deep = '{"properties":{"a":' * 200 + "{}" + "}}" * 200
    line = f'{{"id":1,"result":{{"name":"deep","inputSchema":{deep}}}}}'
    (message,) = messages_in(line.encode())
    found, skipped = await listed(message["result"], ECHO)
    assert [tool.name for tool in found] == ["echo"]
    assert skipped == ["tool 'deep', whose schema is nested over 190 levels deep"]


async def test_definitions_that_are_too_long_all_together_are_refused() -> None:
    description = "x" * TOOL_BYTES_MAX
    count = LISTING_BYTES_MAX // TOOL_BYTES_MAX
    with pytest.raises(SessionRefused, match="definitions of over 16,777,216 bytes"):
        await listed(*({**ECHO, "name": f"t{n}", "description": description} for n in range(count)))


async def test_a_call_within_a_run_names_its_trace_beside_the_token_for_progress() -> None:
    answer: JsonObject = {"result": {"content": []}}

    def ignore(done: float, total: float | None, message: str | None) -> None:
        del done, total, message

    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    async with session(Server(tools_call=answer, ping={"result": {}})) as (client, transport):
        await client.call("echo", {})
        with working(begin(parent, "vendor=1")) as work:
            await client.call("echo", {}, on_progress=ignore)
            await client.ping()
    plain, traced, ping = (message["params"] for message in transport.sent[-3:])
    assert plain == {"name": "echo", "arguments": {}}
    assert isinstance(traced, dict)
    assert traced["_meta"] == {
        "traceparent": f"00-{'a' * 32}-{work.span_id}-01",
        "tracestate": "vendor=1",
        "progressToken": 3,
    }
    assert ping == {}
