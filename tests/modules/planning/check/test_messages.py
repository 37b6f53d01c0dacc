"""What a plan is told that can't be repaired: the construct, its line and what to write instead."""

import asyncio
import time

import pytest

from core.tools.catalog import ToolCatalog
from core.turn import ActionResult, FinalAnswer, Plan, PlanFailed
from modules.action import run_plan
from modules.planning.preparation import prepare_plan
from modules.sandbox import Sandbox
from modules.sandbox.language import MAX_PARSED_CHARACTERS, parse
from tests.doubles import tool
from tests.modules.planning.plan_tools import TYPED, assert_found, call_typed
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS, solve

ADD = "r = await tools.add(a=1, b=2)"

MESSAGES = [
    # tools that are called in another way
    (solve("await tools.call('add', a=1)"), "tool", 2, "write await tools.add(a=…, b=…)"),
    (solve("await tools.call_tool('add', {})"), "tool", 2, "write await tools.add(a=…, b=…)"),
    (solve("await tools.get('search')(query='x')"), "tool", 2, "write await tools.search(query=…)"),
    (solve("await tools('add', a=1, b=2)"), "tool", 2, "tools is no function; write await tool"),
    (solve("await tools(1)"), "tool", 2, "tools is no function; write await tools.add(a=…, b=…)"),
    (solve("await mcp['plus'](1, 2)"), "tool", 2, "mcp can't be indexed; write await tools."),
    (solve("await tools.web('x')"), "tool", 2,
     "tools.web is a server and no tool; on offer: tools.search, tools.page"),
    (solve("await tools.web.add_numbers(1)"), "tool", 2,
     "; on offer: tools.search, tools.page"),
    (solve("await tools.cube(x=2)"), "tool", 2,
     "there is no tools.cube; compute it in plain Python (20 ** 3, math.sqrt(2)) if it can be "
     "computed; on offer: tools."),
    (solve("await tools.translate(text='bonjour')"), "tool", 2,
     "; where neither helps, return what you know after FINAL_ANSWER:"),
    (solve("await tools.sqrt(x=2)"), "tool", 2,
     "there is no tools.sqrt; Python has it: import math, then math.sqrt(…)"),
    (solve("await tools.median(x=[2])"), "tool", 2, "import statistics, then statistics.median(…)"),
    (solve("await tools.add.call(a=1)"), "tool", 2, "tools.add is a function and has no .call"),
    (solve("x = mcp.list_tools()"), "tool", 2, "no mcp.list_tools; write await mcp.call_tool('to"),
    (solve("return FINAL_ANSWER(1)"), "error", 2, 'write return f"FINAL_ANSWER: {value}"'),
    # solve
    ("async def main(a):\n    return a", "syntax", 1, "or rename main() to solve()"),
    ("r = await tools.add(a=1, b=2)\nprint(r)", "syntax", 1, "with these lines indented in it"),
    ("class S:\n    def solve(self):\n        return 1", "syntax", 2, "inside of something else"),
    ("async def solve(query):\n    return query", "syntax", 1, "no arguments: write the values"),
    # text that is no Python
    ("```python\nasync def solve():\n    return 1\n```", "syntax", 1, "leave out the fences"),
    ("Here is the plan:\nasync def solve():\n    return 1", "syntax", 1, "put a # before remarks"),
    ("async def solve():\n    return \u201cx\u201d", "syntax", 2, "write straight quotes"),
    ("async def solve()\n    return 1", "syntax", 1, "end the line with a colon"),
    (solve("return FINAL_ANSWER: x"), "syntax", 2, 'return f"FINAL_ANSWER: {value}"'),
    (solve(ADD, "return FINAL_ANSWER: f'{r}'"), "syntax", 3, 'return f"FINAL_ANSWER: {value}"'),
    (solve("const x = 1"), "syntax", 2, "write name = value"),
    ("function solve() {\n}", "syntax", 1, "write def name():"),
    (solve("if x {", "}"), "syntax", 2, "colon"),
    ("while (x) {\n}\n" + solve("return 1"), "syntax", 1, "colon"),
    # values that turn out otherwise than the plan thinks
    (solve("codes = await tools.codes(text='AB')", "return 'FINAL_ANSWER: ' + ', '.join(codes)"),
     "error", 3, "; codes is what tools.codes gives: list[int]"),
    (solve("codes = await tools.codes(text='AB')", "for c in codes:", "    c['x']"),
     "error", 4, "; c is an item of what tools.codes gives: list[int]"),
    (solve("r: float = await tools.add(a=1, b=2)", "n = r", "if n > 2:", "    r = [n]",
           "return n.x + r"), "error", 6, "; n is what tools.add gives: "),
    ("def one():\n    return tools.add(a=1, b=2)['x']\n" + solve("return one()"), "error", 2,
     "a call was not awaited: write await before it"),
    ("import asyncio\n" + solve("jobs = [tools.add(a=1, b=2)]", "r = await asyncio.gather(jobs)"),
     "error", 4, "give asyncio.gather() the calls, as *calls, without await"),
    ("import json\n" + solve("r = await tools.loose()", "return json.loads(r)"), "error", 4,
     "; it is no text but the value itself: leave json.loads out"),
    (solve("r = await tools.page(url='x')", "return r['rate']"), "error", 3,
     "; tools.page gave the text 'text': use it as it is"),
    (solve("r = await tools.page(url='x')", "s = r", "return f'{s.rate}'"), "error", 4,
     "; tools.page gave the text 'text': use it as it is"),
    (solve("return (await tools.page(url='x'))['rate']"), "error", 2,
     "; tools.page gave the text 'text': use it as it is"),
    (solve("r = await tools.page(url='object')", "return r['rate']"), "error", 3,
     "; tools.page gave a dict with the keys 'a'"),
    # answers that hold no values
    ("def one():\n    return tools.add(a=1, b=2)\n" + solve("return f'FINAL_ANSWER: {one()}'"),
     "no_verdict", None, "never awaited"),
    (solve("return f'FINAL_ANSWER: {solve}'"), "no_verdict", None, "call functions with ()"),
]  # fmt: skip


async def act(plan: str, sandbox: Sandbox) -> ActionResult:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        return await run_plan(Plan(plan), TYPED, call_typed, sandbox)


async def test_each_message_names_construct_line_and_what_to_write_instead() -> None:
    async with Sandbox() as sandbox:
        for plan, kind, line, words in MESSAGES:
            result = await act(plan, sandbox)
            assert isinstance(result, PlanFailed), plan
            failure = result.failure
            assert (failure.kind, failure.line) == (kind, line), (plan, failure)
            assert words in failure.message, plan
            assert line is None or failure.line_text == plan.split("\n")[line - 1].strip()


async def test_an_answer_may_speak_of_objects_that_the_plan_or_a_tool_wrote() -> None:
    async with Sandbox() as sandbox:
        for plan in (
            solve("return 'FINAL_ANSWER: <coroutine object f> is one that nobody awaited'"),
            solve("x = await tools.codes(text='x')", "y = tools.add(a=1, b=2)",
                  "return f'FINAL_ANSWER: {[y]}'"),
        ):  # fmt: skip
            assert isinstance(await act(plan, sandbox), FinalAnswer)


async def test_errors_of_other_values_get_no_hint() -> None:
    async with Sandbox() as sandbox:
        for plan, message in (
            (solve(ADD, "return [][r]"), "IndexError: list index out of range; r is what"),
            (solve("return [1] / 2"), "TypeError: unsupported operand"),
            (solve("return [][1]"), "IndexError: list index out of range"),
            (solve(ADD, "return r / 0"), "ZeroDivisionError: division by zero"),
        ):
            result = await act(plan, sandbox)
            assert isinstance(result, PlanFailed)
            assert result.failure.message.startswith(message)
            assert result.failure.message.count("; ") == message.count("; ")


DENSE = [
    "a\n" * 9_000,
    "async def solve():\n" + " add=add(1,2)\n" * 900,
    "async def solve():\n r=await tools.add(1,2)\n" + " r['a']\n" * 1_500,
    "async def solve():\n" + "".join(f" a{i}=a{i + 1}\n a{i}=a{i + 2}\n" for i in range(600)),
    "async def solve():\n r," + "r," * 4_000 + "=x\n return r['a']",
]


def test_a_dense_plan_takes_its_time_in_a_thread_and_not_too_much_of_it() -> None:
    for text in DENSE:
        began = time.thread_time()
        prepare_plan(text[:MAX_PARSED_CHARACTERS], TYPED)
        assert time.thread_time() - began < 1.5, text[:60]


async def test_the_event_loop_goes_on_while_a_plan_is_checked() -> None:
    turns = 0
    async with Sandbox() as sandbox:
        checking = asyncio.create_task(act(DENSE[0][:MAX_PARSED_CHARACTERS], sandbox))
        while not checking.done():
            await asyncio.sleep(0)
            turns += 1
    assert isinstance(checking.result(), PlanFailed)
    assert turns > 20


def test_a_plan_warns_nobody_of_its_escapes(recwarn: pytest.WarningsRecorder) -> None:
    parse("x = '\\d'")
    assert len(recwarn) == 0


def test_a_made_up_tool_never_leads_to_one_of_another_meaning() -> None:
    root = tool("cbrt", description="The cube root, for a cube of that volume.", a="number")
    catalog = ToolCatalog([tool("add", description="The sum.", a="number"), root])
    told = "there is no tools.cube; compute it in plain Python"
    assert_found(solve("return await tools.cube(a=2)"), "tool", 2, told, catalog)
