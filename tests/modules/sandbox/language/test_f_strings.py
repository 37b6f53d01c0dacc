"""F-strings of Python 3.12 in plans, on a Python that can't read them: rewritten, and then run."""

import ast
import sys

import pytest

from core.turn import FinalAnswer, Plan
from modules.action import run_plan
from modules.planning.preparation import prepare_plan
from modules.sandbox import Sandbox
from modules.sandbox.language.parsing import older_form
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools, failed, run, solve

LINES = {
    """x = f"{d["k"]}" """: """x = "{}".format((d["k"])) """,
    """x = f'{d['k']} and {n:>{w}}'""": """x = '{} and {:>{}}'.format((d['k']), (n), (w))""",
    """x = f"{'\\n'.join(a)}" """: """x = "{}".format(('\\n'.join(a))) """,
    """x = f'{d['a']}' + '{"k": "\\n"}'""": """x = '{}'.format((d['a'])) + '{"k": "\\n"}'""",
    """x = "{a}" f"{d["k"]!r}" 'z'""": """x = "{{a}}" "{!r}" 'z'.format((d["k"]))""",
    """x = f"{d["k"]=}" f'{n}' """: """x = "{}{!r}" '{}'.format('d["k"]=', (d["k"]), (n)) """,
    """x = f"{f"{d["k"]}"}", f"{n}" """: """x = "{}".format(("{}".format((d["k"])))), f"{n}" """,
    """x = rf"\\d{d["k"]}{{}}" """: """x = r"\\d{}{{}}".format((d["k"])) """,
}
"""Lines with such f-strings, and what becomes of them; nothing beside them changes."""

ONLY_OLDER = pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads them")


@ONLY_OLDER
def test_what_the_parser_refuses_is_rewritten_with_the_same_meaning() -> None:
    for line in LINES:
        with pytest.raises(SyntaxError):
            ast.parse(line)
    lines = "\n".join(LINES)
    assert older_form(f"d = 1\n{lines}") == "\n".join(["d = 1", *LINES.values()])


@pytest.mark.parametrize(
    "text",
    [
        "x = (",  # wrong for another reason
        """x = f"{d["k"]}" + """,
        """x = f"{d["k"]} \\x7b" """,  # an escape that would become a field
    ],
)
def test_what_cannot_be_rewritten_with_certainty_stays(text: str) -> None:
    assert older_form(text) is None


@ONLY_OLDER
def test_a_text_that_ends_the_parser_is_no_harm() -> None:
    assert older_form("(" * 10_000 + """f"{d["k"]}" """) is None


PLAN = solve(
    "import statistics",
    "row = await tools.echo({'name': 'Ada', 'tags': ['x', 'y']})",
    "try:",
    """    text = f"{row["name"]}: {'\\n'.join(row["tags"])}" + '{"k": "\\\\n"}'""",
    "except KeyError:",
    "    text = 'unknown'",
    """return f"FINAL_ANSWER: {text.replace("\\n", "/")} {statistics.mean([1, 3])}" """,
)


async def test_a_plan_with_such_f_strings_and_a_try_runs() -> None:
    async with Sandbox() as sandbox:
        told: list[tuple[str, ...]] = []

        async def hear(repairs: tuple[str, ...]) -> None:
            told.append(repairs)

        result = await run_plan(Plan(PLAN), CATALOG, Tools(), sandbox, hear)
    assert isinstance(result, FinalAnswer), result
    assert result.text == 'Ada: x/y{"k": "\\n"} 2'
    if sys.version_info < (3, 12):
        expected = [f"wrote an f-string as format() (line {line})" for line in (5, 8)]
        assert told == [tuple(expected)]


async def test_the_sandbox_alone_reads_them_too() -> None:
    plan = solve("d = {'a': 1}", "try:", """    return f"{d["b"]}" """, "except KeyError:",
                 """    return f"{d["a"]}" """)  # fmt: skip
    assert (await run(plan)).value == "1"
    failure = await failed(plan.replace("'a': 1", "'c': 1"))
    assert (failure.line, failure.line_text) == (6, """return f"{d["a"]}\"""")


def test_a_mistake_beside_such_an_f_string_is_still_found() -> None:
    plan = solve("x = await tools.add(1)", """return f"FINAL_ANSWER: {x["y"]}" """)
    failure = prepare_plan(plan, CATALOG).failure
    assert failure is not None
    assert (failure.kind, failure.line) == ("tool", 2)


def test_a_missing_await_in_such_an_f_string_is_put_there() -> None:
    plan = solve("""return f"FINAL_ANSWER: {tools.find(query="x")["y"]} {tools.add(a=1, b=2)}" """)
    plan = plan.replace("tools.find", "tools.web.find")
    prepared = prepare_plan(plan, CATALOG)
    assert prepared.failure is None
    assert prepared.source.count("await tools.") == 2
