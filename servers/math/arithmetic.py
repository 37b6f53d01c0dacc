"""The mathematics behind the math server: plain functions on plain numbers.

Whole numbers stay exact `int`s, decimals are IEEE 754 doubles. Arguments are finite; every
function that can't answer raises `ToolInputError` with a message for the caller.
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add as plus
from typing import TypeAlias

from servers.shared.errors import ToolInputError

Number: TypeAlias = int | float

WHOLE_NUMBER_DIGITS_MAX = 4300
"""Longest whole number in a result: JSON readers (CPython's `json`, Pydantic's) refuse longer
ones, and with the number the message that holds it."""

FACTORIAL_ARGUMENT_MAX = 1558
"""The largest number whose factorial has no more than `WHOLE_NUMBER_DIGITS_MAX` digits."""

FIBONACCI_COUNT_MAX = 10_000
"""Longest Fibonacci sequence; its last number has 2,090 digits, the whole answer 10 MB."""

SHOWN_DIGITS_MAX = 20
"""Numbers in error messages that are longer than this are described, not written out."""

CUBE_ROOT_RADICAND_BITS = 192
"""Scaled up to this size, an integer's cube root has 64 bits, enough to round a 53-bit double."""

_FIRST_TOO_LONG = 10**WHOLE_NUMBER_DIGITS_MAX


def add(a: Number, b: Number) -> Number:
    """The sum a + b."""
    return _bounded(lambda: a + b, f"{_shown(a)} + {_shown(b)}")


def subtract(a: Number, b: Number) -> Number:
    """The difference a - b."""
    return _bounded(lambda: a - b, f"{_shown(a)} - {_shown(b)}")


def multiply(a: Number, b: Number) -> Number:
    """The product a * b."""
    return _bounded(lambda: a * b, f"{_shown(a)} * {_shown(b)}")


def divide(a: Number, b: Number) -> float:
    """The quotient a / b, always a decimal number (6 / 3 is 2.0)."""
    if b == 0:
        raise ToolInputError(f"can't divide {_shown(a)} by zero; give a b that is not 0")
    return float(_bounded(lambda: a / b, f"{_shown(a)} / {_shown(b)}"))


def remainder(a: Number, b: Number) -> Number:
    """What is left of a after division by b, with the sign of b (Python's `%`): -7, 3 → 2."""
    if b == 0:
        raise ToolInputError(
            f"can't take the remainder of {_shown(a)} divided by zero; give a b that is not 0"
        )
    return _bounded(lambda: a % b, f"{_shown(a)} % {_shown(b)}")


def power(a: Number, b: Number) -> Number:
    """The power a ** b; exact when a is whole and b is whole and not negative."""
    formula = f"{_shown(a)} to the power {_shown(b)}"
    if a == 0 and b < 0:
        raise ToolInputError(f"{formula} would divide by zero; give a b that is 0 or more")
    if a < 0 and isinstance(b, float) and not b.is_integer():
        raise ToolInputError(
            f"{formula} is not a real number: a negative a needs a whole b "
            "(for a cube root use cbrt)"
        )
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1:
        # Estimated first: Python would compute 10 ** 10 ** 9 for hours.
        digits_for_each_unit = math.log10(abs(a))
        if b > (WHOLE_NUMBER_DIGITS_MAX + 1) / digits_for_each_unit:
            raise ToolInputError(_too_long(formula))
    return _bounded(lambda: a**b, formula)


def cbrt(a: Number) -> Number:
    """The real cube root of a, correctly rounded; a whole number when a is a whole cube.

    Negative numbers have one: -27 → -3. Computed in integers, because the C library's `cbrt` may
    be off in the last digit even for 27.
    """
    root = _integer_cube_root(abs(a)) if isinstance(a, int) else 0
    if isinstance(a, int) and root**3 == abs(a):
        return -root if a < 0 else root
    size = _bounded(lambda: _rounded_cube_root(a), f"the cube root of {_shown(a)}")
    return -size if a < 0 else size


def factorial(a: int) -> int:
    """The factorial a! of a whole number from 0 to `FACTORIAL_ARGUMENT_MAX`."""
    allowed = f"give a whole number from 0 to {FACTORIAL_ARGUMENT_MAX}"
    if a < 0:
        raise ToolInputError(f"the negative number {_shown(a)} has no factorial; {allowed}")
    if a > FACTORIAL_ARGUMENT_MAX:
        raise ToolInputError(
            f"the factorial of {_shown(a)} has more than {WHOLE_NUMBER_DIGITS_MAX} digits; "
            f"{allowed}"
        )
    return math.factorial(a)


def sin(a: Number) -> float:
    """The sine of the angle a in radians."""
    return float(_bounded(lambda: math.sin(a), f"the angle {_shown(a)}"))


def cos(a: Number) -> float:
    """The cosine of the angle a in radians."""
    return float(_bounded(lambda: math.cos(a), f"the angle {_shown(a)}"))


def tan(a: Number) -> float:
    """The tangent of the angle a in radians; finite everywhere, as no double equals pi / 2."""
    return float(_bounded(lambda: math.tan(a), f"the angle {_shown(a)}"))


def character_codes(string: str) -> list[int]:
    """The Unicode code point of each character (the ASCII code where there is one)."""
    return [ord(character) for character in string]


def exponential_sum(numbers: Sequence[Number]) -> float:
    """The sum of e ** x over the numbers, added from left to right; 0.0 for none.

    Not `sum()`: from Python 3.12 on it compensates rounding and ends in another last digit.
    """
    try:
        exponentials = [math.exp(number) for number in numbers]
    except OverflowError:
        raise ToolInputError(
            f"e to the power {_shown(max(numbers))} is too large for a decimal number; "
            "the largest exponent is 709"
        ) from None
    return float(_bounded(lambda: reduce(plus, exponentials, 0.0), "the sum of the exponentials"))


def fibonacci(n: int) -> list[int]:
    """The first n Fibonacci numbers from 0, 1 on; none when n is 0 or less."""
    if n > FIBONACCI_COUNT_MAX:
        raise ToolInputError(
            f"{_shown(n)} Fibonacci numbers are too many; give an n up to {FIBONACCI_COUNT_MAX}"
        )
    sequence: list[int] = []
    current, following = 0, 1
    for _ in range(n):
        sequence.append(current)
        current, following = following, current + following
    return sequence


def _bounded(compute: Callable[[], Number], formula: str) -> Number:
    """The result of `compute`, if it can be sent.

    Raises:
        ToolInputError: a decimal beyond the range of doubles, or a whole number with too many
            digits; `formula` says which computation it was.
    """
    try:
        result = compute()
    except OverflowError:
        result = math.inf
    if isinstance(result, int):
        if abs(result) >= _FIRST_TOO_LONG:
            raise ToolInputError(_too_long(formula))
    elif not math.isfinite(result):
        raise ToolInputError(
            f"{formula} is out of the range of decimal numbers (about 1.8e308); "
            "give smaller numbers"
        )
    return result


def _too_long(formula: str) -> str:
    return (
        f"{formula} is a whole number of more than {WHOLE_NUMBER_DIGITS_MAX} digits, too long to "
        "answer; give smaller numbers"
    )


def _shown(number: Number) -> str:
    """The number for a message; a long one is described by its length."""
    if isinstance(number, int) and abs(number) >= 10**SHOWN_DIGITS_MAX:
        sign = "a negative number" if number < 0 else "a number"
        return f"({sign} of about {math.floor(math.log10(abs(number))) + 1} digits)"
    return str(number)


def _integer_cube_root(radicand: int) -> int:
    """The largest whole number whose cube is not above `radicand` (≥ 0), by Newton's method."""
    if radicand == 0:
        return 0
    # A power of two above the root: from there the iteration falls until it has arrived.
    root = 1 << -(-radicand.bit_length() // 3)
    while (smaller := (2 * root + radicand // (root * root)) // 3) < root:
        root = smaller
    return root


def _rounded_cube_root(a: Number) -> float:
    """The cube root of |a| as the nearest double.

    |a| = m * 2 ** e with e a multiple of 3 and m large; the root of m, with a last bit set that
    stands for everything cut off, then rounds to a double in the same way as the true root.

    Raises:
        OverflowError: the root of an enormous whole number is no double.
    """
    mantissa, exponent = abs(a), 0
    if isinstance(mantissa, float):
        fraction, exponent = math.frexp(mantissa)
        mantissa, exponent = int(math.ldexp(fraction, 53)), exponent - 53
    shift = max(0, CUBE_ROOT_RADICAND_BITS - mantissa.bit_length())
    shift += (exponent - shift) % 3
    root = _integer_cube_root(mantissa << shift)
    cut_off = root**3 != mantissa << shift
    return math.ldexp(float(root << 1 | cut_off), (exponent - shift) // 3 - 1)
