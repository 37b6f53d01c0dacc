"""Real replies of models, the tools that they were told of, and what becomes of their plans."""

import asyncio
import json
import math
from pathlib import Path
from typing import assert_never

from core.ports import ModelReply, NativeToolCall
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    NoPlan,
    Plan,
    PlanFailed,
    Unanswered,
)
from core.values import Json, JsonObject
from modules.action import Prepare, run_plan
from modules.planning.preparation import prepare_plan
from modules.planning.reply.extraction import find_plan
from modules.sandbox import Sandbox
from tests.modules.planning.plan_tools import NUMBER, TEXT, typed
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS

REPLIES = Path(__file__).parents[3] / "fixtures" / "model_replies"
PAGE = "A long page. " * 60

NUMBERS: JsonObject = {"type": "array", "items": {"type": "integer"}}
TWO: JsonObject = {"a": NUMBER, "b": NUMBER}

TOOLS = ToolCatalog(
    [
        *(typed(name, TWO, NUMBER) for name in ("add", "subtract", "multiply", "divide", "power")),
        typed("remainder", TWO, NUMBER),
        *(
            typed(name, {"a": NUMBER}, NUMBER)
            for name in ("sin", "cos", "tan", "cbrt", "factorial")
        ),
        typed("fibonacci_numbers", {"n": {"type": "integer"}}, NUMBERS),
        typed("strings_to_chars_to_int", {"string": TEXT}, NUMBERS),
        typed("int_list_to_exponential_sum", {"numbers": NUMBERS}, NUMBER),
        typed("search_stored_documents", {"query": TEXT}, TEXT, server="documents"),
        typed("convert_webpage_url_into_markdown", {"url": TEXT}, TEXT, server="websearch"),
        typed("duckduckgo_search_results", {"query": TEXT}, TEXT, server="websearch"),
        typed("create_thumbnail", {"image_path": TEXT}, {"type": "object"}),
        typed("read_file", {"path": TEXT}, server="files"),
        typed("get_weather", {"city": TEXT}, server="weather"),
        typed("odd", {"user-id": TEXT, "class": NUMBER}, NUMBER, required=(), server="third-party"),
    ]
)


def value_of(name: str, arguments: JsonObject) -> Json:
    """What a tool of that name gives."""
    match name, [*arguments.values()]:
        case (("add" | "subtract" | "multiply" | "divide" | "remainder"), [int(a), int(b)]):
            return {"add": a + b, "subtract": a - b, "multiply": a * b}.get(
                name, a / b if name == "divide" else a % b
            )
        case "sin" | "cos", [float(a)]:
            return round((math.sin if name == "sin" else math.cos)(a), 4)
        case "cbrt", [int(a)]:
            return round(math.cbrt(a), 9)
        case "factorial", [int(a)]:
            return math.factorial(a)
        case "fibonacci_numbers", [10]:
            return [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
        case "convert_webpage_url_into_markdown", _:
            return PAGE
        case "get_weather", [city]:
            return f"{city}: sunny"
        case _:
            return len(arguments)


async def answer(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """A tool's result; text alone where its schema promises nothing."""
    value = value_of(tool.name, arguments)
    if tool.output_schema is None:
        return ToolResult((TextBlock(str(value)),))
    return ToolResult((TextBlock(json.dumps({"result": value})),), {"result": value})


def reply_in(file: str) -> ModelReply:
    """A real reply: what stands behind the note of which model wrote it at which prompt."""
    note, _, text = (REPLIES / file).read_text(encoding="utf-8").partition("\n---\n")
    return ModelReply(text, truncated="\ncut off: " in note)


def source_in(text: str, *calls: NativeToolCall) -> str:
    """The plan in a reply; it must hold one."""
    found = find_plan(ModelReply(text, tool_calls=calls), TOOLS)
    assert isinstance(found, Plan), found
    return found.source


async def act(
    reply: ModelReply, sandbox: Sandbox, prepare: Prepare = prepare_plan
) -> ActionResult | NoPlan:
    """What becomes of the plan in a reply, or the failure if it holds none."""
    found = find_plan(reply, TOOLS)
    if isinstance(found, NoPlan):
        return found
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        return await run_plan(found, TOOLS, answer, sandbox, prepare=prepare)


def told(result: ActionResult | NoPlan) -> str:
    """The text of a result: what it says, or why it failed."""
    match result:
        case FinalAnswer(text):
            return f"final: {text}"
        case FurtherProcessing(text):
            return f"further: {text}"
        case AskedBack(question):
            return f"back: {question}"
        case Unanswered(why):
            return f"none: {why}"
        case PlanFailed(failure) | NoPlan(failure=failure):
            return f"{failure.kind}: {failure.message}"
        case _:
            assert_never(result)
