"""Values: classes whose fields nobody changes once they are made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make it a data class with slots, equality and a hash, frozen for the type checker.

    `dataclass(frozen=True, slots=True)` compiles eight methods for each class, which are the same
    each time but for `__init__`. Here they are shared, and `__init__` is compiled with the first
    value of its class: a start imports 200 such classes and makes values of 80.
    """
    own = vars(cls)
    made = dataclass(init=False, slots=True, repr=False, eq=False)(cls)
    every = fields(made)  # pyright: ignore[reportArgumentType] - `dataclass` has just given them
    values_of = _reader([each.name for each in every if each.compare])
    shown = [each.name for each in every if each.repr]

    def __init__(self: object, *values: object, **named: object) -> None:
        compiled = _initializer(made)
        made.__init__ = compiled
        compiled(self, *values, **named)

    def __repr__(self: object) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __eq__(self: object, other: object) -> bool:
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: object) -> int:
        return hash(values_of(self))

    for method in (__init__, __repr__, __eq__, __hash__):
        if method.__name__ not in own:
            setattr(made, method.__name__, method)
    return made


def _initializer(of: type) -> Callable[..., None]:
    """The `__init__` that a data class with the same fields gets."""
    named = {name: getattr(of, name) for name in ("__module__", "__qualname__", "__doc__")}
    same = type(of)(of.__name__, (of,), {**named, "__slots__": ()})
    dataclass(repr=False, eq=False, match_args=False)(same)
    compiled: Callable[..., None] = vars(same)["__init__"]
    return compiled


def _reader(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What gives the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)
