"""Perception: what is read from a reply, when a model is asked at all, and what else answers."""

import json
from typing import Literal

import pytest

from core.context import AgentContext, StrategyProfile
from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, PerceptionInputs
from core.turn import PerceptionResult
from modules.perception import extract_perception, run_perception
from modules.planning.reply.reply_schema import reply_schema
from tests.doubles import FakeDispatcher, FakeModel, FakeParts, context, tool

SERVERS = {"math": "arithmetic", "web": "search"}
CHOICE = '{"selected_servers": ["web"]}'


class Recorder(FakeModel):
    """Answers with a text, or an exception, and keeps the requests."""

    def __init__(self, answer: str | Exception | ModelReply) -> None:
        super().__init__()
        self.answer = answer
        self.seen: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.seen.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if isinstance(self.answer, ModelReply) else ModelReply(self.answer)


async def read(text: str) -> PerceptionResult:
    """What a model's reply is taken for."""
    return await extract_perception("a request", SERVERS, model=Recorder(text))


async def test_a_full_reply_is_read() -> None:
    reply = {
        "intent": "add",
        "entities": ["5", "7"],
        "tool_hint": "add",
        "tags": ["sum"],
        "selected_servers": ["math"],
    }
    assert (await read(json.dumps(reply))) == PerceptionResult.model_validate(reply)


@pytest.mark.parametrize(
    "text",
    ["", "no idea", "{", "[]", "null", "42", '{"selected_servers": "math"}', "[" * 100_000],
)
async def test_an_unreadable_reply_selects_all_servers(text: str) -> None:
    result = await read(text)
    assert result.selected_servers == ["math", "web"]
    assert result.intent == "unknown"


async def test_servers_that_do_not_exist_are_dropped_and_doubles_too() -> None:
    text = '{"selected_servers": ["web", "mars", "web"]}'
    assert (await read(text)).selected_servers == ["web"]


@pytest.mark.parametrize("chosen", ["[]", '["mars"]'])
async def test_an_empty_choice_selects_all(chosen: str) -> None:
    assert (await read(f'{{"selected_servers": {chosen}}}')).selected_servers == [
        "math",
        "web",
    ]


async def test_nulls_and_unknown_keys_are_no_trouble() -> None:
    text = '{"intent": null, "tool_hint": null, "mood": "good", "selected_servers": ["math"]}'
    assert (await read(text)).intent == "unknown"


@pytest.mark.parametrize("hint", ["null", "None", ""])
async def test_null_as_text_is_no_hint(hint: str) -> None:
    # Qwen2.5-Coder-1.5B wrote "null" for the sum of a cube root and 3.
    assert (await read(json.dumps({"tool_hint": hint}))).tool_hint is None


async def test_json_in_a_fence_or_in_prose_is_found() -> None:
    for text in (
        'Sure:\n```json\n{"selected_servers": ["web"]}\n```\nDone.',
        'I choose {"selected_servers": ["web"]} because.',
    ):
        assert (await read(text)).selected_servers == ["web"]


async def test_the_prompt_holds_servers_and_request_even_with_braces_in_it() -> None:
    model = Recorder('{"selected_servers": ["math"]}')
    request = 'what is {user_input} in """{x}"""?'
    result = await extract_perception(request, SERVERS, model=model)
    (seen,) = model.seen
    assert seen.purpose == "perception"
    assert "- web: search" in seen.system, "servers are the same from request to request"
    assert seen.user.startswith(f'Request:\n"""\n{request}\n')
    assert "{servers_text}" not in seen.prompt
    assert seen.schema == reply_schema(PerceptionResult)
    assert isinstance(seen.inputs, PerceptionInputs)
    assert seen.inputs.user_input == request
    assert result.selected_servers == ["math"]


async def test_the_prefix_does_not_depend_on_the_request() -> None:
    model = Recorder(CHOICE)
    for request in ("add 5 and 7", "who are {servers_text}?\n\nRequest:"):
        await extract_perception(request, SERVERS, model=model)
    assert model.seen[0].system == model.seen[1].system


async def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    model = Recorder("no idea")
    result = await extract_perception("hi", SERVERS, model=model)
    assert result == PerceptionResult(selected_servers=["math", "web"])
    assert len(model.seen) == 2


async def test_an_object_that_says_nothing_selects_all_servers() -> None:
    model = Recorder("{}")
    result = await extract_perception("hi", SERVERS, model=model)
    assert result == PerceptionResult(selected_servers=["math", "web"])
    assert len(model.seen) == 1


def perceiving(
    model: Recorder,
    mode: Literal["auto", "always", "never"],
    *,
    room_tokens: int = 6_000,
    request: str = "what is the sine of 1?",
) -> AgentContext:
    """A run with two servers, whose tools take about 200 tokens of a prompt."""
    tools = [
        tool("sine", "math", "The sine of an angle." + " More of it." * 30),
        tool("look_up", "web", "Looks a word up." + " More of it." * 30),
    ]
    strategy = StrategyProfile(perception=mode, tool_prompt_tokens=room_tokens)
    known = context(
        FakeParts([], {}),
        request=request,
        strategy=strategy,
        dispatcher=FakeDispatcher(tools, {}),
        model=model,
    )
    known.mcp_server_descriptions = SERVERS
    return known


class TestWhenItIsAsked:
    """`strategy.perception` and the room for tools decide whether a model is asked at all."""

    async def test_auto_asks_nobody_while_all_tools_fit_the_prompt(self) -> None:
        model = Recorder(CHOICE)
        result = await run_perception(perceiving(model, "auto"))
        assert model.seen == []
        assert result.selected_servers == ["math"], "the request's words decide"

    async def test_auto_asks_the_model_where_the_tools_do_not_all_fit(self) -> None:
        model = Recorder(CHOICE)
        result = await run_perception(perceiving(model, "auto", room_tokens=100))
        assert result.selected_servers == ["web"]
        assert len(model.seen) == 1

    async def test_always_and_never_mean_what_they_say(self) -> None:
        model = Recorder(CHOICE)
        assert (await run_perception(perceiving(model, "always"))).selected_servers == ["web"]
        assert len(model.seen) == 1
        never = perceiving(model, "never", room_tokens=100)
        assert (await run_perception(never)).selected_servers == ["math"]
        assert len(model.seen) == 1

    async def test_the_input_of_a_later_step_takes_the_place_of_the_request(self) -> None:
        model = Recorder(CHOICE)
        asked = perceiving(model, "never")
        assert (await run_perception(asked, "look up a word")).selected_servers == ["web"]

    async def test_in_later_steps_the_users_words_rank_and_not_those_of_a_text_that_was_read(
        self,
    ) -> None:
        asked = perceiving(Recorder(CHOICE), "never")
        asked.user_input_override = "Original request: … This text: look up a word"
        result = await run_perception(asked, asked.user_input_override)
        assert result.selected_servers == ["math"]

    @pytest.mark.parametrize(
        "answer",
        [
            "no idea",
            ModelReply("I won't", declined=True),
            ModelUnavailable("the prompt is too long", is_too_long=True),
        ],
        ids=range(3),
    )
    async def test_the_ranking_by_words_answers_where_the_model_gives_no_readable_answer(
        self, answer: str | ModelReply | ModelUnavailable
    ) -> None:
        result = await run_perception(perceiving(Recorder(answer), "always"))
        assert result.selected_servers == ["math"]

    async def test_in_always_mode_an_object_that_says_nothing_still_means_all_servers(self) -> None:
        result = await run_perception(perceiving(Recorder("{}"), "always"))
        assert result.selected_servers == ["math", "web"]

    async def test_an_outage_ends_the_run_as_the_plan_needs_the_model_anyway(self) -> None:
        down = Recorder(ModelUnavailable("the model is down"))
        with pytest.raises(ModelUnavailable, match="the model is down"):
            await run_perception(perceiving(down, "always"))
