"""Literal arguments of the wrong type are found before a plan runs, in the words of the run."""

import pytest

from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.schema_check import argument_check
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.preparation import prepare_plan
from tests.modules.planning.plan_tools import NUMBER, TEXT, TYPED, assert_found, typed
from tests.modules.sandbox.sandbox_tools import CATALOG, solve


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
TOOLS = ToolCatalog([*TYPED, MEAN, NESTED, CHOICE, typed("key-1", {"x-y": NUMBER}, server="web")])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("tools.add(a='five', b=2)", "add(): argument 'a' must be a number, not the text 'five'"),
        ("tools.add('five', 2)", "argument 'a' must be a number"),
        ("tools.add(a=1, b=None)", "argument 'b' must be a number"),
        ("tools.add(1, [2])", "argument 'b' must be a number"),
        ("tools.search(query=3)", "argument 'query' must be text"),
        ("tools.mean([1, 'two', 3])", "argument 'values[1]' must be a number"),
        ("tools.mean(input={'values': ['two']})", "argument 'values[0]' must be a number"),
        ("tools.key_1(x_y='two')", "argument 'x_y' must be a number"),
        ("mcp.call_tool('add', {'a': 'five', 'b': 2})", "argument 'a' must be a number"),
        ("mcp.call_tool('mean', {'input': {'values': 3}})", "argument 'values' must be a list"),
        # some are literals
        ("tools.add(a='five', b=x)", "add(): argument 'a' must be a number, not the text 'five'"),
        ("tools.add(x, b='five')", "argument 'b' must be a number"),
        ("tools.mean(values=[1, 'two'], label=x)", "argument 'values[1]' must be a number"),
        ("tools.mean(x, label=3)", "argument 'label' must be text"),
    ],
)
def test_a_literal_of_the_wrong_type_is_found(call: str, words: str) -> None:
    assert_found(solve("x = 1", f"return await {call}"), "tool", 3, words, TOOLS)


def test_the_words_are_those_of_the_run() -> None:
    tool = TYPED.resolve("add")
    with pytest.raises(CallRefused) as refused:
        argument_check(tool).checked(tool.bind(["five", 2], {}))
    for call in ("tools.add('five', 2)", "tools.add('five', x)"):
        failure = prepare_plan(solve(f"return await {call}"), TYPED).failure
        assert failure is not None
        assert failure.message == str(refused.value)


@pytest.mark.parametrize(
    "call",
    [
        "tools.add(a=1, b=-2.5)",
        "tools.add(a='3', b='4')",  # the run makes numbers of them
        "tools.add(a='3', b=x)",
        "tools.add(a=x, b=y)",
        "tools.add(a=f'{x}', b=1)",
        "tools.add(a=1 if x else 2, b=int('3'))",
        "tools.add(*['a', 'b'])",
        "tools.add(**{'a': 'x', 'b': 1})",
        "tools.search(query='x', limit=None)",  # the run leaves it out
        "tools.search(query=x, limit=None)",
        "tools.mean((1, 2), label=x)",
        "tools.mean(values=x, label=None)",
        "tools.process(input={'input': 'a', 'mode': 'b'})",
        "tools.process(input=x)",
        "tools.choice(a='x', b=y)",
        "tools.page(url=b'x')",
        "tools.page(url={'x', 'y'})",
        "tools.page(url={(1, 2): 3})",
        "mcp.call_tool('add', {'a': x, 'b': 'five'})",
    ],
)
def test_what_the_run_would_take_or_only_the_run_will_show_is_not_reported(call: str) -> None:
    assert prepare_plan(solve("x = y = 1", f"return await {call}"), TOOLS).failure is None


def test_tools_without_types_take_anything() -> None:
    assert prepare_plan(solve("return await tools.add('x', [{}])"), CATALOG).failure is None
