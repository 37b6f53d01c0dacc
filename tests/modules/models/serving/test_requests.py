"""One request of a model manager: tries and pauses, time, turns, and what is told meanwhile."""

import asyncio
import contextlib

import pytest

from core.errors import ModelUnavailable, UsageError
from core.events import ModelAnswered, ModelAsked, ModelRetried, ModelWriting
from core.ports import (
    ModelReply,
    ModelRequest,
    NativeToolCall,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import FREE
from modules.models.serving.watched import TELLING_SECONDS, ChosenModel
from tests.doubles import HandClock
from tests.modules.models.serving.doubles import Heard, HeldModel, transient

DECISION = ModelRequest("decision", "p")
SOON_SECONDS = 5.0
"""Far more than anything here takes."""


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_failure_that_may_pass_is_tried_again_after_growing_pauses() -> None:
    clock, heard = HandClock(), Heard()
    model = ScriptedModel([transient("a"), transient("b"), transient("c"), "answer"])
    manager = ModelManager(model, timing=clock.timing)
    with manager.telling(heard):
        assert (await manager.generate(DECISION)).text == "answer"
    assert clock.pauses == [0.625, 2.5, 10.0]  # 0.5, 2 and 8 s, and all of the chance
    assert [e for e in heard.events if isinstance(e, ModelRetried)] == [
        ModelRetried("scripted", "a", 1, 0.625),
        ModelRetried("scripted", "b", 2, 2.5),
        ModelRetried("scripted", "c", 3, 10.0),
    ]
    assert heard.names == ["ModelAsked", "ModelRetried"] * 3 + ["ModelAsked", "ModelAnswered"]


async def test_pauses_are_no_shorter_than_said_and_grow_no_further_than_the_last() -> None:
    clock = HandClock(drawn=0.0)
    model = ScriptedModel([*[transient()] * 5, "x"])
    await ModelManager(model, retries=5, timing=clock.timing).generate(DECISION)
    assert clock.pauses == [0.5, 2.0, 8.0, 8.0, 8.0]


async def test_tries_are_counted_out_and_the_error_says_how_many() -> None:
    clock = HandClock()
    model = ScriptedModel([transient("down")] * 3 + ["never"])
    manager = ModelManager(model, retries=2, timing=clock.timing)
    with pytest.raises(ModelUnavailable, match=r"^down \(asked 3 times\)$") as caught:
        await manager.generate(DECISION)
    assert caught.value.transient
    assert model.leftover == 1
    assert len(clock.pauses) == 2


async def test_a_failure_that_stays_is_not_tried_again() -> None:
    clock = HandClock()
    model = ScriptedModel([ModelUnavailable("no key"), "never"])
    with pytest.raises(ModelUnavailable, match=r"^no key$"):
        await ModelManager(model, timing=clock.timing).generate(DECISION)
    assert model.leftover == 1
    assert not clock.pauses


async def test_the_pause_that_a_service_asks_for_is_kept() -> None:
    clock = HandClock(drawn=0.0)
    model = ScriptedModel([transient(wait_seconds=20), transient(wait_seconds=-5), "x"])
    await ModelManager(model, timing=clock.timing).generate(DECISION)
    assert clock.pauses == [20, 2.0]


@pytest.mark.parametrize("seconds", [61.0, 1e9, float("inf"), float("nan")])
async def test_a_pause_that_is_too_long_is_not_waited_for(seconds: float) -> None:
    clock = HandClock()
    model = ScriptedModel([transient("busy", seconds), "never"])
    with pytest.raises(ModelUnavailable, match=r"^busy$"):
        await ModelManager(model, timing=clock.timing).generate(DECISION)
    assert not clock.pauses


async def test_a_mistake_in_a_script_is_no_outage() -> None:
    with pytest.raises(UsageError):
        await ModelManager(ScriptedModel([])).generate(DECISION)


async def test_what_was_written_before_a_failure_is_thrown_away() -> None:
    clock, model, heard = HandClock(), HeldModel(), Heard()
    model.put(TextDelta("half an ans"), transient("cut"))
    model.put(TextDelta("who"), TextDelta("le"), ReplyEnd(Usage(1, 5, 2)), None)
    manager = ModelManager([ChosenModel(model, FREE)], timing=clock.timing)
    with manager.telling(heard):
        reply = await manager.generate(DECISION)
    assert reply == ModelReply("whole", Usage(1, 5, 2), model="held")
    assert manager.usage == Usage(2, 5, 2)  # the half was a call too, of unknown size


async def test_a_stream_that_just_ends_is_tried_again() -> None:
    clock, model = HandClock(), HeldModel()
    model.put(TextDelta("half"), None, TextDelta("whole"), ReplyEnd(), None)
    assert (await ModelManager(model, timing=clock.timing).generate(DECISION)).text == "whole"
    assert len(clock.pauses) == 1


async def test_a_model_that_never_answers_is_given_up_once_and_closed() -> None:
    model = HeldModel()
    manager = ModelManager([ChosenModel(model, FREE, timeout_seconds=0.01)])
    with pytest.raises(ModelUnavailable, match=r"held did not answer within 0\.01 s"):
        await manager.generate(DECISION)
    assert len(model.requests) == 1
    assert not model.under_way
    assert manager.usage == Usage()


async def test_a_timeout_of_the_backend_itself_is_not_taken_for_ours() -> None:
    with pytest.raises(TimeoutError):
        await ModelManager(ScriptedModel([TimeoutError("its own")])).generate(DECISION)


async def test_requests_wait_their_turn_and_the_wait_is_not_counted_as_the_models() -> None:
    model = HeldModel()
    manager = ModelManager([ChosenModel(model, FREE, 30, concurrent_requests=2)])
    async with asyncio.timeout(SOON_SECONDS), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(manager.generate(DECISION)) for _ in range(5)]
        await settle()
        assert len(model.requests) == 2
        for _ in asked:
            model.put(TextDelta("x"), ReplyEnd(), None)
    assert model.most_under_way == 2
    assert len(model.requests) == 5

    slow = HeldModel()
    strict = ModelManager([ChosenModel(slow, FREE, 0.05, concurrent_requests=1)])
    errors = await asyncio.gather(
        *(strict.generate(DECISION) for _ in range(3)), return_exceptions=True
    )
    assert len(slow.requests) == 3  # each had its own time, after that of the one before
    assert all(isinstance(error, ModelUnavailable) for error in errors)


async def test_a_request_is_told_from_asking_to_the_answer_with_its_times() -> None:
    clock, model, heard = HandClock(seconds=100.0), HeldModel(), Heard()
    manager = ModelManager([ChosenModel(model, FREE)], timing=clock.timing)
    async with asyncio.timeout(SOON_SECONDS), asyncio.TaskGroup() as tasks:
        with manager.telling(heard):
            task = tasks.create_task(manager.generate(DECISION))
            await settle()
            assert heard.events == [ModelAsked("held", "decision")]
            clock.seconds += 2
            model.put(ThinkingDelta("hm, "))
            await settle()
            clock.seconds += 1
            model.put(TextDelta("four"), NativeToolCall("add", {}))
            await settle()
            clock.seconds += 1
            model.put(ReplyEnd(Usage(1, 7, 3)), None)
            await task
    assert heard.events[1:] == [
        ModelWriting("held", 0, 4),
        ModelWriting("held", 4, 4, "four"),
        ModelAnswered("held", "decision", Usage(1, 7, 3), 4.0, 2.0),
    ]


async def test_of_a_reply_in_one_piece_no_first_token_is_told() -> None:
    heard = Heard()
    manager = ModelManager(ScriptedModel(["whole"]))
    with manager.telling(heard):
        await manager.generate(DECISION)
    assert heard.names == ["ModelAsked", "ModelAnswered"]
    assert isinstance(answered := heard.events[-1], ModelAnswered)
    assert answered.first_token_seconds is None


async def test_counts_are_told_ten_times_a_second_at_most() -> None:
    clock, model, heard = HandClock(), HeldModel(), Heard()
    manager = ModelManager(model, timing=clock.timing)
    async with asyncio.timeout(SOON_SECONDS), asyncio.TaskGroup() as tasks:
        with manager.telling(heard):
            task = tasks.create_task(manager.generate(DECISION))
            for _ in range(200):
                clock.seconds += TELLING_SECONDS / 20
                model.put(TextDelta("x"))
                await settle()
            model.put(ReplyEnd(), None)
            await task
    told = [event.characters for event in heard.events if isinstance(event, ModelWriting)]
    assert 9 <= len(told) <= 11
    assert told[0] == 1
    assert told == sorted(told)


async def test_the_stream_does_not_wait_for_a_listener_and_counts_do_not_pile_up() -> None:
    clock, model, heard = HandClock(), HeldModel(), Heard()
    manager = ModelManager(model, timing=clock.timing)
    heard.idle.clear()
    async with asyncio.timeout(SOON_SECONDS), asyncio.TaskGroup() as tasks:
        with manager.telling(heard):
            task = tasks.create_task(manager.generate(DECISION))
            for _ in range(5):
                clock.seconds += 1
                model.put(TextDelta("x"))
                await settle()
            assert model.deltas.empty()  # all of it was read, while the listener has one event
            assert heard.names == ["ModelAsked"]
            heard.idle.set()
            await settle()
            assert heard.events[1:] == [ModelWriting("held", 5, 0, "xxxxx")]
            model.put(ReplyEnd(), None)
            await task
    assert heard.names == ["ModelAsked", "ModelWriting", "ModelAnswered"]


async def test_an_answer_waits_until_all_that_was_told_is_dealt_with() -> None:
    heard = Heard()
    heard.idle.clear()
    manager = ModelManager(ScriptedModel(["x"]))
    async with asyncio.timeout(SOON_SECONDS), asyncio.TaskGroup() as tasks:
        with manager.telling(heard):
            task = tasks.create_task(manager.generate(DECISION))
            await settle()
            assert not task.done()
            assert heard.names == ["ModelAsked"]
            heard.idle.set()
            await task
    assert heard.names == ["ModelAsked", "ModelAnswered"]


@pytest.mark.parametrize("busy", [False, True])
async def test_a_request_that_is_cancelled_stops_the_model_at_once_and_is_counted(
    busy: bool,
) -> None:
    model, heard = HeldModel(), Heard()
    manager = ModelManager([ChosenModel(model)])
    if busy:
        heard.idle.clear()
    with manager.telling(heard):
        task = asyncio.create_task(manager.generate(DECISION))
        model.put(TextDelta("half"))
        await settle()
        task.cancel()
        async with asyncio.timeout(SOON_SECONDS):
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert not model.under_way
        told = heard.names.copy()
        heard.idle.set()
        await settle()
    assert task.cancelled()
    assert heard.names == told
    assert manager.usage == Usage(1, unpriced_calls=1)


async def test_a_reply_whose_use_was_told_before_it_was_cut_is_counted_as_told() -> None:
    model = HeldModel()
    manager = ModelManager([ChosenModel(model, FREE)], retries=0)
    model.put(TextDelta("x"), ReplyEnd(Usage(1, 9, 4)), transient("cut at the very end"))
    with pytest.raises(ModelUnavailable):
        await manager.generate(DECISION)
    assert manager.usage == Usage(1, 9, 4)


async def test_a_listener_that_fails_ends_the_request() -> None:
    async def broken(_: object) -> None:
        raise OSError("listener")

    model = HeldModel()
    manager = ModelManager(model)
    model.put(TextDelta("x"), ReplyEnd(), None)
    with manager.telling(broken), pytest.raises(OSError, match="listener"):
        await manager.generate(DECISION)
    assert not model.under_way


async def test_the_length_of_a_models_tokens_is_measured_on_what_it_reads() -> None:
    model = HeldModel()
    manager = ModelManager(model, timing=HandClock().timing)
    assert manager.traits.characters_per_token is None
    for characters, tokens, measured in [
        (3_000, 1_000, 3.0),
        (5_000, 1_000, 5.0),
        (500, 1_000, 5.0),  # too short to say much
        (9_000, 0, 5.0),  # nobody counted
        (9_000, 10, 8.0),  # not to be believed
    ]:
        model.put(TextDelta("x"), ReplyEnd(Usage(1, tokens, 1)), None)
        await manager.generate(ModelRequest("decision", "p" * characters))
        assert manager.traits.characters_per_token == measured
