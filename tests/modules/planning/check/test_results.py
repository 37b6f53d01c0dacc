"""Results of tools used as something else than they are: certain ones are found, others pass."""

import pytest

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.preparation import prepare_plan
from tests.modules.planning.plan_tools import NUMBER, TYPED, assert_found, typed
from tests.modules.sandbox.sandbox_tools import solve

ADD = "r = await tools.add(a=1, b=2)"
CODES = "r = await tools.codes(text='AB')"
RAW = "r = await mcp.call_tool('add', {'a': 1, 'b': 2})"
GATHER = "a, b = await asyncio.gather(tools.add(a=1, b=2), tools.codes(text='A'))"

MISUSES = [
    (solve("return (await tools.add(a=1, b=2))['result']"), 2, "leave ['result'] out"),
    (solve("return (await tools.add(a=1, b=2)).result"), 2, "leave .result out"),
    (solve(ADD, "return r['result']"), 3, "tools.add gives a number: write r instead of r["),
    (solve(ADD, "x = 1", "return r.text"), 4, "write r instead of r.text"),
    (solve(ADD, "return r.content[0].text"), 3, "write r instead of r.content"),
    (solve(ADD, "return r.get('result')"), 3, "write r instead of r.get(…)"),
    (solve(ADD, "return [x for x in r]"), 3, "can't be looped over"),
    (solve(ADD, "for x in r:", "    pass"), 3, "can't be looped over"),
    (solve(ADD, "return len(r)"), 3, "can't be looped over or counted"),
    (solve(ADD, "return max(*r)"), 3, "can't be looped over"),
    (solve(ADD, "return 3 in r"), 3, "can't be looped over"),
    (solve(ADD, "return ', '.join(r)"), 3, "can't be looped over"),
    (solve(ADD, "return 'FINAL_ANSWER: ' + r"), 3, "write str(r) to join it to text"),
    (solve(ADD, "return r + ' is it'"), 3, "write str(r)"),
    (solve(ADD, "return 'a' + 'b' + r + 'c'"), 3, "write str(r)"),
    (solve(ADD, "x = 1", "return f'{x}: ' + r"), 4, "write str(r)"),
    (solve(ADD, "return await r"), 3, "write r without another await"),
    (solve(ADD, "return r()"), 3, "write r instead of r(…)"),
    ("import json\n" + solve(ADD, "return json.loads(r)"), 4, "write r instead of json.loads(r)"),
    ("import json\n" + solve(CODES, "return json.loads(r)"), 4, "tools.codes gives a list"),
    (solve(ADD, "return r[0]"), 3, "write r instead of r[…]"),
    (solve(ADD, "return r[1:]"), 3, "it has no parts"),
    (solve(CODES, "return r['result']"), 3, "tools.codes gives a list: write r instead"),
    (solve(CODES, "return r - 1"), 3, "r can't be used as a number"),
    (solve(CODES, "return r + 1"), 3, "r can't be used as a number"),
    (solve(CODES, "return r > 2"), 3, "r can't be used as a number"),
    (solve(CODES, "return f'{r:.2f}'"), 3, "r can't be used as a number"),
    (solve(CODES, "return round(r, 2)"), 3, "r can't be used as a number"),
    (solve("r = await tools.search(query='x')", "return r['result']"), 3, "search gives text"),
    (solve("r = await tools.is_even(n=2)", "return r.result"), 3, "gives True or False"),
    (solve("r = await tools.maybe()", "return r['x']"), 3, "gives a number or None"),
    (solve("r = await tools.weather()", "return r.place"), 3, "write ['place'] instead of .place"),
    (solve("r = await tools.weather()", "return r.text"), 3,
     "gives a dict with the keys 'temperature', 'place', 'result': it has no .text"),
    # through names
    (solve(ADD, "x = r", "return x['result']"), 4, "write x instead of x['result']"),
    (solve("r: float = await tools.add(a=1, b=2)", "return r['x']"), 3, "write r instead"),
    (solve("return (r := await tools.add(a=1, b=2))['x']"), 2, "write r instead"),
    (solve(ADD, "r = await tools.add(a=r, b=2)", "return r['x']"), 4, "tools.add gives a number"),
    (solve(CODES, "r = [c for c in await tools.codes(text='x')]", "y = await tools.add(a=1, b=2)",
           "return y['x']"), 5, "write y instead"),
    ("import asyncio\n" + solve(GATHER, "return a['x'] + b"), 4, "tools.add gives a number"),
    ("import asyncio\n" + solve(GATHER, "return a + b['x']"), 4, "tools.codes gives a list"),
    (solve("a, b = await tools.add(a=1, b=2), await tools.codes(text='A')", "return b['x']"), 3,
     "tools.codes gives a list"),
    (solve(ADD, "x = await tools.add(a=1, b=r)", "y = r if r > 2 else x", "r2 = x",
           "return r2['x'] + y"), 6, "write r2 instead"),
    ("async def one():\n    r = await tools.add(a=1, b=2)\n    return r['x']\n"
     + solve("return await one()"), 3, "write r instead"),
    # the raw call
    (solve(RAW, "return r['result']"), 3, "write r.content[0].text for its text, or r.structured"),
    (solve(RAW, "return r.result"), 3, "mcp.call_tool gives an object"),
    (solve(RAW, "return 'x' + r"), 3, "mcp.call_tool gives an object"),
    ("import json\n" + solve(RAW, "return json.loads(r)"), 4, "mcp.call_tool gives an object"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "line", "words"), MISUSES)
def test_a_result_of_the_wrong_type_is_found_before_the_plan_runs(
    plan: str, line: int, words: str
) -> None:
    assert_found(plan, "error", line, words)


FINE = [
    solve(ADD, "return f'{r} {r:.2f} {r + 1} {-r} {r * 2} {round(r)} {r.real} {str(r)} {r > 2}'"),
    solve(ADD, "return 'x' * r + '%s' % r + str(r) + r.__class__.__name__"),
    solve(CODES, "return [c + 1 for c in r] + r[1:] + [r[0], len(r), max(r)] + r * 2"),
    solve("r = await tools.search(query='x')", "return r + 'x' + r[0] + r.upper() + r[1:]"),
    "import json\n" + solve("r = await tools.search(query='x')", "return json.loads(r)['x']"),
    solve("r = await tools.weather()", "return r['place'], r.get('x'), list(r), len(r), 'x' in r"),
    solve(RAW, "return r.content[0].text, r.structured_content['result'], r.is_error"),
    # nothing is promised, or more than one thing
    solve("r = await tools.page(url='x')", "return r['title'] + r.text"),
    solve("r = await tools.either()", "return r['x']"),
    solve("r = await tools.loose()", "return r.get('result')"),
    # a name that may be something else
    solve(ADD, "r = {'result': r}", "return r['result']"),
    solve(ADD, "r += 1", "for r in ['a']:", "    return r.upper()"),
    solve("r = await tools.add(a=1, b=2) if x else {}", "return r['x']"),
    solve(ADD, "def f(r):", "    return r['x']", "return f({'x': 1})"),
    solve(ADD, "return [r['x'] for r in [{'x': 1}]]"),
    solve("global r", ADD, "return r['x']"),
    solve("a, *r = await tools.codes(text='x'), 1", "return r['x']"),
    solve("a = b", "b = a", "return a['x']"),
    solve("a = await tools.page(url='x')", "r = a", "return r['x']"),
    # the plan asks, or is ready for an error
    solve(ADD, "if isinstance(r, dict):", "    r = r['result']", "return r"),
    solve(ADD, "return r['result'] if isinstance(r, dict) else r"),
    solve(ADD, "if not hasattr(r, 'text'):", "    return r", "return r.text"),
    solve(ADD, "match r:", "    case {'x': y}:", "        return r['x']"),
    solve(ADD, "return r['result'] if 'result' in str(r) else r"),
    solve(ADD, "if f'{r}'.startswith('{'):", "    return r['result']", "return r"),
    solve(ADD, "return str(r).isdigit() and r or r['x']"),
    solve(ADD, "return [r['x'] for _ in [1] if repr(r)[0] == '{']"),
    solve(ADD, "try:", "    return r['result']", "except TypeError:", "    return r"),
    "async def one():\n    r = await tools.add(a=1, b=2)\n    return r['x']\n"
    + solve("try:", "    return await one()", "except TypeError:", "    return 1"),
    "import asyncio\n" + solve("a, *b = await asyncio.gather(*calls)", "return a['x']"),
    "import asyncio\n" + solve("a, b = await asyncio.gather(*calls, tools.add(a=1, b=2))",
                               "return b['x']"),
    "import asyncio\n" + solve("a = await asyncio.gather(tools.add(a=1, b=2))", "return a[0]"),
    solve("tools.add = other", ADD, "return r['x']"),
]  # fmt: skip


@pytest.mark.parametrize("plan", FINE)
def test_what_may_be_right_is_not_reported(plan: str) -> None:
    assert prepare_plan(plan, TYPED).failure is None


@pytest.mark.parametrize(
    ("schema", "known"),
    [
        (NUMBER, True),
        ({"type": ["number", "null"]}, True),
        ({"$ref": "#/$defs/N"}, True),
        ({"allOf": [NUMBER, {"minimum": 1}]}, True),
        ({"oneOf": [NUMBER, {"type": "boolean"}]}, True),
        ({"type": "number", "nullable": True}, True),
        ({}, False),
        (True, False),
        ({"$ref": "#/$defs/nothing"}, False),
        ({"type": "decimal"}, False),
        ({"type": ["number", 7]}, False),
        ({"anyOf": [NUMBER, {}]}, False),
        ({"anyOf": []}, False),
        ({"anyOf": [NUMBER] * 1000}, False),
        ({"allOf": [NUMBER, {"type": "string"}]}, False),
        ({"enum": [1, 2]}, False),
        ({"anyOf": [{"anyOf": [{"anyOf": [{"anyOf": [NUMBER]}]}]}]}, False),
    ],
)
def test_only_schemas_that_say_a_type_make_a_result_known(schema: Json, known: bool) -> None:
    output: JsonObject = {
        "properties": {"result": schema},
        "required": ["result"],
        "$defs": {"N": NUMBER},
    }
    tool = ToolSpec("math", "f", "f.", {"type": "object"}, output)
    failure = prepare_plan(solve("return (await tools.f())['x']"), ToolCatalog([tool])).failure
    assert (failure is not None) is known


def test_results_of_several_tools_of_one_type_are_known_without_a_name() -> None:
    tools = ToolCatalog([typed("f", {}, NUMBER), typed("g", {}, NUMBER)])
    plan = solve("r = await tools.f()", "if r > 1:", "    r = await tools.g()", "return r['x']")
    told = "the tool gives a number: write r instead of r['x']"
    assert_found(plan, "error", 5, told, tools)


def test_names_that_lead_to_one_another_end() -> None:
    many = [f"a{i} = a{i + 1}" for i in range(200)]
    twice = [f"b{i} = b{i + 1}\n    b{i} = b{i + 2}" for i in range(100)]
    assert prepare_plan(solve(*many, *twice, "return a0['x'] + b0['x']"), TYPED).failure is None
