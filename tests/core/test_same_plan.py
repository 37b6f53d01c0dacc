"""Two plans that are one but for comments, spaces and quotes."""

import pytest

from core.turn import COMPARED_CHARACTERS, Plan

PLAN = 'async def solve():\n    x = await tools.add(a=1, b=2)\n    return f"FINAL_ANSWER: {x}"'


def _same(one: str, other: str) -> bool:
    return Plan(one).is_same_as(Plan(other))


@pytest.mark.parametrize(
    "other",
    [
        PLAN + "\n\n",
        PLAN.replace("    x", "    # Add the numbers\n    x").replace("    return", "\n    return"),
        PLAN.replace("a=1, b=2", "a = 1,b=2"),
        PLAN.replace('f"FINAL_ANSWER: {x}"', "f'FINAL_ANSWER: {x}'"),
        PLAN.replace("    x", '    """Adds."""\n    x'),
    ],
)
def test_comments_spaces_and_quotes_make_no_other_plan(other: str) -> None:
    assert _same(PLAN, other)


@pytest.mark.parametrize(
    "other",
    [
        PLAN.replace("b=2", "b=3"),
        PLAN.replace("add", "subtract"),
        PLAN.replace("return", "return ("),
        PLAN.replace("FINAL_ANSWER", "FURTHER_PROCESSING_REQUIRED"),
    ],
)
def test_other_calls_and_verdicts_do(other: str) -> None:
    assert not _same(PLAN, other)


def test_what_cannot_be_read_is_compared_letter_by_letter() -> None:
    assert _same("def (", "def (\n")
    assert not _same("def (", "def  (")
    deep = "(" * 5_000
    assert not _same(deep, deep + ")")
    long = "x = 1\n" * COMPARED_CHARACTERS
    assert not _same(long, long + "# no other plan")
