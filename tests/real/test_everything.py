"""The reference server that shows every feature of the protocol, over both transports.

Content of all kinds, annotations, progress, cancellation, logs, and questions to the user.
"""

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack

import pytest
import pytest_asyncio

from core.mcp.hooks import Reply
from core.tools.content import ImageBlock, LinkBlock, ResourceBlock, TextBlock
from tests.real.over_http import over_http
from tests.real.parts import npm_server
from tests.real.sessions import ONLY_AS_A_TASK, Session, assert_all_described, session

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS = [
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
]
"""What the server offers to any client; more to one that says what it can do."""

LONG = "trigger-long-running-operation"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", name="up", params=["stdio", "streamable HTTP"]
)
async def _up(request: pytest.FixtureRequest) -> AsyncGenerator[Session]:
    with ExitStack() as web:
        spec = npm_server("everything")
        if request.param != "stdio":
            spec = web.enter_context(over_http(spec))
        async with session(spec) as up:
            yield up


async def test_all_tools_are_listed_and_described(up: Session) -> None:
    tools = up.tools_of("everything")
    assert tools[: len(ALWAYS)] == ALWAYS
    # Offered because we say that a user can be asked.
    assert "trigger-elicitation-request" in tools
    assert_all_described(up.multi)


async def test_annotations_tell_which_tools_may_be_repeated(up: Session) -> None:
    by_name = up.multi.tool_map
    echo, toggle = by_name["echo"], by_name["toggle-simulated-logging"]
    assert (echo.read_only, echo.idempotent) == (True, True)
    assert (toggle.read_only, toggle.idempotent) == (False, False)
    assert by_name["gzip-file-as-resource"].read_only is False


async def test_text_arrives_as_it_was_sent(up: Session) -> None:
    message = 'ünï "quoted" \\ \u2028 {braces}\n\t🌍'
    result = await up.multi.call_tool("echo", {"message": message})
    assert result.content == (TextBlock(f"Echo: {message}"),)
    assert (await up.multi.call_tool("get-sum", {"a": 2, "b": 0.5})).value == (
        "The sum of 2 and 0.5 is 2.5."
    )


async def test_an_image_arrives_between_its_texts(up: Session) -> None:
    before, image, after = (await up.multi.call_tool("get-tiny-image", {})).content
    assert isinstance(before, TextBlock)
    assert isinstance(after, TextBlock)
    assert isinstance(image, ImageBlock)
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data).startswith(PNG)


async def test_content_with_annotations_arrives_like_any_other(up: Session) -> None:
    arguments = {"messageType": "error", "includeImage": True}
    text, image = (await up.multi.call_tool("get-annotated-message", {**arguments})).content
    assert text == TextBlock("Error: Operation failed")
    assert isinstance(image, ImageBlock)


@pytest.mark.parametrize("kind", ["Text", "Blob"])
async def test_an_embedded_resource_arrives_as_text_or_as_data(up: Session, kind: str) -> None:
    arguments = {"resourceType": kind, "resourceId": 7}
    _, resource, _ = (await up.multi.call_tool("get-resource-reference", {**arguments})).content
    assert isinstance(resource, ResourceBlock)
    assert resource.uri == f"demo://resource/dynamic/{kind.lower()}/7"
    assert resource.mime_type == "text/plain"
    said = resource.text if kind == "Text" else base64.b64decode(resource.data or "").decode()
    assert said is not None
    assert said.startswith("Resource 7: ")


async def test_resource_links_arrive_with_name_and_description(up: Session) -> None:
    _, *links = (await up.multi.call_tool("get-resource-links", {"count": 2})).content
    assert links == [
        LinkBlock(
            "demo://resource/dynamic/blob/1",
            "Blob Resource 1",
            "Resource 1: plaintext resource",
            "text/plain",
        ),
        LinkBlock(
            "demo://resource/dynamic/text/2",
            "Text Resource 2",
            "Resource 2: plaintext resource",
            "text/plain",
        ),
    ]


async def test_a_binary_resource_survives_the_way(up: Session) -> None:
    plain = bytes(range(256)) * 40
    data = f"data:application/octet-stream;base64,{base64.b64encode(plain).decode()}"
    arguments = {"name": "all-bytes.gz", "data": data, "outputType": "resource"}
    (resource,) = (await up.multi.call_tool("gzip-file-as-resource", {**arguments})).content
    assert isinstance(resource, ResourceBlock)
    assert gzip.decompress(base64.b64decode(resource.data or "")) == plain


async def test_structured_content_fits_its_schema_and_is_the_value(up: Session) -> None:
    tool = up.multi.tool_map["get-structured-content"]
    assert tool.output_schema is not None
    result = await up.multi.call_tool(tool.name, {"location": "Chicago"})
    weather = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
    assert (result.structured, result.value) == (weather, weather)
    assert json.loads(result.text) == weather


async def test_wrong_arguments_are_an_error_value_and_the_session_goes_on(up: Session) -> None:
    unfit = await up.multi.call_tool("get-sum", {"a": "one", "b": 2})
    assert unfit.is_error
    assert "expected number" in unfit.text
    assert not (await up.multi.call_tool("get-sum", {"a": 1, "b": 2})).is_error


async def test_progress_is_heard_step_by_step(up: Session) -> None:
    heard: list[tuple[float, float | None]] = []
    result = await up.multi.call_tool(
        LONG,
        {"duration": 0.1, "steps": 4},
        lambda done, total, text: heard.append((done, total)),
    )
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert "Steps: 4" in result.text


async def test_calls_run_side_by_side_and_each_hears_of_its_own(up: Session) -> None:
    heard: dict[int, list[float]] = {2: [], 3: [], 5: []}
    under_way_at_first_end: set[int] = set()

    async def call(steps: int) -> str:
        def note(done: float, total: float | None, text: str | None) -> None:
            heard[steps].append(done)
            if done == total and not under_way_at_first_end:
                under_way_at_first_end.update(steps for steps, marks in heard.items() if marks)

        arguments = {"duration": 0.3, "steps": steps}
        return (await up.multi.call_tool(LONG, {**arguments}, note)).text

    texts = await asyncio.gather(*(call(steps) for steps in heard))
    assert heard == {2: [1, 2], 3: [1, 2, 3], 5: [1, 2, 3, 4, 5]}
    assert under_way_at_first_end == {2, 3, 5}
    assert all(f"Steps: {n}" in text for n, text in zip(heard, texts, strict=True))


async def test_a_cancelled_call_ends_at_once_and_the_session_answers_on(up: Session) -> None:
    started = asyncio.Event()
    arguments = {"duration": 30, "steps": 300}
    call = asyncio.create_task(
        up.multi.call_tool(LONG, {**arguments}, lambda done, total, text: started.set())
    )
    async with asyncio.timeout(10):
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await up.multi.call_tool("echo", {"message": "on"})).text == "Echo: on"
    assert up.multi.failures == {}


async def test_logs_reach_the_person(up: Session) -> None:
    async with asyncio.timeout(10):
        await up.multi.call_tool("toggle-simulated-logging", {})
        log = await up.person.log_like(r"^\w+[- ]level[- ]message")
        await up.multi.call_tool("toggle-simulated-logging", {})
    assert log.server == "everything"
    # The server chooses level and text at random, but the one names the other.
    assert log.text.lower().startswith(log.level)


async def test_a_question_is_answered_by_the_person(up: Session) -> None:
    up.person.reply = Reply("accept", {"name": "Ada", "check": True, "integer": 7})
    async with asyncio.timeout(10):
        result = await up.multi.call_tool("trigger-elicitation-request", {})
    question = up.person.questions.pop()
    assert (question.server, question.url) == ("everything", None)
    assert question.message == "Please provide inputs for the following fields:"
    properties = question.fields["properties"]
    assert isinstance(properties, dict)
    assert {"name", "check", "integer", "titledMultipleSelectEnum"} <= set(properties)
    assert question.fields["required"] == ["name"]
    assert "- Name: Ada" in result.text
    assert "- Agreed to terms: true" in result.text
    assert "- Favorite Integer: 7" in result.text


@pytest.mark.parametrize(
    ("reply", "told"),
    [(Reply("decline"), "User declined"), (Reply("cancel"), "User cancelled")],
)
async def test_a_refused_question_is_told_to_the_server(
    up: Session, reply: Reply, told: str
) -> None:
    up.person.reply = reply
    async with asyncio.timeout(10):
        result = await up.multi.call_tool("trigger-elicitation-request", {})
    assert told in result.text
    assert not result.is_error


async def test_a_question_may_be_an_address_to_go_to(up: Session) -> None:
    up.person.reply = Reply("accept")
    address = "https://example.invalid/consent"
    arguments = {"url": address, "message": "Agree there, please"}
    async with asyncio.timeout(10):
        result = await up.multi.call_tool("trigger-url-elicitation", {**arguments})
    question = up.person.questions.pop()
    assert (question.url, question.message) == (address, "Agree there, please")
    assert "User completed" in result.text


async def test_a_tool_that_only_runs_as_a_task_is_left_out_and_that_is_told(up: Session) -> None:
    assert "simulate-research-query" not in up.tools_of("everything")
    (notice,) = up.person.notices
    assert "simulate-research-query" in notice
    assert ONLY_AS_A_TASK in notice
