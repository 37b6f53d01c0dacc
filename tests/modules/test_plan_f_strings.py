"""F-strings of Python 3.12 in plans, on a Python that can't read them: rewritten, and then run."""

import ast
import sys

import pytest

from core.turn import FinalAnswer, Plan
from modules.action import run_plan
from modules.plans.check import prepare_plan
from modules.plans.f_strings import older_form
from modules.sandbox import Sandbox
from tests.sandbox.sandbox_tools import CATALOG, Tools, solve

REWRITTEN = {
    """x = f"{d["k"]}" """: """x = f"{d['k']}" """,
    """x = f'{d['k']} and {d['l']}'""": """x = f'{d["k"]} and {d["l"]}'""",
    """x = f"{'\\n'.join(a)}" """: """x = f"{chr(10).join(a)}" """,
    """x = f'{"\\t".join(f(a))}: {b}'""": """x = f'{chr(9).join(f(a))}: {b}'""",
    """x = f"{", ".join(a)}" """: """x = f"{', '.join(a)}" """,
    """x = f"{d.get("k", "none")}" + "{}" """: """x = f"{d.get('k', 'none')}" + "{}" """,
    """y = {"a": 1}; x = f"{d["k"]}" """: """y = {"a": 1}; x = f"{d['k']}" """,
}

ONLY_OLDER = pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads them")


@ONLY_OLDER
@pytest.mark.parametrize("line", REWRITTEN)
def test_what_the_parser_refuses_is_rewritten_with_the_same_meaning(line: str) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(line)
    assert older_form(f"d = 1\n{line}") == (f"d = 1\n{REWRITTEN[line]}", (2,))


@pytest.mark.parametrize(
    "text",
    [
        "x = (",  # wrong for another reason
        """x = f"{d["a'b"]}" """,  # its text holds the other quotes
        """x = f"{d["a\\u0041"]}" """,  # an escape may mean another text elsewhere
        """x = f"{d["k"]}" + '{"j": 1}' """,  # the quotes of a text that is none of the f-string's
    ],
)
def test_what_cannot_be_rewritten_with_certainty_stays(text: str) -> None:
    assert older_form(text) is None


PLAN = solve(
    "row = await tools.echo({'name': 'Ada', 'tags': ['x', 'y']})",
    "try:",
    """    text = f"{row["name"]}: {'\\n'.join(row["tags"])}" """,
    "except KeyError:",
    "    text = 'unknown'",
    """return f"FINAL_ANSWER: {text.replace("\\n", "/")}" """,
)


async def test_a_plan_with_such_f_strings_and_a_try_runs() -> None:
    async with Sandbox() as sandbox:
        told: list[tuple[str, ...]] = []

        async def hear(repairs: tuple[str, ...]) -> None:
            told.append(repairs)

        result = await run_plan(Plan(PLAN), CATALOG, Tools(), sandbox, hear)
    assert isinstance(result, FinalAnswer), result
    assert result.text == "Ada: x/y"
    if sys.version_info < (3, 12):
        expected = [f"wrote an f-string with other quotes (line {line})" for line in (4, 7)]
        assert told == [tuple(expected)]


def test_a_mistake_beside_such_an_f_string_is_still_found() -> None:
    plan = solve("x = await tools.add(1)", """return f"FINAL_ANSWER: {x["y"]}" """)
    failure = prepare_plan(plan, CATALOG).failure
    assert failure is not None
    assert (failure.kind, failure.line) == ("tool", 2)
