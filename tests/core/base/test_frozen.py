"""What values do beyond holding their fields."""

from copy import copy
from dataclasses import field, fields, replace

from core.base.frozen import frozen


@frozen
class Point:
    """Of two numbers, one of which doesn't count."""

    x: int
    seen: int = field(default=0, compare=False)


@frozen
class Named(Point):
    """One more field; the name is not shown."""

    name: str = field(default="", repr=False)


@frozen
class Empty:
    """Nothing."""


@frozen
class Told:
    """Says itself how it is shown, and what equals it."""

    text: str

    def __repr__(self) -> str:
        """One word."""
        return "told"

    def __eq__(self, other: object) -> bool:
        """Any other."""
        return isinstance(other, Told)


def test_values_are_equal_by_kind_and_compared_fields() -> None:
    assert Point(1, 2) == Point(1, 3) != Point(2, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 3))
    assert Point(1) != Named(1)
    assert Empty() == Empty() != Point(1)
    assert {Named(1, 0, "a"), Named(1, 5, "a")} == {Named(1, 0, "a")}


def test_a_value_shows_its_fields_but_those_that_stay_hidden() -> None:
    assert repr(Named(1, 2, "secret")) == "Named(x=1, seen=2)"
    assert repr(Empty()) == "Empty()"


def test_what_the_class_says_itself_stands() -> None:
    assert repr(Told("a")) == "told"
    assert Told("a") == Told("b")
    assert Told.__hash__ is None


def test_it_is_a_data_class_with_slots() -> None:
    assert [each.name for each in fields(Named)] == ["x", "seen", "name"]
    assert replace(Named(1, name="a"), x=2) == Named(2, name="a")
    assert copy(Named(1, 2, "a")) == Named(1, 2, "a")
    assert not hasattr(Point(1), "__dict__")
