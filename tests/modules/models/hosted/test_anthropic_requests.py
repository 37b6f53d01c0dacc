"""What the Anthropic backend asks for, by request, entry and family of the model."""

import json
from dataclasses import replace

import pytest

from config.models_file import ThinkingEffort
from core.ports import (
    ImageInput,
    ModelRequest,
    ModelTraits,
)
from core.values import Json, JsonObject
from modules.models.hosted.claude.family import ClaudeFamily
from tests.modules.models.hosted.anthropic_service import MODEL, asked_body, claude
from tests.modules.models.hosted.sdk_checks import REQUEST


async def test_the_stable_prefix_is_the_system_message_and_is_cached_where_that_pays() -> None:
    short = await asked_body(ModelRequest("decision", "You plan.Add 1", prefix_characters=9))
    assert short["system"] == [{"type": "text", "text": "You plan."}]
    assert short["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Add 1"}]}]
    prefix = "You plan. " * 300
    long = await asked_body(ModelRequest("decision", prefix + "x", prefix_characters=len(prefix)))
    assert long["system"] == [
        {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}}
    ]
    all_prefix = await asked_body(ModelRequest("decision", "You plan.", prefix_characters=9))
    assert "system" not in all_prefix


async def test_images_go_before_the_text() -> None:
    image = ImageInput("@a.png", "image/png", b"\x89PNG")
    body = await asked_body(ModelRequest("text", "What is it?", images=(image,)))
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    content: list[Json] = [
        {"type": "image", "source": source},
        {"type": "text", "text": "What is it?"},
    ]
    assert body["messages"] == [{"role": "user", "content": content}]


async def test_no_temperature_is_sent_because_the_api_has_none() -> None:
    assert "temperature" not in await asked_body(ModelRequest("text", "x", temperature=0.7))


async def test_a_schema_is_held_to_in_the_form_that_the_service_takes() -> None:
    number: JsonObject = {"type": "integer", "minimum": 1}
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "n": number},
        "required": ["a"],
    }
    body = await asked_body(ModelRequest("perception", "x", schema=schema))
    output = body["output_config"]
    assert isinstance(output, dict)
    sent = output["format"]
    assert isinstance(sent, dict)
    assert sent["type"] == "json_schema"
    held = sent["schema"]
    assert isinstance(held, dict)
    assert held["additionalProperties"] is False
    assert held["required"] == ["a"]
    assert "minimum" not in json.dumps(held["properties"]).replace("{minimum", "")


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        (MODEL, {"type": "object"}),
        (MODEL, {"type": "object", "properties": {"a": {}}, "additionalProperties": True}),
        (MODEL, {"type": "object", "properties": {"a": {}}}),
        ("claude-opus-4-1", {"type": "object", "properties": {"a": {"type": "string"}}}),
    ],
)
async def test_a_schema_that_can_not_be_held_to_is_left_out(model: str, schema: JsonObject) -> None:
    body = await asked_body(ModelRequest("perception", "x", schema=schema), model=model)
    assert "output_config" not in body


ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "output"),
    [
        ("claude-sonnet-5-5", "off", {"type": "between_tools"}, None),
        ("claude-opus-5-5", "off", None, "low"),
        ("claude-fable-5-1", "off", None, "low"),
        ("claude-mythos-preview", "low", ADAPTIVE, "low"),
        ("claude-opus-5", "off", {"type": "disabled"}, None),
        ("claude-haiku-5-5", "off", {"type": "disabled"}, None),
        ("claude-opus-4-6", "medium", ADAPTIVE, "medium"),
        ("claude-haiku-4-5-20251001", "medium", {"type": "enabled", "budget_tokens": 8192}, None),
        ("claude-haiku-4-5", "off", None, None),
        ("claude-opus-4-20250514", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-3-7-sonnet-latest", "low", {"type": "enabled", "budget_tokens": 2048}, None),
    ],
)
def test_each_model_thinks_in_its_own_terms(
    model: str, effort: ThinkingEffort, thinking: JsonObject | None, output: str | None
) -> None:
    family = ClaudeFamily(model)
    assert family.thinking(effort, family.output_tokens * 8) == thinking
    assert family.effort(effort) == output


async def test_thinking_is_sent_where_the_entry_says_something_about_it() -> None:
    body = await asked_body(REQUEST, thinking="high")
    assert body["thinking"] == ADAPTIVE
    assert body["output_config"] == {"effort": "high"}
    assert "thinking" not in await asked_body(REQUEST)


async def test_a_budget_to_think_leaves_room_for_the_reply() -> None:
    fields = {"model": "claude-haiku-4-5", "thinking": "high"}
    body = await asked_body(REQUEST, **fields, max_output_tokens=4000)
    assert body["max_tokens"] == 4000
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "thinking" not in await asked_body(REQUEST, **fields, max_output_tokens=2000)


async def test_room_to_think_comes_on_top_of_what_a_request_allows_but_not_of_the_entry() -> None:
    short = ModelRequest("perception", "x", max_output_tokens=100)
    assert (await asked_body(short))["max_tokens"] == 100 + 16_384
    assert (await asked_body(short, thinking="off"))["max_tokens"] == 100
    assert (await asked_body(short, max_output_tokens=600))["max_tokens"] == 600


async def test_no_room_to_think_comes_on_top_of_a_hard_bound() -> None:
    bounded = replace(REQUEST, max_output_tokens=1900, hard_output_tokens=2000)
    body = await asked_body(bounded, model="claude-haiku-4-5", thinking="high")
    assert body["max_tokens"] == 2000
    assert "thinking" not in body  # for the half of it is less than the least budget
    alone = replace(REQUEST, hard_output_tokens=2000)
    assert (await asked_body(alone, max_output_tokens=600))["max_tokens"] == 600
    assert (await asked_body(alone))["max_tokens"] == 2000


@pytest.mark.parametrize(
    ("model", "traits"),
    [
        ("claude-opus-5-5", ModelTraits(images=True, schemas=True, context_tokens=1_000_000)),
        ("claude-haiku-4-5", ModelTraits(images=True, schemas=True, context_tokens=200_000)),
        ("claude-3-7-sonnet-20250219", ModelTraits(images=True, context_tokens=200_000)),
        ("qwen3-coder", ModelTraits()),
    ],
)
async def test_traits_follow_the_documentation(model: str, traits: ModelTraits) -> None:
    async with claude("http://127.0.0.1:1", model=model) as backend:
        assert backend.traits == traits


async def test_traits_follow_the_entry_where_it_says() -> None:
    async with claude("http://127.0.0.1:1", images=False, context_tokens=9000) as model:
        assert model.traits == ModelTraits(images=False, schemas=True, context_tokens=9000)
