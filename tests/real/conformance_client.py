"""Our client as the official conformance suite runs it: `conformance_client.py URL`.

The suite (npm `@modelcontextprotocol/conformance`) starts an HTTP server for a scenario, appends
its URL to the command, names the scenario in MCP_CONFORMANCE_SCENARIO, and judges what it saw.
Every scenario for clients comes down to this: shake hands, list the tools, call each, answer
questions with the defaults that they propose. Exit code 1 if the server or a tool failed.
"""

import asyncio
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # run as a script, from whatever directory

from config.servers import ServerSpec  # noqa: E402 - needs the path above
from core.dispatch.hooks import DispatcherHooks  # noqa: E402 - as above
from core.mcp.form import read_form  # noqa: E402 - as above
from core.mcp.hooks import Question, Reply  # noqa: E402 - as above
from core.session import MultiMCP  # noqa: E402 - as above
from core.values import JsonObject  # noqa: E402 - as above

SECONDS = 25.0
"""Less than the half minute that the suite allows."""

ARGUMENTS: dict[str, JsonObject] = {"add_numbers": {"a": 5, "b": 3}}
"""What to call a tool with; the suite's other tools take nothing."""


async def accept_defaults(question: Question) -> Reply:
    """Answer as a user who agrees with everything that is filled in already (SEP-1034)."""
    fields = read_form(question.fields)
    return Reply("accept", {f.name: f.default for f in fields if f.default is not None})


async def run(url: str) -> int:
    """Do what a scenario wants; the exit code."""
    spec = ServerSpec("suite", (), ROOT, url=url, origin="on the command line")
    failed = False
    async with (
        asyncio.timeout(SECONDS),
        MultiMCP([spec], hooks=DispatcherHooks(ask=accept_defaults)) as multi,
    ):
        await multi.initialize()
        for tool in multi.get_all_tools():
            result = await multi.call_tool(tool.qualified_name, ARGUMENTS.get(tool.name, {}))
            failed = failed or result.is_error
            sys.stdout.write(f"{tool.name}: {result.text}\n")
        for error in multi.failures.values():
            sys.stderr.write(f"{error}\n")
        return int(failed or bool(multi.failures))


if __name__ == "__main__":
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "(none)")
    sys.stdout.write(f"scenario {scenario}\n")
    sys.exit(asyncio.run(run(sys.argv[1])))
