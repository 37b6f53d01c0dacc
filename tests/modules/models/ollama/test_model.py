"""The Ollama backend against a server on loopback that speaks Ollama's own HTTP API."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from config.models_file import ModelEntry, ModelsFile, ThinkingEffort
from core.errors import ConfigurationError, ModelUnavailable
from core.ports import (
    ImageInput,
    ModelRequest,
    NativeToolCall,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from core.values import Json
from modules.models.choosing.choice import choose_models
from modules.models.credentials import ApiKey, KeyringStore
from modules.models.ollama.model import OllamaModel
from modules.models.serving.watched import collect_reply
from tests.doubles import MemoryKeyring
from tests.modules.models.ollama.server import (
    REQUEST,
    chunk,
    deltas,
    last,
    ollama,
    ollama_server,
)
from tests.modules.models.service import Exchange

PICTURE = ImageInput("cat.png", "image/png", b"\x89PNG")


async def test_a_prompt_is_streamed_with_its_tokens_over_one_connection() -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        end = ReplyEnd(Usage(model_calls=1, input_tokens=26, output_tokens=298))
        assert await deltas(model) == [TextDelta("Hello"), TextDelta("!"), end]
        assert (await collect_reply(model, model.stream(REQUEST))).text == "Hello!"
        (first, second) = fake.asked("/api/chat")
        assert first == second
        assert first["model"] == "qwen:7b"
        assert first["messages"] == [
            {"role": "system", "content": "You plan."},
            {"role": "user", "content": " Add 1 and 2."},
        ]
        assert (first["stream"], first["truncate"], first["shift"]) == (True, False, False)
        assert fake.options() == {"temperature": 0.0, "num_ctx": 8192}
        assert "think" not in first
        assert "format" not in first
        assert fake.connections == 1
        assert len(fake.asked("/api/show")) == 1
        assert "authorization" not in fake.seen[0].headers


async def test_images_and_a_schema_go_along_to_a_model_that_sees() -> None:
    async with ollama_server() as fake, ollama(fake, "qwen:7b", max_output_tokens=500) as model:
        fake.shown["capabilities"] = ["completion", "vision"]
        request = replace(
            REQUEST,
            images=(PICTURE,),
            schema={"type": "object"},
            temperature=0.5,
            seed=7,
            prompt="x",
        )
        await deltas(model, replace(request, prefix_characters=0, max_output_tokens=900))
        (body,) = fake.asked("/api/chat")
        picture = base64.b64encode(b"\x89PNG").decode()
        assert body["messages"] == [{"role": "user", "content": "x", "images": [picture]}]
        assert body["format"] == {"type": "object"}
        assert fake.options() == {
            "temperature": 0.5,
            "seed": 7,
            "num_predict": 500,
            "num_ctx": 8192,
        }
        assert model.traits.images


async def test_no_more_is_written_than_the_hard_bound_says() -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        await deltas(model, replace(REQUEST, max_output_tokens=90, hard_output_tokens=40))
        assert fake.options()["num_predict"] == 40


async def test_images_are_refused_by_a_model_that_can_not_see() -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        with pytest.raises(ModelUnavailable, match="can't see images"):
            await deltas(model, replace(REQUEST, images=(PICTURE,)))
        assert fake.asked("/api/chat") == []


async def test_what_a_model_can_do_is_learnt_from_the_server() -> None:
    async with ollama_server("qwen2.5vl", "plain") as fake:
        async with ollama(fake, "plain") as model:
            assert model.traits.context_tokens is None
            assert not model.traits.images
            fake.shown["capabilities"] = ["completion", "vision"]
            await deltas(model)
            traits = model.traits
            assert (traits.images, traits.context_tokens, traits.strength) == (True, 32768, 7.6)
        async with ollama(fake, "qwen2.5vl") as model:
            assert model.traits.images  # a guess, from the name
        async with ollama(fake, "qwen2.5vl", images=False) as model:
            await deltas(model)
            assert not model.traits.images
        async with ollama(fake, "qwen3:32b") as model:
            assert model.traits.strength == 32.0
            with pytest.raises(ModelUnavailable):
                await deltas(model)
            assert model.traits.context_tokens is None  # it is not installed


@pytest.mark.parametrize(
    ("effort", "able", "sent"),
    [
        ("off", True, False),
        ("low", True, "low"),
        ("high", True, "high"),
        ("high", False, None),
        (None, True, None),
    ],
)
async def test_thinking_is_asked_for_as_the_entry_says(
    effort: ThinkingEffort | None, able: bool, sent: Json
) -> None:
    async with ollama_server() as fake, ollama(fake, thinking=effort) as model:
        fake.shown["capabilities"] = ["completion", *(["thinking"] if able else [])]
        await deltas(model)
        assert fake.asked("/api/chat")[0].get("think") == sent


async def test_thinking_is_kept_apart_from_the_reply() -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        fake.chat = [chunk(thinking="Let me"), chunk(thinking=" see."), chunk("Four."), last()]
        reply = await collect_reply(model, model.stream(REQUEST))
        assert (reply.thinking, reply.text) == ("Let me see.", "Four.")
        fake.chat = [chunk("<thi"), chunk("nk>Hm."), chunk("</think>\n\nFo"), last("ur.")]
        assert await deltas(model) == [
            ThinkingDelta("Hm."),
            TextDelta("Fo"),
            TextDelta("ur."),
            ReplyEnd(Usage(1, 26, 298)),
        ]


async def test_tool_calls_and_the_reason_of_the_end_are_passed_on() -> None:
    calls: list[Json] = [
        {"function": {"name": "add", "arguments": {"a": 1}}},
        {"id": "1", "function": {"index": 1, "name": "sub", "arguments": '{"b": 2}'}},
        {"function": {"name": "bad", "arguments": "{"}},
        {"function": {"name": 7}},
        "nothing",
    ]
    async with ollama_server() as fake, ollama(fake) as model:
        fake.chat = [chunk(tool_calls=calls), last(reason="length")]
        assert await deltas(model) == [
            NativeToolCall("add", {"a": 1}),
            NativeToolCall("sub", {"b": 2}),
            TextDelta("bad{"),
            ReplyEnd(Usage(1, 26, 298), "length"),
        ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (last("x", prompt_eval_count="many", eval_count=-1), Usage(1, 6, 1, estimated_calls=1)),
        (last("x", prompt_eval_count=True, eval_count=1.5), Usage(1, 6, 1, estimated_calls=1)),
        (last("x", message=["x"]), Usage(1, 26, 298)),
        (last("x", message={"content": 7, "thinking": {}, "tool_calls": "no"}), Usage(1, 26, 298)),
    ],
)
async def test_fields_of_other_types_say_nothing(line: dict[str, Json], expected: Usage) -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        fake.chat = [line]
        assert (await collect_reply(model, model.stream(REQUEST))).usage == expected


async def test_the_context_grows_with_the_prompt_and_never_shrinks() -> None:
    async with ollama_server() as fake, ollama(fake) as model:
        fake.shown["model_info"] = {"general.architecture": "q", "q.context_length": 20_000}
        sizes: list[Json] = []
        for words in (10, 30_000, 10, 300_000):
            await deltas(model, ModelRequest("decision", "x" * words))
            sizes.append(fake.options()["num_ctx"])
        assert sizes == [8192, 16384, 16384, 20_000]
        assert model.traits.context_tokens == 20_000


async def test_a_model_in_memory_is_not_loaded_anew() -> None:
    async with ollama_server("qwen") as fake:
        running: dict[str, Json] = {"name": "qwen:latest", "context_length": 24_000}
        fake.models[0]["name"] = "qwen"
        fake.running = [{"name": "other", "context_length": 1}, running]
        async with ollama(fake, "qwen") as model:
            await deltas(model)
            assert fake.options()["num_ctx"] == 24_000


async def test_the_context_of_the_entry_and_of_the_modelfile_count() -> None:
    async with ollama_server() as fake:
        async with ollama(fake, context_tokens=6000) as model:
            await deltas(model, ModelRequest("decision", "x" * 100_000))
            assert fake.options()["num_ctx"] == 6000
            assert model.traits.context_tokens == 6000
        fake.shown["model_info"] = {"general.architecture": "q", "q.context_length": 131_072}
        async with ollama(fake) as model:
            await deltas(model, ModelRequest("decision", "x" * 1_000_000))
            assert fake.options()["num_ctx"] == model.traits.context_tokens == 32_768
        fake.shown["parameters"] = "stop  x\nnum_ctx      65536"
        async with ollama(fake) as model:
            await deltas(model)
            assert fake.options()["num_ctx"] == 65_536
        fake.shown["remote_host"] = "https://ollama.com:443"
        async with ollama(fake) as model:
            await deltas(model)
            assert "num_ctx" not in fake.options()
            assert model.traits.context_tokens == 131_072


async def test_an_old_server_that_shows_nothing_is_asked_all_the_same() -> None:
    async def no_such_page(exchange: Exchange) -> None:
        await exchange.reply(b"nothing", 400)

    async with ollama_server() as fake, ollama(fake, thinking="high") as model:
        fake.on["/api/show"] = fake.on["/api/ps"] = no_such_page
        assert (await collect_reply(model, model.stream(REQUEST))).text == "Hello!"
        assert fake.options()["num_ctx"] == 8192
        assert fake.asked("/api/chat")[0]["think"] == "high"


async def test_bytes_that_are_no_text_are_replaced() -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(b'{"message": {"content": "a\xff\\ud800b"}, "done": true}\n')
        await exchange.end()

    async with ollama_server() as fake, ollama(fake) as model:
        fake.on["/api/chat"] = answer
        reply = await collect_reply(model, model.stream(REQUEST))
        assert reply.text[0] + reply.text[-1] == "ab"
        reply.text.encode()


async def test_a_key_goes_where_the_entry_says() -> None:
    async with ollama_server() as fake:
        entry = ModelEntry(
            type="ollama",
            model="qwen:7b",
            base_url=f"http://{fake.place}/v1/",
            api_key_env="PROXY_TOKEN",
        )
        key = ApiKey("t0ken-of-mine", "PROXY_TOKEN")
        model = OllamaModel(entry, {"OLLAMA_HOST": "127.0.0.1:1"}, key)
        await deltas(model)
        await model.aclose()
        assert {asked.headers["authorization"] for asked in fake.seen} == {"Bearer t0ken-of-mine"}
        assert "t0ken" not in repr(model)
        # Ollama's own key is for encrypted connections.
        plain = OllamaModel(
            ModelEntry(type="ollama", model="qwen:7b"),
            {**fake.environ, "OLLAMA_API_KEY": "sekret-key-1"},
        )
        await deltas(plain)
        await plain.aclose()
        assert "authorization" not in fake.seen[-1].headers


async def test_a_key_in_the_keyring_goes_there_too(tmp_path: Path) -> None:
    keyring = KeyringStore(tmp_path, MemoryKeyring().open)
    keyring.keep("PROXY_TOKEN", "t0ken-of-mine")
    async with ollama_server() as fake:
        entry = ModelEntry(
            type="ollama",
            model="qwen:7b",
            base_url=f"http://{fake.place}",
            api_key_env="PROXY_TOKEN",
        )
        models = ModelsFile(models={"mine": entry})
        [chosen] = choose_models("mine", "auto", models, {}, tmp_path, keyring).models
        async for _ in chosen.model.stream(REQUEST):
            pass
        await chosen.model.aclose()
        assert fake.seen[-1].headers["authorization"] == "Bearer t0ken-of-mine"


def test_an_address_that_can_be_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST") as caught:
        OllamaModel(ModelEntry(type="ollama", model="x"), {"OLLAMA_HOST": "http://me:pass@host:1"})
    assert "pass@" not in str(caught.value)
