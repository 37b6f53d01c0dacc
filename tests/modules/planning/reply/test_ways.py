"""Every way to answer comes to what it must: found in one reply, and played through the loop."""

import pytest

from core.ports import ModelReply
from core.turn import NoPlan, Plan
from modules.planning.reply.extraction import find_plan
from modules.sandbox import Sandbox
from tests.modules.planning.reply.model_replies import TOOLS, act, told
from tests.modules.planning.reply.ways import WAYS, Way


def test_the_table_is_as_long_as_it_is_said_to_be_and_names_each_way_once() -> None:
    assert len(WAYS) >= 196


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_each_way_comes_to_what_it_must(way: Way) -> None:
    assert await comes_to(way) == way.comes


async def comes_to(way: Way) -> str:
    """What comes of a reply, in the words of the table."""
    found = find_plan(way.reply, TOOLS)
    if isinstance(found, Plan):
        async with Sandbox() as sandbox:
            result = told(await act(way.reply, sandbox))
        kind, _, text = result.partition(": ")
        if text == "12" and "tools.add" in found.source:
            return "calls 12"
        return f"answers {text}" if kind == "final" else result
    return _of_no_plan(found, way.reply)


def _of_no_plan(found: NoPlan, reply: ModelReply) -> str:
    message = found.failure.message
    if found.failure.kind == "cut":
        return "cut" if "cut off at 64 tokens" in message and "be brief" in message else message
    if found.declines:
        return "declines"
    if found.answer is not None:
        assert "or say the same again if no tool is needed" in message
        return f"in words {found.answer}"
    if "which one counts?" in message:
        return "which"
    return "thought" if "it only thought" in message else "no plan"
