"""Wrong calls and misused results are told before a plan runs; what may be right is not."""

import pytest

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.preparation import prepare_plan
from tests.modules.planning.plan_tools import NUMBER, TEXT, TYPED, assert_found, typed
from tests.modules.sandbox.sandbox_tools import CATALOG, solve

ADD = "r = await tools.add(a=1, b=2)"
CODES = "r = await tools.codes(text='AB')"
RAW = "r = await mcp.call_tool('add', {'a': 1, 'b': 2})"
GATHER = "a, b = await asyncio.gather(tools.add(a=1, b=2), tools.codes(text='A'))"

MISUSES = [
    (solve("return (await tools.add(a=1, b=2))['result']"), 2,
     "write await tools.add(a=1, b=2) instead of (await tools.add(a=1, b=2))['result']"),
    (solve("return (await tools.add(a=1, b=2)).result"), 2,
     "write await tools.add(a=1, b=2) instead of (await "),
    (solve(ADD, "return r['result']"), 3,
     "r is a number: write r instead of r['result']; r is what tools.add gives: float"),
    (solve(ADD, "x = 1", "return r.text"), 4, "write r instead of r.text"),
    (solve(ADD, "return r.content[0].text"), 3, "write r instead of r.content"),
    (solve(ADD, "return r.get('result')"), 3, "write r instead of r.get"),
    (solve(ADD, "return [x for x in r]"), 3, "can't be looped over"),
    (solve(ADD, "for x in r:", "    pass"), 3, "can't be looped over"),
    (solve(ADD, "return len(r)"), 3, "len() can't take it"),
    (solve(ADD, "return max(*r)"), 3, "can't be looped over"),
    (solve(ADD, "return 3 in r"), 3, "can't be looped over"),
    (solve(CODES, "return ', '.join(r)"), 3, "r is a list: join texts, as in map(str, …)"),
    (solve(ADD, "return 'FINAL_ANSWER: ' + r"), 3, "write str(r) to join it to text"),
    (solve(ADD, "return r + ' is it'"), 3, "write str(r)"),
    (solve(ADD, "return 'a' + 'b' + r + 'c'"), 3, "write str(r)"),
    (solve(ADD, "x = 1", "return f'{x}: ' + r"), 4, "write str(r)"),
    (solve(ADD, "return await r"), 3, "write r without another await"),
    (solve(ADD, "return r()"), 3, "write r instead of r()"),
    ("import json\n" + solve(ADD, "return json.loads(r)"), 4,
     "r is a number: leave json.loads out"),
    ("import json\n" + solve(CODES, "return json.loads(r)"), 4, "r is a list: leave json"),
    (solve(ADD, "return r[0]"), 3, "write r instead of r[0]"),
    (solve(ADD, "return r[1:]"), 3, "write r instead of r[1:]"),
    (solve(CODES, "return r['result']"), 3, "r is a list: write r instead"),
    (solve(CODES, "return r - 1"), 3, "r is a list: it can't be used as a number"),
    (solve(CODES, "return r + 1"), 3, "r is a list: it can't be used as a number"),
    (solve(CODES, "return r > 2"), 3, "r is a list: it can't be used as a number"),
    (solve(CODES, "return round(r, 2)"), 3, "r is a list: it can't be used as a number"),
    (solve("r = await tools.search(query='x')", "return r['result']"), 3,
     "r is text: write r instead of r['result']"),
    (solve("r = await tools.is_even(n=2)", "return r.result"), 3,
     "r is True or False: write r instead of r.result"),
    (solve("r = await tools.maybe()", "return r['x']"), 3,
     "r is a number or None: write r instead"),
    (solve("r = await tools.weather()", "return r.place"), 3, "write ['place'] instead of .place"),
    (solve("r = await tools.weather()", "return r.text"), 3,
     "r is a dict: write ['text'] instead of .text"),
    # through names
    (solve(ADD, "x = r", "return x['result']"), 4, "write x instead of x['result']"),
    (solve("r: float = await tools.add(a=1, b=2)", "return r['x']"), 3, "write r instead"),
    (solve("return (r := await tools.add(a=1, b=2))['x']"), 2,
     "instead of (r := (await tools.add("),
    (solve(ADD, "r = await tools.add(a=r, b=2)", "return r['x']"), 4, "is a number: write "),
    (solve(CODES, "r = [c for c in await tools.codes(text='x')]", "y = await tools.add(a=1, b=2)",
           "return y['x']"), 5, "write y instead"),
    ("import asyncio\n" + solve(GATHER, "return a['x'] + b"), 4, "is a number: write "),
    ("import asyncio\n" + solve(GATHER, "return a + b['x']"), 4,
     "b is a list: write b instead of b['x']"),
    (solve("a, b = await tools.add(a=1, b=2), await tools.codes(text='A')", "return b['x']"), 3,
     "b is a list: write b instead of b['x']"),
    (solve(ADD, "x = await tools.add(a=1, b=r)", "y = r if r > 2 else x", "r2 = x",
           "return r2['x'] + y"), 6, "write r2 instead"),
    ("async def one():\n    r = await tools.add(a=1, b=2)\n    return r['x']\n"
     + solve("return await one()"), 3, "write r instead"),
    # in an f-string, in a loop, in a condition
    (solve(ADD, "return f'é 😀 {r} {r[\"result\"]}'"), 3, "write r instead of r['result']"),
    (solve(CODES, "for c in r:", "    print(c['x'])"), 4,
     "c is a number: write c instead of c['x']"),
    (solve(ADD, "if r['ok'] and r > 1:", "    return r"), 3, "write r instead of r['ok']"),
    (solve("return [c['x'] for c in await tools.codes(text='A')]"), 2, "c is a number"),
    # a call that nobody awaits
    ("def one():\n    return tools.add(a=1, b=2)['x']\n" + solve("return one()"), 2,
     "a call was not awaited: write await before it"),
    ("import asyncio\n" + solve("r = [tools.add(a=1, b=2)]", "return await asyncio.gather(r)"), 4,
     "give asyncio.gather() the calls, as *calls"),
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
    solve(ADD, "return [n for n in range(r)] + [hex(r)]"),  # a number may be a whole one
    # a name that may be something else
    solve(ADD, "r = {'result': r}", "return r['result']"),
    solve(ADD, "r += 1", "for r in ['a']:", "    return r.upper()"),
    solve("r = await tools.add(a=1, b=2) if x else {}", "return r['x']"),
    solve(ADD, "def f(r):", "    return r['x']", "return f({'x': 1})"),
    solve(ADD, "return [r['x'] for r in [{'x': 1}]]"),
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
    "import asyncio\n" + solve("a = await asyncio.gather(tools.add(a=1, b=2))", "return a[0]"),
    solve("tools.add = other", ADD, "return r['x']"),
    # it may never come to that
    solve(ADD, "if '{' not in str(r):", "    return r", "return r['result']"),
    solve(ADD, "if r > 9:", "    return r['result']", "return r"),
    solve("s = await tools.search(query='x')", "if 'rate' not in s:", "    return s",
          "return s['rate']"),
    # Python does not mind
    solve(ADD, "def size(words: str) -> str:", "    return words.split()",
          "return size('a b').append(r)"),
    solve(ADD, "row = {'n': 0}", "row['n'] = 'text'", "return row['n'].upper(), r"),
    solve(ADD, "found = [1, 2]", "found.append('x')", "return found.count('x') + r"),
    "import re\n" + solve("s = await tools.search(query='x')",
                          "return re.search('o', s).group(0), re.search('o', s)[0]"),
    solve(ADD, "best = None", "for n in [r]:", "    if best is None or n > best['n']:",
          "        best = {'n': n}", "return best['n']"),
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
        ({"anyOf": [{"anyOf": [{"anyOf": [NUMBER]}]}]}, True),
        ({"type": "array", "prefixItems": [NUMBER, TEXT]}, True),
        ({}, False),
        (True, False),
        ({"$ref": "#/$defs/nothing"}, False),
        ({"type": "decimal"}, False),
        ({"type": ["number", 7]}, False),
        ({"type": ["number", "object"]}, False),
        ({"anyOf": [NUMBER, {}]}, False),
        ({"anyOf": []}, False),
        ({"allOf": [NUMBER, {"type": "string"}]}, False),
        ({"enum": [1, 2]}, False),
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


def test_results_of_several_tools_of_one_type_are_known() -> None:
    tools = ToolCatalog([typed("f", {}, NUMBER), typed("g", {}, NUMBER)])
    plan = solve("r = await tools.f()", "if r > 1:", "    r = await tools.g()", "return r['x']")
    assert_found(plan, "error", 5, "r is a number: write r instead of r['x']", tools)


def test_names_that_lead_to_one_another_end() -> None:
    many = [f"a{i} = a{i + 1}" for i in range(200)]
    twice = [f"b{i} = b{i + 1}\n    b{i} = b{i + 2}" for i in range(100)]
    assert prepare_plan(solve(*many, *twice, "return a0['x'] + b0['x']"), TYPED).failure is None


def wrapped(name: str, properties: JsonObject, required: list[Json]) -> ToolSpec:
    """A tool that takes its arguments in `input`."""
    inner: JsonObject = {"type": "object", "properties": properties, "required": required}
    schema: JsonObject = {"type": "object", "properties": {"input": inner}, "required": ["input"]}
    return ToolSpec("web", name, f"{name}.", schema)


MEAN = wrapped("mean", {"values": {"type": "array", "items": NUMBER}, "label": TEXT}, ["values"])
NESTED = wrapped("process", {"input": TEXT, "mode": TEXT}, ["input", "mode"])
ANY_OF: list[Json] = [{"required": ["b"], "properties": {"a": NUMBER}}, {"required": ["x"]}]
CHOICE = ToolSpec(
    "web",
    "choice",
    "Choice.",
    {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": ANY_OF},
)
LATER = typed("later", {"b": NUMBER, "a": TEXT}, required=("a",), server="web")
TOOLS = ToolCatalog(
    [*TYPED, MEAN, NESTED, CHOICE, LATER, typed("key-1", {"x-y": NUMBER}, server="web")]
)
UNKNOWN = "x = y = await tools.page(url='u')"
"""Values of which nothing is known."""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tools.add(a='five', b=2)", "add(): argument 'a' must be a number, not text"),
        ("tools.add('five', x)", "argument 'a' must be a number"),
        ("tools.add(a=1, b=None)", "argument 'b' must be a number, not None"),
        ("tools.add(1, [2])", "argument 'b' must be a number, not a list"),
        ("tools.search(query=3)", "argument 'query' must be text, not a number"),
        ("tools.key_1(x_y='two')", "argument 'x_y' must be a number"),
        ("tools.mean(x, label=3)", "argument 'label' must be text"),
        ("tools.mean(3)", "argument 'values' must be a list, not a number"),
        ("tools.store(item=[1])", "argument 'item' must be a dict, not a list"),
        # of values whose type is known
        ("tools.search(query=await tools.weather())", "'query' must be text, not a dict"),
        ("tools.add(a=await tools.codes(text='A'), b=1)", "'a' must be a number, not a list"),
        ("tools.search(query=len(x))", "argument 'query' must be text, not a number"),
    ],
)
def test_an_argument_of_the_wrong_type_is_found(call: str, words: str) -> None:
    assert_found(solve(UNKNOWN, f"return await {call}"), "tool", 3, words, TOOLS)


@pytest.mark.parametrize(
    "call",
    [
        "tools.add(a=1, b=-2.5)",
        "tools.add(a='3', b='4')",  # the run makes numbers of them
        "tools.add(a='-3.5e2', b=str(3))",
        "tools.add(a=x, b=y)",
        "tools.add(a=f'{x}', b=1)",
        "tools.add(a=1 if x else 2, b=int('3'))",
        "tools.add(a=1 if x else None, b=3)",
        "tools.add(*['a', 'b'])",
        "tools.add(**{'a': 'x', 'b': 1})",
        "tools.search(query='x', limit=None)",  # the run leaves it out
        "tools.search(query=x, limit=None)",
        "tools.mean((1, 2), label=x)",
        "tools.mean([n for n in [1]])",
        "tools.mean(range(3))",
        "tools.mean(values=x, label=None)",
        "tools.mean([1, 'two'])",  # what a list holds is seen at the call
        "tools.process(input={'input': 'a', 'mode': 'b'})",
        "tools.process(input=x)",
        "tools.choice(a='x', b=y)",
        "tools.later(a='x')",
        "tools.page(url={'x', 'y'})",
        "mcp.call_tool('add', {'a': x, 'b': 'five'})",
    ],
)
def test_what_the_run_would_take_or_only_the_run_will_show_is_not_reported(call: str) -> None:
    assert prepare_plan(solve(UNKNOWN, f"return await {call}"), TOOLS).failure is None


def test_a_tool_by_another_name_is_known_too() -> None:
    plan = solve("plus = tools.math.add", "return await plus(a=1)")
    assert_found(plan, "tool", 3, "add() is missing: b; its arguments are: a, b", CATALOG)


def test_a_wrong_argument_in_a_branch_that_may_never_run_is_left_to_the_run() -> None:
    plan = solve(UNKNOWN, "if x:", "    return await tools.search(query=3)", "return 1")
    assert prepare_plan(plan, TOOLS).failure is None


def test_tools_without_types_take_anything() -> None:
    assert prepare_plan(solve("return await tools.add('x', [{}])"), CATALOG).failure is None


def test_a_tool_named_like_a_type_of_python_hides_none_of_its_uses() -> None:
    tools = ToolCatalog([typed(name, {"a": NUMBER}, TEXT) for name in ("str", "float", "max")])
    plan = solve("s = await tools.str(a=float('1'))", "return max([str(len(s))]) + s")
    assert prepare_plan(plan, tools).failure is None
