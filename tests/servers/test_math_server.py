"""The math server as a client sees it: a real process, the SDK's own client, legacy handshake.

The SDK is imported where a test runs: it takes a second, and every worker collects every file.
"""

import base64
import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal
from PIL import Image

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

    Caller = Callable[[str, dict[str, object]], CallToolResult]

ROOT = Path(__file__).parents[2]
ANSWER_TIMEOUT_SECONDS = 20.0

TOOL_NAMES = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "cbrt",
    "factorial",
    "remainder",
    "sin",
    "cos",
    "tan",
    "strings_to_chars_to_int",
    "int_list_to_exponential_sum",
    "fibonacci_numbers",
    "create_thumbnail",
]


@pytest.fixture(scope="module")
def session() -> Iterator["tuple[Caller, list[Tool]]"]:
    """One server process for the module: how to call it, and its list of tools.

    The client lives in a thread of its own, where one task opens and closes it.
    """
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "servers.math_server"], cwd=ROOT
    )
    client = Client(server, mode="legacy", read_timeout_seconds=ANSWER_TIMEOUT_SECONDS)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        tools = portal.call(client.list_tools).tools
        yield lambda name, arguments: portal.call(client.call_tool, name, arguments), tools


@pytest.fixture
def call(session: "tuple[Caller, list[Tool]]") -> "Caller":
    return session[0]


def text_of(result: "CallToolResult") -> str:
    from mcp_types import TextContent

    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


def test_the_tools_of_the_contract_are_listed_with_descriptions_and_hints(
    session: "tuple[Caller, list[Tool]]",
) -> None:
    tools = session[1]
    assert [tool.name for tool in tools] == TOOL_NAMES
    for tool in tools:
        assert list(tool.input_schema["properties"]) == ["input"]
        assert tool.output_schema is not None
        assert list(tool.output_schema["properties"]) == ["result"]
        assert tool.description is not None
        assert len(tool.description.splitlines()) == 1
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.annotations.idempotent_hint


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("add", {"a": "1", "b": 2.5}, 3.5),
        ("subtract", {"a": 10**30, "b": 1}, 10**30 - 1),
        ("multiply", {"a": 6, "b": 7}, 42),
        ("divide", {"a": 6, "b": 3}, 2.0),
        ("power", {"a": 2, "b": 14284}, 2**14284),
        ("cbrt", {"a": -27}, -3),
        ("factorial", {"a": 5.0}, 120),
        ("remainder", {"a": -7, "b": 3}, 2),
        ("sin", {"a": 1}, math.sin(1)),
        ("cos", {"a": 0}, 1.0),
        ("tan", {"a": 0.5}, math.tan(0.5)),
        ("strings_to_chars_to_int", {"string": "😀"}, [128512]),
        ("int_list_to_exponential_sum", {"numbers": [73, 78, 68, 73, 65]}, 7.599822246093079e33),
        ("int_list_to_exponential_sum", {"numbers": [0] * 100_000}, 100_000.0),
        ("fibonacci_numbers", {"n": 7}, [0, 1, 1, 2, 3, 5, 8]),
    ],
)
def test_a_tool_answers_the_same_in_structure_and_in_text(
    call: "Caller", tool: str, arguments: dict[str, object], expected: object
) -> None:
    result = call(tool, {"input": arguments})
    assert not result.is_error
    assert result.structured_content == {"result": expected}
    answer = json.loads(text_of(result))["result"]
    assert (answer, type(answer)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("divide", {"a": 1, "b": 0}, "divide: can't divide 1 by zero; give a b that is not 0"),
        ("remainder", {"a": 1, "b": 0}, "remainder: can't take the remainder"),
        ("power", {"a": 2, "b": 20000}, "power: 2 to the power 20000 is a whole number of more"),
        ("factorial", {"a": -1}, "factorial: the negative number -1 has no factorial"),
        ("factorial", {"a": 2.5}, "factorial: a must be a whole number, not 2.5"),
        ("int_list_to_exponential_sum", {"numbers": [710]}, "int_list_to_exponential_sum: e to"),
        (
            "int_list_to_exponential_sum",
            {"numbers": [1, "x"]},
            "int_list_to_exponential_sum: numbers.1 must be a number such as 3 or 2.5, not 'x'",
        ),
        ("int_list_to_exponential_sum", {"numbers": [0] * 100_001}, "int_list_to_exponential_sum:"),
        ("fibonacci_numbers", {"n": 10**6}, "fibonacci_numbers: 1000000 Fibonacci numbers are too"),
        ("add", {"a": True, "b": 2}, "add: a must be a number such as 3 or 2.5, not true"),
        ("add", {"a": 1, "c": 2}, "add: the argument b is missing; there is no argument c"),
        ("strings_to_chars_to_int", {"string": 7}, "strings_to_chars_to_int: string: Input should"),
        ("create_thumbnail", {"image_path": "no.png"}, "create_thumbnail: there is no file no.png"),
        ("create_thumbnail", {"image_path": "servers"}, "create_thumbnail: servers is a folder"),
    ],
)
def test_a_wrong_call_gets_a_sentence_and_not_a_traceback(
    call: "Caller", tool: str, arguments: dict[str, object], message: str
) -> None:
    result = call(tool, {"input": arguments})
    assert result.is_error
    assert text_of(result).startswith(message)
    assert "Traceback" not in text_of(result)
    assert "pydantic" not in text_of(result)


def test_arguments_without_their_wrapper_are_explained(call: "Caller") -> None:
    unwrapped: list[dict[str, object]] = [{"a": 1, "b": 2}, {}, {"input": [1, 2]}]
    for arguments in unwrapped:
        result = call("add", arguments)
        assert result.is_error
        assert text_of(result).endswith('must be wrapped in one object: {"input": {…}}')


def test_an_unknown_tool_is_an_error_of_the_call_only(call: "Caller") -> None:
    assert call("conquer", {"input": {}}).is_error
    assert call("add", {"input": {"a": 1, "b": 1}}).structured_content == {"result": 2}


def test_a_thumbnail_comes_as_an_image_with_its_size_in_words(
    call: "Caller", tmp_path: Path
) -> None:
    from mcp_types import ImageContent

    Image.new("RGB", (640, 480), (10, 20, 30)).save(tmp_path / "photo.jpg")

    result = call("create_thumbnail", {"input": {"image_path": str(tmp_path / "photo.jpg")}})

    _, image = result.content
    assert isinstance(image, ImageContent)
    assert image.mime_type == "image/png"
    png = base64.b64decode(image.data)
    with Image.open(io.BytesIO(png)) as picture:
        assert (picture.format, picture.size) == ("PNG", (100, 75))
    assert json.loads(text_of(result)) == result.structured_content
    assert result.structured_content == {
        "result": {
            "format": "png",
            "width": 100,
            "height": 75,
            "original_width": 640,
            "original_height": 480,
            "size_bytes": len(png),
        }
    }
