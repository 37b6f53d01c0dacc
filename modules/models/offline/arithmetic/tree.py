"""The expression tree that the grammar builds and the plan writer reads: nodes and operations.

Each operation says what it is in a plan: the tool that does it, and plain Python for it.

One node used twice (as "it" in "double it") is computed once: the writer goes by identity. Nodes
are named tuples because a dozen dataclasses would cost 8 ms of every start.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from core.base.frozen import frozen
from modules.models.offline.refusal import Decided, Refusal


class Number(NamedTuple):
    """A literal; never inf or nan."""

    value: int | float


class Constant(NamedTuple):
    """A constant of Python's `math` module: pi, e, tau."""

    name: str


class Text(NamedTuple):
    """Text whose characters are asked for."""

    value: str


class Percent(NamedTuple):
    """A percentage that still waits for what it is a part of; `amount` is 15 for 15%."""

    amount: "Node"


class Sequence(NamedTuple):
    """A list whose items the request spells out."""

    items: tuple["Node", ...]


class Apply(NamedTuple):
    """An operation (a key of `OPERATIONS`) on its arguments."""

    operation: str
    arguments: tuple["Node", ...]


class Each(NamedTuple):
    """One operation on every item of a list that is known only when the plan runs."""

    operation: str
    items: "Node"
    rest: tuple["Node", ...] = ()


Node: TypeAlias = Number | Constant | Text | Percent | Sequence | Apply | Each

LIST_OPERATIONS: frozenset[str] = frozenset({"codes", "fibonacci", "range"})
"""Operations whose result is a list."""


class Labelled(NamedTuple):
    """A value with the words of the request that ask for it."""

    label: str
    node: Node


class Question(NamedTuple):
    """What a request asks: one value, or several independent ones.

    Where they are `compared`, the answer is the largest or smallest of them, with its label.
    """

    items: tuple[Labelled, ...]
    compared: Literal["no", "largest", "smallest"] = "no"


def is_list(node: Node) -> bool:
    """Whether the node's value is a list."""
    return isinstance(node, Sequence | Each) or (
        isinstance(node, Apply) and node.operation in LIST_OPERATIONS
    )


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    match node:
        case Number() | Constant() | Text():
            return ()
        case Percent(amount):
            return (amount,)
        case Sequence(items):
            return items
        case Apply(_, arguments):
            return arguments
        case Each(_, items, rest):
            return (items, *rest)


Kind: TypeAlias = Literal["number", "integer", "text", "numbers"]
"""What a tool's parameter must take."""

MAX_PLAIN_SIZE: Final = 1_000
"""Larger powers and factorials are never done in plain Python by choice."""


Whole: TypeAlias = Literal["always", "as arguments", "never"]
"""Whether a result is an int and no float: always, never, or where all arguments are."""


@frozen
class Operation:
    """How a plan carries out an operation.

    `variable` names the result in a plan. `python` is a template over the arguments. `tool` takes
    parameters of `kinds`; `extra` are literal arguments behind the operation's own. `cheap`
    operations are the first to be done in Python when a plan may not call more tools.
    """

    variable: str
    python: str
    whole: Whole = "never"
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


_NUMBER: Final[tuple[Kind, ...]] = ("number",)
_NUMBERS: Final[tuple[Kind, ...]] = ("number", "number")


def _infix(variable: str, sign: str, tool: str, whole: Whole = "as arguments") -> Operation:
    """An operation of two numbers with a sign in Python."""
    return Operation(variable, f"{{}} {sign} {{}}", whole, tool, _NUMBERS, cheap=True)


def _at_angle(function: str) -> str:
    """A template that looks an angle up among the exact ones."""
    return f"{{{EXACT_ANGLES[function]}}}[{{}} % 360]"


OPERATIONS: Final[dict[str, Operation]] = {
    "add": _infix("total", "+", "add"),
    "subtract": _infix("difference", "-", "subtract"),
    "multiply": _infix("product", "*", "multiply"),
    "divide": _infix("quotient", "/", "divide", "never"),
    "remainder": _infix("rest", "%", "remainder"),
    "power": _infix("raised", "**", "power", "never"),
    "negate": Operation("negated", "-{}", "as arguments"),
    "square root": Operation(
        "root", "math.sqrt({})", "never", "power", _NUMBERS, extra=(0.5,), cheap=True
    ),
    "cube root": Operation("root", "math.cbrt({})", "never", "cbrt", _NUMBER),
    "factorial": Operation(
        "factorial_value", "math.factorial({})", "always", "factorial", ("integer",)
    ),
    "sine": Operation("sine", "math.sin({})", "never", "sin", _NUMBER),
    "cosine": Operation("cosine", "math.cos({})", "never", "cos", _NUMBER),
    "tangent": Operation("tangent", "math.tan({})", "never", "tan", _NUMBER),
    "sine of degrees": Operation("sine", _at_angle("sine")),
    "cosine of degrees": Operation("cosine", _at_angle("cosine")),
    "tangent of degrees": Operation("tangent", _at_angle("tangent")),
    "radians": Operation("angle", "math.radians({})"),
    "absolute": Operation("size", "abs({})", "as arguments"),
    "exponential": Operation("raised", "math.exp({})"),
    "natural log": Operation("logarithm", "math.log({})"),
    "log10": Operation("logarithm", "math.log10({})"),
    "log2": Operation("logarithm", "math.log2({})"),
    "log base": Operation("logarithm", "math.log({}, {})"),
    "gcd": Operation("divisor", "math.gcd({}, {})", "always"),
    "lcm": Operation("multiple", "math.lcm({}, {})", "always"),
    "codes": Operation(
        "codes", "[ord(c) for c in {}]", "always", "strings_to_chars_to_int", ("text",)
    ),
    "exponential sum": Operation(
        "total",
        "sum([math.exp(x) for x in {}])",
        "never",
        "int_list_to_exponential_sum",
        ("numbers",),
    ),
    "fibonacci": Operation("numbers", "", "always", "fibonacci_numbers", ("integer",)),
    "range": Operation("numbers", "list(range({}, {} + 1))", "always"),
    "sum": Operation("total", "sum({})", "as arguments"),
    "product": Operation("product", "math.prod({})", "as arguments"),
    "average": Operation("average", "sum({0}) / len({0})"),
    "maximum": Operation("largest", "max({*})", "as arguments"),
    "minimum": Operation("smallest", "min({*})", "as arguments"),
}


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
            whole = OPERATIONS[operation].whole
            kept = whole == "as arguments" and all(is_whole(item) for item in arguments)
            return kept or whole == "always"
        case Each(operation, items, rest):
            return is_whole(Apply(operation, (items, *rest)))
        case _:
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

Make: TypeAlias = Callable[..., Node]
"""Builds a checked node of an operation and its arguments (`ExpressionReader.make`)."""

PAIRS: Final = {
    "difference": "subtract",
    "quotient": "divide",
    "ratio": "divide",
    "remainder": "remainder",
    "gcd": "gcd",
    "lcm": "lcm",
}


_SHAPES: Final[dict[str, tuple[str, float]]] = {
    "square": ("power", 2),
    "cube": ("power", 3),
    "double": ("multiply", 2),
    "triple": ("multiply", 3),
    "quadruple": ("multiply", 4),
    "half": ("divide", 2),
}
"""Functions that are an operation with a fixed second argument."""


def apply_function(make: Make, function: str, operand: Node) -> Node:
    """The function of a number, or of every item of a list."""
    if isinstance(operand, Sequence):
        return Sequence(tuple(apply_function(make, function, item) for item in operand.items))
    if function == "reciprocal":
        return make("divide", Number(1), operand)
    degrees = _degrees(operand)
    if function == "tangent" and degrees is not None and degrees % 180 == 90:
        raise Decided("the tangent of a right angle is not defined")
    if degrees is not None and degrees % 360 in EXACT_ANGLES.get(function, ()):
        return make(f"{function} of degrees", Number(degrees))
    operation, *rest = _SHAPES.get(function, (function,))
    amounts = tuple(Number(amount) for amount in rest)
    if is_list(operand):
        return Each(operation, operand, amounts)
    return make(operation, operand, *amounts)


def aggregate(make: Make, name: str, nodes: list[Node]) -> Node:
    """One value from a list: from `nodes`, or from the only node if that is a list.

    Raises:
        Refusal: too few or too many values, or a list among single values.
    """
    if len(nodes) == 1 and isinstance(nodes[0], Sequence):
        nodes = list(nodes[0].items)
    if name in PAIRS:
        return _pair(make, name, nodes)
    if len(nodes) == 1 and is_list(nodes[0]):
        return _of_list(name, nodes[0])
    if len(nodes) < 2:
        raise Refusal(f"the {name} needs at least two numbers (write a space after each comma)")
    return _of_items(make, name, nodes)


def _pair(make: Make, name: str, nodes: list[Node]) -> Node:
    if len(nodes) != 2:
        raise Refusal(f"the {name} needs two numbers, {len(nodes)} given")
    match name, nodes:
        case "difference", [Number(left), Number(right)] if left < right:
            nodes = nodes[::-1]  # a difference in words has no sign
        case _:
            pass
    return make(PAIRS[name], *nodes)


def _of_list(name: str, items: Node) -> Node:
    if name == "sum" and isinstance(items, Each) and items.operation == "exponential":
        return Apply("exponential sum", (items.items,))
    return Apply(name, (items,))


def _of_items(make: Make, name: str, nodes: list[Node]) -> Node:
    if name == "sum" and (powers := _exponents(nodes)) is not None:
        return Apply("exponential sum", (Sequence(powers),))
    if name in ("maximum", "minimum"):
        return make(name, *nodes)
    total, *others = nodes
    for node in others:
        total = make("multiply" if name == "product" else "add", total, node)
    return make("divide", total, Number(len(nodes))) if name == "average" else total


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
