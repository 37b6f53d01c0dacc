"""The functions behind the math server, against tables and against Python's own arithmetic."""

import decimal
import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from servers.math import arithmetic
from servers.math.arithmetic import FACTORIAL_ARGUMENT_MAX, WHOLE_NUMBER_DIGITS_MAX, Number
from servers.shared.errors import ToolInputError

INDIA = [73, 78, 68, 73, 65]

whole = st.integers(-(10**40), 10**40)
decimals = st.floats(-1e150, 1e150)
numbers = whole | decimals


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (arithmetic.add(1, 2), 3),
        (arithmetic.add(10**400, 1), 10**400 + 1),
        (arithmetic.subtract(1, 2.5), -1.5),
        (arithmetic.multiply(10**30, 10**30), 10**60),
        (arithmetic.divide(6, 3), 2.0),
        (arithmetic.divide(10**400, 10**399), 10.0),
        (arithmetic.power(2, 100), 2**100),
        (arithmetic.power(2, -1), 0.5),
        (arithmetic.power(2.5, 2), 6.25),
        (arithmetic.power(-2, 3.0), -8.0),
        (arithmetic.power(0, 0), 1),
        (arithmetic.power(-1, 10**4000), 1),
        (arithmetic.remainder(7, 3), 1),
        (arithmetic.remainder(-7, 3), 2),
        (arithmetic.remainder(5.5, 2), 1.5),
        (arithmetic.cbrt(27), 3),
        (arithmetic.cbrt(-27), -3),
        (arithmetic.cbrt(0), 0),
        (arithmetic.cbrt(10**300), 10**100),
        (arithmetic.cbrt(0.001), 0.1),
        (arithmetic.cbrt(10**600 + 1), 1e200),
        (arithmetic.factorial(0), 1),
        (arithmetic.factorial(20), 2432902008176640000),
        (arithmetic.sin(0), 0.0),
        (arithmetic.cos(0), 1.0),
        (arithmetic.tan(1), math.tan(1)),
        (arithmetic.character_codes(""), []),
        (arithmetic.character_codes("INDIA"), INDIA),
        (arithmetic.character_codes("é😀"), [233, 128512]),
        (arithmetic.exponential_sum([]), 0.0),
        (arithmetic.exponential_sum([0, 0.0]), 2.0),
        (arithmetic.exponential_sum(INDIA), 7.599822246093079e33),
        (arithmetic.fibonacci(-1), []),
        (arithmetic.fibonacci(0), []),
        (arithmetic.fibonacci(1), [0]),
        (arithmetic.fibonacci(10), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]),
    ],
)
def test_the_answer_has_the_right_value_and_type(answer: object, expected: object) -> None:
    assert (answer, type(answer)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: arithmetic.divide(1, 0), "can't divide 1 by zero; give a b that is not 0"),
        (lambda: arithmetic.divide(1.5, 0.0), "by zero"),
        (lambda: arithmetic.divide(10**400, 1), "out of the range of decimal numbers"),
        (lambda: arithmetic.remainder(1, 0), "divided by zero"),
        (lambda: arithmetic.add(10**400, 0.5), r"\(a number of about 401 digits\) \+ 0.5 is out"),
        (lambda: arithmetic.multiply(1e308, 10), "out of the range"),
        (lambda: arithmetic.power(0, -1), "would divide by zero"),
        (lambda: arithmetic.power(-8, 1 / 3), "not a real number"),
        (lambda: arithmetic.power(10, 10**9), "more than 4300 digits"),
        (lambda: arithmetic.power(-10, 10**400), "more than 4300 digits"),
        (lambda: arithmetic.power(2.0, 1e9), "out of the range"),
        (lambda: arithmetic.cbrt(10**4000 + 1), "the cube root of .* out of the range"),
        (lambda: arithmetic.factorial(-3), "negative number -3 has no factorial; give a whole"),
        (lambda: arithmetic.factorial(10**9), "from 0 to 1558"),
        (lambda: arithmetic.sin(10**400), "the angle .* out of the range"),
        (lambda: arithmetic.exponential_sum([1, 800]), "e to the power 800 .* 709"),
        (lambda: arithmetic.exponential_sum([709.7] * 2), "the sum of the exponentials is out"),
        (lambda: arithmetic.fibonacci(10**9), "too many; give an n up to 10000"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(
    ask: Callable[[], object], says: str
) -> None:
    with pytest.raises(ToolInputError, match=says):
        ask()


def test_whole_numbers_are_answered_up_to_the_length_that_json_readers_take() -> None:
    assert arithmetic.power(2, 14284) == 2**14284 < 10**WHOLE_NUMBER_DIGITS_MAX
    longest = 10**WHOLE_NUMBER_DIGITS_MAX - 1
    assert arithmetic.add(longest, 0) == longest
    assert arithmetic.factorial(FACTORIAL_ARGUMENT_MAX) < 10**WHOLE_NUMBER_DIGITS_MAX
    for ask in (
        lambda: arithmetic.power(2, 14285),
        lambda: arithmetic.add(longest, 1),
        lambda: arithmetic.factorial(FACTORIAL_ARGUMENT_MAX + 1),
    ):
        with pytest.raises(ToolInputError, match="more than 4300 digits"):
            ask()
    assert math.factorial(FACTORIAL_ARGUMENT_MAX + 1) >= 10**WHOLE_NUMBER_DIGITS_MAX


@given(numbers, numbers)
def test_sums_differences_and_products_are_pythons_own(a: Number, b: Number) -> None:
    assert arithmetic.add(a, b) == a + b
    assert arithmetic.subtract(a, b) == a - b
    assert arithmetic.multiply(a, b) == a * b


@given(numbers, numbers)
def test_quotients_and_remainders_are_pythons_own(a: Number, b: Number) -> None:
    assume(b != 0 and math.isfinite(a / b))
    assert arithmetic.divide(a, b) == a / b
    assert arithmetic.remainder(a, b) == a % b


@given(whole)
def test_the_cube_root_of_a_cube_is_exact(a: int) -> None:
    assert arithmetic.cbrt(a**3) == a


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_cube_roots_are_correctly_rounded(a: float) -> None:
    with decimal.localcontext(prec=60):
        root = abs(decimal.Decimal(a)) ** (decimal.Decimal(1) / 3)
    assert arithmetic.cbrt(a) == math.copysign(float(root), a)


@given(st.integers(2, 300))
def test_each_fibonacci_number_is_the_sum_of_the_two_before(n: int) -> None:
    sequence = arithmetic.fibonacci(n)
    assert len(sequence) == n
    assert sequence[2:] == [a + b for a, b in pairwise(sequence[:-1])]
