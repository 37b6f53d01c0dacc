"""What the documents and the websearch server list, as the text of `servers/tool_lists.json`.

The file ships with the program, so that no server has to start before it is needed, not even the
first time. After a change of tools: `python -m servers.tool_list > servers/tool_lists.json`.
"""

import asyncio
import json
import sys
from collections.abc import Sequence

from mcp_types import Tool

from servers import documents_tools, websearch_tools
from servers.rag.library.async_library import AsyncLibrary
from servers.rag.library.library_protocol import Library
from servers.web.client import WebClient
from servers.web.options import WebOptions


async def tool_lists() -> dict[str, list[dict[str, object]]]:
    """The tools by server id; opens no document or connection."""

    def never() -> Library:
        raise RuntimeError("nothing is opened to list tools")

    web = WebClient(WebOptions(), {})
    documents = documents_tools.server_at(AsyncLibrary(never, ()), web)
    websearch = websearch_tools.server_at(web)
    return {
        "documents": _entries(await documents.list_tools()),
        "websearch": _entries(await websearch.list_tools()),
    }


def _entries(listed: Sequence[Tool]) -> list[dict[str, object]]:
    return [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "read_only": tool.annotations is not None and tool.annotations.read_only_hint is True,
            "idempotent": tool.annotations is not None and tool.annotations.idempotent_hint is True,
        }
        for tool in listed
    ]


def main() -> None:
    """Write the file's text to stdout."""
    text = json.dumps(asyncio.run(tool_lists()), indent=1, ensure_ascii=False)
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
