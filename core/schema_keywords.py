"""Keywords of JSON Schema whose meaning fits in a line: types, bounds, equality."""

import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeAlias

from typing_extensions import TypeIs

from core.values import Json


def is_number(value: Json) -> TypeIs[int | float]:
    """Whether it is a number of JSON's: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Json) -> bool:
    """Whether it is a whole number; 1.0 is one to JSON Schema."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


TYPES: Final = MappingProxyType[str, Callable[[Json], bool]](
    {
        "string": lambda value: isinstance(value, str),
        "integer": _is_whole,
        "number": is_number,
        "boolean": lambda value: isinstance(value, bool),
        "array": lambda value: isinstance(value, list),
        "object": lambda value: isinstance(value, dict),
        "null": lambda value: value is None,
    }
)
"""The types of JSON Schema."""


def _number(value: Json) -> int | float | None:
    return value if is_number(value) else None


def _characters(value: Json) -> int | None:
    return len(value) if isinstance(value, str) else None


def _length(value: Json) -> int | None:
    return len(value) if isinstance(value, list) else None


def _keys(value: Json) -> int | None:
    return len(value) if isinstance(value, dict) else None


_Measure: TypeAlias = Callable[[Json], int | float | None]
_Compare: TypeAlias = Callable[[float, float], bool]

BOUNDS: Final = MappingProxyType[str, tuple[_Measure, str, _Compare]](
    {
        "minimum": (_number, "must be at least {}", operator.ge),
        "maximum": (_number, "must be at most {}", operator.le),
        "exclusiveMinimum": (_number, "must be above {}", operator.gt),
        "exclusiveMaximum": (_number, "must be below {}", operator.lt),
        "minLength": (_characters, "must have at least {} characters", operator.ge),
        "maxLength": (_characters, "must have at most {} characters", operator.le),
        "minItems": (_length, "must have at least {} items", operator.ge),
        "maxItems": (_length, "must have at most {} items", operator.le),
        "minProperties": (_keys, "must have at least {} keys", operator.ge),
        "maxProperties": (_keys, "must have at most {} keys", operator.le),
    }
)
"""Keywords that bound a number, or how much there is of something."""


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are equal in JSON, where 1 is 1.0 but not true; no lists or objects."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other
