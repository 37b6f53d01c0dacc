"""Tool calls that models wrote as calls, in a provider's form or as JSON, turned into plans."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ports import ModelReply, NativeToolCall
from core.turn import FurtherProcessing
from core.values import JsonObject
from modules.sandbox import Sandbox
from tests.modules.planning.reply.model_replies import act, source_in, told


def test_what_a_native_call_gives_goes_on_to_the_next_step() -> None:
    assert source_in("", NativeToolCall("multiply", {"a": 17, "b": 23})) == (
        "async def solve():\n"
        "    result = await tools.multiply(a=17, b=23)\n"
        '    return f"FURTHER_PROCESSING_REQUIRED: {result}"'
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("search_stored_documents", {"query": "tides"}), ("get_weather", {"city": "Oslo"})],
)
def test_a_native_call_of_a_text_goes_on_to_be_read(name: str, arguments: JsonObject) -> None:
    source = source_in("", NativeToolCall(name, arguments))
    assert 'return f"FURTHER_PROCESSING_REQUIRED: {result}"' in source


async def test_several_native_calls_are_made_in_order_and_all_results_go_on() -> None:
    calls = (NativeToolCall("cbrt", {"a": 729}), NativeToolCall("get_weather", {"city": "Rome"}))
    async with Sandbox() as sandbox:
        result = await act(ModelReply("Let me see.", tool_calls=calls), sandbox)
    assert isinstance(result, FurtherProcessing)
    assert result.text == "cbrt: 9.0\nget_weather: Rome: sunny"


def test_a_plan_in_the_text_counts_more_than_native_calls() -> None:
    solve = 'async def solve():\n    return "FINAL_ANSWER: 1"'
    assert source_in(solve, NativeToolCall("add", {"a": 1, "b": 2})) == solve


@pytest.mark.parametrize("name", ["functions.add", "tools.add", "math.add", "math_add"])
def test_a_tool_is_known_by_the_names_that_providers_make_of_it(name: str) -> None:
    assert "await tools.add(a=1, b=2)" in source_in("", NativeToolCall(name, {"a": 1, "b": 2}))


async def test_an_unknown_tool_stays_so_that_the_check_names_the_nearest() -> None:
    async with Sandbox() as sandbox:
        reply = ModelReply("", tool_calls=(NativeToolCall("multipli", {"a": 1}),))
        assert told(await act(reply, sandbox)).endswith("did you mean multiply?")


HOSTILE = 'x"\'}\n{1/0}\\"""); await tools.add(a=1, b=1) #\ud800'
"""Text that would do harm if it were written into code as it is."""


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(["user-id", "class", "a b", "x=1, y"]), st.text(max_size=5)),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        ),
        max_size=4,
    ),
    st.sampled_from(["odd", "add", "no such", HOSTILE]),
)
@settings(max_examples=25)
def test_whatever_a_call_holds_is_written_as_a_literal(arguments: JsonObject, name: str) -> None:
    source = source_in("", NativeToolCall(name, arguments | {"class": HOSTILE}))
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    assert sum(not isinstance(c.func, ast.Name) for c in calls) == 1
    assert {c.func.id for c in calls if isinstance(c.func, ast.Name)} <= {"float"}


async def test_arguments_that_are_no_identifiers_reach_the_tool() -> None:
    calls = (NativeToolCall("odd", {"user-id": "7", "class": 1}),)
    async with Sandbox() as sandbox:
        assert told(await act(ModelReply("", tool_calls=calls), sandbox)) == "further: 2"


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
        '{"tool": "add", "input": {"a": 1, "b": 2}}',
        '{"tool": "add", "parameters": {"a": 1, "b": 2}}',
        '{"tool": "add", "a": 1, "b": 2}',
        '{"add": {"a": 1, "b": 2}}',
        '{"function": {"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}}',
        '{"tool_calls": [{"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}]}',
        'Calling it: {"name": "add", "args": [1, 2]} now {see}.',
    ],
)
def test_json_calls_are_read_in_forms_of_other_agents_we_have_no_real_text_of(text: str) -> None:
    assert "result = await tools.add(a=1, b=2)" in source_in(text)
