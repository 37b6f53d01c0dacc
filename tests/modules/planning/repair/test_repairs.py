"""Mistakes that models make, put right: what is told, and that the plan then does its work."""

import pytest

from core.ports import OnRepaired
from core.tools.catalog import ToolCatalog
from core.turn import FinalAnswer, Plan
from modules.action import run_plan
from modules.planning.preparation import MAX_REPAIRS, prepare_plan
from modules.sandbox import Sandbox
from tests.modules.planning.plan_tools import NUMBER, TYPED, call_typed, repaired_plan, typed
from tests.modules.sandbox.sandbox_tools import solve

ADD = "r = await tools.add(a=1, b=2)"
ANSWER = "return f'FINAL_ANSWER: {r}'"
DROPPED = "dropped the call of solve(), which is called anyway"
SHOWS = "dropped what only shows the answer"
MAIN = "if __name__ == '__main__':"

MISTAKES = [
    # await
    ("def solve():\n    r = tools.add(a=1, b=2)\n    " + ANSWER,
     ("added await to tools.add (line 2)", "made solve() async (line 1)"), "3"),
    (solve("if (r := tools.add(a=1, b=2)) > 2:", f"    {ANSWER}"),
     ("added await to tools.add (line 2)",), "3"),
    ("async def one():\n    return await tools.add(a=1, b=2)\n" + solve("r = one()", ANSWER),
     ("added await to one (line 4)",), "3"),
    (solve("r = sum(await tools.add(a=i, b=1) for i in range(2))", ANSWER),
     ("turned a generator that awaits into a list (line 2)",), "3"),
    # gather
    ("import asyncio\n" + solve("r = asyncio.gather(tools.add(a=1, b=2))", ANSWER),
     ("added await to asyncio.gather (line 3)",), "[3]"),
    # names
    (solve("add = await add(a=1, b=2)", "return f'FINAL_ANSWER: {add}'"),
     ("qualified add as tools.add (line 2)",), "3"),
    # imports
    ("import tools\n" + solve(ADD, ANSWER), ("dropped the import of tools (line 1)",), "3"),
    ("from math_server import add\n" + solve("r = await add(a=1, b=2)", ANSWER),
     ("dropped the import of add (line 1)",), "3"),
    (solve("r = json.dumps([math.floor(2.5)])", ANSWER),
     ("added import json (line 2)", "added import math (line 2)"), "[2]"),
    (solve("r = datetime.date(2020, 1, 2).year", ANSWER), ("added import datetime (line 2)",),
     "2020"),
    # solve itself
    ("import asyncio\n" + solve(ADD, ANSWER) + "\n\nasyncio.run(solve())",
     (f"{DROPPED} (line 6)",), "3"),
    ("import asyncio\n" + solve(ADD, ANSWER) + "\nprint(asyncio.run(solve()))",
     (f"{DROPPED} (line 5)",), "3"),
    (solve(ADD, ANSWER) + "\nanswer = await solve()\nprint(answer)",
     (f"{DROPPED} (line 4)", f"{SHOWS} (line 5)"), "3"),
    ("import asyncio\n" + solve(ADD, ANSWER) + "\nx: str = asyncio.run(solve())\n"
     "print('is', x.split(':')[1])", (f"{DROPPED} (line 5)", f"{SHOWS} (line 6)"), "3"),
    ("import asyncio\n" + solve(ADD, ANSWER) + "\nr = asyncio.run(solve())\nprint(r)",
     (f"{DROPPED} (line 5)", f"{SHOWS} (line 6)"), "3"),
    ("import asyncio\n" + solve(ADD, ANSWER) + "\nasync def main():\n    x = await solve()\n"
     "    print(x)\nasyncio.run(main())", (f"{DROPPED} (line 8)",), "3"),
    ("import asyncio\n" + solve(ADD, ANSWER) + "\ndef main():\n    return asyncio.run(solve())\n"
     "main()", (f"{DROPPED} (line 7)",), "3"),
    (solve(ADD, ANSWER) + "\nx = await solve()\ny = x + 'a'",
     (f"{DROPPED} (line 4)", f"{SHOWS} (line 5)"), "3"),
    (solve(ADD, ANSWER) + f"\n{MAIN}\n    print(await solve())",
     ("skipped what stands under if __name__ == '__main__' (line 4)",), "3"),
    ("def solve():\n    r = tools.add(a=1, b=2)\n    " + ANSWER + f"\n{MAIN}\n    solve()",
     ("added await to tools.add (line 2)", "made solve() async (line 1)",
      "skipped what stands under if __name__ == '__main__' (line 4)"), "3"),
]  # fmt: skip


async def test_each_mistake_is_put_right_and_told_before_the_plan_does_its_work() -> None:
    async with Sandbox() as sandbox:
        for plan, repairs, answer in MISTAKES:
            told: list[tuple[str, ...]] = []
            result = await run_plan(Plan(plan), TYPED, call_typed, sandbox, hears(told))
            assert isinstance(result, FinalAnswer), plan
            assert (result.text, told) == (answer, [tuple(sorted(repairs, key=line_of))]), plan
            assert len(result.calls) <= 2, plan


def hears(told: list[tuple[str, ...]]) -> OnRepaired:
    async def hear(repairs: tuple[str, ...]) -> None:
        told.append(repairs)

    return hear


def line_of(phrase: str) -> tuple[int, str]:
    return int(phrase.rpartition(" ")[2].rstrip(")")), phrase


@pytest.mark.parametrize("plan", [plan for plan, _, _ in MISTAKES])
def test_a_repaired_plan_keeps_its_lines_and_needs_no_second_repair(plan: str) -> None:
    repaired = prepare_plan(plan, TYPED).source
    assert repaired_plan(repaired, TYPED) == (repaired, ())
    lines = plan.split("\n")
    for number, line in enumerate(repaired.split("\n")[: len(lines)]):
        indent = len(line) - len(line.lstrip())
        assert lines[number].startswith(line[:indent])


async def test_nothing_is_told_of_a_plan_without_mistakes() -> None:
    told: list[tuple[str, ...]] = []
    async with Sandbox() as sandbox:
        await run_plan(Plan(solve(ADD, ANSWER)), TYPED, call_typed, sandbox, hears(told))
        await run_plan(Plan("no plan"), TYPED, call_typed, sandbox, hears(told))
    assert told == []


LEFT_ALONE = [
    solve("return 1") + "\nlater = solve\nlater()",
    solve("return 1") + "\nx = await solve()\nfor y in x:\n    print(y)",
    solve("return x") + "\nx = await solve()",
    solve("global x", "x = 1", "return x") + "\nx = await solve()",
    solve("return 1") + "\nawait tools.page(url=await solve())",
    solve("return D") + "\ndef main():\n    global D\n    D = solve()\nmain()",
    solve("return d") + "\nd = {}\ndef main():\n    d['x'] = solve()\nmain()",
    solve("return d") + "\nd = []\ndef main():\n    d.append(1)\n    solve()\nmain()",
    solve("return 1") + "\nasync def main():\n    await tools.page(url=await solve())\nmain()",
    solve("return 1") + "\nif __name__ == 'x':\n    solve()",
    solve("return 1") + "\nif __name__ == '__main__':\n    solve()\nelse:\n    pass",
    solve("return 1") + "\nsolve = partial(solve)\nsolve()",
    "async def solve(query):\n    return query",
    # imports that may be meant
    "from statistics import add\n" + solve("return add(1)"),
    "from math_server import add as plus\n" + solve("return plus(1)"),
    "from math_server import add, other\n" + solve("return add(1)"),
    # imports that may be meant otherwise
    "json = other\n" + solve("return json.dumps(1)"),
    solve("json.x = 1", "def json():", "    pass"),
    "x = json.loads('1')\n" + solve("return x"),
    solve("return datetime.now()"),
    solve("return math.add"),
    # await that is right as it is
    "async def print(x):\n    pass\n" + solve("await print(1)"),
    "import asyncio\n" + solve("x = asyncio.gather(tools.add(1, 2))", "return await x"),
    "import asyncio\n" + solve("return await asyncio.gather(await later(), await x)"),
    "import x as asyncio\nasyncio = 1\n" + solve("return str(asyncio.gather(1))"),
    "@cached\nasync def one():\n    return 1\n" + solve("return str(one())"),
    "async def one():\n    yield 1\n" + solve("return str(one())"),
    "async def one():\n    return 1\nasync def one():\n    return 2\n" + solve("return str(one())"),
    "class C:\n    async def one():\n        return 1\n" + solve("return str(one())"),
    "async def one():\n    return 1\n" + solve("todo = [one()]", "return await gather(*todo)"),
]


def test_a_tool_of_the_name_of_memory_is_called_behind_tools() -> None:
    """`memory` is the plan's working memory, and no call of a tool's bare name."""
    tools = ToolCatalog([typed("memory", {"n": NUMBER}, NUMBER)])
    plan = solve("memory['n'] = 5", "return await memory(n=memory['n'])")
    source, phrases = repaired_plan(plan, tools)
    assert source == plan.replace("memory(n", "tools.memory(n")
    assert phrases == ("qualified memory as tools.memory (line 3)",)
    own = "def memory(n):\n    return n\n" + solve("return memory(n=1)")
    assert repaired_plan(own, tools) == (own, ())


@pytest.mark.parametrize("plan", LEFT_ALONE)
def test_what_may_be_meant_otherwise_is_left_alone(plan: str) -> None:
    assert repaired_plan(plan, TYPED) == (plan, ())


def test_a_text_with_very_many_mistakes_is_left_alone() -> None:
    plan = solve(*["tools.add(1, 2)"] * (MAX_REPAIRS + 1))
    assert repaired_plan(plan, TYPED) == (plan, ())


def test_a_phrase_is_short_whatever_the_plan_is_named() -> None:
    plan = "async def " + "x" * 5000 + "():\n    return 1\n" + solve(f"return str({'x' * 5000}())")
    (phrase,) = prepare_plan(plan, TYPED).repairs
    assert phrase.startswith("added await to xxx")
    assert len(phrase) < 200
