"""What the Anthropic backend asks for, by request, entry and family of the model."""

from dataclasses import replace

import pytest

from config.models_file import ThinkingEffort
from core.ports import (
    ImageInput,
    ModelRequest,
    ModelTraits,
)
from core.values import Json, JsonObject
from tests.modules.models.backends import ANTHROPIC, FACTS_PATH, REQUEST, ask
from tests.modules.models.hosted.claude_events import refusal
from tests.modules.models.service import answers, pieces

asked_body, claude = ANTHROPIC.asked_body, ANTHROPIC.open


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


async def test_a_schema_is_held_to() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = await asked_body(ModelRequest("perception", "x", schema=schema))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}


ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}


def facts(max_tokens: int = 64_000, *, schemas: bool = True, **types: bool) -> JsonObject:
    """What the Models API says of a model that takes these types of thinking."""
    taken: JsonObject = {name: {"supported": types.get(name, False)} for name in KINDS}
    capabilities: JsonObject = {
        "structured_outputs": {"supported": schemas},
        "thinking": {"supported": True, "types": taken},
    }
    return {"max_tokens": max_tokens, "capabilities": capabilities}


KINDS = ("adaptive", "between_tools", "disabled", "enabled")


async def asked_with(said: JsonObject | None, **fields: object) -> JsonObject:
    """What is sent where the Models API says so; None is a service that has none."""
    async with ANTHROPIC.service() as fake, claude(fake.url, **fields) as model:
        fake.on[FACTS_PATH] = answers(404 if said is None else 200, said or {})
        await ask(model)
        return fake.bodies[0]


@pytest.mark.parametrize(
    ("said", "effort", "thinking", "output"),
    [
        (facts(adaptive=True, disabled=True), "off", {"type": "disabled"}, None),
        (facts(adaptive=True, between_tools=True), "off", {"type": "between_tools"}, None),
        (facts(adaptive=True), "off", None, {"effort": "low"}),
        (facts(adaptive=True), "medium", ADAPTIVE, {"effort": "medium"}),
        (facts(adaptive=True, enabled=True), "low", ADAPTIVE, {"effort": "low"}),
        (facts(enabled=True), "medium", {"type": "enabled", "budget_tokens": 8192}, None),
        (facts(), "high", None, None),
        (None, "high", ADAPTIVE, {"effort": "high"}),
        ({"max_tokens": "many", "capabilities": [1]}, "high", None, None),
    ],
    ids=range(9),
)
async def test_each_model_thinks_in_its_own_terms(
    said: JsonObject | None,
    effort: ThinkingEffort,
    thinking: JsonObject | None,
    output: JsonObject | None,
) -> None:
    body = await asked_with(said, thinking=effort)
    assert body.get("thinking") == thinking
    assert body.get("output_config") == output


async def test_a_budget_to_think_leaves_room_for_the_reply() -> None:
    said = facts(enabled=True)
    body = await asked_with(said, thinking="high", max_output_tokens=4000)
    assert body["max_tokens"] == 4000
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "thinking" not in await asked_with(said, thinking="high", max_output_tokens=2000)


async def test_a_refusal_has_the_service_asked_what_the_model_takes_and_that_is_kept() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = ModelRequest("perception", "x", schema={**schema, "additionalProperties": False})
    said = refusal("invalid_request_error", "max_tokens: 32000 > 8192")
    async with ANTHROPIC.service() as fake, claude(fake.url) as model:
        fake.on[FACTS_PATH] = answers(200, facts(8192, schemas=False))
        fake.plays(answers(400, said), pieces(ANTHROPIC.whole))
        await ask(model, request)
        await ask(model, request)
    assert [body["max_tokens"] for body in fake.bodies] == [32_000, 8192, 8192]
    assert ["output_config" in body for body in fake.bodies] == [True, False, False]


async def test_who_else_speaks_the_protocol_and_refuses_is_asked_for_the_least() -> None:
    async with ANTHROPIC.service() as fake, claude(fake.url) as model:
        fake.on[FACTS_PATH] = answers(404, {})
        said = refusal("invalid_request_error", "max_tokens is too large")
        fake.plays(answers(400, said), pieces(ANTHROPIC.whole))
        await ask(model)
    assert [body["max_tokens"] for body in fake.bodies] == [32_000, 4096]


async def test_a_request_that_facts_do_not_change_is_not_sent_again() -> None:
    async with ANTHROPIC.service() as fake:
        fake.answers(400, refusal("invalid_request_error", "prompt is too long"))
        assert "prompt is too long" in str(await ANTHROPIC.failure(fake))
    assert len(fake.bodies) == 1


async def test_room_to_think_comes_on_top_of_what_a_request_allows_but_not_of_the_entry() -> None:
    short = ModelRequest("perception", "x", max_output_tokens=100)
    assert (await asked_body(short))["max_tokens"] == 100 + 16_384
    assert (await asked_body(short, thinking="off"))["max_tokens"] == 100
    assert (await asked_body(short, max_output_tokens=600))["max_tokens"] == 600


async def test_no_room_to_think_comes_on_top_of_a_hard_bound() -> None:
    bounded = replace(REQUEST, max_output_tokens=1900, hard_output_tokens=2000)
    assert (await asked_body(bounded))["max_tokens"] == 2000
    alone = replace(REQUEST, hard_output_tokens=2000)
    assert (await asked_body(alone, max_output_tokens=600))["max_tokens"] == 600


@pytest.mark.parametrize(
    ("model", "traits"),
    [
        ("claude-opus-5-5", ModelTraits(images=True, context_tokens=200_000)),
        ("qwen3-coder", ModelTraits()),
    ],
)
async def test_traits_follow_the_documentation(model: str, traits: ModelTraits) -> None:
    async with claude("http://127.0.0.1:1", model=model) as backend:
        assert backend.traits == traits


async def test_traits_follow_the_entry_where_it_says() -> None:
    async with claude("http://127.0.0.1:1", images=False, context_tokens=9000) as model:
        assert model.traits == ModelTraits(images=False, context_tokens=9000)
