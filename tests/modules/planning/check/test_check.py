"""The static check of plans and the repair of their commonest mistakes."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.tools.catalog import ToolCatalog
from core.turn import Plan, PlanFailed
from modules.action import run_plan
from modules.planning.preparation import prepare_plan
from modules.sandbox import Sandbox
from tests.modules.planning.plan_tools import TYPED, assert_found, repaired_plan
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools, run, solve, spec

HEAD = "import asyncio\n"

REPAIRS = [
    # a missing await, where the value is what the plan wants
    (solve("x = tools.add(1, 2)", "return str(x)"), "3"),
    (solve("x: int = add(1, 2)", "return x + 1"), 4),
    (solve("x = tools.add(1, 2)", "return f'é {x} {tools.add(x, 1)}'"), "é 3 4"),
    (solve('return f"""a', '{tools.add(1, 2)}"""'), "a\n    3"),
    (solve("return tools.add(a=tools.add(1, 2), b=add(3, 4))"), 10),
    (solve("x = 'é'; y = tools.add(1, 2); return [x, y + 1]"), ["é", 4]),
    (solve("tools.add(1, 2)", "return 'sent'"), "sent"),
    (solve("r = mcp.call_tool('add', {'a': 1, 'b': 2})", "return r.content[0].text"),
     '{"result": 3}'),
    (solve("t = 0", "for x in tools.echo([1, 2]):", "    t += tools.add(x, 1)", "return t"), 5),
    (solve("if tools.add(1, 2) > 2:", "    return 'more'"), "more"),
    (solve("a, b = tools.echo([1, 2])", "return a + b"), 3),
    (solve("async def one(i):", "    return str(add(i, i))", "return await one(2)"), "4"),
    ("def solve():\n    x = tools.add(1, 2)\n    return str(x)", "3"),
    ("def solve():\n    return str(await tools.add(1, 2))", "3"),
    (solve("return [x + 1 for x in tools.echo([1, 2])]"), [2, 3]),
    (solve("return '{}'.format(tools.add(1, 2))"), "3"),
    ("import json\n" + solve("return json.dumps(tools.add(1, 2))"), "3"),
    ("def solve():\n    def text(x):\n        return str(x)\n"
     "    x = tools.add(1, 2)\n    return x + 1", 4),
    # a variable that shadows the tool
    (solve("remainder = await remainder(a=7, b=4)", "return remainder"), 3),
    (solve("remainder = remainder(a=7, b=4)", "return f'{remainder}'"), "3"),
    (solve("add = int((await tools.add(1, 2)) or 0)", "return await add(add, 1)"), 4),
    (solve("for add in range(2):", "    add = await add(add, 1)", "return add"), 2),
    (solve("add: int", "add = await add(1, 2)", "return add"), 3),
    (solve("add = (await add(1, 2)) + tools.add(1, 2)", "return add"), 6),
    # a generator that holds an await
    (solve("return sum(await tools.add(i, 1) for i in range(3))"), 6),
    (solve("return list((await tools.add(i, 1) for i in range(2)))"), [1, 2]),
    # imports of what is there anyway
    ("import tools, json\nimport mcp\n" + solve("return json.dumps(await tools.add(1, 2))"), "3"),
    ("from tools import add\n" + solve("return await add(1, 2)"), 3),
    ("from tools import (\n    add,\n    echo as say,\n)\n" + solve("return await say(9)"), 9),
    ("from tools.math import add as plus\n" + solve("return await plus(1, 2)"), 3),
    ("import tools as t\n" + solve("return await t.add(1, 2)"), 3),
    ("from mcp import call_tool\n" + solve("r = await call_tool('add', a=1, b=2)",
                                           "return r.structured_content"), {"result": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "value"), REPAIRS)
async def test_an_unambiguous_mistake_is_repaired_in_place(plan: str, value: object) -> None:
    repaired = prepare_plan(plan, CATALOG).source
    assert repaired != plan
    assert repaired.count("\n") == plan.count("\n")
    assert repaired_plan(repaired, CATALOG) == (repaired, ())
    assert prepare_plan(repaired, CATALOG).failure is None
    tools = Tools()
    result = await run(repaired, tools)
    assert result.failure is None
    assert result.value == value
    assert len(tools.sent) >= 1


@pytest.mark.parametrize(
    "plan",
    [
        solve("return await tools.add(1, 2)"),
        HEAD + solve("x = tools.add(1, 2)", "y = add(3, 4)", "return await asyncio.gather(x, y)"),
        HEAD + solve("return await asyncio.gather(*[tools.add(i, i) for i in range(3)])"),
        HEAD + solve("todo = []", "todo.append(add(1, 2))", "return await asyncio.gather(*todo)"),
        HEAD + solve("todo = [add(1, 2), add(3, 4)]", "return await asyncio.gather(*todo)"),
        HEAD + solve("todo = {'a': add(1, 2)}", "return await asyncio.gather(*todo.values())"),
        solve("x = tools.add(1, 2)", "return await x"),
        solve("class C:", "    x = str(tools.add(1, 2))", "return 1"),
        "x = str(tools.add(1, 2))\n" + solve("return x"),
        solve("x = y = tools.add(1, 2)", "return 1"),
        solve("x[0] = tools.add(1, 2)", "return 1"),
        solve("def later(): return str(tools.add(1, 2))", "return 1"),
        "def add(a, b):\n    return a + b\n" + solve("return str(add(1, 2))"),
        "from operator import add\n" + solve("return str(add(1, 2))"),
        "from operator import *\n" + solve("return str(add(1, 2))"),
        "add = lambda a, b: a + b\n" + solve("return str(add(1, 2))"),
        "async def use(add):\n    return str(add(1, 2))\n" + solve("return await use(max)"),
        "tools = make()\n" + solve("return str(tools.add(1, 2))"),
        # a name that may well be a function is not a tool's name used by accident
        solve("add = partial(tools.add, 1)", "return await add(b=2)"),
        solve("add = tools.echo if x else None", "return await add(1, 2)"),
        solve("add = ops['%']", "return await add(1, 2)"),
        solve("add = [tools.echo][0]", "return await add(1, 2)"),
        solve("add = max([tools.echo])", "return await add(1, 2)"),
        solve("add, x = tools.echo, 1", "return await add(1, 2)"),
        solve("for add in (tools.add, tools.echo):", "    await add(1, 2)"),
        solve("for _, add in enumerate([tools.echo]):", "    await add(1, 2)"),
        solve("return [await add(1, 2) for add in fs]"),
        # a call that is handed on, to be awaited elsewhere
        solve("return await (tools.add(1, 2) or tools.echo(1))"),
        solve("x = tools.add(1, 2)", "return await (x or None)"),
        "async def late():\n    return tools.add(1, 2)\n" + solve("return await (await late())"),
        "async def late():\n    return tools.add(1, 2)\n"
        + solve("x = await late()", "return await x"),
        HEAD
        + "async def late():\n    return tools.add(1, 2)\n"
        + solve("x = [await late()]", "return await asyncio.gather(*x)"),
        "def tools():\n    return 1\n" + solve("return await sum(1, 2)"),
        solve("tools.add = 1", "return str(tools.add(1, 2))"),
        "async def print(x):\n    return await x\n" + solve("await print(tools.add(1, 2))"),
        solve("return next(await tools.add(i, 1) for i in range(3))"),
        solve("return sum(i for i in range(3))"),
        solve("return sum(await add(i, 1) async for i in numbers())"),
        "import json\n" + solve("return json.dumps(1)"),
        solve("return 'tools.add(1, 2)'  # tools.add(1, 2)"),
        solve(*["tools.add(1, 2)"] * 60),
        "not python (",
        "-" * 10_000 + "1",
        "\0",
        "\ud800",
        "",
    ],
)
def test_whatever_could_be_meant_otherwise_is_left_alone(plan: str) -> None:
    assert repaired_plan(plan, CATALOG) == (plan, ())


@pytest.mark.parametrize(
    ("plan", "line", "words"),
    [
        (solve("x = 1", "return await tools.ad(1, 2)"), 3, "did you mean tools.add?"),
        (solve("return await tools.math.ad(1, 2)"), 2, "did you mean tools.add?"),
        (solve("return await tools.zzz(1)"), 2, "on offer: tools.add, tools.remainder"),
        (solve("return await tools.find('x')"), 2, "tools.web.find or tools.docs.find"),
        (solve("f = tools.nope", "return 1"), 2, "nope"),
        (solve("return await tools.add(a=1, c=2)"), 2, "no argument 'c'; its arguments are: a, b"),
        (solve("return await tools.add(1, 2, 3)"), 2, "takes 2 arguments"),
        (solve("return await tools.add(1, a=2)"), 2, "two values for argument 'a'"),
        (solve("return await add(1)"), 2, "missing: b"),
        (solve("return await tools.web.find(q='x')"), 2, "no argument 'q'"),
        (solve("return await mcp.call_tool('ad', {})"), 2, "did you mean add"),
        (solve("return await mcp.call_tool('nothing')"), 2, "no tool 'nothing'"),
        (solve("return await mcp.call_tool('add', {'a': 1})"), 2, "missing: b"),
        (solve("await tools.add(1)", "await tools.nope()"), 2, "missing: b"),
    ],
)
def test_a_certain_mistake_with_a_tool_is_found_with_its_line(
    plan: str, line: int, words: str
) -> None:
    assert_found(plan, "tool", line, words, CATALOG)


@pytest.mark.parametrize(
    "plan",
    [
        solve("return await tools.add(1, 2)"),
        solve("return await tools.math.add(1, 2)"),
        solve("return await tools.add(*[1, 2])"),
        solve("return await tools.add(**{'a': 1, 'b': 2})"),
        solve("return await tools.add(input={'a': 1, 'b': 2})"),
        solve("return await mcp.call_tool('add', {'input': {'a': 1, 'b': 2}})"),
        solve("return await mcp.call_tool('add', {**given})"),
        solve("return await mcp.call_tool(name, {})"),
        solve("return tools"),
        "tools = other()\n" + solve("return tools.anything()"),
        "def add(x):\n    return x\n" + solve("return add(1)"),
        "if True:\n    def solve():\n        return 1",
        "try:\n    solve = make()\nexcept ValueError:\n    pass",
        "async def solve(x=1, *, y=2):\n    return x",
        "async def solve(x):\n    return x\nsolve = partial(solve, 1)",
        "def main():\n    global solve\n    def solve():\n        return 1\nmain()",
        solve("tools.plus = tools.add", "return await tools.plus(1, 2)"),
        solve("match 1:", "    case tools:", "        return tools.real"),
        solve("match [1]:", "    case [*tools]:", "        return tools.count(1)"),
        solve("match {}:", "    case {**tools}:", "        return tools.keys()"),
        solve("try:", "    pass", "except Exception as tools:", "    return tools.args"),
        solve("return '\\d'"),
        solve('d = {"a": 1}', 'return f"{d["a"]}"'),
        solve("x = 1") + "\n" + "x = 1\n" * 4000,
    ],
)
def test_what_is_right_or_uncertain_is_not_reported(plan: str) -> None:
    assert prepare_plan(plan, CATALOG).failure is None


@pytest.mark.parametrize(
    ("plan", "line", "words"),
    [
        ("x = 1", None, "no solve()"),
        ("", None, "no solve()"),
        ("def f():\n    def solve():\n        pass", 2, "no solve()"),
        ("class C:\n    def solve(self):\n        pass", 2, "no solve()"),
        ("async def solve(request):\n    return request", 1, "no arguments"),
        ("\n\nasync def solve(*, x):\n    pass", 3, "no arguments"),
        ("-" * 8_000 + "1", None, "too deeply"),
        ("1" + "+1" * 4_000, None, "too deeply"),
        ("a = '\ud800'", None, "characters"),
    ],
)
def test_a_text_that_cannot_be_a_plan_is_a_syntax_failure(
    plan: str, line: int | None, words: str
) -> None:
    assert_found(plan, "syntax", line, words, CATALOG)


@pytest.mark.parametrize(
    "lines",
    [
        ("row = {'k': 'a'}", "return f'{row['k']}'"),
        ("try:", "    raise KeyError('x')", "except ValueError, KeyError:", "    return 'a'"),
        ("def first[T](items: list[T]) -> T:", "    return items[0]", "return first(['a'])"),
    ],
)
async def test_syntax_is_judged_by_the_python_that_runs_the_plan(lines: tuple[str, ...]) -> None:
    prepared = prepare_plan(solve(*lines), CATALOG)
    assert prepared.failure is None
    async with Sandbox() as sandbox:
        assert (await sandbox.run(prepared.source, CATALOG, Tools())).value == "a"


@pytest.mark.parametrize("plan", ["def f(:\n    pass", "(" * 300 + ")" * 300, "a\0b"])
async def test_what_is_no_python_is_a_syntax_failure_when_it_runs(plan: str) -> None:
    async with Sandbox() as sandbox:
        result = await run_plan(Plan(plan), CATALOG, Tools(), sandbox)
    assert isinstance(result, PlanFailed)
    assert result.failure.kind == "syntax"


ADD_ONLY = CATALOG.offering([CATALOG.resolve("add")])
"""The test tools, of which plans are offered one."""

SEARCHES = [
    (solve("found = search_tools('add')", "return found[0]['name']"), "add"),
    (solve("return [t['name'] for t in search_tools('add')]"), ["add"]),
    (solve("search_tools = await search_tools('add')", "return len(search_tools)"), 1),
    (solve("found = mcp.search_tools('add')", "return len(found)"), 1),
    (solve("found = tools.search_tools('add')", "return len(found)"), 1),
    ("from tools import search_tools as look\n" + solve("return len(await look('add'))"), 1),
    (solve("found = await search_tools('remainder')", "return str(tools.remainder(7, 4))"), "3"),
]


@pytest.mark.parametrize(("plan", "value"), SEARCHES)
async def test_mistakes_with_a_search_are_repaired_like_those_with_a_tool(
    plan: str, value: object
) -> None:
    repaired = prepare_plan(plan, ADD_ONLY).source
    assert repaired != plan
    assert repaired_plan(repaired, ADD_ONLY) == (repaired, ())
    assert prepare_plan(repaired, ADD_ONLY).failure is None
    async with Sandbox() as sandbox:
        result = await sandbox.run(repaired, ADD_ONLY, Tools())
    assert result.failure is None
    assert result.value == value


@pytest.mark.parametrize(
    "plan",
    [
        solve("return await search_tools('add')"),
        "def search_tools(words):\n    return words\n" + solve("return str(search_tools('add'))"),
        solve("await search_tools('x')", "return await tools.remainder(a=7, b=4)"),
        solve(
            "await search_tools('x')", "return await mcp.call_tool('remainder', {'a': 7, 'b': 4})"
        ),
    ],
)
def test_a_plan_that_searches_is_left_alone(plan: str) -> None:
    assert repaired_plan(plan, ADD_ONLY) == (plan, ())
    assert prepare_plan(plan, ADD_ONLY).failure is None


@pytest.mark.parametrize(
    ("plan", "line", "words"),
    [
        (solve("return await tools.remainder(7, 4)"), 2, 'await search_tools("remainder")'),
        (solve("return await tools.remainder(oops=1)"), 2, 'await search_tools("remainder")'),
        (solve("x = 1", "f = tools.math.remainder"), 3, "exists but was not offered"),
        (solve("return await remainder(7, 4)"), 2, "exists but was not offered"),
        (solve("return await mcp.call_tool('get-page')"), 2, 'search_tools("get page")'),
        (solve("return await tools.find('x')"), 2, "tools.web.find or tools.docs.find"),
        (solve("return await tools.ad(1)"), 2, "there is no tools.ad; did you mean tools.add?"),
        (solve("return await tools.nope(1)"), 2, "on offer: tools.add"),
        (
            solve("await search_tools('x')", "return await tools.remainder(oops=1)"),
            3,
            "no argument 'oops'",
        ),
        (
            solve("await search_tools('x')", "await mcp.call_tool('remainder', {'c': 1})"),
            3,
            "no argument 'c'",
        ),
    ],
)
def test_a_tool_that_was_not_offered_must_be_searched_for(plan: str, line: int, words: str) -> None:
    assert_found(plan, "tool", line, words, ADD_ONLY)


async def test_an_import_of_a_tool_with_a_builtins_name_still_binds_it() -> None:
    offered = ToolCatalog([spec("max", ["values"])])
    plan = "from tools import max\n" + solve("return (await asyncio.gather(max([1])))[0]")
    async with Sandbox() as sandbox:
        repaired = prepare_plan(HEAD + plan, offered).source
        result = await sandbox.run(repaired, offered, Tools())
    assert result.failure is None
    assert [call.tool for call in result.calls] == ["math.max"]


pieces = st.sampled_from(
    ["codes", "json", "solve()", "mcp", "true", "'result'", "{'a': ", "asyncio.gather",
     "tools", ".", "add", "(", ")", "await ", "mcp.call_tool", "x", "=", "[", "]", "for x in ",
     "'é'", ",", "\n", "    ", "async def solve():", "return ", "import tools", "remainder", "f'{",
     "}'", "lambda: ", "\t", ":", "\\", "\r\n", "\f", "if ", "{", "}", "1"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=60))
def test_no_text_breaks_the_check_and_repairs_keep_a_plan_parsable(text: str) -> None:
    repaired = prepare_plan(text, CATALOG).source
    prepare_plan(text, TYPED)
    if repaired != text:
        ast.parse(repaired)
        assert repaired.count("\n") >= text.count("\n")
