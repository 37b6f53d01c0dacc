"""A prompt as a typed function: what is taken for an answer, and what a model is told otherwise."""

import json
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, NativeToolCall
from core.values import JsonObject
from modules.planning.reply.ask_model import (
    MAX_JSON_CHARACTERS,
    PROBLEMS_SHOWN,
    REPLY_CHARACTERS_SHOWN,
    ReplyUnusable,
    ask_model,
)
from modules.planning.reply.reply_schema import reply_schema

WHO = ModelRequest("text", "Who?")
GOOD = '{"name": "Ann", "age": 30, "pets": []}'


class Pet(BaseModel):
    kind: Literal["cat", "dog"]
    name: str | None = None


class Person(BaseModel):
    name: str = Field(description="first name only")
    age: int = Field(ge=0)
    pets: list[Pet] = Field(default_factory=list[Pet])


class Replies:
    """A model that gives these replies and keeps what it was asked."""

    name = "test:replies"

    def __init__(self, *replies: str | ModelReply | Exception) -> None:
        self.left = list(replies)
        self.seen: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.seen.append(request)
        reply = self.left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return ModelReply(reply) if isinstance(reply, str) else reply


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Here you are:\n```json\n{GOOD}\n```\nAnything else?",
        f"I think it is {GOOD}, isn't it?",
        ModelReply("", tool_calls=(NativeToolCall("answer", json.loads(GOOD)),)),
        ModelReply("I call a tool.", tool_calls=(NativeToolCall("answer", json.loads(GOOD)),)),
        ModelReply("", tool_calls=(NativeToolCall("x", {}), NativeToolCall("y", json.loads(GOOD)))),
    ],
)
async def test_the_object_is_found_wherever_a_model_puts_it(reply: str | ModelReply) -> None:
    model = Replies(reply)
    assert await ask_model(model, WHO, Person) == Person(name="Ann", age=30)
    assert len(model.seen) == 1


async def test_the_request_carries_the_schema_and_the_prompt_its_text() -> None:
    model = Replies(GOOD)
    request = ModelRequest("summary", "Who?", max_output_tokens=99)
    await ask_model(model, request, Person)
    (asked,) = model.seen
    assert asked.schema == reply_schema(Person)
    assert asked.prompt.startswith("Who?\n")
    assert asked.prompt.endswith(json.dumps(asked.schema))
    assert (asked.purpose, asked.temperature, asked.max_output_tokens) == ("summary", 0, 99)


async def test_a_prompt_that_shows_the_form_itself_is_sent_as_it_is() -> None:
    model = Replies(GOOD)
    await ask_model(model, replace(WHO, prefix_characters=2), Person, show_schema=False)
    assert (model.seen[0].system, model.seen[0].user) == ("Wh", "o?")


async def test_a_further_try_is_told_the_exact_errors_and_the_reply_that_has_them() -> None:
    wrong = '{"name": "Ann", "age": -1, "pets": [{"kind": "cow"}]}'
    model = Replies(wrong, GOOD)
    await ask_model(model, replace(WHO, prefix_characters=3), Person)
    first, second = model.seen
    assert second.prompt.startswith(first.prompt), "what a provider has cached stays the beginning"
    assert second.prefix_characters == 3
    told = second.prompt.removeprefix(first.prompt)
    assert wrong in told
    assert "- age: Input should be greater than or equal to 0; you wrote -1\n" in told
    assert "- pets[0].kind: Input should be 'cat' or 'dog'; you wrote \"cow\"\n" in told


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "it is empty"),
        ("no idea", "it holds no JSON"),
        ('{"name": "Ann",}', "it is not valid JSON: "),
        ("[1, 2]", "it is a list, not one JSON object: [1, 2]"),
        ('{"name": "Ann"}', "age: Field required"),
        ('{"age": 1' + "0" * 5_000 + "}", "it is not valid JSON: Exceeds the limit"),
        ('{"a":' * 3_000, "it is nested too deeply"),
        ("x" * (MAX_JSON_CHARACTERS + 1), "it is longer than 20,000 characters"),
        (ModelReply('{"name": "A', truncated=True), "it was cut off before its end: write less"),
        (ModelReply("", tool_calls=(NativeToolCall("f", {"name": "A"}),)), "age: Field required"),
    ],
)
async def test_every_kind_of_unusable_reply_has_its_own_words(
    reply: str | ModelReply, problem: str
) -> None:
    with pytest.raises(ReplyUnusable) as caught:
        await ask_model(Replies(reply), WHO, Person, retries=0)
    assert caught.value.problems[0].startswith(problem)
    assert "test:replies gave no usable reply in 1 try" in str(caught.value)


async def test_tries_are_counted_get_warmer_and_do_not_make_the_prompt_grow() -> None:
    model = Replies(*["no"] * 4)
    with pytest.raises(ReplyUnusable, match=r"in 4 tries.*it holds no JSON") as caught:
        await ask_model(model, WHO, Person)
    assert not caught.value.transient
    assert [request.temperature for request in model.seen] == [0.0, 0.2, 0.4, 0.6]
    assert len({len(request.prompt) for request in model.seen[1:]}) == 1


async def test_what_a_hostile_reply_puts_into_the_next_prompt_is_bounded() -> None:
    many = json.dumps({"name": ["n" * 5_000], "age": 1, "pets": ["x" * 300] * 30})
    model = Replies(many, GOOD)
    await ask_model(model, WHO, Person)
    told = len(model.seen[1].prompt) - len(model.seen[0].prompt)
    assert told < REPLY_CHARACTERS_SHOWN + PROBLEMS_SHOWN * 300 + 1_000
    assert "and 21 more errors" in model.seen[1].prompt


async def test_the_callers_own_check_counts_as_much_as_the_shape() -> None:
    def is_adult(person: Person) -> str | None:
        return None if person.age >= 18 else f"{person.name} is no adult"

    model = Replies('{"name": "Bob", "age": 3}', GOOD)
    assert (await ask_model(model, WHO, Person, check=is_adult)).name == "Ann"
    assert "- Bob is no adult\n" in model.seen[1].prompt


async def test_the_callers_leniency_comes_before_the_shape() -> None:
    def with_age(document: JsonObject) -> JsonObject:
        return {"age": 1, **document}

    assert (await ask_model(Replies('{"name": "B"}'), WHO, Person, lenient=with_age)).age == 1


async def test_a_limit_that_cut_a_reply_does_not_hold_for_the_next() -> None:
    model = Replies(ModelReply("", truncated=True), "no", GOOD)
    await ask_model(model, replace(WHO, max_output_tokens=10), Person)
    assert [request.max_output_tokens for request in model.seen] == [10, None, None]


async def test_a_model_that_declines_is_not_asked_again() -> None:
    model = Replies(ModelReply("I write plans, not texts.", declined=True))
    with pytest.raises(ReplyUnusable, match="declined: I write plans"):
        await ask_model(model, WHO, Person)


async def test_an_outage_is_not_taken_for_a_bad_reply() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await ask_model(Replies(ModelUnavailable("down", transient=True)), WHO, Person)
    assert type(caught.value) is ModelUnavailable


class TestSchema:
    """The subset of JSON Schema that every provider and grammar takes."""

    def test_references_are_written_out_and_all_is_required_and_closed(self) -> None:
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

    def test_choices_of_every_kind_say_their_type(self) -> None:
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

    def test_shapes_that_not_every_model_can_be_asked_for_are_refused(self) -> None:
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
