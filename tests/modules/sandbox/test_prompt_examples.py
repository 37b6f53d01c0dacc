"""The plans that the prompts show pass the static check and run, with tools of those names."""

import json
import re

import pytest

from config.settings import ROOT
from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, FurtherProcessing, Plan
from core.values import Json, JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox

_FENCED = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

NUMBER: JsonObject = {"type": "number"}
TEXT: JsonObject = {"type": "string"}


def catalog(*, is_wrapped: bool) -> ToolCatalog:
    """The tools that the examples call; `is_wrapped` has arguments in `input`, as our server."""
    codes: JsonObject = {"type": "array", "items": {"type": "integer"}}
    tools: dict[str, tuple[JsonObject, JsonObject]] = {
        "multiply": ({"a": NUMBER, "b": NUMBER}, NUMBER),
        "factorial": ({"a": NUMBER}, NUMBER),
        "sin": ({"a": NUMBER}, NUMBER),
        "cos": ({"a": NUMBER}, NUMBER),
        "strings_to_chars_to_int": ({"string": TEXT}, codes),
        "int_list_to_exponential_sum": ({"numbers": codes}, NUMBER),
        "read_text_file": ({"path": TEXT}, TEXT),
        "list_directory": ({"path": TEXT}, TEXT),
        "convert_time": ({"source_timezone": TEXT, "time": TEXT, "target_timezone": TEXT}, TEXT),
        "search_stored_documents": ({"query": TEXT}, TEXT),
        "duckduckgo_search_results": ({"query": TEXT, "max_results": NUMBER}, TEXT),
        "convert_webpage_url_into_markdown": ({"url": TEXT}, TEXT),
    }
    return ToolCatalog(
        [_spec(name, *types, is_wrapped=is_wrapped) for name, types in tools.items()]
    )


def _spec(name: str, arguments: JsonObject, result: JsonObject, *, is_wrapped: bool) -> ToolSpec:
    flat: JsonObject = {"type": "object", "properties": arguments, "additionalProperties": False}
    wrapped: JsonObject = {"type": "object", "properties": {"input": flat}, "required": ["input"]}
    output: JsonObject = {"type": "object", "properties": {"result": result}}
    return ToolSpec("bench", name, f"{name}.", wrapped if is_wrapped else flat, output)


RESULTS: dict[str, Json] = {
    "multiply": 391,
    "factorial": 120,
    "sin": 0.84,
    "cos": 0.54,
    "strings_to_chars_to_int": [72, 69],
    "int_list_to_exponential_sum": 1.5,
    "read_text_file": "text",
    "list_directory": "[FILE] anna.txt",
    "convert_time": "07:00",
    "duckduckgo_search_results": "found",
    "convert_webpage_url_into_markdown": "page",
}


async def answer(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """What each gives; the stored documents can't be searched."""
    if tool.name not in RESULTS:
        raise CallRefused("no index")
    value: JsonObject = {"result": RESULTS[tool.name]}
    return ToolResult((TextBlock(json.dumps(value)),), value)


@pytest.mark.parametrize(("style", "count"), [("tools", 15), ("mcp", 14)])
@pytest.mark.parametrize("is_wrapped", [True, False])
async def test_every_example_runs_as_it_is_written(
    style: str, count: int, *, is_wrapped: bool
) -> None:
    text = (ROOT / "prompts" / f"plan_examples_{style}.txt").read_text(encoding="utf-8")
    examples: list[str] = _FENCED.findall(text)
    assert len(examples) == count
    repaired: list[str] = []

    async def on_repaired(repairs: tuple[str, ...]) -> None:
        repaired.extend(repairs)

    async with Sandbox() as sandbox:
        for example in examples:
            ran = await run_plan(
                Plan(example), catalog(is_wrapped=is_wrapped), answer, sandbox, on_repaired
            )
            assert isinstance(ran, FinalAnswer | FurtherProcessing), (example, ran)
    assert repaired == []
