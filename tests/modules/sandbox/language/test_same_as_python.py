"""What plans compute is what Python computes; what differs stands in docs/sandbox.md, and is so.

`python -m tests.modules.sandbox.same_as_python 20000` compares many more.
"""

import asyncio
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.sandbox import Sandbox
from tests.modules.sandbox.python_corpus import expressions, plans
from tests.modules.sandbox.same_as_python import Sample, differences, in_python, in_sandbox
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS

DOCUMENTED = Path(__file__).parents[4] / "docs" / "sandbox.md"
_ROW = re.compile(r"^\| `(?P<lines>[^|]+)` \| `(?P<python>[^|]+)` \| `(?P<plan>[^|]+)` \|$", re.M)


def not_the_same(samples: list[Sample]) -> list[str]:
    """The samples that give another value than in Python; a refusal says so itself."""

    async def compared() -> list[str]:
        async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
            found = await differences(sandbox, samples)
        return [f"{d.sample.lines}: {d.python}, {d.sandbox}" for d in found if not d.refused]

    return asyncio.run(compared())


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_each_expression_gives_what_it_gives_in_python(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - samples
    assert not_the_same([Sample.of(template, rng) for template in expressions()]) == []


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_each_plan_gives_what_it_gives_in_python(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - samples
    assert not_the_same([Sample.of(template, rng) for template in plans()]) == []


@settings(max_examples=6, deadline=None)
@given(
    numbers=st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(0, 10**6).map(lambda n: n / 1000),
            st.integers(0, 10**6).map(lambda n: n * 1.19 / 100),
        ),
        min_size=10,
        max_size=40,
    ),
    digits=st.integers(-4, 12),
)
def test_round_rounds_the_number_that_a_float_is(numbers: list[float], digits: int) -> None:
    lines = [f"[round(n, {digits}) for n in {numbers}]", f"[round(n, 2) for n in {numbers}]"]
    assert not_the_same([Sample("", f"x = {line}") for line in lines]) == []


NAMED = {
    "round(0.5*1.19, 2)": "0.59",
    "round(0.15, 1)": "0.1",
    "round(2.675, 2)": "2.67",
    "round(0.285 * 100, 0), round(-25.0, -1), round(35.0, -1)": "(28.0, -20.0, 40.0)",
    "list(map(round, [0.5, 1.5, 2.5]))": "[0, 2, 2]",
    "hasattr([], 'append'), hasattr({}, 'append'), hasattr(str, 'lower')": "(True, False, True)",
    "getattr([], 'append', None) is None, getattr({}, 'append', None)": "(False, None)",
    "getattr('a,b', 'split')(',')": "['a', 'b']",
    "statistics.harmonic_mean([40, 60])": "48.0",
    "statistics.mean([0.1] * 3), statistics.stdev([12, 2, -6, 4])": "(0.1, 7.393691004272945)",
    "re.findall('a*', 'baac')": "['', 'aa', '', '']",
    "re.sub('x*', '-', 'abxd')": "'-a-b--d-'",
    "re.split('x*', 'axbc')": "['', 'a', '', 'b', 'c', '']",
    "bool(re.search(r'c$', 'c\\n')), bool(re.search(r'c\\Z', 'c\\n'))": "(True, False)",
    "re.sub('a', r'\\t', 'ab')": r"'\tb'",
    "re.sub(r'[[]', '(', 'a[0]'), re.subn('a', 'b', 'aa')": "('a(0]', ('bb', 2))",
    "re.findall(r'(?i)\\b(\\d{1,2}(?:[:.]\\d\\d)?)\\b|(noon)', '10:30 or Noon')": (
        "[('10:30', ''), ('', 'Noon')]"
    ),
    "re.sub(r'\\s*', '', ' a b ' * 20000) == 'ab' * 20000": "True",
    "str(datetime.strptime('03/04/21 5 PM', '%d/%m/%y %I %p'))": "'2021-04-03 17:00:00'",
    "datetime.strptime('4.3.69', '%d.%m.%y').year, datetime.strptime('17', '%H').hour": (
        "(1969, 17)"
    ),
    "next(re.finditer(r'\\d', 'a1')).group()": "'1'",
}
"""What was silently wrong once, and Python's answer."""


async def test_what_was_silently_wrong_is_right() -> None:
    lines = [f"x = {expression}" for expression in NAMED]
    assert [in_python(line) for line in lines] == list(NAMED.values())
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
        assert await in_sandbox(sandbox, lines) == list(NAMED.values())


async def test_a_pattern_that_cannot_be_searched_as_python_does_is_refused_with_advice() -> None:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
        found = await in_sandbox(sandbox, ["import re\nx = re.findall('a*?', 'aa')"])
    assert "write a pattern that needs a character" in found[0]


def documented() -> list[tuple[str, str, str]]:
    """The rows of the page: what is run, and what it gives in Python and in a plan."""
    return [row.groups() for row in _ROW.finditer(DOCUMENTED.read_text(encoding="utf-8"))]  # type: ignore[misc]


async def test_each_difference_in_the_documentation_is_one() -> None:
    rows = documented()
    lines = [row[0] if " = " in row[0] or "; " in row[0] else f"x = {row[0]}" for row in rows]
    async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
        ours = [(await in_sandbox(sandbox, [line]))[0] for line in lines]
    assert len(rows) > 10
    for (shown, python, plan), line, got in zip(rows, lines, ours, strict=True):
        assert in_python(line) == python, shown
        assert got == plan or (got.startswith("!") and plan in got), f"{shown}: {got}"


@pytest.mark.parametrize("template", [*expressions()[:1], *plans()[:1]])
def test_templates_are_drawn_anew_for_each_seed(template: str) -> None:
    drawn = {Sample.of(template, random.Random(seed)).lines for seed in range(20)}  # noqa: S311
    assert len(drawn) > 5
