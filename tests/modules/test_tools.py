"""JSON out of replies, tools as text, templates and how they are filled."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigurationError
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.planning.prompt.stubs import LISTED_DESCRIPTION_CHARACTERS, describe_tool, tool_text
from modules.tools import (
    extract_json_block,
    fill_prompt,
    filter_tools_by_hint,
    get_tool_map,
    load_prompt,
    summarize_tools,
)


def tool(name: str, server: str = "math", description: str = "") -> ToolSpec:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}}
    return ToolSpec(server, name, description, schema)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('Sure!\n```json\n{"a": 1}```\nAnything else?', '{"a": 1}'),
        ('```JSON\r\n{"a": 1}\r\n```', '{"a": 1}'),
        ('```\n{"a": 1}\n```', '{"a": 1}'),
        ('  ```python\nx = {}\n```\n```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ('Here: {"a": {"b": "}"}} as you asked.', '{"a": {"b": "}"}}'),
        ('As [1] says, {curly} is {"a": 1} or {"a": 2}', '{"a": 1}'),
        ('the list [{"a": 1}, 2] it is', '[{"a": 1}, 2]'),
        ('a mark that no line begins with ```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```json\n{"a": 1', '```json\n{"a": 1'),
        ('```json\n{"a": oops}\n```', '{"a": oops}'),
        ("  no JSON here  ", "no JSON here"),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("", ""),
    ],
)
def test_json_is_found_in_a_reply(reply: str, found: str) -> None:
    assert extract_json_block(reply) == found


PROSE = st.text(st.characters(exclude_characters="{}[]`", exclude_categories=["Cs"]))
OBJECTS = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=6,
    ),
)


@settings(max_examples=25, deadline=None)
@given(PROSE, OBJECTS, PROSE, st.sampled_from(["{}", "```json\n{}\n```", "\n```\n{}\n```"]))
def test_any_object_comes_out_of_any_prose(
    before: str, value: JsonObject, after: str, form: str
) -> None:
    reply = before + form.replace("{}", json.dumps(value, indent=1)) + after
    assert json.loads(extract_json_block(reply)) == value


@given(st.text(st.sampled_from('{}[]",:`\n1a\\ json')))
def test_any_reply_gives_some_text(reply: str) -> None:
    extract_json_block(reply)


@pytest.mark.timeout(10)  # seconds; a quadratic search takes minutes
@pytest.mark.parametrize(
    "reply", ["{" * 200_000, "[" * 200_000, "[1," * 70_000, "```" * 70_000, '{"a":' * 40_000]
)
def test_a_hostile_reply_is_given_up_soon(reply: str) -> None:
    assert extract_json_block(reply) == reply


def test_tools_are_summarised_one_a_line_by_the_names_that_plans_use() -> None:
    tools = [
        tool("add", description="Add two\n  numbers."),
        tool("get-page", "web"),
        tool("add", "other", "d" * 1_000),
    ]
    lines = summarize_tools(tools).split("\n")
    assert lines[0] == "- math.add(a: int = ...) -> str: Add two numbers."
    assert lines[1] == "- get_page(a: int = ...) -> str: No description provided."
    assert lines[2].startswith("- other.add(")
    assert lines[2].endswith("d…")
    assert len(lines[2]) < LISTED_DESCRIPTION_CHARACTERS + 60
    assert summarize_tools([]) == ""


def noted(name: str, note: str) -> ToolSpec:
    properties: JsonObject = {"a": {"type": "integer", "description": note}}
    return ToolSpec("s", name, "Does it.", {"type": "object", "properties": properties})


def test_parameters_are_described_below_their_tool_while_the_budget_lasts() -> None:
    tools = [noted("one", "the first"), noted("two", "n" * 90), noted("three", "the third")]
    everything = summarize_tools(tools)
    assert everything.split("\n")[:2] == [
        "- one(a: int = ...) -> str: Does it.",
        "    a: the first",
    ]
    assert "a: the third" in everything
    tight = summarize_tools(tools, len(everything) - 50)
    assert [line[:9] for line in tight.split("\n")] == [
        "- one(a: ",
        "    a: th",
        "- two(a: ",
        "- three(a",
    ]


def test_tools_that_are_not_offered_are_counted_with_how_to_find_them() -> None:
    catalog = ToolCatalog([tool("add"), tool("add", "other"), tool("sin")])
    assert "more tool" not in summarize_tools(catalog)
    offered = summarize_tools(catalog.offering([tool("add")]))
    assert offered.startswith("- math.add(a: int = ...)"), "names are those of the whole catalogue"
    assert "2 more tools exist" in offered
    assert "await search_tools(" in offered
    assert "1 more tool exists. To find it" in summarize_tools(
        catalog.offering([tool("add"), tool("sin")])
    )


def test_one_tool_is_described_as_in_the_summary() -> None:
    spec = tool("add", description="Add.")
    assert describe_tool(spec, ToolCatalog([spec])) == summarize_tools([spec])


def test_a_hint_narrows_the_tools_unless_none_fits() -> None:
    tools = [tool("add"), tool("Subtract"), tool("remainder")]
    assert [t.name for t in filter_tools_by_hint(tools, "SUB")] == ["Subtract"]
    assert filter_tools_by_hint(tools, "banana") == tools
    assert filter_tools_by_hint(tools, None) == filter_tools_by_hint(tools, " ") == tools


def test_tools_of_one_name_hide_none_in_the_map() -> None:
    tools = [tool("add"), tool("add", "other"), tool("sin")]
    assert list(get_tool_map(tools)) == ["math.add", "other.add", "sin"]
    assert get_tool_map(tools)["other.add"] is tools[1]


def test_a_prompt_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "{user_input}" in load_prompt("prompts/perception_prompt.txt")
    own = tmp_path / "own.txt"
    own.write_text("naïve ✓", encoding="utf-8")
    assert load_prompt(str(own)) == "naïve ✓"


def test_a_prompt_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no-such\.txt"):
        load_prompt("prompts/no-such.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_prompt(tmp_path / "latin.txt")


def test_only_known_placeholders_are_filled_and_values_are_never_read_again() -> None:
    template = 'Q: {user_input} Example: {"a": {}} {unknown} {{user_input}} {tools}{tools}'
    filled = fill_prompt(template, {"user_input": "{tools} \\1 \\g<0> {", "tools": "T", "z": "?"})
    assert filled == (
        'Q: {tools} \\1 \\g<0> { Example: {"a": {}} {unknown} {{tools} \\1 \\g<0> {} TT'
    )


def test_a_name_that_begins_another_is_no_trouble() -> None:
    assert fill_prompt("{a}{ab}{abc}", {"a": "1", "abc": "3", "ab": "2"}) == "123"
    assert fill_prompt("{a}", {}) == "{a}"


@given(st.text(), st.text(), st.text())
def test_values_stand_in_the_filled_template_as_they_are(one: str, two: str, between: str) -> None:
    middle = between.replace("{one}", "").replace("{two}", "")
    if "{one}" not in middle and "{two}" not in middle:
        filled = fill_prompt(f"{{one}}{middle}{{two}}", {"one": one, "two": two})
        assert filled == f"{one}{middle}{two}"


def test_a_tool_is_written_out_once_for_each_name() -> None:
    spec = tool("add")
    assert tool_text(spec, "add") is tool_text(spec, "add")
    assert tool_text(spec, "math.add").line.startswith("- math.add(")
