"""What functions and aggregates make of numbers and lists."""

from typing import Protocol

from modules.offline.operations import EXACT_ANGLES
from modules.offline.refusal import Decided, Refusal
from modules.offline.tree import Apply, Each, Node, Number, OperationName, Sequence, is_list
from modules.offline.vocabulary import SHAPES, Aggregate, Function

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
