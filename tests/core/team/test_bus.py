"""The bus: who hears what, in which order, and where tasks are not handed on."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Event, MessageSent, Notice
from core.team.bus import HANDED_ON_MAX, MESSAGE_CHARACTERS_MAX, MESSAGES_KEPT, Bus, refuses_loop
from core.team.messages import Message, MessageKind
from tests.core.team.boards import Told


def message(
    text: str = "hello",
    receiver: str | None = "analyst",
    kind: MessageKind = "result",
    path: tuple[str, ...] = (),
) -> Message:
    return Message("writer", receiver, kind, "table", text, 1.7e9, path)


async def test_a_message_is_told_and_then_heard_by_those_that_it_concerns() -> None:
    told, heard = Told(), list[str]()
    bus = Bus(told.emit)
    bus.subscribe(lambda _: heard.append("all"))
    bus.subscribe(lambda _: heard.append("analyst"), receiver="analyst")
    bus.subscribe(lambda _: heard.append("coder"), receiver="coder")
    bus.subscribe(lambda _: heard.append("votes"), kind="vote")
    bus.subscribe(lambda _: heard.append(f"told {len(told.events)}"), receiver="analyst")
    await bus.send(message())
    assert heard == ["all", "analyst", "told 1"]
    heard.clear()
    await bus.send(message(receiver=None, kind="vote"))
    assert heard == ["all", "analyst", "coder", "votes", "told 2"]
    assert told.messages == [message(), message(receiver=None, kind="vote")]


async def test_who_has_heard_enough_hears_no_more() -> None:
    bus, heard = Bus(Told().emit), list[Message]()
    end = bus.subscribe(heard.append)
    await bus.send(message())
    end()
    await bus.send(message("again"))
    assert [each.text for each in heard] == ["hello"]


async def test_a_subscriber_that_raises_costs_nobody_else_a_message() -> None:
    told, heard = Told(), list[Message]()
    bus = Bus(told.emit)
    bus.subscribe(lambda each: heard.remove(each))
    bus.subscribe(heard.append)
    assert await bus.send(message()) is None
    assert heard == [message()]
    (notice,) = [event for event in told.events if isinstance(event, Notice)]
    assert notice.text == "a listener of messages failed: ValueError: list.remove(x): x not in list"


async def test_messages_that_many_send_at_once_are_heard_in_the_order_of_sending() -> None:
    pauses = iter([3, 1, 0, 2, 0, 1, 0, 0])

    async def emit(event: Event) -> None:
        if isinstance(event, MessageSent):
            for _ in range(next(pauses)):
                await asyncio.sleep(0)

    bus, heard = Bus(emit), list[Message]()
    bus.subscribe(heard.append)
    await asyncio.gather(*(bus.send(message(str(number))) for number in range(8)))
    assert [each.text for each in heard] == [*"01234567"]


async def test_long_texts_are_cut_and_the_newest_messages_are_kept() -> None:
    told = Told()
    bus = Bus(told.emit)
    await bus.send(message("x" * 100_000))
    assert len(told.messages[0].text) == MESSAGE_CHARACTERS_MAX
    for number in range(MESSAGES_KEPT):
        await bus.send(message(str(number)))
    assert len(bus.kept) == MESSAGES_KEPT
    assert bus.kept[0].text == "0"


async def test_a_task_that_comes_round_is_refused_and_its_sender_told() -> None:
    told, heard = Told(), list[Message]()
    bus = Bus(told.emit)
    bus.subscribe(heard.append, receiver="writer")
    refused = await bus.send(message(kind="task", path=("table", "read")))
    assert refused is not None
    assert "table → read → table" in refused
    (failure,) = told.messages
    assert heard == [failure]
    assert (failure.sender, failure.receiver) == ("coordinator", "writer")
    assert (failure.kind, failure.correlation, failure.text) == ("failure", "table", refused)


@pytest.mark.parametrize(
    ("path", "task", "why"),
    [
        ((), "a", None),
        (("a", "b"), "c", None),
        (("a", "b", "c"), "b", "b would wait for itself: b → c → b"),
        (("a", "b", "c", "d"), "e", "at most 4 times, not a → b → c → d → e"),
    ],
)
def test_loops_and_long_ways_are_told_in_words(
    path: tuple[str, ...], task: str, why: str | None
) -> None:
    refused = refuses_loop(path, task)
    assert (refused is None) if why is None else (refused is not None and why in refused)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=30))
def test_no_task_is_handed_on_for_ever(tasks: list[str]) -> None:
    path: tuple[str, ...] = ()
    for task in tasks:
        if refuses_loop(path, task) is not None:
            break
        path = (*path, task)
    assert len(path) <= HANDED_ON_MAX
    assert len({*path}) == len(path)
