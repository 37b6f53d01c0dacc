"""The names that the mission fixes, walked row by row of its table.

Of the servers that are slow to start, the lists that ship are looked at; tests of the servers
compare these with what they list.
"""

import asyncio
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from config.models_file import load_models
from config.schema import AgentProfile, StrategyProfile
from config.servers import ServerSpec
from core.context import AgentContext
from core.dispatch.known_tools import shipped_tools
from core.events import collect
from core.loop import AgentLoop
from core.session import MCP, MultiMCP
from core.strategy import (
    conservative_plan,
    exploratory_plan,
    find_recent_successful_tools,
    select_decision_prompt_path,
)
from core.tools.content import block_text
from core.turn import FinalAnswer, MemoryItem, PerceptionResult
from modules import tools as tool_functions
from modules.action import MAX_TOOL_CALLS_PER_PLAN, run_python_sandbox
from modules.decision import generate_plan
from modules.memory import MemoryManager, new_session_id
from modules.model_manager import ModelManager
from modules.perception import extract_perception, run_perception
from servers.web.pages import WebContentFetcher
from servers.web.rate_limit import RateLimiter
from servers.web.search.duckduckgo import DuckDuckGoSearcher
from tests.command_line import ROOT, SUMS
from tests.doubles import FakeParts, context, planned

MATH = ROOT / "servers" / "math_server.py"

INDIA_PLAN = """
import json
async def solve():
    # FUNCTION_CALL: 1
    input = {"input": {"string": "INDIA"}}
    result = await mcp.call_tool('strings_to_chars_to_int', input)
    numbers = json.loads(result.content[0].text)["result"]

    # FUNCTION_CALL: 2
    input = {"input": {"numbers": numbers}}
    result = await mcp.call_tool('int_list_to_exponential_sum', input)
    final_result = json.loads(result.content[0].text)["result"]

    return f"FINAL_ANSWER: {final_result}"
"""
"""The plan of the mission's own walk-through, in its own form."""

MATH_TOOLS = {
    *("add", "subtract", "multiply", "divide", "power", "cbrt", "factorial", "remainder"),
    *("sin", "cos", "tan", "strings_to_chars_to_int", "int_list_to_exponential_sum"),
    *("fibonacci_numbers", "create_thumbnail"),
}


def parameters(function: object) -> list[str]:
    assert callable(function)
    return list(inspect.signature(function).parameters)


async def test_the_missions_walk_through_runs_on_the_real_server() -> None:
    spec = ServerSpec("math", (sys.executable, str(MATH)), cwd=ROOT)
    async with asyncio.timeout(30), MultiMCP([spec]) as dispatcher:
        await dispatcher.initialize()
        assert set(await dispatcher.list_all_tools()) == MATH_TOOLS
        assert {t.name for t in dispatcher.get_tools_from_servers(["math"])} == MATH_TOOLS
        assert set(dispatcher.tool_map) == {t.name for t in dispatcher.get_all_tools()}
        assert list(dispatcher.server_tools) == ["math"]
        answer = await run_python_sandbox(INDIA_PLAN, dispatcher)
        assert answer == "FINAL_ANSWER: 7.599822246093079e+33"
        reply = await dispatcher.call_tool("add", {"input": {"a": 1, "b": 2}})
        (block,) = reply.content
        assert json.loads(block_text(block) or "")["result"] == 3
        error = await run_python_sandbox("async def solve():\n    return nothing", dispatcher)
        assert re.fullmatch(r"\[sandbox error: .*nothing.*\]", error, re.DOTALL)


async def test_the_one_shot_client_lists_and_calls() -> None:
    async with asyncio.timeout(30):
        client = MCP(str(SUMS), working_dir=str(ROOT))
        assert "add" in {tool.name for tool in await client.list_tools()}
        reply = await client.call_tool("add", {"input": {"a": 1, "b": 2}})
        assert json.loads(reply.text)["result"] == 3
    assert parameters(MCP)[:3] == ["server_script", "working_dir", "server_command"]
    assert inspect.iscoroutinefunction(client.call_tool)


async def test_the_loop_gives_status_and_result() -> None:
    fakes = planned(p=FinalAnswer("42"))
    outcome = await collect(AgentLoop(context(fakes)).run())
    assert outcome.as_dict() == {"status": "done", "result": "FINAL_ANSWER: 42"}


def test_steps_and_lifelines_default_to_three() -> None:
    strategy = StrategyProfile()
    assert (strategy.max_steps, strategy.max_lifelines_per_step) == (3, 3)


def test_perception_and_decision_take_what_the_mission_says() -> None:
    assert parameters(extract_perception)[:2] == ["user_input", "mcp_server_descriptions"]
    assert parameters(run_perception)[:2] == ["context", "user_input"]
    assert list(PerceptionResult.model_fields) == [
        "intent",
        "entities",
        "tool_hint",
        "tags",
        "selected_servers",
    ]
    assert parameters(generate_plan)[:7] == [
        "user_input",
        "perception",
        "memory_items",
        "tool_descriptions",
        "prompt_path",
        "step_num",
        "max_steps",
    ]


def test_strategies_are_there_by_name() -> None:
    assert parameters(select_decision_prompt_path) == ["planning_mode", "exploration_mode"]
    assert parameters(find_recent_successful_tools) == ["memory_items", "limit"]
    assert inspect.iscoroutinefunction(conservative_plan)
    assert inspect.iscoroutinefunction(exploratory_plan)


@pytest.mark.parametrize(
    ("server", "tool", "arguments"),
    [
        ("documents", "search_stored_documents", ["query"]),
        ("documents", "convert_webpage_url_into_markdown", ["url"]),
        ("documents", "extract_pdf", ["file_path"]),
        ("websearch", "duckduckgo_search_results", ["query", "max_results"]),
        ("websearch", "download_raw_html_from_url", ["url"]),
    ],
)
def test_tools_for_documents_and_the_web_are_there_by_name(
    server: str, tool: str, arguments: list[str]
) -> None:
    script = ROOT / "servers" / f"{server}_server.py"
    tools = shipped_tools(ServerSpec(server, (sys.executable, str(script)), ROOT, bundled=True))
    assert tools is not None
    (spec,) = [each for each in tools if each.name == tool]
    assert spec.wrapper == "input"
    taken = {parameter.name: parameter for parameter in spec.parameters}
    assert list(taken)[: len(arguments)] == arguments
    assert [name for name, parameter in taken.items() if parameter.required] == arguments[:1]
    if "max_results" in taken:
        assert taken["max_results"].schema["default"] == 10


def test_the_parts_of_the_web_engine_are_there_by_name() -> None:
    assert parameters(RateLimiter)[0] == "requests_per_minute"
    assert inspect.iscoroutinefunction(RateLimiter().acquire)
    assert parameters(DuckDuckGoSearcher.search)[1:] == ["query", "max_results"]
    assert parameters(DuckDuckGoSearcher.format_results_for_llm)[1:] == ["results"]
    assert parameters(WebContentFetcher.fetch_and_parse)[1] == "url"


def test_the_sandbox_is_there_by_name() -> None:
    assert parameters(run_python_sandbox)[:2] == ["code", "dispatcher"]
    assert MAX_TOOL_CALLS_PER_PLAN == 5


def test_the_context_keeps_its_names() -> None:
    ctx = context(FakeParts([], {}))
    assert isinstance(ctx, AgentContext)
    for name in (
        "add_memory",
        "log_subtask",
        "update_subtask_status",
        "task_progress",
        "final_answer",
        "user_input_override",
    ):
        assert hasattr(ctx, name)


def test_memory_keeps_its_fields_types_and_methods(tmp_path: Path) -> None:
    assert set(MemoryItem.model_fields) == {
        *("timestamp", "type", "text", "tool_name", "tool_args", "tool_result", "final_answer"),
        *("tags", "success", "metadata", "session_id", "user_query"),
    }
    session_id = "2026/11/21/session-1795302000-abc123"
    memory = MemoryManager(session_id, tmp_path)
    memory.add_tool_call("add", {"a": 1}, ["t"])
    memory.add_tool_output("add", {"a": 1}, {"result": 1}, True, ["t"])
    for kind in ("run_metadata", "final_answer"):
        memory.add(MemoryItem.model_validate({"timestamp": 1, "type": kind, "text": "x"}))
    memory.save()
    again = MemoryManager(session_id, tmp_path)
    again.load()
    assert [item.type for item in again.get_session_items()] == [
        "tool_call",
        "tool_output",
        "run_metadata",
        "final_answer",
    ]
    assert again.find_recent_successes(limit=5) == ["add"]
    path = tmp_path / f"{session_id}.json"
    assert isinstance(json.loads(path.read_text(encoding="utf-8")), list)


def test_a_session_id_has_date_timestamp_and_six_characters() -> None:
    from datetime import UTC, datetime

    made = new_session_id(datetime(2026, 1, 2, tzinfo=UTC), "abcdef0123")
    assert re.fullmatch(r"2026/01/02/session-\d{10}-abcdef", made)


async def test_a_model_manager_needs_no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    manager = ModelManager()
    assert manager.name == "offline"
    assert isinstance(await manager.generate_text("add 1 and 2"), str)
    await manager.aclose()


def test_models_and_profile_ship_with_the_keys_that_the_mission_names() -> None:
    models = load_models(ROOT / "config" / "models.json")
    assert models.models["gemini"].api_key_env == "GEMINI_API_KEY"
    assert {"agent", "strategy", "memory", "llm", "persona", "mcp_servers"} <= set(
        AgentProfile.model_fields
    )


@pytest.mark.parametrize(
    "name",
    [
        "extract_json_block",
        "summarize_tools",
        "filter_tools_by_hint",
        "get_tool_map",
        "load_prompt",
    ],
)
def test_tool_functions_are_there_by_name(name: str) -> None:
    assert callable(getattr(tool_functions, name))


def test_prompts_ship_with_their_placeholders() -> None:
    for name, placeholders in {
        "perception_prompt.txt": ("{servers_text}", "{user_input}"),
        "decision_prompt_conservative.txt": ("{tool_descriptions}", "{user_input}"),
        "decision_prompt_exploratory_parallel.txt": ("{tool_descriptions}", "{user_input}"),
        "decision_prompt_exploratory_sequential.txt": ("{tool_descriptions}", "{user_input}"),
    }.items():
        text = tool_functions.load_prompt(f"prompts/{name}")
        assert all(placeholder in text for placeholder in placeholders), name
