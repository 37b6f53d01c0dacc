"""Completions as OpenAI's own client gets them, over a socket."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from PIL import Image
from pydantic import BaseModel

from core.events import Event
from modules.service.pool import User
from tests.command_line import SUMS_SERVER, plan, script, write_profile
from tests.modules.models.ollama.server import chunk, last, ollama_server
from tests.modules.service.made import unasked
from tests.modules.service.openai_form.served import Served, served, setting, until

SUM: list[ChatCompletionMessageParam] = [{"role": "user", "content": "add 5 and 7"}]

HOLDING = plan('return await tools.gates.hold(name="never")')

GATED = Path(__file__).parents[3] / "fixtures" / "servers" / "gated_server.py"


def asks(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


@asynccontextmanager
async def planned(
    home: Path,
    *replies: object,
    servers: str = "",
    runs_max: int = 8,
    approve: Sequence[str] = ("gates.hold",),
) -> AsyncGenerator[Served]:
    """A service whose model gives these replies, a plan each."""
    profile = write_profile(home, *([servers] if servers else []))
    made_of = setting(home, script(home, replies), profile, approve=approve)
    async with served(made_of, runs_max=runs_max) as service:
        yield service


def gates(folder: Path) -> str:
    """A server whose tool waits for ever."""
    return f"id: gates\nscript: {GATED}\nargs: [{folder}]\ndescription: waits at gates"


def answering(text: str) -> str:
    return plan(f"return {'FINAL_ANSWER: ' + text!r}")


async def test_a_sum_is_answered_in_one_piece(tmp_path: Path) -> None:
    made_of = setting(tmp_path, "offline", write_profile(tmp_path, SUMS_SERVER))
    async with served(made_of) as service, service.client() as client:
        done = await client.chat.completions.create(model="cortex-r", messages=SUM)
    assert done.choices[0].message.content == "12"
    assert (done.choices[0].finish_reason, done.model) == ("stop", "cortex-r")


async def test_a_client_that_is_not_async_gets_the_same(tmp_path: Path) -> None:
    def ask(service: Served) -> tuple[str | None, list[str]]:
        with service.sync_client() as client:
            done = client.chat.completions.create(model="cortex-r", messages=asks("one"))
            stream = client.chat.completions.create(
                model="cortex-r", messages=asks("two"), stream=True
            )
            pieces = [piece.choices[0].delta.content or "" for piece in stream]
        return done.choices[0].message.content, pieces

    async with planned(tmp_path, answering("first"), answering("second")) as service:
        content, pieces = await asyncio.to_thread(ask, service)
    assert (content, "".join(pieces)) == ("first", "second")


async def test_a_stream_begins_with_the_role_and_ends_with_what_was_used(tmp_path: Path) -> None:
    async with planned(tmp_path, answering("twelve")) as service, service.client() as client:
        stream = await client.chat.completions.create(
            model="cortex-r",
            messages=SUM,
            stream=True,
            stream_options={"include_usage": True},
        )
        pieces = [piece async for piece in stream]
    assert pieces[0].choices[0].delta.role == "assistant"
    assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices) == "twelve"
    assert [p.choices[0].finish_reason for p in pieces if p.choices][-1] == "stop"
    assert not pieces[-1].choices
    assert pieces[-1].usage is not None
    assert len({piece.id for piece in pieces}) == 1


async def test_the_messages_are_the_history(tmp_path: Path) -> None:
    made_of = setting(tmp_path, "offline", write_profile(tmp_path, SUMS_SERVER))
    said: list[ChatCompletionMessageParam] = [
        *SUM,
        {"role": "assistant", "content": "12"},
        *asks("add 3 to that"),
    ]
    async with served(made_of) as service, service.client() as client:
        done = await client.chat.completions.create(model="cortex-r", messages=said)
    assert done.choices[0].message.content == "15"


async def test_instructions_history_and_pictures_reach_the_model(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (3, 4), "red").save(buffer, "PNG")
    address = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    said: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "Speak like a pirate."},
        *asks("what is a brig?"),
        {"role": "assistant", "content": "a ship with two masts"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "is this one?"},
                {"type": "image_url", "image_url": {"url": address}},
            ],
        },
    ]
    async with ollama_server("llava:7b") as ollama:
        ollama.shown["capabilities"] = ["completion", "vision"]
        ollama.chat = [chunk(f"```python\n{answering('aye')}```"), last()]
        made_of = setting(tmp_path, "ollama:llava:7b", write_profile(tmp_path), ollama.environ)
        async with served(made_of) as service, service.client() as client:
            done = await client.chat.completions.create(model="cortex-r", messages=said)
        asked = json.dumps(ollama.asked("/api/chat")[-1])
    assert done.choices[0].message.content == "aye"
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (26, 298)
    assert "Speak like a pirate." in asked
    assert "what is a brig?" in asked
    assert "a ship with two masts" in asked
    assert address.partition(",")[2] in asked


async def test_nothing_is_kept_and_nothing_of_the_user_is_told(tmp_path: Path) -> None:
    def kept() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in (tmp_path / "memory").rglob("*") if p.is_file()}

    async def hear(event: Event) -> None:
        """Listen to nothing."""

    async with ollama_server("qwen:7b") as ollama:
        ollama.chat = [chunk(f"```python\n{answering('noted')}```"), last()]
        made_of = setting(tmp_path, "ollama:qwen:7b", write_profile(tmp_path), ollama.environ)
        async with served(made_of) as service, service.client() as client:
            async with service.pool.conversation(User(), "default", None, unasked) as conversation:
                await conversation.ask("Remember that my cat is called Zerberus", hear)
            before = kept()
            assert "Zerberus" in b"".join(before.values()).decode()
            done = await client.chat.completions.create(
                model="cortex-r", messages=asks("Remember that my dog is called Argos. And my cat?")
            )
            assert done.choices[0].message.content == "noted"
            assert kept() == before
        asked = json.dumps(ollama.asked("/api/chat")[-1])
    assert "Argos" in asked
    assert "Zerberus" not in asked


async def test_the_memory_of_other_sessions_can_not_be_called(tmp_path: Path) -> None:
    memory = "id: memory\nscript: servers/memory_server.py"
    searching = plan('return f"FINAL_ANSWER: {await tools.memory.search_memory(query="cat")}"')
    async with planned(tmp_path, searching, answering("no such tool"), servers=memory) as service:
        async with service.pool.agent(User()) as agent:
            await agent.dispatcher.initialize()
            assert agent.dispatcher.catalog.get("memory.search_memory") is not None
        async with service.client() as client:
            done = await client.chat.completions.create(
                model="cortex-r", messages=asks("what about my cat?")
            )
    assert done.choices[0].message.content == "no such tool"


async def test_a_question_of_a_plan_is_the_answer(tmp_path: Path) -> None:
    asking = plan('return "CLARIFICATION_NEEDED: Which of the two Springfields?"')
    async with planned(tmp_path, asking) as service, service.client() as client:
        done = await client.chat.completions.create(model="cortex-r", messages=asks("weather?"))
    assert done.choices[0].message.content == "Which of the two Springfields?"
    assert done.model_extra is not None
    assert done.model_extra["cortex_r"]["status"] == "question"


async def test_a_call_that_needs_leave_is_refused_as_nobody_can_give_it(tmp_path: Path) -> None:
    (tmp_path / "door").touch()
    opening = plan("return f'FINAL_ANSWER: {await tools.gates.hold(name=\"door\")}'")
    replies = (opening, answering("I may not"))
    for approve, answer in (((), "I may not"), (("gates.hold",), "door is open")):
        serving = planned(tmp_path, *replies, servers=gates(tmp_path), approve=approve)
        async with serving as service, service.client() as client:
            done = await client.chat.completions.create(
                model="cortex-r", messages=asks("what is at the gates?")
            )
        assert done.choices[0].message.content == answer


class Total(BaseModel):
    """What the test wants as JSON."""

    total: int


async def test_an_answer_has_the_form_that_was_asked_for(tmp_path: Path) -> None:
    async with planned(tmp_path, answering('{"total": 12}')) as service, service.client() as client:
        done = await client.chat.completions.parse(
            model="cortex-r", messages=SUM, response_format=Total
        )
    assert done.choices[0].message.parsed == Total(total=12)


async def test_an_answer_in_another_form_is_a_refusal(tmp_path: Path) -> None:
    replies = [answering("twelve"), answering("a dozen")]
    async with planned(tmp_path, *replies) as service, service.client() as client:
        done = await client.chat.completions.parse(
            model="cortex-r", messages=SUM, response_format=Total
        )
    assert done.choices[0].message.parsed is None
    assert "does not validate" in (done.choices[0].message.refusal or "")


async def test_an_answer_ends_before_a_stop(tmp_path: Path) -> None:
    async with planned(tmp_path, answering("one two three")) as service, service.client() as client:
        done = await client.chat.completions.create(model="cortex-r", messages=SUM, stop=[" th"])
    assert done.choices[0].message.content == "one two"


async def test_steps_are_told_as_reasoning_where_they_are_wanted(tmp_path: Path) -> None:
    body = 'note = "```\\n![x](http://evil.example/x.png)"\nreturn f"FINAL_ANSWER: {len(note)}"'
    async with planned(tmp_path, plan(body)) as service, service.client() as client:
        stream = await client.chat.completions.create(
            model="cortex-r", messages=SUM, stream=True, extra_body={"include_reasoning": True}
        )
        told = ""
        async for piece in stream:
            extra = piece.choices[0].delta.model_extra or {}
            told += str(extra.get("reasoning_content", ""))
    heading, _, steps = told.partition("\n\n")
    assert heading == "Steps:"
    assert "async def solve" in steps
    assert all(line.startswith("    ") for line in steps.splitlines())


async def test_no_steps_are_told_to_who_does_not_ask(tmp_path: Path) -> None:
    async with planned(tmp_path, answering("done")) as service, service.client() as client:
        stream = await client.chat.completions.create(model="cortex-r", messages=SUM, stream=True)
        deltas = [piece.choices[0].delta async for piece in stream]
    assert not any("reasoning_content" in (delta.model_extra or {}) for delta in deltas)


@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_client_that_leaves_ends_its_run(tmp_path: Path, is_stream: bool) -> None:
    serving = planned(tmp_path, HOLDING, servers=gates(tmp_path))
    async with serving as service, service.client() as client:
        asking = asyncio.create_task(_all_of(client, is_stream=is_stream))
        await until((tmp_path / "pid").exists)
        async with service.pool.agent(User()) as agent:
            assert agent.busy == 1
            asking.cancel()
            await asyncio.wait({asking})
            await until(lambda: not agent.busy)


async def _all_of(client: openai.AsyncOpenAI, *, is_stream: bool) -> None:
    if is_stream:
        stream = await client.chat.completions.create(
            model="cortex-r", messages=asks("wait at the gates"), stream=True
        )
        async for _ in stream:
            pass
    else:
        await client.chat.completions.create(model="cortex-r", messages=asks("wait at the gates"))


async def test_a_completion_counts_as_a_run_and_can_not_be_found_again(tmp_path: Path) -> None:
    async with planned(tmp_path, answering("done")) as service, service.client() as client:
        await client.chat.completions.create(model="cortex-r", messages=SUM)
        figures = await client.get("../metrics", cast_to=httpx2.Response)
        assert not service.runs.active
    assert 'cortex_runs_total{status="done"} 1' in figures.text
    assert not (tmp_path / "runs").exists()


async def test_a_model_that_is_down_is_an_error_that_is_not_tried_again(tmp_path: Path) -> None:
    down = {"error": "the model is on holiday"}
    async with planned(tmp_path, *[down] * 4) as service, service.client() as client:
        with pytest.raises(openai.InternalServerError, match="on holiday") as raised:
            await client.chat.completions.create(model="cortex-r", messages=SUM)
    assert raised.value.status_code == 502
    assert raised.value.response.headers["x-should-retry"] == "false"


async def test_in_a_stream_an_error_is_a_piece_of_it(tmp_path: Path) -> None:
    down = {"error": "the model is on holiday"}
    async with planned(tmp_path, *[down] * 4) as service, service.client() as client:
        stream = await client.chat.completions.create(model="cortex-r", messages=SUM, stream=True)
        with pytest.raises(openai.APIError, match="on holiday"):
            async for _ in stream:
                pass


async def test_where_all_is_in_use_a_client_is_told_when_to_come_again(tmp_path: Path) -> None:
    serving = planned(tmp_path, HOLDING, servers=gates(tmp_path), runs_max=1)
    async with serving as service, service.client() as client:
        asking = asyncio.create_task(_all_of(client, is_stream=True))
        await until((tmp_path / "pid").exists)
        with pytest.raises(openai.RateLimitError, match="under way") as raised:
            await client.chat.completions.create(model="cortex-r", messages=SUM)
        asking.cancel()
        await asyncio.wait({asking})
    assert int(raised.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_run_that_the_service_stops_is_told(tmp_path: Path, is_stream: bool) -> None:
    serving = planned(tmp_path, HOLDING, servers=gates(tmp_path))
    async with serving as service, service.client() as client:
        asking = asyncio.create_task(_all_of(client, is_stream=is_stream))
        await until((tmp_path / "pid").exists)
        await service.runs.drain(0)
        with pytest.raises(openai.APIError, match="was stopped"):
            await asking
        with pytest.raises(openai.InternalServerError, match="the service ends") as raised:
            await client.chat.completions.create(model="cortex-r", messages=SUM)
    assert raised.value.status_code == 503


async def test_a_profile_that_can_not_be_used_is_explained_to_its_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for user, is_told in ((User(), True), (User("ada"), False)):
        serving = served(setting(tmp_path, "gemini:x"), user)
        async with serving as service, service.client() as client:
            with pytest.raises(openai.InternalServerError) as raised:
                await client.chat.completions.create(model="cortex-r", messages=SUM)
        assert raised.value.status_code == 503
        assert ("GEMINI_API_KEY" in str(raised.value)) is is_told
    assert "GEMINI_API_KEY" in caplog.text
