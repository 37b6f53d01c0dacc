"""What a tool's result is to a plan."""

import pytest

from core.tools.content import ContentBlock, ImageBlock, TextBlock, ToolResult
from core.values import Json, JsonObject


def text(content: str) -> ContentBlock:
    return TextBlock(content)


IMAGE = ImageBlock("aGk=", "image/png")
IMAGE_VALUE: JsonObject = {
    "type": "image",
    "text": None,
    "data": "aGk=",
    "mime_type": "image/png",
    "uri": None,
}


@pytest.mark.parametrize(
    ("content", "structured", "value"),
    [
        ((), {"result": 5}, 5),
        ((), {"result": None}, None),
        ((), {"result": {"result": 1}}, {"result": 1}),
        ((), {"result": 5, "unit": "m"}, {"result": 5, "unit": "m"}),
        ((), {}, {}),
        ((text("ignored"),), {"result": 5}, 5),
        ((text("hello"),), None, "hello"),
        ((text("a"), text("b")), None, "a\nb"),
        ((text(""),), None, ""),
        ((text("7"),), None, "7"),
        ((text("[1, 2]"),), None, "[1, 2]"),
        ((text('{"result": [1]}'),), None, [1]),
        ((text(' \n{"a": 1}'),), None, {"a": 1}),
        ((text('{"a": 1} and more'),), None, '{"a": 1} and more'),
        ((text("{not json}"),), None, "{not json}"),
        ((text('{"a": 1}'), text('{"a": 2}')), None, '{"a": 1}\n{"a": 2}'),
        ((), None, []),
        ((IMAGE,), None, [IMAGE_VALUE]),
        (
            (text("see"), IMAGE),
            None,
            [{**dict.fromkeys(IMAGE_VALUE), "type": "text", "text": "see"}, IMAGE_VALUE],
        ),
    ],
)
def test_a_result_arrives_in_a_plan_as_its_value(
    content: tuple[ContentBlock, ...], structured: JsonObject | None, value: Json
) -> None:
    assert ToolResult(content, structured).value == value


@pytest.mark.parametrize("hostile", ['{"a":' * 100_000, f'{{"a": {"9" * 5000}}}'])
def test_text_that_no_parser_can_take_stays_text(hostile: str) -> None:
    assert ToolResult((text(hostile),)).value == hostile


def test_the_text_of_a_result_is_its_text_blocks() -> None:
    assert ToolResult((text("a"), IMAGE, text("b"))).text == "a\nb"
    assert ToolResult((IMAGE,)).text == ""
