"""Every plan of the exhaustion table ends within its limits, and the sandbox goes on after it.

And the second wall alone: what a worker that has been taken over by machine code still can't use
up. That worker is played by a CPython that put the wall up around itself.
"""

import asyncio
import dataclasses
import json

import pytest

from modules.sandbox import Sandbox, SandboxResult
from modules.sandbox.language import MAX_MESSAGE_CHARACTERS
from modules.sandbox.limits import MAX_TOOL_ERROR_CHARACTERS, MIB
from tests.modules.sandbox.exhaustion import FAMILIES, LIMITS, PATIENT_LIMITS, Snippet
from tests.modules.sandbox.exhaustion_of_host import HOST_FAMILIES, WAITING
from tests.modules.sandbox.host_state import children, peak_bytes, reset_peak
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools, solve

ALL_FAMILIES = FAMILIES | HOST_FAMILIES

HOST_GROWTH_BYTES = 64 * MIB
"""How much more memory the host may ever hold while a family runs."""

SNIPPET_TIMEOUT_SECONDS = LIMITS.wall_seconds + 5
ESCAPED_MESSAGE_CHARACTERS = max(MAX_MESSAGE_CHARACTERS, MAX_TOOL_ERROR_CHARACTERS)


def test_the_table_is_as_long_as_it_was_promised() -> None:
    texts = [snippet.text for family in ALL_FAMILIES.values() for snippet in family]
    assert len(set(texts)) == len(texts) >= 80


@pytest.mark.parametrize("family", ALL_FAMILIES)
async def test_no_plan_of_a_family_uses_anything_up(family: str) -> None:
    resident, before = reset_peak(), children()
    async with Sandbox(LIMITS) as strict, Sandbox(PATIENT_LIMITS) as patient:
        for snippet in ALL_FAMILIES[family]:
            await _survive(strict if snippet.is_stopped else patient, snippet)
            assert 1 <= len(children() - before) <= 2, snippet.text[:300]
    assert children() == before
    assert peak_bytes() - resident < HOST_GROWTH_BYTES


async def test_plans_that_wait_for_ever_are_ended_by_the_clock() -> None:
    async with Sandbox(dataclasses.replace(LIMITS, wall_seconds=3)) as box:
        await asyncio.gather(*(_survive(box, snippet) for snippet in WAITING))


async def _survive(box: Sandbox, snippet: Snippet) -> None:
    """Run one snippet, and see that it ended well and that the next plan runs."""
    tools = Tools()
    async with asyncio.timeout(SNIPPET_TIMEOUT_SECONDS):
        result = await box.run(snippet.plan, CATALOG, tools)
        following = await box.run(solve("return 1"), CATALOG, Tools())
    ending = "value" if result.failure is None else result.failure.kind
    assert ending in snippet.endings, (snippet.text[:300], result.failure, result.value)
    _assert_bounded(result)
    assert len(result.calls) == len(tools.sent) <= LIMITS.tool_calls
    assert following.value == 1, (snippet.text[:300], following)


def _assert_bounded(result: SandboxResult) -> None:
    """Nothing in a result is larger than what its limit says."""
    assert len(result.printed.encode()) <= LIMITS.printed_bytes
    assert len(json.dumps(result.value)) <= LIMITS.result_bytes
    for call in result.calls:
        assert len(json.dumps(call.arguments)) <= LIMITS.argument_bytes
    if result.failure is not None:
        assert len(result.failure.message) <= ESCAPED_MESSAGE_CHARACTERS
        assert len(result.failure.line_text or "") <= MAX_MESSAGE_CHARACTERS
