"""Plans without recursion run as if the guard weren't there: value, output, errors, lines."""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_monty import Monty, MontyRuntimeError

from modules.sandbox.failures import PLAN_FILENAME
from modules.sandbox.language.guard import GuardedPlan, guard_plan

GUARD_NAMES = "5eed"

Block: TypeAlias = list[str]
"""Lines of a suite, indented among themselves by one character a level."""

ERRORS = ("ValueError", "KeyError", "IndexError")
HANDLERS = ("ValueError", "(KeyError, IndexError)", "Exception as error", "LookupError", "KeyError")


def _nested(header: str, body: Block) -> Block:
    return [header, *(f"\t{line}" for line in body)]


def _simple() -> st.SearchStrategy[Block]:
    statements: list[Block] = [
        ["mark()"],
        ["mark(); mark()"],
        ["text = 'not \\\n    code:'; mark()"],
        ["text = '''\ntry:\nexcept:\n'''; mark()"],
        ["x = (1 +\n 2); mark()"],
        ["y = 1 + \\\n 2; mark()"],
        ["# a comment: \\", "mark()"],
        *([f"mark(); raise {error}"] for error in ERRORS),
        ["return mark()"],
        ["if n: break"],
        ["if n: continue"],
        ["mark(eval('1'))"],
        ["import string; mark(string.digits)"],
        ["from string import (digits,\n octdigits as o); mark(o)"],
    ]
    return st.sampled_from(statements)


def _tries(blocks: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    @st.composite
    def build(draw: st.DrawFn) -> Block:
        kinds = draw(st.lists(st.sampled_from(HANDLERS), max_size=2))
        lines = _nested("try:", draw(blocks))
        for kind in kinds:
            lines += draw(st.sampled_from([[], ["# in between"], [""]]))
            one_line = draw(st.booleans())
            lines += (
                [f"except {kind}: mark()"] if one_line else _nested(f"except {kind}:", draw(blocks))
            )
        if kinds and draw(st.booleans()):
            lines += _nested("else:", draw(blocks))
        if not kinds or draw(st.booleans()):
            last = [["finally: mark(); mark()"], _nested("finally:  # last", draw(blocks))]
            lines += draw(st.sampled_from(last))
        return lines

    return build()


def _compound(blocks: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    headers = ["for n in range(2):", "if mark() is None:", "with localcontext():"]
    nested = st.builds(_nested, st.sampled_from(headers), blocks)
    inner = blocks.map(
        lambda body: [
            *_nested("def inner(n=0):", ["for _ in [1]:", *(f"\t{b}" for b in body)]),
            "inner()",
        ]
    )
    several = st.lists(blocks, min_size=2, max_size=3).map(lambda parts: [*itertools.chain(*parts)])
    return st.one_of(_tries(blocks), nested, inner, several)


@st.composite
def _plans(draw: st.DrawFn) -> str:
    """A function that tells its way by numbered marks, in a loop so that `break` has a place."""
    body = draw(st.recursive(_simple(), _compound, max_leaves=8))
    indent = draw(st.sampled_from(["\t", "  ", "    "]))
    lines = _nested("def run(n=1):", _nested("for n in range(2):", body))
    text = "\n".join(_reindented(line, indent) for line in lines)
    head, *pieces = text.split("mark(")
    return head + "".join(f"mark({number}, " + piece for number, piece in enumerate(pieces))


def _reindented(line: str, indent: str) -> str:
    bare = line.lstrip("\t")
    return indent * (len(line) - len(bare)) + bare


HEAD = "from decimal import localcontext\ndef mark(*seen):\n    print(*seen)\n"


@pytest.fixture(scope="module")
def pool() -> Iterator[Monty]:
    with Monty(min_processes=1, max_processes=1) as pool:
        yield pool


Outcome: TypeAlias = tuple[object, str, str | None, int | None]
"""Value, output, error and its line."""


def _outcome(pool: Monty, prelude: str, text: str, line_of: Callable[[int], int | None]) -> Outcome:
    printed: list[str] = []
    with pool.checkout() as session:
        session.feed_run(prelude or "None")
        try:
            value = cast(
                "object",
                session.feed_run(text, print_callback=lambda _stream, piece: printed.append(piece)),
            )
        except MontyRuntimeError as error:
            lines = [f.line for f in error.traceback() if f.filename == PLAN_FILENAME]
            return None, "".join(printed), error.display("type-msg"), line_of(lines[-1])
    return value, "".join(printed), None, None


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=_plans())
def test_a_plan_without_recursion_does_not_notice_the_guard(pool: Monty, body: str) -> None:
    plan = f"{HEAD}{body}\nrun()"
    guarded = guard_plan(plan, GUARD_NAMES)
    own = guard_plan("import string", GUARD_NAMES).prelude  # the plain plan needs the module too
    plain = plan.replace("import string;", "string = __provided_string__;").replace(
        "from string import (digits,\n octdigits as o)", "o = \\\n __provided_string__.octdigits"
    )
    assert _outcome(pool, guarded.prelude, guarded.text, guarded.source_line) == _outcome(
        pool, own, plain, lambda line: line
    )


@settings(max_examples=50, deadline=None)
@given(body=_plans())
def test_every_mark_of_a_plan_leads_back_to_its_own_line(body: str) -> None:
    guarded = guard_plan(f"{HEAD}{body}", GUARD_NAMES)
    assert _marked_lines(guarded.text, guarded) == _marked_lines(guarded.source, None)


def _marked_lines(text: str, guarded: GuardedPlan | None) -> list[tuple[str, int | None]]:
    """Every mark and the number of its line."""
    return [
        (mark, guarded.source_line(number) if guarded else number)
        for number, line in enumerate(text.split("\n"), 1)
        for mark in re.findall(r"mark\(\d+", line)
    ]
