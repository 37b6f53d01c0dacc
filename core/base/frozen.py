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
    each time but for `__init__`; here they are shared. On Python 3.11 the 160 classes that a start
    needs take 0.03 s of CPU instead of 0.11: nearly a tenth of what `agent.py "add 5 and 7"` takes.
    """
    own = vars(cls)
    made = dataclass(slots=True, repr=False, eq=False)(cls)
    every = fields(made)  # pyright: ignore[reportArgumentType] - `dataclass` has just given them
    values_of = _reader([each.name for each in every if each.compare])
    shown = [each.name for each in every if each.repr]

    def __repr__(self: object) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __eq__(self: object, other: object) -> bool:
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: object) -> int:
        return hash(values_of(self))

    for method in (__repr__, __eq__, __hash__):
        if method.__name__ not in own:
            setattr(made, method.__name__, method)
    return made


def _reader(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What gives the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)
