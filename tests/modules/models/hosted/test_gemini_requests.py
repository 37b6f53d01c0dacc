"""What the Gemini backend asks for, by request, entry and family of the model."""

import pytest

from config.models_file import ThinkingEffort
from core.ports import (
    ImageInput,
    ModelRequest,
    ModelTraits,
)
from core.values import Json, JsonObject
from tests.modules.models.backends import GEMINI, REQUEST, ask
from tests.modules.models.hosted.gemini_events import refusal
from tests.modules.models.service import answers, pieces

asked_body, gemini = GEMINI.asked_body, GEMINI.open


async def test_the_stable_prefix_is_the_system_message() -> None:
    body = await asked_body(ModelRequest("decision", "You plan.Add 1", prefix_characters=9))
    assert body["systemInstruction"] == {"parts": [{"text": "You plan."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Add 1"}]}]
    all_prefix = await asked_body(ModelRequest("decision", "You plan.", prefix_characters=9))
    assert "systemInstruction" not in all_prefix
    assert all_prefix["contents"] == [{"role": "user", "parts": [{"text": "You plan."}]}]


async def test_images_go_before_the_text() -> None:
    image = ImageInput("@a.png", "image/png", b"\x89PNG")
    body = await asked_body(ModelRequest("text", "What is it?", images=(image,)))
    contents = body["contents"]
    assert isinstance(contents, list)
    assert contents == [
        {
            "role": "user",
            "parts": [
                {"inlineData": {"data": "iVBORw==", "mimeType": "image/png"}},
                {"text": "What is it?"},
            ],
        }
    ]


async def test_a_schema_is_held_to() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = await asked_body(ModelRequest("perception", "x", schema=schema))
    assert body["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gemini-2.5-flash", "off", {"temperature": 0.0, "thinkingBudget": 0}),
        ("gemini-2.5-flash", "medium", {"temperature": 0.0, "thinkingBudget": 8192, "shown": 1}),
        ("gemini-3.8-flash", "high", {"thinkingLevel": "HIGH", "shown": 1}),
        ("gemini-3.5-flash-lite", "off", {"thinkingLevel": "MINIMAL"}),
        ("gemini-flash-latest", "off", {"thinkingLevel": "MINIMAL"}),
    ],
)
async def test_each_generation_thinks_in_its_own_terms(
    model: str, effort: ThinkingEffort, expected: dict[str, object]
) -> None:
    body = await asked_body(REQUEST, model=model, thinking=effort)
    config = body["generationConfig"]
    assert isinstance(config, dict)
    thinking = config["thinkingConfig"]
    assert isinstance(thinking, dict)
    shown = {"shown": 1} if thinking.pop("includeThoughts", None) else {}
    rest = {key: value for key, value in config.items() if key != "thinkingConfig"}
    assert {**rest, **thinking, **shown} == expected


@pytest.mark.parametrize(
    ("model", "effort", "least"),
    [
        ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
        ("gemini-3.7-flash", "off", {"thinkingLevel": "LOW"}),
        ("gemini-3-pro-preview", "medium", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-2.0-flash", "low", None),
    ],
)
async def test_thinking_that_a_model_refuses_is_asked_for_otherwise_from_then_on(
    model: str, effort: ThinkingEffort, least: JsonObject | None
) -> None:
    said = refusal(400, "INVALID_ARGUMENT", "Thinking level MINIMAL is not supported.")
    async with GEMINI.service() as fake, gemini(fake.url, model=model, thinking=effort) as backend:
        fake.plays(answers(400, said), pieces(GEMINI.whole))
        await ask(backend)
        await ask(backend)
    sent = [body["generationConfig"] for body in fake.bodies]
    assert [isinstance(config, dict) for config in sent] == [True] * 3
    configs = [config.get("thinkingConfig") for config in sent if isinstance(config, dict)]
    assert configs[0] is not None
    assert configs[1:] == [least, least]


async def test_room_to_think_comes_on_top_of_what_a_request_allows_but_not_of_the_entry() -> None:
    short = ModelRequest("perception", "x", max_output_tokens=100)
    thinking = await asked_body(short, model="gemini-2.5-flash")
    plain = await asked_body(short, model="gemini-2.5-flash", thinking="off")
    capped = await asked_body(short, model="gemini-2.5-flash", max_output_tokens=600)
    limits = [output_limit(body) for body in (thinking, plain, capped)]
    assert limits == [100 + 16_384, 100, 600]


async def test_no_room_to_think_comes_on_top_of_a_hard_bound() -> None:
    bounded = ModelRequest("decision", "x", max_output_tokens=100, hard_output_tokens=300)
    alone = ModelRequest("decision", "x", hard_output_tokens=300)
    thinking = await asked_body(bounded, model="gemini-2.5-flash")
    plain = await asked_body(bounded, model="gemini-2.5-flash", thinking="off")
    unasked = await asked_body(alone, model="gemini-2.5-flash")
    capped = await asked_body(alone, model="gemini-2.5-flash", max_output_tokens=200)
    limits = [output_limit(body) for body in (thinking, plain, unasked, capped)]
    assert limits == [300, 100, 300, 200]


def output_limit(body: JsonObject) -> Json:
    """The bound on what is written, thoughts among it."""
    config = body["generationConfig"]
    assert isinstance(config, dict)
    return config["maxOutputTokens"]


async def test_traits_follow_the_documentation_and_the_entry() -> None:
    async with gemini("http://127.0.0.1:1") as model:
        assert model.traits == ModelTraits(images=True, context_tokens=1_048_576, takes_seed=True)
    async with gemini("http://127.0.0.1:1", images=False, context_tokens=9000) as model:
        assert model.traits == ModelTraits(images=False, context_tokens=9000, takes_seed=True)
    async with gemini("http://127.0.0.1:1", model="gemma-4-31b-it") as model:
        assert model.traits == ModelTraits(takes_seed=True)
