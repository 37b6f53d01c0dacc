"""The execution context: made at doors, taken over from callers, handed on to what it causes."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.run.execution import (
    METADATA_MAX,
    NAME_CHARACTERS,
    TRACESTATE_CHARACTERS,
    begin,
    current,
    note_intent,
    working,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_request_without_a_caller_begins_a_trace_of_its_own() -> None:
    first, second = begin(user="ada", profile="default"), begin()
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", first.traceparent)
    assert first.trace_id != second.trace_id
    assert first.request_id != second.request_id
    assert (first.user, first.profile, first.parent_id) == ("ada", "default", "")


def test_a_callers_trace_goes_on() -> None:
    taken = begin(PARENT, "vendor=1, other=x", request_id="r1")
    assert (taken.trace_id, taken.parent_id, taken.is_sampled) == (TRACE, SPAN, True)
    assert taken.span_id != SPAN
    assert taken.carried == {
        "traceparent": f"00-{TRACE}-{taken.span_id}-01",
        "tracestate": "vendor=1,other=x",
    }
    assert begin(PARENT[:-2] + "00").traceparent.endswith("-00")
    assert begin(PARENT).carried.keys() == {"traceparent"}


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert begin(f"cc-{TRACE}-{SPAN}-01-what-the-future-brings").trace_id == TRACE
    assert begin(f"01-{TRACE}-{SPAN}-09").traceparent.endswith("-01")


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "nonsense",
        PARENT.upper(),
        f" {PARENT}",
        f"{PARENT} ",
        f"{PARENT}\n",
        f"{PARENT}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01.more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f"{PARENT},{PARENT}",
        f"cc-{TRACE}-{SPAN}-01-" + "x" * 100_000,
    ],
)
def test_a_malformed_traceparent_counts_as_none(bad: str) -> None:
    begun = begin(bad, "vendor=1")
    assert begun.trace_id != TRACE
    assert (begun.parent_id, begun.tracestate) == ("", "")


@pytest.mark.parametrize(
    ("given_state", "carried"),
    [
        ("a=1,,\tb=2 ", "a=1,b=2"),
        ("tenant@vendor=1", "tenant@vendor=1"),
        ("a=1,a=2", ""),
        ("A=1", ""),
        ("a=1\r\nx: y", ""),
        ("a=é", ""),
        ("a", ""),
        (",".join(f"k{n}=1" for n in range(33)), ""),
        ("," * 100_000, ""),
        (f"a=1,b={'x' * 200},c={'y' * 240},d={'z' * 120}", f"a=1,d={'z' * 120}"),
        (",".join(f"k{n}={'v' * 100}" for n in range(6)), None),
    ],
)
def test_a_tracestate_is_carried_in_whole_entries_or_not_at_all(
    given_state: str, carried: str | None
) -> None:
    state = begin(PARENT, given_state).tracestate
    if carried is None:
        assert state == ",".join(given_state.split(",")[:4])
    else:
        assert state == carried


@given(st.text(), st.text())
def test_nothing_a_caller_sends_breaks_a_door(traceparent: str, tracestate: str) -> None:
    begun = begin(traceparent, tracestate)
    assert len(begun.trace_id) == 32
    begun = begin(PARENT, tracestate)
    assert len(begun.tracestate) <= TRACESTATE_CHARACTERS
    assert begun.tracestate.isascii()


def test_what_a_door_says_is_bounded() -> None:
    many = {f"key {n}": "v" * 1000 for n in range(100)}
    begun = begin(user="u\nv" * 1000, request_id="r" * 1000, metadata=many)
    assert len(begun.metadata) == METADATA_MAX
    sizes = [len(text) for text in (begun.user, begun.request_id, *dict(begun.metadata).values())]
    assert max(sizes) == NAME_CHARACTERS
    assert "\n" not in begun.user
    assert dict(begun.metadata)["key 0"].startswith("v")


def test_a_context_is_a_value_that_stays() -> None:
    begun = begin(metadata={"door": "http"})
    assert hash(begun) == hash(begun.within())
    assert begun.metadata == (("door", "http"),)
    later = begun.within(session="s1", intent="add")
    assert (later.session, later.intent, begun.session) == ("s1", "add", "")
    assert (later.span_id, later.trace_id) == (begun.span_id, begun.trace_id)


async def test_it_is_current_for_the_length_of_a_run_and_in_its_tasks() -> None:
    assert current() is None
    first, second = begin(), begin()

    async def traced() -> str:
        await asyncio.sleep(0)
        context = current()
        assert context is not None
        return context.trace_id

    async def run(context_name: str) -> str:
        with working(first if context_name == "first" else second):
            return await asyncio.create_task(traced())

    assert await asyncio.gather(run("first"), run("second")) == [first.trace_id, second.trace_id]
    assert current() is None


async def test_the_parts_of_work_are_children_of_it() -> None:
    with working(begin(PARENT)) as whole:
        part = whole.child()
        assert (part.trace_id, part.parent_id) == (whole.trace_id, whole.span_id)
        assert part.span_id != whole.span_id
        with working(part):
            assert current() is part
        assert current() is whole


async def test_an_intent_is_known_from_perception_on() -> None:
    note_intent("nobody works here")
    assert current() is None
    with working(begin()) as begun:
        note_intent("add two numbers")
        context = current()
        assert context is not None
        assert context == begun.within(intent="add two numbers")
    assert current() is None
