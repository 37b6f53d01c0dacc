"""A prompt as a function: what is taken for a result, what a model is told otherwise, streams."""

import asyncio
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, NativeToolCall, ReplyEnd, TextDelta, ThinkingDelta
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import FREE
from modules.models.serving.watched import ChosenModel
from modules.planning.llmfunc import (
    MAX_JSON_CHARACTERS,
    PROBLEMS_SHOWN,
    REPLY_CHARACTERS_SHOWN,
    ReplyUnusable,
    llmfunc,
)
from modules.planning.reply.reply_schema import held_schema, reply_schema
from tests.documentation.pages import DOCS
from tests.doubles import HandClock
from tests.modules.models.serving.doubles import HeldModel, transient
from tests.modules.test_model_manager import chosen

WHO = "Who?"
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
    assert await llmfunc(WHO, model=model, shape=Person)() == Person(name="Ann", age=30)
    assert len(model.seen) == 1


async def test_the_request_carries_the_schema_and_the_prompt_its_text() -> None:
    model = Replies(GOOD)
    request = ModelRequest("summary", "Who?", max_output_tokens=99)
    await llmfunc(request, model=model, shape=Person)()
    (asked,) = model.seen
    assert asked.schema == reply_schema(Person)
    assert asked.prompt.startswith("Who?\n")
    assert asked.prompt.endswith(json.dumps(asked.schema))
    assert (asked.purpose, asked.temperature, asked.max_output_tokens) == ("summary", 0, 99)


async def test_a_prompt_that_shows_the_form_itself_is_sent_as_it_is() -> None:
    model = Replies(GOOD)
    await llmfunc('Who? As {"name": …}', model=model, shape=Person, show_schema=False)()
    assert (model.seen[0].system, model.seen[0].user) == ("", 'Who? As {"name": …}')


class TestArguments:
    """The names of a prompt are the arguments of its function."""

    PROMPT = "You know people.\n\nWho is {who}, of {place}?"

    async def test_values_fill_the_prompt_and_what_stands_before_them_is_the_system_message(
        self,
    ) -> None:
        model = Replies("Ann.", "Bob.")
        name = llmfunc(self.PROMPT, model=model)
        assert [await name(who="{place}", place=7), await name(who="b", place="B")] == [
            "Ann.",
            "Bob.",
        ]
        assert model.seen[0].user == "Who is {place}, of 7?", "braces in a value are text"
        assert {request.system for request in model.seen} == {"You know people.\n\n"}

    async def test_the_caller_says_what_changes_from_call_to_call(self) -> None:
        model = Replies("Ann.")
        prompt = "You know {place}.\n\nWho is {who}?"
        await llmfunc(prompt, model=model, changing="who")(who="she", place="Borkum")
        assert model.seen[0].system == "You know Borkum.\n\n"

    async def test_a_name_without_a_value_is_a_mistake_that_reaches_no_model(self) -> None:
        model = Replies()
        with pytest.raises(TypeError, match=r"needs a value of who; given: whom, place"):
            await llmfunc(self.PROMPT, model=model)(whom="Ann", place="B")
        with pytest.raises(TypeError, match=r"needs a value of who, place; given: none"):
            await anext(llmfunc(self.PROMPT, model=model).stream())
        assert model.seen == []


async def test_a_further_try_is_told_the_exact_errors_and_the_reply_that_has_them() -> None:
    wrong = '{"name": "Ann", "age": -1, "pets": [{"kind": "cow"}]}'
    model = Replies(wrong, GOOD)
    prompt = "You know people.\n\n{question}"
    await llmfunc(prompt, model=model, shape=Person)(question=WHO)
    first, second = model.seen
    assert second.prompt.startswith(first.prompt), "what a provider has cached stays the beginning"
    assert second.system == first.system == "You know people.\n\n"
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
        await llmfunc(WHO, model=Replies(reply), shape=Person, retries=0)()
    assert caught.value.problems[0].startswith(problem)
    assert "test:replies gave no usable reply in 1 try" in str(caught.value)


async def test_tries_are_counted_get_warmer_and_do_not_make_the_prompt_grow() -> None:
    model = Replies(*["no"] * 4)
    with pytest.raises(ReplyUnusable, match=r"in 4 tries.*it holds no JSON") as caught:
        await llmfunc(WHO, model=model, shape=Person)()
    assert not caught.value.transient
    assert [request.temperature for request in model.seen] == [0.0, 0.2, 0.4, 0.6]
    assert len({len(request.prompt) for request in model.seen[1:]}) == 1


async def test_a_further_try_is_no_colder_than_the_first() -> None:
    model = Replies(*["no"] * 3, GOOD)
    await llmfunc(ModelRequest("text", WHO, temperature=0.5), model=model, shape=Person)()
    assert [request.temperature for request in model.seen] == [0.5, 0.5, 0.5, 0.6]


async def test_half_a_surrogate_pair_reaches_no_further_prompt() -> None:
    call = NativeToolCall("answer", {"name": "\ud800", "age": "\udfff"})
    model = Replies(ModelReply("", tool_calls=(call,)), GOOD)
    await llmfunc(WHO, model=model, shape=Person)()
    assert model.seen[1].prompt.isascii()


async def test_what_a_hostile_reply_puts_into_the_next_prompt_is_bounded() -> None:
    many = json.dumps({"name": ["n" * 5_000], "age": 1, "pets": ["x" * 300] * 30})
    model = Replies(many, GOOD)
    await llmfunc(WHO, model=model, shape=Person)()
    told = len(model.seen[1].prompt) - len(model.seen[0].prompt)
    assert told < REPLY_CHARACTERS_SHOWN + PROBLEMS_SHOWN * 300 + 1_000
    assert "and 21 more errors" in model.seen[1].prompt


async def test_the_callers_own_check_counts_as_much_as_the_shape() -> None:
    def is_adult(person: Person) -> str | None:
        return None if person.age >= 18 else f"{person.name} is no adult"

    model = Replies('{"name": "Bob", "age": 3}', GOOD)
    assert (await llmfunc(WHO, model=model, shape=Person, check=is_adult)()).name == "Ann"
    assert "- Bob is no adult\n" in model.seen[1].prompt


async def test_the_callers_leniency_comes_before_the_shape() -> None:
    def with_age(document: JsonObject) -> JsonObject:
        return {"age": 1, **document}

    assert (
        await llmfunc(WHO, model=Replies('{"name": "B"}'), shape=Person, lenient=with_age)()
    ).age == 1


async def test_a_limit_that_cut_a_reply_does_not_hold_for_the_next() -> None:
    model = Replies(ModelReply("", truncated=True), "no", GOOD)
    bounded = ModelRequest("text", WHO, max_output_tokens=10)
    await llmfunc(bounded, model=model, shape=Person)()
    assert [request.max_output_tokens for request in model.seen] == [10, None, None]


async def test_a_model_that_declines_is_not_asked_again() -> None:
    model = Replies(ModelReply("I write plans, not texts.", declined=True))
    with pytest.raises(ReplyUnusable, match="declined: I write plans"):
        await llmfunc(WHO, model=model, shape=Person)()


async def test_an_outage_is_not_taken_for_a_bad_reply() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await llmfunc(WHO, model=Replies(ModelUnavailable("down", transient=True)), shape=Person)()
    assert type(caught.value) is ModelUnavailable


class TestJsonSchemas:
    """A JSON Schema as the shape: what comes back is held to all of it."""

    SHAPE: JsonObject = {  # noqa: RUF012 - nobody writes to it
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z]"},
            "age": {"type": ["integer", "null"], "minimum": 0},
        },
        "required": ["name", "age"],
        "additionalProperties": False,
    }

    async def test_an_object_that_fits_is_given_as_it_is(self) -> None:
        model = Replies('{"name": "Ann", "age": null}')
        found = await llmfunc(WHO, model=model, shape=self.SHAPE)()
        assert found == {"name": "Ann", "age": None}
        assert model.seen[0].prompt.endswith(json.dumps(self.SHAPE)), "the whole schema is shown"
        assert model.seen[0].schema == held_schema(self.SHAPE)

    async def test_what_does_not_fit_is_told_with_its_place_and_asked_for_again(self) -> None:
        model = Replies('{"name": "ann", "age": -1, "pet": 1}', '{"name": "Ann", "age": 1}')
        assert (await llmfunc(WHO, model=model, shape=self.SHAPE)())["age"] == 1
        told = model.seen[1].prompt
        assert "- /age: the value is less than the minimum of 0\n" in told
        assert '- /name: the value does not match "^[A-Z]"\n' in told
        assert "('pet' was unexpected)\n" in told

    @pytest.mark.parametrize("value", ['"\\ud800"', "[" * 400 + "]" * 400])
    async def test_what_cannot_be_checked_is_not_taken(self, value: str) -> None:
        anything: JsonObject = {"type": "object", "properties": {"a": {}, "b": {"type": "null"}}}
        model = Replies(f'{{"a": {value}, "b": 5}}')
        with pytest.raises(ReplyUnusable):
            await llmfunc(WHO, model=model, shape=anything, retries=0)()

    async def test_the_callers_check_counts_here_too(self) -> None:
        model = Replies('{"name": "Bob", "age": 1}', '{"name": "Ann", "age": 1}')

        def check(found: JsonObject) -> str | None:
            return None if found["name"] == "Ann" else "it isn't Ann"

        assert (await llmfunc(WHO, model=model, shape=self.SHAPE, check=check)())["name"] == "Ann"

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ({"type": "array"}, 'it needs "type": "object"'),
            ({"type": "object", "required": 5}, "this is no JSON Schema: at /required"),
            ({"type": "object", "$ref": "http://127.0.0.1:9/s"}, "this is no JSON Schema"),
        ],
    )
    def test_a_shape_that_makes_no_sense_is_refused_before_anyone_is_asked(
        self, shape: JsonObject, words: str
    ) -> None:
        with pytest.raises(TypeError, match=words):
            llmfunc(WHO, model=Replies(), shape=shape)


class TestTexts:
    """Without a shape: the text, checked and asked for again like an object."""

    async def test_the_text_is_given_without_blanks_around_it(self) -> None:
        assert await llmfunc(WHO, model=Replies(" \nIt is Ann.\n"))() == "It is Ann."

    async def test_a_check_sends_the_model_back_with_what_is_wrong(self) -> None:
        model = Replies("It is Bob.", "It is Ann.")

        def check(text: str) -> str | None:
            return None if "Ann" in text else "nobody asked for Bob"

        assert await llmfunc(WHO, model=model, check=check)() == "It is Ann."
        assert model.seen[0].prompt == WHO
        assert model.seen[0].schema is None
        assert "reply was:\nIt is Bob.\n" in model.seen[1].prompt
        assert "- nobody asked for Bob\n" in model.seen[1].prompt

    @pytest.mark.parametrize(
        ("reply", "problem"),
        [("  ", "it is empty"), (ModelReply("It is A", truncated=True), "it was cut off")],
    )
    async def test_a_reply_that_is_no_whole_text_is_asked_for_again(
        self, reply: str | ModelReply, problem: str
    ) -> None:
        model = Replies(reply, "It is Ann.")
        assert await llmfunc(WHO, model=model, retries=1)() == "It is Ann."
        assert f"- {problem}" in model.seen[1].prompt
        with pytest.raises(ReplyUnusable, match=f"in 1 try; of the last: {problem}"):
            await llmfunc(WHO, model=Replies(reply), retries=0)()

    async def test_a_text_may_end_at_the_bound_that_the_caller_has_set(self) -> None:
        bounded = ModelRequest("text", WHO, max_output_tokens=3)
        cut = ModelReply("It is A", truncated=True)
        assert await llmfunc(bounded, model=Replies(cut), retries=0)() == "It is A"


class TestStreams:
    """Text as it is written. A piece that was given out can't be taken back."""

    async def test_pieces_come_while_the_model_writes(self) -> None:
        backend = HeldModel()
        tell = llmfunc("Tell of {what}.", model=ModelManager(backend))
        pieces = tell.stream(what="Ann")
        for word in ("It ", "is ", "Ann."):
            backend.put(TextDelta(word))
            async with asyncio.timeout(5):
                assert await anext(pieces) == word
        backend.put(ThinkingDelta("Done?"), ReplyEnd(), None)
        assert [piece async for piece in pieces] == []
        assert backend.requests[0].prompt == "Tell of Ann."
        assert backend.under_way == 0

    async def test_closing_the_stream_stops_the_model(self) -> None:
        backend = HeldModel()
        pieces = llmfunc(WHO, model=ModelManager(backend)).stream()
        backend.put(TextDelta("It "))
        async with asyncio.timeout(5):
            assert await anext(pieces) == "It "
            await pieces.aclose()
        assert backend.under_way == 0

    async def test_an_outage_before_the_first_piece_is_tried_again_and_replaced(self) -> None:
        clock = HandClock()
        models = [
            chosen("a", transient("busy"), ModelUnavailable("down")),
            chosen("b", "It is Ann."),
        ]
        pieces = llmfunc(WHO, model=ModelManager(models, timing=clock.timing)).stream()
        assert "".join([piece async for piece in pieces]) == "It is Ann."
        assert len(clock.pauses) == 1

    async def test_an_outage_after_it_ends_the_stream_and_nobody_begins_anew(self) -> None:
        backend, clock = HeldModel(), HandClock()
        other = chosen("other", "It is Bob.")
        manager = ModelManager([ChosenModel(backend, FREE), other], timing=clock.timing)
        pieces = llmfunc(WHO, model=manager).stream()
        backend.put(TextDelta("It "), transient("overloaded"))
        async with asyncio.timeout(5):
            assert await anext(pieces) == "It "
            with pytest.raises(ModelUnavailable, match="overloaded"):
                await anext(pieces)
        assert len(backend.requests) == 1
        assert manager.leftover == 1, "the other model was not asked"
        assert not clock.pauses

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (ModelReply("I write plans.", declined=True), "declined: I write plans"),
            (ModelReply("It is A", truncated=True), "it was cut off before its end"),
            ("", "it is empty"),
        ],
    )
    async def test_what_is_no_whole_text_is_an_error_at_the_end(
        self, reply: str | ModelReply, words: str
    ) -> None:
        manager = ModelManager(ScriptedModel([reply]))
        with pytest.raises(ReplyUnusable, match=words):
            async for _ in llmfunc(WHO, model=manager).stream():
                pass

    async def test_what_the_check_refuses_is_an_error_at_the_end_too(self) -> None:
        tell = llmfunc(WHO, model=ModelManager(ScriptedModel(["Bob."])), check=lambda _: "no Ann")
        pieces = tell.stream()
        assert await anext(pieces) == "Bob."
        with pytest.raises(ReplyUnusable, match="gave no usable text: no Ann;"):
            await anext(pieces)

    async def test_a_model_that_does_not_stream_gives_the_text_in_one_piece(self) -> None:
        pieces = llmfunc(WHO, model=Replies("It is Ann.")).stream()
        assert [piece async for piece in pieces] == ["It is Ann."]


async def test_the_documented_example_runs_as_it_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0].replace("ModelManager()", "model")
    replies = [
        '{"title": "Long", "points": ["a", "b", "c", "d"]}',
        '{"title": "Short", "points": []}',
        '{"price": 7.5}',
        "It is cheap.",
    ]
    manager = ModelManager(ScriptedModel(replies))
    names: dict[str, Any] = {"page": "A text.", "model": manager, "__name__": "page"}
    exec(code.replace("    model = model\n", ""), names)  # noqa: S102 - our own page
    await names["main"]()
    assert capsys.readouterr().out == "Short\n7.5\nIt is cheap."
    assert manager.leftover == 0
