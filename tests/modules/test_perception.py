"""Perception: what is read from a model's reply, and what is done when it can't be read."""

import json

import pytest

from core.ports import ModelReply, ModelRequest, PerceptionInputs
from core.turn import PerceptionResult, Usage
from modules.perception import extract_perception, parse_perception
from tests.doubles import FakeModel

SERVERS = {"math": "arithmetic", "web": "search"}


class Recorder(FakeModel):
    """Answers with a text and keeps the request."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.seen: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.seen.append(request)
        return ModelReply(self.text, Usage(1))


def test_a_full_reply_is_read() -> None:
    reply = {
        "intent": "add",
        "entities": ["5", "7"],
        "tool_hint": "add",
        "tags": ["sum"],
        "selected_servers": ["math"],
    }
    assert parse_perception(json.dumps(reply), SERVERS) == PerceptionResult.model_validate(reply)


@pytest.mark.parametrize(
    "text",
    ["", "no idea", "{", "[]", "null", "42", '{"selected_servers": "math"}', "[" * 100_000],
)
def test_an_unreadable_reply_selects_all_servers(text: str) -> None:
    result = parse_perception(text, SERVERS)
    assert result.selected_servers == ["math", "web"]
    assert result.intent == "unknown"


def test_servers_that_do_not_exist_are_dropped_and_doubles_too() -> None:
    text = '{"selected_servers": ["web", "mars", "web"]}'
    assert parse_perception(text, SERVERS).selected_servers == ["web"]


@pytest.mark.parametrize("chosen", ["[]", '["mars"]'])
def test_an_empty_choice_selects_all(chosen: str) -> None:
    assert parse_perception(f'{{"selected_servers": {chosen}}}', SERVERS).selected_servers == [
        "math",
        "web",
    ]


def test_nulls_and_unknown_keys_are_no_trouble() -> None:
    text = '{"intent": null, "tool_hint": null, "mood": "good", "selected_servers": ["math"]}'
    assert parse_perception(text, SERVERS).intent == "unknown"


def test_json_in_a_fence_or_in_prose_is_found() -> None:
    for text in (
        'Sure:\n```json\n{"selected_servers": ["web"]}\n```\nDone.',
        'I choose {"selected_servers": ["web"]} because.',
    ):
        assert parse_perception(text, SERVERS).selected_servers == ["web"]


async def test_the_prompt_holds_servers_and_request_even_with_braces_in_it() -> None:
    model = Recorder('{"selected_servers": ["math"]}')
    request = 'what is {user_input} in """{x}"""?'
    result = await extract_perception(request, SERVERS, model=model)
    (seen,) = model.seen
    assert seen.purpose == "perception"
    assert "- web: search" in seen.prompt
    assert request in seen.prompt
    assert isinstance(seen.inputs, PerceptionInputs)
    assert seen.inputs.user_input == request
    assert result.selected_servers == ["math"]
