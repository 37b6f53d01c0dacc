"""Results as values: every kind of content, and how one over the cap is cut."""

import pytest

from core.base.json_text import MESSAGE_PARTS_MAX
from core.mcp.decode import BLOCKS_MAX, Malformed, tool_result
from core.tools.content import (
    AudioBlock,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    ToolResult,
)
from core.values import Json, JsonObject


def result(*blocks: Json, cap: int = 1000, **rest: Json) -> ToolResult:
    return tool_result({"content": [*blocks], **rest}, cap)


@pytest.mark.parametrize(
    ("raw", "block"),
    [
        ({"type": "text", "text": "hi", "annotations": {"priority": 1}}, TextBlock("hi")),
        (
            {"type": "image", "data": "aW0=", "mimeType": "image/png"},
            ImageBlock("aW0=", "image/png"),
        ),
        ({"type": "audio", "data": "YQ=="}, AudioBlock("YQ==", "application/octet-stream")),
        (
            {"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": "text/plain"}},
            ResourceBlock("a:b", "x", None, "text/plain"),
        ),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": "eA=="}},
            ResourceBlock("a:b", None, "eA==", None),
        ),
        (
            {"type": "resource_link", "uri": "a:b", "name": "n", "description": "d", "size": 5},
            LinkBlock("a:b", "n", "d", None, 5),
        ),
    ],
)
def test_every_kind_of_content_is_a_value_of_its_own(raw: JsonObject, block: object) -> None:
    assert result(raw).content == (block,)


@pytest.mark.parametrize(
    "raw", [None, "text", {}, {"type": "text"}, {"type": "image"}, {"type": "resource"}]
)
def test_content_without_what_belongs_to_it_is_malformed(raw: Json) -> None:
    with pytest.raises(Malformed):
        result(raw)
    with pytest.raises(Malformed):
        tool_result({"content": raw}, 10) if raw is not None else result(raw)


def test_structured_content_stays_an_object() -> None:
    assert result(structuredContent={"a": 1}).structured == {"a": 1}
    assert result(structuredContent=[1]).structured == {"result": [1]}
    assert tool_result({}, 10) == ToolResult(())


def test_an_error_is_a_value() -> None:
    assert result({"type": "text", "text": "no"}, isError=True).is_error
    assert not result(isError="yes").is_error


def test_text_over_the_cap_is_cut_and_binary_data_left_out() -> None:
    text: JsonObject = {"type": "text", "text": "a" * 30}
    image: JsonObject = {"type": "image", "data": "A" * 40, "mimeType": "image/png"}
    cut = result(text, image, text, cap=50)
    assert cut.content[:2] == (TextBlock("a" * 30), TextBlock("a" * 20))
    assert cut.omitted_bytes == 50
    assert "[cut: 50 of the result's 100 bytes are left out, over the limit of 50" in cut.text


def test_structured_content_over_the_cap_is_left_out_whole() -> None:
    long: Json = list[Json](["b" * 20] * 9)
    cut = result({"type": "text", "text": "short"}, structuredContent={"a": long}, cap=50)
    assert cut.structured is None
    assert cut.value == cut.text
    assert "left out" in cut.text


def test_a_result_at_the_cap_is_whole() -> None:
    assert result({"type": "text", "text": "a" * 50}, cap=50).omitted_bytes == 0


def test_blocks_without_end_are_bounded() -> None:
    empty: Json = {"type": "text", "text": ""}
    assert len(result(*[empty] * (BLOCKS_MAX + 5)).content) == BLOCKS_MAX + 1


def test_a_media_type_too_long_to_be_one_is_none() -> None:
    image: JsonObject = {"type": "image", "data": "AA==", "mimeType": "image/" + "x" * 10**6}
    assert result(image).content == (ImageBlock("AA==", "application/octet-stream"),)


def test_text_that_is_json_is_a_value_unless_it_holds_too_much() -> None:
    few, many = ('{"a":[' + "[]," * count + "[]]}" for count in (3, MESSAGE_PARTS_MAX // 2))
    assert ToolResult((TextBlock(few),)).value == {"a": [[], [], [], []]}
    assert ToolResult((TextBlock(many),)).value == many
