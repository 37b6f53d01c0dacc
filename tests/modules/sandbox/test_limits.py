"""Every limit of a plan stops it, by kind, and none can be swallowed by try/except."""

import asyncio
import dataclasses

import pytest

from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.sandbox import MAX_TOOL_CALLS_PER_PLAN, Sandbox, SandboxLimits
from tests.doubles import value_result
from tests.modules.sandbox.sandbox_tools import (
    CATALOG,
    TEST_TIMEOUT_SECONDS,
    Tools,
    failed,
    run,
    solve,
)

SHORT = SandboxLimits(cpu_seconds=0.3, memory_bytes=96 * 1024 * 1024, printed_bytes=1000,
                      result_bytes=2000, argument_bytes=2500, tool_result_bytes=3500,
                      recursion_depth=50, source_bytes=3000)  # fmt: skip


def swallowing(*lines: str) -> str:
    """A plan that does its worst, catches everything, and does it again."""
    body = [f"        {line}" for line in lines]
    return solve("while True:", "    try:", *body, "    except BaseException:", "        pass")


BREACHES = {
    "time": (["while True:", "    pass"], "0.3 s"),
    "time, in C": (["sum(range(10**12))"], "0.3 s"),
    "time, in a pattern": (["import re", "re.match('(a+)+$', 'a' * 99 + '!')"], "0.3 s"),
    "time, in a number": (["3 ** 10**8"], "0.3 s"),
    "print": (["while True:", "    print('x' * 100)"], "printed more than 1,000 bytes"),
    "print, at once": (["print('x' * 2000)"], "printed more than 1,000 bytes"),
    "print, without a line's end": (["print('x', end='')"], "printed more than 1,000 bytes"),
    "print, as an error": (["import sys", "print('x', file=sys.stderr)"], "printed more than"),
    "tool calls": (["for i in range(9):", "    await tools.add(i, i)"], "more than 5 tool calls"),
    "refused calls": (["await tools.nope()"], "more than 200 calls"),
    "searches": (["await search_tools('x')"], "more than 200 calls"),
}  # fmt: skip
"""What ends a plan from outside, and in what words."""


@pytest.mark.parametrize("second_wall", [True, False], ids=["both walls", "one wall"])
@pytest.mark.parametrize("breach", BREACHES)
async def test_a_limit_ends_the_plan_even_inside_try_except(
    breach: str, *, second_wall: bool
) -> None:
    lines, words = BREACHES[breach]
    # On a busy machine the short time would be over first.
    limits = SHORT if breach.startswith("time") else dataclasses.replace(SHORT, cpu_seconds=20)
    async with asyncio.timeout(30), Sandbox(limits, second_wall=second_wall) as box:
        result = await box.run(swallowing(*lines), CATALOG, Tools())
        assert result.failure is not None
        assert result.failure.kind == "limit"
        assert words in result.failure.message
        assert result.value is None
        assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1


@pytest.mark.parametrize("second_wall", [True, False], ids=["both walls", "one wall"])
@pytest.mark.parametrize(
    "lines",
    [
        ["x = 'x' * 10**12"],
        ["x = [0]", "while True:", "    x = x + x"],
        ["x = 1 << 10**9"],
        ["x = bytearray(10**9)"],
        ["x = {}", "while True:", "    x[len(x)] = bytes(10**5)"],
    ],
    ids=lambda lines: " ".join(lines),
)
async def test_memory_beyond_its_bound_is_an_error_that_no_plan_gains_by(
    lines: list[str], *, second_wall: bool
) -> None:
    limits = dataclasses.replace(SHORT, cpu_seconds=20)
    caught = solve("try:", *(f"    {line}" for line in lines), "except Exception as error:",
                   "    return type(error).__name__ in 'MemoryError, OverflowError'")  # fmt: skip
    async with asyncio.timeout(30), Sandbox(limits, second_wall=second_wall) as box:
        result = await box.run(solve(*lines), CATALOG, Tools())
        assert result.failure is not None
        assert result.failure.kind == "limit"
        assert "a plan may use 96 MB" in result.failure.message
        assert (await box.run(caught, CATALOG, Tools())).value is True


async def test_endless_recursion_is_a_limit_with_its_line() -> None:
    failure = await failed("def f():\n    return f()\n" + solve("return f()"), limits=SHORT)
    assert (failure.kind, failure.line) == ("limit", 2)
    assert "50 deep" in failure.message


async def test_calls_may_nest_a_thousand_deep() -> None:
    count = "def f(n):\n    return n and 1 + f(n - 1)\n"
    assert (await run(count + solve("return f(990)"))).value == 990


@pytest.mark.parametrize(
    "value",
    ["'x' * 3000", "[1] * 3000", "{str(i): i for i in range(900)}", "10**5000", "[10**5000]"],
)
async def test_a_result_beyond_its_size_is_a_limit(value: str) -> None:
    result = await run(solve(f"return {value}"), limits=SHORT)
    assert result.failure is not None
    assert result.failure.kind == "limit"
    assert "solve()'s result" in result.failure.message


async def test_a_result_that_is_nested_too_deep_is_a_limit() -> None:
    plan = solve("x = []", "for _ in range(20000):", "    x = [x]", "return x")
    failure = await failed(plan)
    assert failure.kind == "limit"
    assert "nested too deeply" in failure.message
    shallow = solve("x = []", "for _ in range(150):", "    x = [x]", "return x")
    assert "deeper than 100 levels" in (await failed(shallow)).message


async def test_arguments_beyond_their_size_are_not_sent() -> None:
    tools = Tools()
    failure = await failed(solve("await tools.echo('x' * 3000)"), tools, SHORT)
    assert "larger than 2,500 bytes" in failure.message
    assert tools.sent == []


@pytest.mark.parametrize("call", ["tools.echo('two')", "mcp.call_tool('echo', value='two')"])
async def test_a_tool_result_beyond_its_size_is_an_error_of_its_call(call: str) -> None:
    plan = solve(
        "await tools.echo('x' * 2400)",
        "try:",
        f"    await {call}",
        "except RuntimeError as error:",
        "    return str(error)",
    )
    sent = Tools()

    async def doubling(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        result = await sent(tool, arguments)
        return result if len(sent.sent) == 1 else value_result("x" * 3600)

    async with asyncio.timeout(10), Sandbox(SHORT) as box:
        result = await box.run(plan, CATALOG, doubling)
    assert "the tool's result can't be used: it is larger than 3,500 bytes" in str(result.value)
    assert [call.ok for call in result.calls] == [True, False]


async def test_a_plan_beyond_its_size_does_not_run() -> None:
    failure = await failed(solve("return 1") + " " * 3000, limits=SHORT)
    assert (failure.kind, failure.message) == ("limit", "the plan is longer than 3,000 bytes")


async def test_as_many_calls_as_allowed_are_sent_and_not_one_more() -> None:
    assert MAX_TOOL_CALLS_PER_PLAN == SandboxLimits().tool_calls == 5
    tools = Tools()
    result = await run(swallowing("for i in range(9):", "    await tools.add(i, i)"), tools)
    assert len(tools.sent) == len(result.calls) == 5
    exact = await run(solve("return [await tools.add(i, 0) for i in range(5)]"))
    assert exact.value == [0, 1, 2, 3, 4]


async def test_too_many_calls_at_once_are_refused_before_any_is_sent() -> None:
    tools = Tools()
    plan = "import asyncio\n" + solve("return await asyncio.gather(*[add(i, i) for i in range(6)])")
    failure = await failed(plan, tools)
    assert (failure.kind, failure.line) == ("limit", 3)
    assert tools.sent == []


async def test_the_line_of_the_call_too_many_is_given() -> None:
    failure = await failed(solve("await add(1, 1)", "await add(2, 2)"),
                       limits=SandboxLimits(tool_calls=1))  # fmt: skip
    assert (failure.kind, failure.line) == ("limit", 3)


async def test_waiting_for_tools_counts_against_wall_time_only() -> None:
    tools = Tools(meeting=2)  # nobody else comes: the call never ends by itself
    limits = SandboxLimits(cpu_seconds=0.05, wall_seconds=0.3)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits) as box:
        while (await box.run(solve("return 1"), CATALOG, tools)).failure is not None:
            pass  # its workers start, which may take longer on a busy machine
        result = await box.run(swallowing("await tools.meet('alone')"), CATALOG, tools)
    assert result.failure is not None
    assert result.failure.kind == "limit"
    assert "0.3 s, tool calls included" in result.failure.message
    assert tools.cancelled == ["math.meet"]
    assert [call.ok for call in result.calls] == [False]


async def test_a_spinning_plan_is_stopped_by_wall_time_too() -> None:
    limits = SandboxLimits(cpu_seconds=60, wall_seconds=0.3)
    failure = await failed(swallowing("while True:", "    pass"), limits=limits)
    assert failure.kind == "limit"
    assert "0.3 s" in failure.message


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(SandboxLimits)])
def test_a_limit_that_no_plan_could_meet_is_refused_by_name(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        Sandbox(dataclasses.replace(SandboxLimits(), **{field: -1}))


async def test_no_time_passes_for_a_plan_while_the_user_is_asked() -> None:
    limits = SandboxLimits(wall_seconds=1)
    async with asyncio.timeout(10), Sandbox(limits) as box:
        assert (await box.run(solve("return 0"), CATALOG, Tools())).value == 0

        async def asking(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
            with box.standing_still(), pytest.raises(TimeoutError):
                async with asyncio.timeout(1.2):
                    await asyncio.Event().wait()
            return value_result("yes")

        result = await box.run(solve("return await tools.add(1, 2)"), CATALOG, asking)
    assert result.value == "yes"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["while True:", "    pass"], "use a smaller loop or a tool"),
        (["await add(1, 2)", "while True:", "    pass"], "after the call in line 2"),
    ],
)
async def test_a_plan_out_of_time_is_told_what_to_do(lines: list[str], words: str) -> None:
    failure = await failed(solve(*lines), limits=SandboxLimits(cpu_seconds=0.2))
    assert (failure.kind, failure.line) == ("limit", None)
    assert words in failure.message


@pytest.mark.parametrize("shown", ["str(x)", "f'{x}'", "print(x)", "int('9' * 5000)"])
async def test_a_number_too_long_to_show_is_pythons_own_error(shown: str) -> None:
    failure = await failed(solve("x = 10 ** 5000", f"return {shown}"))
    assert (failure.kind, failure.line) == ("error", 3)
    assert "4300 digits" in failure.message


async def test_what_a_plan_does_to_the_bounds_of_python_is_its_own_matter() -> None:
    plan = "import sys\n" + solve(
        "sys.setrecursionlimit(10**6)",
        "def f(n):",
        "    return n and 1 + f(n - 1)",
        "sys.set_int_max_str_digits(0)",
        "return [f(5000), len(str(10**9999))]",
    )
    assert (await run(plan)).value == [5000, 10000]
    failure = await failed("import sys\n" + solve("sys.setrecursionlimit(10**9)",
                           "def f(n):", "    return f(n + 1)", "f(0)"))  # fmt: skip
    assert failure.kind == "limit"
