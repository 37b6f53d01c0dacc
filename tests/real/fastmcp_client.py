"""What fastmcp's client makes of a server: `fastmcp_client.py TARGET REQUEST`, in its own Python.

TARGET is a URL, or JSON with the command, args and env of a program. Prints JSON: the names of the
tools, what was told and asked while the request was worked on, and its result.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(target: str, request: str) -> None:
    told, asked = [], []

    async def hear(progress, total, message):
        told.append(message)

    async def answer(message, response_type, params, context):
        asked.append(message)
        return {"answer": "blue"}

    if target.startswith("{"):
        target = StdioTransport(**json.loads(target))
    async with Client(target, progress_handler=hear, elicitation_handler=answer) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("ask", {"request": request}, raise_on_error=False)
    found = {
        "tools": tools,
        "told": told,
        "asked": asked,
        "is_error": result.is_error,
        "text": result.content[0].text,
        "structured": result.structured_content,
    }
    print(json.dumps(found))  # noqa: T201 - whoever runs this reads it


asyncio.run(main(*sys.argv[1:]))
