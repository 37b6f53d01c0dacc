"""`statistics` and `string` for plans give what Python's own modules give, to the last digit."""

import decimal
import math
import statistics
import string
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic_monty import Monty, MontySession

from modules.sandbox.language.guard import guard_plan
from modules.sandbox.language.provided import PROVIDED_MODULES
from tests.modules.sandbox.sandbox_tools import failed, run, solve

GUARD_NAMES = "5eed"


@pytest.fixture(scope="module")
def interpreter() -> Iterator[MontySession]:
    """An interpreter that has the provided modules."""
    imports = guard_plan("import statistics, string, decimal, math", GUARD_NAMES)
    with Monty(min_processes=1, max_processes=1) as pool, pool.checkout() as session:
        session.feed_run(imports.prelude + imports.text)
        yield session


def evaluated(interpreter: MontySession, expression: str) -> object:
    """The value of an expression, or the text of its error."""
    text = f"try:\n    r = {expression}\nexcept Exception as e:\n    r = repr(e)\nr"
    return cast("object", interpreter.feed_run(text))


def in_python(expression: str) -> object:
    """The same in Python; its StatisticsError is a ValueError."""
    try:
        return cast("object", eval(expression))  # noqa: S307 - a constant of this file
    except ValueError as error:
        return f"ValueError({str(error)!r})"


NUMBERS = st.lists(
    st.one_of(
        st.integers(-(10**12), 10**12),
        st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9),
    ),
    max_size=12,
)
OF_ONE_LIST = (
    *("mean(d)", "fmean(d)", "median(d)", "median_low(d)", "median_high(d)", "mode(d)"),
    *("multimode(d)", "stdev(d)", "pstdev(d)", "variance(d)", "pvariance(d)", "variance(d, 5)"),
    *("quantiles(d)", "quantiles(d, n=10)", "quantiles(d, n=3, method='inclusive')"),
    *("geometric_mean([abs(x) + 1 for x in d])", "harmonic_mean([abs(x) for x in d])"),
    "fmean(d, weights=range(1, len(d) + 1))",
)
ROUNDED = ("geometric_mean", "fmean(d, w", "mode", "multimode")
"""What Python rounds on the way, not alike in its versions; of 0 and 0.0 a dict keeps either."""

OF_TWO_LISTS = ("covariance(x, y)", "correlation(x, y)", "linear_regression(x, y)")


def agree(ours: object, pythons: object, scale: float) -> bool:
    """Whether two results are the same up to rounding; of errors only the kind counts."""
    match ours, pythons:
        case (list() | tuple(), list() | tuple()):
            pairs = zip(cast("list[object]", ours), cast("list[object]", pythons), strict=True)
            return all(agree(a, b, scale) for a, b in pairs)
        case (int() | float(), int() | float()):
            return math.isclose(ours, pythons, rel_tol=1e-9, abs_tol=1e-9 * scale)
        case (str(), str()):
            return ours.partition("(")[0] == pythons.partition("(")[0]
        case _:
            return False


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=NUMBERS)
def test_statistics_of_one_list_are_those_of_python(
    interpreter: MontySession, data: list[float]
) -> None:
    scale = max([1.0, *(abs(x) for x in data)])
    for call in OF_ONE_LIST:
        expression = f"[statistics.{call} for d in [{data!r}]][0]"
        ours, pythons = evaluated(interpreter, expression), in_python(expression)
        assert agree(ours, pythons, scale**2), call
        rounded = call.startswith(ROUNDED) or isinstance(pythons, str)
        assert rounded or repr(ours) == repr(pythons), call
        assert call.startswith(("mode", "multi")) or type(ours) is type(pythons) or data, call


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pairs=st.lists(st.tuples(st.integers(-999, 999), st.floats(-999, 999)), max_size=9))
def test_statistics_of_two_lists_are_those_of_python(
    interpreter: MontySession, pairs: list[tuple[int, float]]
) -> None:
    spread = [abs(y - pairs[0][1]) for _, y in pairs]
    assume(not spread or max(spread) == 0 or max(spread) > 1e-3)
    for call in OF_TWO_LISTS:
        listed = [[x for x, _ in pairs], [y for _, y in pairs]]
        expression = f"[statistics.{call} for x, y in [{listed!r}]][0]"
        ours, pythons = evaluated(interpreter, expression), in_python(expression)
        assert agree(ours, pythons, 1e6), call


def test_integers_and_decimals_stay_what_they_are(interpreter: MontySession) -> None:
    assert repr(evaluated(interpreter, "statistics.mean([1, 2, 3])")) == "2"
    assert repr(evaluated(interpreter, "statistics.variance([1, 2, 3])")) == "1"
    big = "statistics.mean([10**30, 10**30 + 2])"
    assert evaluated(interpreter, big) == 10**30 + 1
    money = "str(statistics.mean([decimal.Decimal('0.10'), decimal.Decimal('0.30')]))"
    python = statistics.mean([decimal.Decimal("0.10"), decimal.Decimal("0.30")])
    assert evaluated(interpreter, money) == str(python) == "0.2"
    assert evaluated(interpreter, "str(statistics.stdev([decimal.Decimal(1), 3]))") == (
        "1.414213562373095048801688724"
    )


@pytest.mark.parametrize("name", PROVIDED_MODULES["string"])
def test_string_has_what_python_has(interpreter: MontySession, name: str) -> None:
    if name == "capwords":
        for call in ("capwords('so it  is')", "capwords('a-bC', '-')", "capwords('')"):
            assert evaluated(interpreter, f"string.{call}") == in_python(f"string.{call}")
        return
    assert evaluated(interpreter, f"string.{name}") == getattr(string, name)


def test_statistics_has_each_name_that_is_offered(interpreter: MontySession) -> None:
    for name in PROVIDED_MODULES["statistics"]:
        assert hasattr(statistics, name)
        evaluated(interpreter, f"statistics.{name}")
        assert evaluated(interpreter, f"statistics.{name} is None") is False, name


@pytest.mark.parametrize(
    ("imports", "use"),
    [
        ("import statistics", "statistics.mean([1, 3])"),
        ("import statistics as st", "st.mean([1, 3])"),
        ("import json, statistics, math", "json.loads(str(math.floor(statistics.mean([1, 3]))))"),
        ("from statistics import mean", "mean([1, 3])"),
        ("from statistics import (mean as average,\n    median as m,\n)", "m([average([1, 3])])"),
        ("import string, statistics; import math", "len(string.digits) // 5"),
    ],
)
async def test_provided_modules_are_imported_in_every_way(imports: str, use: str) -> None:
    indented = imports.replace("\n", "\n    ")
    for plan in (f"{imports}\n" + solve(f"return {use}"), solve(indented, f"return {use}")):
        assert (await run(plan)).value == 2
    broken = f"{imports}\n" + solve("x = 1", "return x / 0")
    failure = await failed(broken)
    assert failure.line == broken.count("\n") + 1


async def test_errors_of_provided_modules_name_the_line_of_the_plan() -> None:
    plan = "import statistics\n" + solve("x = []", "return statistics.mean(x)")
    failure = await failed(plan)
    assert (failure.kind, failure.line) == ("error", 4)
    assert "mean requires at least one data point" in failure.message
