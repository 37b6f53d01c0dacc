"""Finding tools from inside of a plan: what a search gives, allows and costs."""

import asyncio

import pytest

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, Plan
from core.values import Json
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from modules.sandbox.limits import (
    MAX_SEARCH_CHARACTERS,
    MAX_SEARCHES_PER_PLAN,
    MAX_TOOLS_FOUND,
)
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve, spec

ADD_ONLY = CATALOG.offering([CATALOG.resolve("add")])
"""The test tools, of which plans are offered one."""


async def run(
    plan: str, tools: ToolCatalog = ADD_ONLY, limits: SandboxLimits | None = None
) -> SandboxResult:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits) as sandbox:
        return await sandbox.run(plan, tools, Tools())


async def value(plan: str, tools: ToolCatalog = ADD_ONLY) -> Json:
    result = await run(plan, tools)
    assert result.failure is None
    return result.value


async def test_a_search_tells_name_signature_and_description() -> None:
    found = await value(solve("return await search_tools('remainder')"))
    assert found == [
        {
            "name": "remainder",
            "signature": "remainder(a: object, b: object) -> str",
            "description": "remainder.",
        }
    ]
    shared = await value(solve("return await search_tools(query='find', limit=5)"))
    assert isinstance(shared, list)
    assert [tool["name"] for tool in shared if isinstance(tool, dict)] == ["web.find", "docs.find"]


@pytest.mark.parametrize(
    "call",
    [
        "await mcp.call_tool(found[0]['name'], {'a': 7, 'b': 4})",
        "await mcp.call_tool(found[0]['name'], a=7, b=4)",
        "await tools.remainder(7, 4)",
        "await tools.math.remainder(a=7, b=4)",
        "await remainder(a=7, b=4)",
    ],
)
async def test_what_was_found_can_be_called_in_the_same_plan(call: str) -> None:
    result = await run(solve("found = await search_tools('remainder')", f"x = {call}", "return 1"))
    assert result.failure is None
    assert [c.tool for c in result.calls] == ["math.remainder"]
    assert result.found == ("math.remainder",)


@pytest.mark.parametrize(
    "call",
    [
        "mcp.call_tool('remainder', {'a': 7, 'b': 4})",
        "tools.remainder(7, 4)",
        "tools.math.remainder(7, 4)",
        "remainder(7, 4)",
        "mcp.call_tool('math.remainder', {})",
    ],
)
async def test_what_was_neither_offered_nor_found_is_refused_with_how_to_find_it(
    call: str,
) -> None:
    result = await run(solve(f"return await {call}"))
    assert result.failure is not None
    assert result.failure.kind == "tool"
    assert "'remainder' exists but was not offered to this plan" in result.failure.message
    assert 'await search_tools("remainder")' in result.failure.message
    assert result.calls == ()


async def test_a_tool_that_does_not_exist_gets_the_nearest_of_those_on_offer() -> None:
    result = await run(solve("return await mcp.call_tool('ad', {})"))
    assert result.failure is not None
    assert result.failure.message.endswith("there is no tool 'ad'; did you mean add?")
    hidden = await run(solve("return await mcp.call_tool('remaindr', {})"))
    assert hidden.failure is not None
    assert "did you mean" not in hidden.failure.message


async def test_searches_are_no_tool_calls_but_counted() -> None:
    searches = "[await search_tools('add') for _ in range({})]"
    allowed = await run(
        solve(f"{searches.format(MAX_SEARCHES_PER_PLAN)}", "return await tools.add(1, 2)"),
        limits=SandboxLimits(tool_calls=1),
    )
    assert (allowed.value, len(allowed.calls)) == (3, 1)
    refused = await run(solve(f"return {searches.format(MAX_SEARCHES_PER_PLAN + 1)}"))
    assert refused.failure is not None
    assert f"may search {MAX_SEARCHES_PER_PLAN} times" in refused.failure.message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("search_tools()", "write await search_tools("),
        ("search_tools(5)", "write await search_tools("),
        ("search_tools('add', 'many')", "write await search_tools("),
        ("search_tools('add', limit=0)", "write await search_tools("),
        ("search_tools('add', 1, 2)", "write await search_tools("),
        (f"search_tools('x' * {MAX_SEARCH_CHARACTERS + 1})", "at most 500 characters"),
    ],
)
async def test_a_search_in_another_form_is_refused_with_the_form(call: str, words: str) -> None:
    for caught in (False, True):
        lines = [
            "try:",
            f"    return await {call}",
            "except RuntimeError as e:",
            "    return str(e)",
        ]
        result = await run(solve(*lines) if caught else solve(f"return await {call}"))
        told = result.value if caught else result.failure and result.failure.message
        assert isinstance(told, str)
        assert words in told


async def test_a_search_gives_no_more_than_is_allowed_and_each_in_short() -> None:
    crowd = [
        ToolSpec("s", f"tool{n}", "pallet " * 1_000, {"properties": {"x": {"enum": ["y" * 900]}}})
        for n in range(99)
    ]
    catalog = ToolCatalog(crowd).offering(())
    many = solve("return [len(str(t)) for t in await search_tools('pallet', limit=10**9)]")
    sizes = await value(many, catalog)
    assert isinstance(sizes, list)
    assert len(sizes) == MAX_TOOLS_FOUND
    assert all(isinstance(size, int) and size < 2_000 for size in sizes)
    assert await value(solve("return len(await search_tools('pallet'))"), catalog) == 10
    assert await value(solve("return len(await search_tools('pallet', 3))"), catalog) == 3
    assert await value(solve("return await search_tools('zebra')"), catalog) == []


async def test_a_search_is_there_when_nothing_was_left_out() -> None:
    plan = solve("return (await search_tools('remainder'))[0]['name']")
    assert await value(plan, CATALOG) == "remainder"


OWN = spec("search_tools", ["q"], server="shop")


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        ("tools.search_tools('shoes')", ["shop.search_tools"]),
        ("tools.shop.search_tools(q='shoes')", ["shop.search_tools"]),
        ("mcp.call_tool('search_tools', {'q': 'shoes'})", ["shop.search_tools"]),
        ("search_tools('shop')", []),
        ("mcp.search_tools('shop')", []),
    ],
)
async def test_a_servers_tool_of_that_name_is_reached_through_tools(
    call: str, sent: list[str]
) -> None:
    catalog = ToolCatalog([*CATALOG, OWN])
    async with Sandbox() as sandbox:
        plan = Plan(solve(f"x = {call}", "return 'FINAL_ANSWER: sent'"))
        result = await run_plan(plan, catalog, Tools(), sandbox)
    assert isinstance(result, FinalAnswer)
    assert [c.tool for c in result.calls] == sent


async def test_without_such_a_tool_the_search_is_behind_tools_too() -> None:
    assert await value(solve("return len(await tools.search_tools('remainder'))")) == 1


async def test_what_was_found_is_told_even_when_the_plan_fails() -> None:
    result = await run(solve("await search_tools('echo')", "return 1 / 0"))
    assert result.failure is not None
    assert result.found == ("math.echo",)


async def test_a_tool_that_takes_one_dict_gets_exactly_that() -> None:
    odd = ToolSpec("s", "odd", "Odd.", {"anyOf": [{"type": "object"}, {"required": ["b"]}]})
    offered = ToolCatalog([odd])
    tools = Tools()
    plan = solve(
        "await tools.odd({'a': 1})",
        "await tools.odd(arguments={'b': [2]})",
        "await odd({'from': 3})",
        "await mcp.call_tool('odd', {'arguments': {}})",
        "return 'FINAL_ANSWER: sent'",
    )
    async with Sandbox() as sandbox:
        result = await run_plan(Plan(plan), offered, tools, sandbox)
    assert isinstance(result, FinalAnswer)
    assert [arguments for _, arguments in tools.sent] == [
        {"a": 1},
        {"b": [2]},
        {"from": 3},
        {"arguments": {}},
    ]
