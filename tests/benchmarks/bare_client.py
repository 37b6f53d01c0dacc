"""The yardstick: the INDIA request by hand, with the SDK's own client and nothing else."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent


async def main(server: str) -> None:
    """Make the two calls one after the other and print the result."""
    parameters = StdioServerParameters(command=sys.executable, args=[server])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        codes = await call(session, "strings_to_chars_to_int", {"string": "INDIA"})
        print(await call(session, "int_list_to_exponential_sum", {"numbers": codes}))  # noqa: T201 — it is a script


async def call(session: ClientSession, name: str, arguments: dict[str, object]) -> object:
    """One call; the value under `result`."""
    reply = await session.call_tool(name, {"input": arguments})
    first = reply.content[0]
    assert isinstance(first, TextContent)
    return json.loads(first.text)["result"]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
