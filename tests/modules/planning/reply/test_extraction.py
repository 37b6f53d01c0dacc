"""Plans found in what models reply; the replies under `fixtures/model_replies` are real ones."""

import sys
import time
from textwrap import indent
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from core.ports import ModelReply, NativeToolCall
from core.turn import NoPlan, Usage
from modules.planning.preparation import prepare_plan
from modules.planning.reply.extraction import find_plan
from modules.planning.reply.text import SEARCHED_CHARACTERS
from modules.sandbox import Sandbox
from tests.modules.planning.reply.model_replies import (
    REPLIES,
    TOOLS,
    act,
    reply_in,
    source_in,
    told,
)

if TYPE_CHECKING:
    from _typeshed import TraceFunction

SOLVE = 'async def solve():\n    return "FINAL_ANSWER: 1"'

REAL = {
    # code that defines solve
    "solve_without_verdict.txt": "final: 391",
    "solve_of_bare_functions.txt": "final: 3",
    "solve_that_shadows.txt": "final: 48",
    "solve_without_await_in_tuple.txt": "limit: the plan made more than 5 tool calls",
    # code that does not
    "script_that_prints.txt": "final: 391",
    "script_that_prints_twice.txt": "final: Add 5 and 7: 12\nDivide the result by 4: 3",
    "expression_in_backticks.txt": "final: 391",
    "expression_of_numbers.txt": "final: 3.0",
    "expression_of_tools.txt": "final: 6480.0",
    "expression_of_two_tools.txt": "final: 0.9975 0.0707",
    "expressions_on_two_lines.txt": "final: 0.9975 0.0707",
    "expression_alone.txt": "final: 48",
    "script_of_own_functions.txt": "final: 391",
    "steps_at_length.txt": "cut: the reply was cut off at its limit, and nothing of it ",
    "expression_after_prose.txt": "tool: search_stored_documents() takes 1 argument (query), 2",
    "explained_at_length.txt": "cut: the reply was cut off at its limit, and nothing of it ",
    "import_from_a_server.txt": "final: 40",
    # calls as JSON
    "json_bare.txt": "further: 391",
    "json_in_fence.txt": "further: 9.0",
    "json_call_as_text.txt": "further: 391",
    "json_under_labels.txt": "further: cbrt: 9.0\nfactorial: 720",
    "json_list_of_calls.txt": "further: fibonacci_numbers: [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]\nint_",
    # verdicts in prose
    "verdict_in_prose.txt": "final: 391",
    "verdict_in_a_sentence.txt": "final: The first 10 Fibonacci numbers are: 0, 1, 1, 2, 3, 5, ",
    "verdict_of_a_call.txt": "final: 48",
    "verdict_in_own_words.txt": "final: The capital of France is Paris.",
    "verdict_of_made_up_calls.txt": "no_plan: the reply held no plan; reply with one ```python",
    "verdict_cut_off.txt": "cut: the reply was cut off at its limit, and nothing of it ",
    # nothing to run
    "json_with_a_name_in_it.txt": "no_plan: the reply held no plan; reply with one ```python",
    "only_prose.txt": "cut: the reply was cut off at its limit, and nothing of it ",
    "models_of_tools_cut_off.txt": "cut: the reply was cut off at its limit, and nothing of it ",
    "classes_cut_off.txt": "cut: the reply was cut off at its limit, and nothing of it ",
}
"""Replies of real models, and the beginning of what becomes of them."""


async def test_a_plan_is_found_in_what_models_really_wrote_and_runs() -> None:
    async with Sandbox() as sandbox:
        for file, expected in REAL.items():
            result = told(await act(reply_in(file), sandbox))
            assert result.startswith(expected), file


REPAIRED = {
    "solve_without_await_in_tuple.txt": ["added await to tools.factorial"],
    "expression_of_two_tools.txt": ["added await to tools.cos", "added await to tools.sin"],
    "script_that_prints.txt": ["dropped the import of tools", "added await to tools.multiply"],
    "verdict_of_a_call.txt": ["added await to tools.remainder", "returned what FINAL_ANSWER: says"],
    "import_from_a_server.txt": [
        "dropped the import of add, subtract, multiply, divide, power, strings_to_chars_to_int, ",
        "added await to tools.add",
    ],
}
"""What is put right in some of them."""


@pytest.mark.parametrize("file", REPAIRED)
def test_mistakes_that_models_really_made_are_put_right(file: str) -> None:
    prepared = prepare_plan(source_in(reply_in(file).text), TOOLS)
    assert prepared.failure is None
    repairs = [phrase.rpartition(" (line ")[0] for phrase in prepared.repairs]
    assert len(repairs) == len(REPAIRED[file])
    assert all(map(str.startswith, repairs, REPAIRED[file])), repairs


def test_every_reply_that_is_kept_has_its_note_and_is_tested() -> None:
    files = {path.name for path in REPLIES.glob("*.txt")}
    assert files == REAL.keys()
    for file in files:
        note, _, text = (REPLIES / file).read_text(encoding="utf-8").partition("\n---\n")
        assert [line.partition(": ")[0] for line in note.split("\n")][:3] == [
            "model", "prompt", "request"
        ]  # fmt: skip
        assert text.strip()


# code that defines solve


@pytest.mark.parametrize(
    "text",
    [
        SOLVE,
        f"```python\n{SOLVE}\n```",
        f"```\n{SOLVE}\n```",
        f"~~~py\n{SOLVE}\n~~~",
        f"````python\n{SOLVE}\n````",
        f"Here is the plan:\n\n```python\n{SOLVE}\n```\nIt adds.",
        f"```json\n{{}}\n```\nand\n```py\n{SOLVE}\n```",
        f"```python\n{SOLVE}",
        f"1. First:\n\n    ```python\n{indent(SOLVE, '    ')}\n    ```\n",
        f"```python\n{indent(SOLVE, '        ')}\n```",
        f"Here is the plan:\n\n{SOLVE}\n\nIt gives 1. If you want another, ask for it.",
        f"`{SOLVE}`",
        f"<think>\n```python\nasync def solve():\n    ...\n```\n</think>\n{SOLVE}",
    ],
)
def test_a_plan_is_found_in_fences_and_prose(text: str) -> None:
    assert source_in(text) == SOLVE


def test_a_plain_def_solve_is_a_plan_too() -> None:
    assert source_in("def solve():\n    return 1") == "def solve():\n    return 1"


def test_code_around_solve_comes_with_it_when_there_are_no_fences() -> None:
    code = f"import json\n\nLIMIT = 3\n\nasync def one(n):\n    return n\n\n{SOLVE}"
    assert source_in(f"Sure! This is it.\n{code}\nThis plan counts.") == code


def test_of_several_plans_none_is_chosen_and_the_model_is_asked_which() -> None:
    other = SOLVE.replace("1", "2")
    found = find_plan(ModelReply(f"```python\n{SOLVE}\n```\nor\n```python\n{other}\n```"), TOOLS)
    assert isinstance(found, NoPlan)
    assert "held 2 plans, and none was run: which one counts?" in found.failure.message


def test_a_plan_that_is_not_whole_is_no_rival_and_neither_is_the_same_once_more() -> None:
    other = SOLVE.replace("1", "2")
    assert source_in(f"```python\n{SOLVE}\n```\nor\n```python\n{other[:-9]}") == SOLVE
    assert source_in(f"```python\n{SOLVE}\n```\nso\n```python\n# once more\n{SOLVE}\n```") == SOLVE
    begun = f"```python\nasync def solve():\n    x = (\n```python\n{SOLVE}\n```"
    assert source_in(begun) == SOLVE


def test_helpers_in_another_block_come_with_solve_and_models_of_tools_do_not() -> None:
    helper = "def doubled(x):\n    return 2 * x"
    plan = "async def solve():\n    return doubled(await add(1, 2))"
    mock = "async def add(a, b):\n    return a - b"
    run = "asyncio.run(solve())"
    blocks = "".join(f"```python\n{part}\n```\ntext\n" for part in (mock, helper, plan, run))
    assert source_in(blocks) == f"{helper}\n\n{plan}"


# code without solve


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("total = await tools.add(a=1, b=2)", "final: 3"),
        ("a, b = tools.add(1, 2), tools.add(3, 4)", "final: 3 7"),
        ("x = tools.add(1, 2)\nreturn f'FINAL_ANSWER: {x}'", "final: 3"),
        ("x = tools.add(1, 2)\nprint(f'FINAL_ANSWER: {x}')", "final: 3"),
        ("x = tools.add(1, 2)\nif x > 2:\n    print('more')", "final: more"),
        ("text = '''a\nb'''\ntools.add(1, 2)\ntext", "final: a\nb"),
        ("async def main():\n    return await tools.add(1, 2)\n\nasyncio.run(main())", "final: 3"),
        ("import asyncio\nresult = asyncio.run(tools.add(1, 2))\nprint(result)", "final: 3"),
        ("async def one(x):\n    return await tools.add(x, 1)\nprint(await one(2))", "final: 3"),
        ("from tools import *\nprint(add(1, 2))", "final: 3"),
        ("tools.add(1, 2", "syntax: SyntaxError"),
    ],
)
async def test_code_without_solve_becomes_a_plan_also_in_forms_we_have_no_real_text_of(
    code: str, expected: str
) -> None:
    async with Sandbox() as sandbox:
        result = await act(ModelReply(f"```python\n{code}\n```"), sandbox)
    assert told(result).startswith(expected)


@pytest.mark.parametrize(
    ("statements", "repairs"),
    [
        (["return [tools.add(1, 2)]"], 1),
        (["return {'sum': tools.add(1, 2)}"], 1),
        (["x = tools.add(1, 2) if 1 else 0", "return f'{x}'"], 1),
        (["a, b = tools.add(1, 2), tools.add(3, 4)", "return f'{a} {b}'"], 2),
        (["sums = [tools.add(n, n) for n in (1, 2)]", "return sum(sums)"], 1),
        (["jobs = [tools.add(n, n) for n in (1, 2)]", "return await asyncio.gather(*jobs)"], 0),
        (["jobs = [tools.add(1, 2)]", "return [await job for job in jobs]"], 0),
        (["jobs = {'a': tools.add(1, 2)}", "return await jobs['a']"], 0),
    ],
)
def test_calls_in_lists_are_awaited_where_nothing_awaits_them_later(
    statements: list[str], repairs: int
) -> None:
    plan = "\n".join(["import asyncio", "async def solve():", *(f"    {s}" for s in statements)])
    prepared = prepare_plan(plan, TOOLS)
    assert prepared.failure is None
    assert prepared.source.count("(await ") == repairs


@pytest.mark.parametrize(
    "functions",
    [
        "async def one():\n    return 1\n\nasync def two():\n    return 2",
        "async def one(a):\n    return a",
        "async def one():\n    yield 1",
    ],
)
def test_no_function_is_taken_for_solve_where_that_is_not_certain(functions: str) -> None:
    prepared = prepare_plan(functions, TOOLS)
    assert prepared.repairs == ()
    assert prepared.failure is not None


def test_of_several_functions_the_one_that_begins_is_renamed() -> None:
    plan = "async def main():\n    return await one()\n\nasync def one():\n    return 1"
    prepared = prepare_plan(plan, TOOLS)
    assert prepared.repairs == ("renamed main() to solve() (line 1)",)
    assert prepared.source == plan.replace("main", "solve")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't.",
        "Hello",
        "Sure (of course)",
        "print('solve()')",
        "```python\nx = 1\n```",
        "```\n391\n```",
        "```json\n{}\n```",
        '{"name": "Ann", "age": 3}',
        "FINAL_ANSWER: {product}",
        "FINAL_ANSWER: <answer>",
        "FINAL_ANSWER: it costs {total:.2f}",
        "FINAL_ANSWER:",
        "No prefix as in FINAL_ANSWER: 1 stands here.",
    ],
)
def test_a_reply_without_code_is_no_plan_and_says_what_it_was(text: str) -> None:
    found = find_plan(ModelReply(text), TOOLS)
    assert isinstance(found, NoPlan)
    assert found.failure.kind == "no_plan"
    assert found.text == text
    assert "`async def solve():`" in found.failure.message
    assert (text.strip() or "it was empty") in found.failure.message


@pytest.mark.parametrize("text", ["Let me think about", SOLVE, f"```python\n{SOLVE}", ""])
def test_nothing_of_a_reply_that_was_cut_off_is_run_and_it_is_told_to_be_brief(text: str) -> None:
    calls = (NativeToolCall("add", {"a": 1, "b": 2}),)
    reply = ModelReply(text, Usage(1, 9, 1024), tool_calls=calls, truncated=True, limit="its own")
    found = find_plan(reply, TOOLS)
    assert isinstance(found, NoPlan)
    assert found.failure.kind == "cut"
    assert "cut off at 1,024 tokens, and nothing of it was run: be brief" in found.failure.message
    assert found.failure.advice == "its own"


# any reply


def steps_taken(text: str) -> int:
    """How many lines of our code a reply takes: a measure that no busy machine changes."""
    steps = 0

    def count(frame: FrameType, event: str, arg: object) -> "TraceFunction":
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        find_plan(ModelReply(text), TOOLS)
    finally:
        sys.settrace(before)
    return steps


UNITS = (
    *("`", "```\n", "```python\n", "~~~\n```\n", "```python\nadd(1)\n```\n", "[", '{"a":', "("),
    *("<add>", "<invoke name='add'>", ">>>add\n{", "> ", "[TOOL_CALLS]add[ARGS]{", "{'a':", "\n"),
    *("Final Answer: x\n", "Thought: x\n\n", "Action: add\nAction Input: {", "The page says:\n"),
    *('[{"name":"add"},', '{"call":"add(1)"},', "FINAL_ANSWER: {x", "async def solve():\n", "x\n"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_reply_takes_no_more_steps_the_longer_it_is(unit: str) -> None:
    at_bound = steps_taken(unit * (SEARCHED_CHARACTERS // len(unit) + 1))
    assert at_bound < 400_000
    assert steps_taken(unit * (1_000_000 // len(unit))) <= at_bound * 1.1 + 1_000


@pytest.mark.parametrize("form", ["{}", "```python\n{}\n```", "So:\n```python\n{}\n```\nDone."])
def test_a_plan_that_returns_fenced_code_is_found_whole(form: str) -> None:
    plan = (
        'async def solve():\n    return """FINAL_ANSWER: Write:\n```python\ndef solve():\n'
        '    print(1)\n```\nand run it."""'
    )
    assert source_in(form.format(plan)) == plan


@pytest.mark.parametrize("end", ["\r", "\r\n"])
@pytest.mark.parametrize("form", ["{}", "```python\n{}\n```"])
def test_lines_may_end_in_any_way(form: str, end: str) -> None:
    text = form.format("x = 1\ny = 2\nawait tools.add(a=x, b=y)").replace("\n", end)
    assert source_in(text).splitlines()[-1] == "    return await tools.add(a=x, b=y)"


def test_a_helper_beside_calls_of_tools_is_not_taken_for_the_plan() -> None:
    source = source_in(
        "```python\ndef double(x=2):\n    return x * 2\n\n"
        "total = await tools.add(a=1, b=double(3))\nprint(total)\n```"
    )
    assert source.startswith("async def solve():\n    def double(x=2):")
    assert "renamed" not in str(prepare_plan(source, TOOLS).repairs)


def test_texts_of_several_lines_stay_as_they_are_in_a_list_of_calls() -> None:
    text = 'tools.read_file(path="""a\nb""")\ntools.get_weather(city="Oslo")'
    assert '"""a\nb"""' in source_in(text)


def test_spaces_behind_a_fence_take_no_time() -> None:
    began = time.perf_counter()
    find_plan(ModelReply("```" + " " * 50_000 + "`"), TOOLS)
    assert time.perf_counter() - began < 1, "it took minutes for each thousand"


def test_a_call_on_a_line_of_its_own_counts_though_the_rest_is_prose() -> None:
    text = "It is computed thus:\n\ntools.multiply(a=17, b=23)\n\nwhich gives the answer."
    assert source_in(text) == "async def solve():\n    return tools.multiply(a=17, b=23)"


def test_a_mark_of_the_byte_order_is_no_part_of_a_plan() -> None:
    assert source_in(f"\ufeff{SOLVE}") == SOLVE
