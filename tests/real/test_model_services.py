"""Every backend with a key against a mock of the services that others made, over real HTTP.

The backends are built as `--model` builds them, from a models.json that names the mock.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import ModelUnavailable
from core.ports import ModelRequest, NativeToolCall, ReplyDelta, TextDelta, TextModel
from core.turn import Usage
from modules.model_manager import ModelManager
from modules.models.serving.watched import collect_reply
from tests.command_line import environment
from tests.doubles import HandClock
from tests.real import mock_replies as replies
from tests.real import model_checks as checks
from tests.real.model_mock import (
    ENTRIES,
    ENVIRON,
    KEY,
    KEY_VARIABLE,
    ModelMock,
    message_texts,
    running_mock,
)

BACKENDS = tuple(ENTRIES)
EXCEPT_OLLAMA = tuple(name for name in BACKENDS if name != "ollama")
"""Where the mock does as the service does; see `tests.real.model_mock`."""


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Generator[ModelMock]:
    with running_mock(tmp_path_factory.mktemp("mock")) as running:
        yield running


@asynccontextmanager
async def model_of(mock: ModelMock, backend: str) -> AsyncGenerator[TextModel]:
    async with checks.built(backend, mock.models(), ENVIRON) as model:
        yield model


async def failure(mock: ModelMock, backend: str, words: str) -> ModelUnavailable:
    async with model_of(mock, backend) as model:
        return await checks.failure_of(model, checks.request(words))


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_reply_comes_in_pieces_and_its_beginning_goes_as_the_systems_message(
    mock: ModelMock, backend: str
) -> None:
    async with model_of(mock, backend) as model:
        await checks.check_streams(model)
    asked = message_texts(mock.last_request(checks.COUNTING))
    assert asked == [("system", checks.STABLE), ("user", checks.COUNTING)]


@pytest.mark.parametrize("backend", EXCEPT_OLLAMA)
async def test_tokens_are_counted_as_the_service_does(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        await checks.check_counts(model)
        reply = await checks.reply_to(model, checks.request(checks.COUNTING))
    assert reply.usage == Usage(1, replies.READ_TOKENS, replies.WRITTEN_TOKENS)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_tool_calls_come_with_their_arguments(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        reply = await checks.reply_to(model, checks.request(replies.CALLS))
    expected = (NativeToolCall("add", {"a": 1, "b": [2, "zwei"]}), NativeToolCall("now", {}))
    assert reply.tool_calls == expected


@pytest.mark.parametrize("backend", EXCEPT_OLLAMA)
async def test_thinking_is_kept_apart_from_the_answer(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        reply = await checks.reply_to(model, checks.request(replies.THOUGHT))
    assert (reply.thinking, reply.text) == ("Six times seven.", "42")


@pytest.mark.parametrize("backend", EXCEPT_OLLAMA)
async def test_a_reply_that_was_cut_at_its_limit_says_so(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        reply = await checks.reply_to(model, checks.request(replies.LONG))
    assert (reply.text, reply.truncated) == ("One two", True)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_reply_is_held_to_a_schema(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        await checks.check_holds_to_schema(model)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_an_image_goes_with_the_request(mock: ModelMock, backend: str) -> None:
    async with model_of(mock, backend) as model:
        await checks.check_sees(model)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_reply_is_given_up_at_once_and_the_model_can_be_asked_again(
    mock: ModelMock, backend: str
) -> None:
    async with model_of(mock, backend) as model:
        await checks.check_stops(model)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_too_many_requests_pass_after_the_pause_that_the_service_asks_for(
    mock: ModelMock, backend: str
) -> None:
    error = await failure(mock, backend, replies.TOO_MANY)
    assert error.transient
    assert error.retry_after_seconds == replies.PAUSE_SECONDS
    assert "Slow down" in str(error)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_service_in_trouble_may_be_asked_again(mock: ModelMock, backend: str) -> None:
    error = await failure(mock, backend, replies.BROKEN)
    assert error.transient
    assert "Out of order" in str(error)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_what_is_no_reply_is_an_outage_in_plain_words(mock: ModelMock, backend: str) -> None:
    error = await failure(mock, backend, replies.GARBLED)
    assert "JSONDecodeError" not in str(error)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_service_that_hangs_up_may_be_asked_again(mock: ModelMock, backend: str) -> None:
    assert (await failure(mock, backend, replies.HUNG_UP)).transient


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_reply_that_breaks_off_is_no_reply_and_may_be_asked_for_again(
    mock: ModelMock, backend: str
) -> None:
    heard: list[ReplyDelta] = []
    async with model_of(mock, backend) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await collect_reply(model, model.stream(checks.request(replies.CUT)), heard.append)
    text = "".join(delta.text for delta in heard if isinstance(delta, TextDelta))
    assert text
    assert checks.COUNTED.startswith(text)
    assert caught.value.transient


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_manager_waits_as_long_as_it_is_asked_to_and_then_gets_its_answer(
    mock: ModelMock, backend: str
) -> None:
    clock = HandClock()
    async with model_of(mock, backend) as model:
        manager = ModelManager(model, timing=clock.timing)
        asked = ModelRequest("text", f"{replies.FLAKY}: {backend}")
        assert (await manager.generate(asked)).text == "Now."
    (pause,) = clock.pauses
    assert pause >= 1


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_wrong_key_is_told_and_not_shown(mock: ModelMock, backend: str) -> None:
    wrong = "mk-another-9876543210"
    async with checks.built(backend, mock.models(), {KEY_VARIABLE: wrong}) as model:
        await checks.check_wrong_key(model, wrong)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_model_that_the_service_does_not_know_is_named(
    mock: ModelMock, backend: str
) -> None:
    models = mock.models(checks.NO_SUCH_MODEL)
    async with checks.built(backend, models, ENVIRON) as model:
        await checks.check_unknown_model(model)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_whole_run_plans_with_the_service_and_answers(
    mock: ModelMock, backend: str, tmp_path: Path
) -> None:
    mock.write_models(tmp_path)
    done = checks.check_whole_run(tmp_path, backend, environment(tmp_path, **ENVIRON))
    assert done.out == f"{checks.SUM_ANSWER}\n"
    assert KEY not in done.err
    (kept,) = (tmp_path / "memory").rglob("session-*.json")
    assert KEY not in kept.read_text(encoding="utf-8")
