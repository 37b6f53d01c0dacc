"""The answer in a reply that is still being written: what is told is how it begins."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ports import ModelReply
from core.tools.catalog import ToolCatalog
from core.turn import Plan
from modules.planning.reply.closing import answer_so_far
from modules.planning.reply.extraction import find_plan

BONJOUR = 'async def solve():\n    return "FINAL_ANSWER: Bonjour, Monde"\n'

REPLIES = {
    BONJOUR: "Bonjour, Monde",
    f"```python\n{BONJOUR}```": "Bonjour, Monde",
    f"Here is the plan:\n\n```python\n{BONJOUR}```\nIt greets.": "Bonjour, Monde",
    f"<think>hm</think>\n```python\n{BONJOUR}```": "Bonjour, Monde",
    'async def solve() -> str:\n    # no tool helps\n\n    return "FINAL_ANSWER: hi"': "hi",
    'async def solve():\n    return """FINAL_ANSWER: a "quoted"\nline"""': 'a "quoted"\nline',
    r"""async def solve(): """
    + "\n"
    + r"""    return 'FINAL_ANSWER: it\'s\n\u00e9\x41\N{BULLET}'""": ("it's\néA\N{BULLET}"),
    "FINAL_ANSWER: it is done": "it is done",
    "FINAL_ANSWER: see\n```python\nawait tools.add(1, 2)\n```": "see",
}


@pytest.mark.parametrize(("reply", "answer"), REPLIES.items())
def test_a_reply_that_says_the_answer(reply: str, answer: str) -> None:
    assert answer_so_far(reply) == answer
    told = [answer_so_far(reply[:end]) for end in range(len(reply) + 1)]
    assert all(answer.startswith(each) for each in told)
    assert len(set(told)) >= len(answer) // 2


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would say: FINAL_ANSWER: no",
        'async def solve():\n    x = await tools.add(1, 2)\n    return f"FINAL_ANSWER: {x}"',
        'async def solve():\n    return f"FINAL_ANSWER: {1 + 1}"',
        'async def solve():\n    return "FINAL_ANSWER: {}".format(2)',
        'async def solve():\n    return "FINAL_ANSWER: " + str(2)',
        'async def solve():\n    return "FINAL_ANSWER: one"\n\nasync def other():\n    pass',
        'async def solve():\n    return "FURTHER_PROCESSING_REQUIRED: read"',
        'async def solve():\n    return "FINAL_ANSWER: torn\n    apart"',
        'def other():\n    return "FINAL_ANSWER: no"',
    ],
)
def test_a_reply_that_has_to_run(reply: str) -> None:
    assert answer_so_far(reply) == ""


@pytest.mark.parametrize("image", ["![](http://x/?q=1)", "!", "<img src='http://x'>", "![a][b]"])
def test_nothing_is_told_from_an_image_on(image: str) -> None:
    assert answer_so_far(f'async def solve():\n    return "FINAL_ANSWER: look {image}') == "look"
    assert answer_so_far(f"FINAL_ANSWER: look {image}") == "look"


@given(st.text(st.characters(exclude_characters="!<\r"), min_size=1), st.booleans(), st.data())
def test_whatever_is_told_begins_what_the_plan_returns(
    text: str, is_escaped: bool, data: st.DataObject
) -> None:
    said = f"FINAL_ANSWER: {text}"
    reply = f"async def solve():\n    return {ascii(said) if is_escaped else repr(said)}"
    found = find_plan(ModelReply(reply), ToolCatalog([]))
    assert isinstance(found, Plan)
    [solve] = ast.parse(found.source).body
    assert isinstance(solve, ast.AsyncFunctionDef)
    assert isinstance(solve.body[0], ast.Return)
    assert solve.body[0].value is not None
    returned = str(ast.literal_eval(solve.body[0].value)).removeprefix("FINAL_ANSWER:").strip()
    assert answer_so_far(reply) == returned
    part = answer_so_far(reply[: data.draw(st.integers(0, len(reply)))])
    assert returned.startswith(part)
