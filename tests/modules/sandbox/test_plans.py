"""Plans as models write them, and random programs: the sandbox does with them what CPython does."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from hypothesis import given, settings

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from tests.modules.sandbox.plans.fake_tools import SERVERS
from tests.modules.sandbox.plans.reference import Outcome, Plan, plans, recorded
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS

JSON_TYPES: dict[object, str] = {str: "string", float: "number"}

FUNCTIONS = {
    f"{server}.{tool.__name__}": cast("Callable[..., Awaitable[Json]]", tool)
    for server, tools in SERVERS.items()
    for tool in tools
}

LIMITS = SandboxLimits(tool_calls=50)


def described(name: str) -> ToolSpec:
    """The tool that a function of the corpus is, with a schema that its signature tells."""
    server, _, tool = name.partition(".")
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    properties: JsonObject = {
        key: {"type": JSON_TYPES[parameter.annotation]} for key, parameter in parameters.items()
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*parameters]}
    return ToolSpec(server, tool, f"{tool}.", schema)


CATALOG = ToolCatalog(map(described, FUNCTIONS))


async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """What the function gives."""
    try:
        value = await FUNCTIONS[tool.qualified_name](**arguments)
    except RuntimeError as error:
        return ToolResult((TextBlock(str(error)),), is_error=True)
    return ToolResult((TextBlock(json.dumps(value)),), {"result": value})


def outcome(ran: SandboxResult) -> Outcome:
    """What came of a plan, told as the reference tells it."""
    told: Outcome = {}
    if ran.failure is None:
        told["value"] = ran.value
    else:
        found = re.match(r"(\w+)(: |$)", ran.failure.message)
        named = found[1] if found else ran.failure.message
        told = {
            "error": "RuntimeError" if ran.failure.kind == "tool" else named,
            "line": ran.failure.line,
        }
    if ran.printed:
        told["printed"] = ran.printed
    return told
