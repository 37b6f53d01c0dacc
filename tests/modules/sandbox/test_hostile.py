"""Hostile plans gain nothing: no file, no environment, no process, no socket, no foreign tool."""

import asyncio
import json

import pytest

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox import Sandbox
from modules.sandbox.calls import PlanCalls
from modules.sandbox.limits import MAX_TOOL_ERROR_CHARACTERS, RequestedCall, SandboxLimits
from modules.sandbox.values import MAX_VALUES, TooLarge, to_json
from tests.modules.sandbox.sandbox_tools import (
    CATALOG,
    TEST_TIMEOUT_SECONDS,
    Answers,
    Tools,
    failed,
    run,
    solve,
    spec,
)


async def test_only_the_offered_tools_can_be_called() -> None:
    offered = ToolCatalog(tool for tool in CATALOG if tool.name == "add")
    calls = ["tools.echo(1)", "echo(1)", "mcp.call_tool('echo', {'value': 1})",
             "mcp.call_tool('math.echo', {'value': 1})", "tools.math.echo(1)"]  # fmt: skip
    tools = Tools()
    async with Sandbox() as sandbox:
        for call in calls:
            result = await sandbox.run(solve(f"return await {call}"), offered, tools)
            assert result.failure is not None, call
    assert tools.sent == []


async def test_a_plan_that_calls_by_the_guests_own_functions_meets_the_same_checks() -> None:
    tools = Tools()
    plan = "import sys\nguest = sys.modules['app']\n" + solve(
        "for kind, name in [('tool', 'hidden'), ('raw', 'x'), ('tool', 'math.add')] * 9:",
        "    try:",
        "        await guest.host.make_call(kind, name, [1, 2], {}, 1)",
        "    except RuntimeError:",
        "        pass",
        "return 'done'",
    )
    failure = await failed(plan, tools)
    assert failure.kind == "limit"
    assert [name for name, _ in tools.sent] == ["math.add"] * 5


async def test_tool_names_cannot_carry_code_into_the_sandbox() -> None:
    names = ['x"); __call_tool__(0)#', "class", "__init__", "9lives", "a b", "naïve", "²", ""]
    offered = ToolCatalog([spec(name, [], wrap=False) for name in names] + [spec("add", "ab")])
    result = await run(solve("return await tools.add(1, 2)"), Tools(), offered=offered)
    assert result.value == 3


@pytest.mark.parametrize("plan", ["\0", "\ud800", "", "-" * 9000 + "1", "(" * 5000 + ")" * 5000])
async def test_texts_that_break_parsers_are_plain_failures(plan: str) -> None:
    failure = await failed(plan)
    assert failure.kind == "syntax"


@pytest.mark.parametrize(
    "use",
    ["return {A(): 1}", "return {(A(),)}", "return await tools.echo({A()})",
     "return await mcp.call_tool('echo', {A(): 1})", "return [solve]", "return b'x'",
     "return A", "return tools.echo", "return [tools.echo(1)]"],
)  # fmt: skip
async def test_an_object_that_cannot_cross_is_a_failure_of_the_plan(use: str) -> None:
    tools = Tools()
    failure = await failed(f"class A:\n    pass\n{solve(use)}", tools)
    assert ("solve() returned" if failure.kind == "error" else "argument") in failure.message
    assert failure.kind in {"error", "tool"}
    assert tools.sent == []


@pytest.mark.parametrize(
    "call",
    ["tools.echo(*[s for i in range(3000)])", "tools.echo(**{f'k{i}': s for i in range(3000)})",
     "mcp.call_tool('echo', {f'k{i}': s for i in range(9)})"],
)  # fmt: skip
async def test_arguments_that_share_one_big_text_are_bounded_together(call: str) -> None:
    failure = await failed(solve("s = 'x' * 10**6", f"return await {call}"))
    assert "can't be sent: it is larger than" in failure.message


@pytest.mark.parametrize(
    "call",
    ["mcp.call_tool('x' * 10**6, {})", "tools.add(**{'x' * 10**5: 1})", f"echo({'x' * 9000}=1)"],
)  # fmt: skip
async def test_a_refusal_quotes_no_more_of_a_plan_than_anyone_reads(call: str) -> None:
    failure = await failed(solve(f"return await {call}"))
    assert failure.kind == "tool"
    assert len(failure.message) <= MAX_TOOL_ERROR_CHARACTERS


def _text(text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult((TextBlock(text),), is_error=is_error)


RESULT_BYTES = SandboxLimits().tool_result_bytes
HALF = "x" * (RESULT_BYTES // 2)
BIG: JsonObject = {"a": HALF, "b": HALF, "c": HALF}
DEEP: JsonObject = json.loads('{"a":' * 400 + "1" + "}" * 400)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_text("E" * 10**6, is_error=True), "EEE"),
        (_text("x" * (RESULT_BYTES + 1)), "can't be used: it is larger"),
        (ToolResult((), BIG), "it is larger"),
        (ToolResult((), DEEP), "nested deeper"),
        (_text(json.dumps(DEEP)), "nested deeper"),
    ],
)
@pytest.mark.parametrize("call", ["tools.echo(1)", "mcp.call_tool('echo', {'value': 1})"])
async def test_a_result_beyond_measure_is_a_short_error_of_its_call(
    call: str, answer: ToolResult, words: str
) -> None:
    ran = await run(solve(f"return await {call}"), Answers(answer))
    (recorded,) = ran.calls
    assert not recorded.ok
    assert ran.failure is not None
    assert words in ran.failure.message
    assert len(ran.failure.message) <= MAX_TOOL_ERROR_CHARACTERS
    assert recorded.result == ran.failure.message


async def test_what_is_recorded_of_a_result_can_be_written_down() -> None:
    async with Sandbox() as sandbox:
        plan = solve("return await tools.echo(1)")
        ran = await sandbox.run(plan, CATALOG, Answers(_text('{"a": "\\ud800"}')))
    assert json.dumps(ran.calls[0].result, ensure_ascii=False).encode() == b'{"a": "?"}'


def test_what_holds_too_many_values_is_refused() -> None:
    half = MAX_VALUES // 2
    values: list[object] = [[()] * half, dict.fromkeys(range(half), 0)]
    for value in values:  # no parameters: pytest would print them
        with pytest.raises(TooLarge, match="150,000 values"):
            to_json(value, max_bytes=10**9)


async def test_large_results_are_handed_to_the_plan_one_at_a_time() -> None:
    async def call(_tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        zeros: list[Json] = [0] * (10_000 if arguments["n"] else 1)
        return ToolResult((), {"result": zeros})

    tool = spec("list", ["n"], wrap=False)
    calls = PlanCalls(call)
    calls.send(RequestedCall(n, tool, {"n": n}, raw=False) for n in range(3))
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        assert [*await calls.any_of([0])] == [0]
        await asyncio.wait([asyncio.create_task(calls.any_of([n])) for n in (1, 2)])
        assert [*await calls.any_of([0, 1, 2])] == [1]
        assert [*await calls.any_of([0, 2])] == [2]
    await calls.end()
