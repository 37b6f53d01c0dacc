"""The expression tree that the grammar builds and the plan writer reads.

One node used twice (as "it" in "double it") is computed once: the writer goes by identity. Nodes
are named tuples because a dozen dataclasses would cost 8 ms of every start.
"""

from typing import Literal, NamedTuple, TypeAlias


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
    """An operation (a key of `operations.OPERATIONS`) on its arguments."""

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
