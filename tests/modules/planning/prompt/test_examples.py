"""The examples in decision prompts: a few, fitting the tools, the same for every request."""

import pytest

from config.settings import ROOT
from core.tools.catalog import ToolCatalog
from core.turn import PlanStyle
from modules.planning.prompt.examples import (
    EXAMPLES_MAX,
    EXAMPLES_MIN,
    Example,
    choose_examples,
    parse_examples,
    plan_examples,
)
from tests.doubles import tool


def example(name: str, *tools: str) -> Example:
    return Example(name, frozenset(tools))


def chosen(examples: list[Example], *tools: str) -> list[str]:
    catalog = ToolCatalog([tool(name) for name in tools])
    return [one.text for one in choose_examples(examples, catalog)]


POOL = [
    *(example(f"other {n}", f"t{n}") for n in range(6)),
    example("adds", "add"),
    example("adds and subtracts", "add", "subtract"),
    example("needs none"),
]


def test_examples_whose_tools_are_all_there_come_before_others() -> None:
    shown = chosen(POOL, "add")
    assert {"adds", "needs none"} <= set(shown)
    assert "adds and subtracts" not in shown
    shown = chosen(POOL, "add", "subtract", "t5")
    assert {"adds", "adds and subtracts", "other 5", "needs none"} <= set(shown)


def test_each_server_has_its_example_before_another_has_two() -> None:
    pool = [*(example(f"m{n}", f"m{n}") for n in range(20)), example("reads", "read")]
    tools = [*(tool(f"m{n}") for n in range(20)), tool("read", "files")]
    texts = [one.text for one in choose_examples(pool, ToolCatalog(tools))]
    assert texts == [*(f"m{n}" for n in range(EXAMPLES_MAX - 1)), "reads"]


def test_there_are_only_so_many_in_the_order_of_their_file() -> None:
    assert len(chosen(POOL)) == EXAMPLES_MIN
    assert len(chosen(POOL, "add", "subtract", *(f"t{n}" for n in range(6)))) == len(POOL)
    assert chosen(POOL[:2]) == ["other 0", "other 1"]
    texts = [one.text for one in POOL]
    shown = chosen(POOL, "subtract", "add", "t4")
    assert shown == sorted(shown, key=texts.index)


@pytest.mark.parametrize("style", ["tools", "mcp"])
def test_every_file_has_enough_of_them_and_one_without_tools(style: PlanStyle) -> None:
    text = (ROOT / "prompts" / f"plan_examples_{style}.txt").read_text(encoding="utf-8")
    introduction, examples = parse_examples(text)
    assert introduction
    assert len(examples) >= EXAMPLES_MIN
    assert text.count("```python") == len(examples), "each has a title and a closed fence"
    assert [one for one in examples if not one.tools]
    assert all(one.text.startswith(one.text.splitlines()[0]) for one in examples)


def test_a_text_is_taken_apart_once() -> None:
    text = (ROOT / "prompts" / "plan_examples_tools.txt").read_text(encoding="utf-8")
    assert parse_examples(text) is parse_examples(f"{text[:9]}{text[9:]}")


def test_the_prompts_part_begins_with_the_introduction() -> None:
    text = plan_examples("tools", ToolCatalog([tool("multiply", a="number", b="number")]))
    assert text.startswith("A tool is called as `tools.name(…)`")
    assert EXAMPLES_MIN <= text.count("```python") < EXAMPLES_MAX
    assert "tools.multiply(" in text
