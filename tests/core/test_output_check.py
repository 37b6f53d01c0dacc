"""Results against output schemas; what may trap the check is in test_schema_check."""

import pytest

from core.content import TextBlock, ToolResult
from core.mcp.output_check import OutputChecks
from core.tool_spec import ToolSpec
from core.values import JsonObject

NESTED: JsonObject = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/Place"}, "tags": {"type": "array", "maxItems": 2}},
    "required": ["at"],
    "$defs": {
        "Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    },
}


def breach(schema: JsonObject, value: JsonObject | None, *, is_error: bool = False) -> str | None:
    checks = OutputChecks()
    checks.learn([ToolSpec("box", "t", "", {}, schema), ToolSpec("box", "free", "", {})])
    assert checks.breach("free", ToolResult(())) is None
    return checks.breach("t", ToolResult((TextBlock("x"),), value, is_error))


def test_a_result_that_fits_has_no_breach() -> None:
    assert breach(NESTED, {"at": {"x": 1.5}, "tags": [1]}) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"at": {"x": "far"}}, "['at']['x']: \"far\" is not of type \"number\""),
        ({"tags": []}, 'it: "at" is a required property'),
        (None, "it has no structured content"),
    ],
)
def test_a_breach_names_its_place(value: JsonObject | None, text: str) -> None:
    assert breach(NESTED, value) == text


def test_an_error_promises_nothing() -> None:
    assert breach(NESTED, None, is_error=True) is None


def test_a_schema_that_is_none_promises_nothing_beyond_structured_content() -> None:
    assert breach({"type": "nonsense"}, {}) is None
    assert breach({"type": "object"}, None) == "it has no structured content"
