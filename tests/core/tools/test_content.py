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
        ((text("5"),), {"result": 5}, 5),
        ((text("True"),), {"result": True}, True),
        ((text("a"), text("b")), {"result": ["a", "b"]}, ["a", "b"]),
        ((text('{\n  "a": 1.5\n}'),), {"a": 1.5}, {"a": 1.5}),
        (
            (text("lines: 2, name: a.txt"),),
            {"name": "a.txt", "lines": 2},
            {"name": "a.txt", "lines": 2},
        ),
        ((text("one\ntwo"),), {"lines": 2}, {"lines": 2, "text": "one\ntwo"}),
        ((text("one\ntwo"),), {"text": "x"}, {"text": "x", "text_": "one\ntwo"}),
        ((text("one\ntwo"),), {"result": {"n": 2}}, {"result": {"n": 2}, "text": "one\ntwo"}),
        ((text("one\ntwo"),), {"result": 2}, {"result": 2, "text": "one\ntwo"}),
        ((text("one\ntwo"),), {}, "one\ntwo"),
        ((text("one\ntwo"),), {"result": None}, "one\ntwo"),
        ((text('{"a": 1}'),), {}, {"a": 1}),
        ((text(" "),), {"a": 1}, {"a": 1}),
        (
            (text('{"a": "\\u00e9\\n\\u2028", "b": [1e3]}'),),
            {"a": "é\n\u2028", "b": [1000.0]},
            {"a": "é\n\u2028", "b": [1000.0]},
        ),
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


@pytest.mark.parametrize(
    ("structured", "value"),
    [
        ({"result": 2}, 2),
        ({"result": False}, False),
        ({"result": "x"}, "x"),
        ({"result": None}, None),
        ({"lines": 2}, {"lines": 2, "text": "one\ntwo"}),
        ({}, {"text": "one\ntwo"}),
    ],
)
def test_what_a_tool_promises_keeps_its_type_whatever_text_comes_beside_it(
    structured: JsonObject, value: Json
) -> None:
    assert ToolResult((text("one\ntwo"),), structured, is_promised=True).value == value


@pytest.mark.parametrize("long", ["x" * 100_000, "w " * 50_000])
def test_long_text_beside_structured_content_is_no_json_of_it(long: str) -> None:
    assert ToolResult((text(long),), {"a": 1}).value == {"a": 1, "text": long}
    many: JsonObject = {"a": [*range(6_000)]}
    assert ToolResult((text('{"a": [0, …'),), many).value == many


@pytest.mark.parametrize(
    ("content", "structured", "told"),
    [
        ((text("no rights"),), {"code": 7}, "no rights"),
        ((text(""),), {"code": 7}, '{"code": 7}'),
        ((), {"reason": "full"}, '{"reason": "full"}'),
        ((), None, ""),
        ((), {}, ""),
    ],
)
def test_an_error_says_its_text_or_else_its_structured_content(
    content: tuple[ContentBlock, ...], structured: JsonObject | None, told: str
) -> None:
    assert ToolResult(content, structured, is_error=True).error_text == told
