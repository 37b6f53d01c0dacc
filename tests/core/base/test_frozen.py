"""What values do beyond holding their fields."""

from copy import copy
from dataclasses import field, fields, replace

import pytest

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


@frozen
class Basket:
    """Its things are its own; a keyword says how many it takes."""

    things: list[str] = field(default_factory=list[str])
    most: int = field(default=9, kw_only=True)


def test_what_makes_a_value_is_compiled_with_the_first_one_of_its_class() -> None:
    @frozen
    class Fresh:
        """Of which there is no value yet."""

        number: int

    before = Fresh.__init__
    assert Fresh(1).number == 1
    assert Fresh.__init__ is not before
    assert "number" in Fresh.__init__.__code__.co_varnames
    assert [Fresh(2), Fresh(number=2)] == [Fresh(2)] * 2


def test_a_value_takes_its_fields_as_any_data_class_does() -> None:
    assert Basket() == Basket([], most=9)
    Basket().things.append("apple")
    assert Basket().things == []
    for _ in range(2):  # the first value and the others
        with pytest.raises(TypeError, match=r"Basket\.__init__\(\) takes from 1 to 2 positional"):
            Basket([], 9)  # pyright: ignore[reportCallIssue]
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            Basket(colour="red")  # pyright: ignore[reportCallIssue]


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
