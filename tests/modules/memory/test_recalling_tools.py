"""A conversation whose plan fails is told how the tool did in earlier sessions."""

from pathlib import Path

import pytest

from config.schema import AgentProfile, MemorySection, StrategyProfile
from config.servers import ServerSpec
from core.dispatch.known_tools import ToolCache
from core.session import MultiMCP
from core.tools.spec import ToolSpec
from core.turn import MemoryItem
from core.values import JsonObject
from modules.models.scripted import ScriptedModel
from modules.session.memory import MemoryManager
from tests.doubles import profile
from tests.modules.talks import conversation

FAILING = "async def solve():\n    return f'FINAL_ANSWER: {await tools.find()}'"
FINE = "async def solve():\n    return 'FINAL_ANSWER: 12'"
TOLD = "shop.find failed in 7 of its last 8 calls."
OFF = StrategyProfile(memory_fallback_enabled=False)


def remember_calls(folder: Path) -> None:
    """Seven calls of the tool in an earlier session, of which one worked."""
    memory = MemoryManager("2026/03/04/session-1772582400-bbbbbb", folder)
    for number in range(7):
        item = MemoryItem(
            timestamp=number,
            type="tool_output",
            text="",
            tool_name="find",
            success=number == 3,
            metadata={"server": "shop", "seconds": 0.1},
        )
        memory.add(item)


async def prompts(home: Path, of: AgentProfile, *plans: str) -> list[str]:
    """The prompts of one request; the tool is known, and its server is not there."""
    spec, cache = ServerSpec("shop", ("/does/not/exist",), home), ToolCache(home)
    schema: JsonObject = {"type": "object", "properties": {}}
    cache.store(spec, [ToolSpec("shop", "find", "Finds things.", schema)])
    script = ScriptedModel({"decision": [*plans]})
    servers = MultiMCP([spec], cache=cache)
    async with conversation(home, script, by=of, servers=servers) as talk:
        outcome = await talk.ask("find 12")
    assert outcome.answer == "12"
    return [each.prompt for each in script.requests if each.purpose == "decision"]


async def test_a_failed_plans_tool_that_mostly_failed_in_earlier_sessions_is_told(
    tmp_path: Path,
) -> None:
    remember_calls(profile().memory_folder(tmp_path))
    first, second = await prompts(tmp_path, profile(), FAILING, FINE)
    assert "of its last" not in first
    assert TOLD in second


@pytest.mark.parametrize(
    "of",
    [
        profile(OFF),
        profile().model_copy(update={"memory": MemorySection(memory_service=False)}),
        profile().model_copy(
            update={"agent": profile().agent.model_copy(update={"id": "somebody_else"})}
        ),
    ],
    ids=["switched off", "without memory", "another profile"],
)
async def test_nothing_is_told_where_nothing_may_be_known(of: AgentProfile, tmp_path: Path) -> None:
    remember_calls(profile().memory_folder(tmp_path))
    told = await prompts(tmp_path, of, FAILING, FINE)
    assert len(told) == 2
    assert all("of its last" not in prompt for prompt in told)
