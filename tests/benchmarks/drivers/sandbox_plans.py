"""Ours: plans in the sandbox as users have it, the second wall included where the system has it.

The argument that a driver gets is passed over: there is no server. `add` is a function in process.
"""

import asyncio

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.sandbox import Sandbox
from tests.benchmarks.drivers.turns import take_turns

NUMBER: JsonObject = {"type": "number"}
ADD = ToolSpec(
    "bench",
    "add",
    "Adds two numbers.",
    {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
)
TOOLS = ToolCatalog([ADD])


async def answer(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """What `add` gives."""
    match arguments:
        case {"a": int() as a, "b": int() as b}:
            return ToolResult((TextBlock(str(a + b)),), {"result": a + b})
        case _:
            return ToolResult((TextBlock("add() takes two numbers"),), is_error=True)


async def main() -> None:
    """Run plans in one sandbox, one after the other."""
    async with Sandbox() as sandbox:

        async def run(_: str, arguments: dict[str, object]) -> object:
            ran = await sandbox.run(str(arguments["source"]), TOOLS, answer)
            return ran.value if ran.failure is None else ran.failure

        await take_turns(run)


if __name__ == "__main__":
    asyncio.run(main())
