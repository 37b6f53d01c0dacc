"""What each operation of the tree is in a plan: the tool that does it, and plain Python for it."""

from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from modules.offline.arithmetic.tree import (
    Apply,
    Constant,
    Each,
    Node,
    Number,
    OperationName,
    Percent,
    Sequence,
    Text,
    is_list,
)
from modules.offline.arithmetic.vocabulary import SHAPES, Aggregate, Function
from modules.offline.refusal import Decided, Refusal

Kind: TypeAlias = Literal["number", "integer", "text", "numbers"]
"""What a tool's parameter must take."""

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
"""Precedences of Python's operators, loosest first."""

MAX_PLAIN_SIZE: Final = 1_000
"""Larger powers and factorials are never done in plain Python by choice."""


@dataclass(frozen=True, slots=True)
class Operation:
    """How a plan carries out an operation.

    `tool` takes parameters of `kinds`; `extra` are literal arguments behind the operation's own.
    `python` is a template over the arguments, `precedence` its own, `operands` the least that each
    argument needs to stand there without parentheses. `variable` names the result in a plan.
    `cheap` operations are the first to be done in Python when a plan may not call more tools.
    """

    variable: str
    python: str
    precedence: int = ATOM
    operands: tuple[int, ...] = (SUM, SUM)
    tool: str | None = None
    kinds: tuple[Kind, ...] = ()
    extra: tuple[float, ...] = ()
    cheap: bool = False


EXACT_ANGLES: Final[dict[str, dict[int, float]]] = {
    "sine": {0: 0, 30: 0.5, 90: 1, 150: 0.5, 180: 0, 210: -0.5, 270: -1, 330: -0.5},
    "cosine": {0: 1, 60: 0.5, 90: 0, 120: -0.5, 180: -1, 240: -0.5, 270: 0, 300: 0.5},
    "tangent": {0: 0, 45: 1, 135: -1, 180: 0, 225: 1, 315: -1},
}
"""By degrees: the values that are rational (Niven's theorem), which floats miss by a little."""


def _at_angle(function: str) -> str:
    """A template that looks an angle up among the exact ones."""
    return f"{{{EXACT_ANGLES[function]}}}[{{0}} % 360]"


_NUMBER: Final[tuple[Kind, ...]] = ("number",)
_NUMBERS: Final[tuple[Kind, ...]] = ("number", "number")

OPERATIONS: Final[dict[OperationName, Operation]] = {
    "add": Operation("total", "{0} + {1}", SUM, (SUM, PRODUCT), "add", _NUMBERS, cheap=True),
    "subtract": Operation(
        "difference", "{0} - {1}", SUM, (SUM, PRODUCT), "subtract", _NUMBERS, cheap=True
    ),
    "multiply": Operation(
        "product", "{0} * {1}", PRODUCT, (PRODUCT, SIGN), "multiply", _NUMBERS, cheap=True
    ),
    "divide": Operation(
        "quotient", "{0} / {1}", PRODUCT, (PRODUCT, SIGN), "divide", _NUMBERS, cheap=True
    ),
    "remainder": Operation(
        "rest", "{0} % {1}", PRODUCT, (PRODUCT, SIGN), "remainder", _NUMBERS, cheap=True
    ),
    "power": Operation("raised", "{0} ** {1}", POWER, (ATOM, SIGN), "power", _NUMBERS, cheap=True),
    "negate": Operation("negated", "-{0}", SIGN, (SIGN,)),
    "square root": Operation(
        "root", "math.sqrt({0})", tool="power", kinds=_NUMBERS, extra=(0.5,), cheap=True
    ),
    "cube root": Operation("root", "math.cbrt({0})", tool="cbrt", kinds=_NUMBER),
    "factorial": Operation(
        "factorial_value", "math.factorial({0})", tool="factorial", kinds=("integer",)
    ),
    "sine": Operation("sine", "math.sin({0})", tool="sin", kinds=_NUMBER),
    "cosine": Operation("cosine", "math.cos({0})", tool="cos", kinds=_NUMBER),
    "tangent": Operation("tangent", "math.tan({0})", tool="tan", kinds=_NUMBER),
    "radians": Operation("angle", "math.radians({0})"),
    "absolute": Operation("size", "abs({0})"),
    "exponential": Operation("raised", "math.exp({0})"),
    "natural log": Operation("logarithm", "math.log({0})"),
    "log10": Operation("logarithm", "math.log10({0})"),
    "log2": Operation("logarithm", "math.log2({0})"),
    "log base": Operation("logarithm", "math.log({0}, {1})"),
    "gcd": Operation("divisor", "math.gcd({0}, {1})"),
    "lcm": Operation("multiple", "math.lcm({0}, {1})"),
    "codes": Operation(
        "codes", "[ord(c) for c in {0}]", tool="strings_to_chars_to_int", kinds=("text",)
    ),
    "exponential sum": Operation(
        "total",
        "sum([math.exp(x) for x in {0}])",
        tool="int_list_to_exponential_sum",
        kinds=("numbers",),
    ),
    "fibonacci": Operation("numbers", "", tool="fibonacci_numbers", kinds=("integer",)),
    "range": Operation("numbers", "list(range({0}, {1} + 1))", operands=(SUM, SUM)),
    "sum": Operation("total", "sum({0})"),
    "product": Operation("product", "math.prod({0})"),
    "average": Operation("average", "sum({0}) / len({0})", PRODUCT),
    "maximum": Operation("largest", "max({})"),
    "minimum": Operation("smallest", "min({})"),
    "count": Operation("count", "len({0})"),
    "sine of degrees": Operation("sine", _at_angle("sine")),
    "cosine of degrees": Operation("cosine", _at_angle("cosine")),
    "tangent of degrees": Operation("tangent", _at_angle("tangent")),
}

_KEEPS_WHOLE: Final[frozenset[OperationName]] = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "remainder",
        "negate",
        "absolute",
        "sum",
        "product",
        "maximum",
        "minimum",
    }
)
_ALWAYS_WHOLE: Final[frozenset[OperationName]] = frozenset(
    {"factorial", "gcd", "lcm", "codes", "fibonacci", "range", "count"}
)


def is_whole(node: Node) -> bool:
    """Whether the node's value, or each item of it, is surely an int and no float."""
    match node:
        case Number(value):
            return isinstance(value, int)
        case Sequence(items):
            return all(is_whole(item) for item in items)
        case Apply("power", (base, Number(exponent))):
            return is_whole(base) and isinstance(exponent, int) and exponent >= 0
        case Apply(operation, arguments):
            return operation in _ALWAYS_WHOLE or (
                operation in _KEEPS_WHOLE and all(is_whole(item) for item in arguments)
            )
        case Each(operation, items, rest):
            return is_whole(Apply(operation, (items, *rest)))
        case Constant() | Text() | Percent():
            return False


def is_small(node: Apply) -> bool:
    """Whether plain Python may do the operation: nothing that grows beyond measure."""
    match node:
        case Apply("power", (Number(base), Number(exponent))):
            return abs(base) <= MAX_PLAIN_SIZE and abs(exponent) <= MAX_PLAIN_SIZE
        case Apply("factorial" | "fibonacci", (Number(value),)):
            return value <= MAX_PLAIN_SIZE
        case Apply("power" | "factorial" | "fibonacci"):
            return False
        case _:
            return True


# What functions and aggregates make of numbers and lists.

_PAIRS: dict[Aggregate, OperationName] = {
    "difference": "subtract",
    "quotient": "divide",
    "ratio": "divide",
    "remainder": "remainder",
    "gcd": "gcd",
    "lcm": "lcm",
}
_LIST_OPERATIONS: dict[Aggregate, OperationName] = {
    "sum": "sum",
    "product": "product",
    "average": "average",
    "maximum": "maximum",
    "minimum": "minimum",
}
_OF_DEGREES: dict[Function, OperationName] = {
    "sine": "sine of degrees",
    "cosine": "cosine of degrees",
    "tangent": "tangent of degrees",
}


class Maker(Protocol):
    """Builds checked nodes (`ExpressionReader.make`)."""

    def make(self, operation: OperationName, *arguments: Node) -> Node:
        """A node for an operation on numbers."""
        ...


def apply_function(maker: Maker, function: Function, operand: Node) -> Node:
    """The function of a number, or of every item of a list."""
    if isinstance(operand, Sequence):
        return Sequence(tuple(apply_function(maker, function, item) for item in operand.items))
    if function == "reciprocal":
        return maker.make("divide", Number(1), operand)
    degrees = _degrees(operand)
    if function == "tangent" and degrees is not None and degrees % 180 == 90:
        raise Decided("the tangent of a right angle is not defined")
    if degrees is not None and degrees % 360 in EXACT_ANGLES.get(function, ()):
        return maker.make(_OF_DEGREES[function], Number(degrees))
    operation, rest = _shape(function)
    if is_list(operand):
        return Each(operation, operand, rest)
    return maker.make(operation, operand, *rest)


def aggregate(maker: Maker, name: Aggregate, nodes: list[Node]) -> Node:
    """One value from a list: from `nodes`, or from the only node if that is a list.

    Raises:
        Refusal: too few or too many values, or a list among single values.
    """
    if len(nodes) == 1 and isinstance(nodes[0], Sequence):
        nodes = list(nodes[0].items)
    if name in _PAIRS:
        return _pair(maker, name, nodes)
    if len(nodes) == 1 and is_list(nodes[0]):
        return _of_list(name, nodes[0])
    if len(nodes) < 2:
        raise Refusal(f"the {name} needs at least two numbers (write a space after each comma)")
    return _of_items(maker, name, nodes)


def _pair(maker: Maker, name: Aggregate, nodes: list[Node]) -> Node:
    if len(nodes) != 2:
        raise Refusal(f"the {name} needs two numbers, {len(nodes)} given")
    match name, nodes:
        case "difference", [Number(left), Number(right)] if left < right:
            nodes = nodes[::-1]  # a difference in words has no sign
        case _:
            pass
    return maker.make(_PAIRS[name], *nodes)


def _of_list(name: Aggregate, items: Node) -> Node:
    if name == "sum" and isinstance(items, Each) and items.operation == "exponential":
        return Apply("exponential sum", (items.items,))
    return Apply(_LIST_OPERATIONS[name], (items,))


def _of_items(maker: Maker, name: Aggregate, nodes: list[Node]) -> Node:
    if name == "sum" and (powers := _exponents(nodes)) is not None:
        return Apply("exponential sum", (Sequence(powers),))
    if name in ("sum", "product", "average"):
        operation: OperationName = "multiply" if name == "product" else "add"
        total = nodes[0]
        for node in nodes[1:]:
            total = maker.make(operation, total, node)
        return maker.make("divide", total, Number(len(nodes))) if name == "average" else total
    return maker.make(_LIST_OPERATIONS[name], *nodes)


def _exponents(nodes: list[Node]) -> tuple[Node, ...] | None:
    """What the exponentials are taken of, if all nodes are exponentials."""
    found: list[Node] = []
    for node in nodes:
        if not (isinstance(node, Apply) and node.operation == "exponential"):
            return None
        found.append(node.arguments[0])
    return tuple(found)


def _degrees(node: Node) -> int | float | None:
    """How many degrees an angle has, if it is a number of degrees."""
    match node:
        case Apply("radians", (Number(degrees),)):
            return degrees
        case Apply("negate", (positive,)):
            degrees = _degrees(positive)
            return None if degrees is None else -degrees
        case _:
            return None


def _shape(function: Function) -> tuple[OperationName, tuple[Node, ...]]:
    match function:
        case "square" | "cube" | "double" | "triple" | "quadruple" | "half":
            operation, amount = SHAPES[function]
            return operation, (Number(amount),)
        case "reciprocal":
            return "power", (Number(-1),)
        case _:
            return function, ()
