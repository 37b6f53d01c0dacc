"""The subset of JSON Schema that every provider and grammar takes, and what is put into it."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from core.values import JsonObject
from modules.planning.reply.reply_schema import held_schema, reply_schema


class Pet(BaseModel):
    kind: Literal["cat", "dog"]
    name: str | None = None


class Person(BaseModel):
    name: str = Field(description="first name only")
    age: int = Field(ge=0)
    pets: list[Pet] = Field(default_factory=list[Pet])


def test_references_are_written_out_and_all_is_required_and_closed() -> None:
    pet: JsonObject = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["cat", "dog"]},
            "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["kind", "name"],
        "additionalProperties": False,
    }
    assert reply_schema(Person) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "first name only"},
            "age": {"type": "integer"},
            "pets": {"type": "array", "items": pet},
        },
        "required": ["name", "age", "pets"],
        "additionalProperties": False,
    }


def test_choices_of_every_kind_say_their_type() -> None:
    class Colour(Enum):
        RED = "red"

    class Choices(BaseModel):
        one: Literal["a"]
        mixed: Literal["a", 1, None]
        colour: Colour
        pet: Pet | int

    properties = reply_schema(Choices)["properties"]
    assert isinstance(properties, dict)
    assert properties["one"] == {"type": "string", "enum": ["a"]}
    assert properties["mixed"] == {
        "anyOf": [
            {"type": "string", "enum": ["a"]},
            {"type": "integer", "enum": [1]},
            {"type": "null"},
        ]
    }
    assert properties["colour"] == {"type": "string", "enum": ["red"]}


def test_shapes_that_not_every_model_can_be_asked_for_are_refused() -> None:
    class Tree(BaseModel):
        children: "Sequence[Tree]"

    class Free(BaseModel):
        values: dict[str, int]

    class Anything(BaseModel):
        value: Any

    class Pair(BaseModel):
        pair: tuple[int, str]

    for shape in (Tree, Free, Anything, Pair, RootModel[list[int]]):
        with pytest.raises(TypeError):
            reply_schema(shape)


class TestHeldSchemas:
    """A JSON Schema of which a model is held to as much as all backends take."""

    WRITTEN: JsonObject = {  # noqa: RUF012 - nobody writes to it
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z]"},
            "age": {"type": ["integer", "null"], "minimum": 0},
        },
        "required": ["age", "name"],
    }

    def test_bounds_go_and_what_is_left_is_closed(self) -> None:
        held = held_schema(self.WRITTEN)
        assert held == {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["name", "age"],
            "additionalProperties": False,
        }

    def test_a_model_is_not_made_to_invent_what_may_be_left_out(self) -> None:
        assert held_schema({**self.WRITTEN, "required": ["name"]}) is None

    def test_what_the_subset_cannot_say_is_left_to_the_check(self) -> None:
        assert held_schema({"type": "object", "additionalProperties": {"type": "integer"}}) is None
