"""Which parts of an expression are done in decimal: 0.1 + 0.2 is 0.3, as people write it.

A plan computes these parts with Python's `decimal`, and turns only their result into a float.
"""

import math
from collections.abc import Iterable
from typing import Final

from modules.offline.tree import Apply, Node, Number, OperationName

MAX_EXPONENT: Final = 64
"""Higher powers are left to floats: their digits are more than a decimal keeps."""

LARGEST: Final = 1e15
"""From here on Python prints a float with an exponent, and who writes such a number means one."""


def decimal_nodes(nodes: Iterable[Node]) -> frozenset[int]:
    """Ids of the operations to be done in decimal.

    They are exact operations on nothing but numbers, of which one at least has a decimal point.
    `nodes` come in the order of `arithmetic_plans`: arguments before what uses them. What divides
    by zero or grows beyond floats is none of them: a tool says better what is wrong.
    """
    sizes: dict[int, float] = {}
    pointed: set[int] = set()
    for node in nodes:
        size = _size(node, sizes)
        if size is None:
            continue
        sizes[id(node)] = size
        below = node.arguments if isinstance(node, Apply) else ()
        if any(id(argument) in pointed for argument in below) or _has_point(node):
            pointed.add(id(node))
    return frozenset(pointed)


def _size(node: Node, sizes: dict[int, float]) -> float | None:
    """About what the node is worth; None if it can't be done in decimal."""
    match node:
        case Number(value):
            return float(value) if abs(value) < LARGEST else None
        case Apply(operation, arguments):
            given = [sizes.get(id(argument)) for argument in arguments]
            known = [value for value in given if value is not None]
            size = _result(operation, known) if len(known) == len(given) else None
            return size if size is not None and abs(size) < LARGEST else None
        case _:
            return None


def _result(operation: OperationName, values: list[float]) -> float | None:
    """What decimal makes of the values, about; None where it does not do as people do on paper."""
    match operation, values:
        case "add", [left, right]:
            return left + right
        case "subtract", [left, right]:
            return left - right
        case "multiply", [left, right]:
            return left * right
        case "divide", [left, right] if right != 0:
            return left / right
        case "remainder", [left, right] if left >= 0 and right > 0:
            return left % right  # below zero, decimal's sign is another
        case "power", [base, exponent] if exponent % 1 == 0 and 0 <= exponent <= MAX_EXPONENT:
            if base == 0:
                return None if exponent == 0 else 0.0  # decimal holds 0⁰ to be undefined
            is_short = abs(base) <= 1 or exponent * math.log10(abs(base)) < math.log10(LARGEST)
            return base**exponent if is_short else None
        case "negate" | "absolute", [value]:
            return abs(value)
        case _:
            return None


def _has_point(node: Node) -> bool:
    return isinstance(node, Number) and isinstance(node.value, float)
