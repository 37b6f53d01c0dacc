"""Tools with typed arguments and results, for tests of what is checked before a plan runs."""

import json

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import FailureKind
from core.values import Json, JsonObject
from modules.planning.preparation import prepare_plan

NUMBER: JsonObject = {"type": "number"}
TEXT: JsonObject = {"type": "string"}


def typed(
    name: str,
    arguments: JsonObject,
    result: JsonObject | None = None,
    *,
    required: tuple[str, ...] | None = None,
    server: str = "math",
) -> ToolSpec:
    """A tool whose result is of the schema `result`, wrapped as `{"result": …}`."""
    inputs: JsonObject = {
        "type": "object",
        "properties": arguments,
        "required": [*(arguments if required is None else required)],
        "additionalProperties": False,
    }
    output: JsonObject | None = None
    if result is not None:
        output = {"type": "object", "properties": {"result": result}, "required": ["result"]}
    return ToolSpec(server, name, f"{name}.", inputs, output)


_WEATHER: JsonObject = {
    "type": "object",
    "properties": {"temperature": NUMBER, "place": TEXT, "result": NUMBER},
    "required": ["temperature"],
}

TYPED = ToolCatalog(
    [
        typed("add", {"a": NUMBER, "b": NUMBER}, NUMBER),
        typed("codes", {"text": TEXT}, {"type": "array", "items": {"type": "integer"}}),
        typed("is_even", {"n": {"type": "integer"}}, {"type": "boolean"}),
        typed("maybe", {}, {"anyOf": [NUMBER, {"type": "null"}]}),
        typed("either", {}, {"type": ["number", "object"]}),
        typed("search", {"query": TEXT, "limit": {"type": "integer"}}, TEXT, required=("query",),
              server="web"),
        typed("page", {"url": TEXT}, server="web"),
        typed("store", {"item": {"type": "object"}}, server="web"),
        ToolSpec("web", "weather", "Weather.", {"type": "object", "properties": {}}, _WEATHER),
        ToolSpec("web", "loose", "Loose.", {"type": "object", "properties": {}},
                 {"type": "object", "properties": {"result": NUMBER}}),
    ]
)  # fmt: skip
"""Tools of each type of result; `page` promises none, `either` and `loose` too little."""

_RESULTS: dict[str, Json] = {
    "codes": [65, 66],
    "is_even": True,
    "maybe": None,
    "either": 1,
    "search": "found",
    "page": "text",
}


async def call_typed(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """Answers as the schemas promise; `add` adds."""
    value: Json = _RESULTS.get(tool.name)
    match tool.name, arguments:
        case "add", {"a": int() as a, "b": int() as b}:
            value = a + b
        case "page", {"url": "object"}:
            return ToolResult((TextBlock('{"a": 1}'),))
        case "page", {"url": "list"}:
            return ToolResult((TextBlock("[2]"),))
        case "weather", _:
            return ToolResult((TextBlock("cold"),), {"temperature": 3, "place": "Oslo"})
        case _:
            pass
    return ToolResult((TextBlock(json.dumps({"result": value})),), {"result": value})


def repaired_plan(plan: str, tools: ToolCatalog) -> tuple[str, tuple[str, ...]]:
    """A plan after its repairs, and what was repaired."""
    prepared = prepare_plan(plan, tools)
    return prepared.source, prepared.repairs


def assert_found(
    plan: str, kind: FailureKind, line: int | None, words: str, tools: ToolCatalog = TYPED
) -> None:
    """The check finds this mistake in a plan, and quotes its line."""
    failure = prepare_plan(plan, tools).failure
    assert failure is not None
    assert (failure.kind, failure.line) == (kind, line)
    assert words in failure.message
    if line is not None:
        given = plan.split("\n")[line - 1].strip()
        assert failure.line_text == (given if len(given) <= 200 else f"{given[:199]}…")
