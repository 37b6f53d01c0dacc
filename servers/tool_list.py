"""What the documents, websearch and memory servers list, as text of `servers/tool_lists.json`.

The file ships with the program, so that no server has to start before it is needed, not even the
first time. After a change of tools: `python -m servers.tool_list > servers/tool_lists.json`.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mcp_types import Tool

from core.base.memory.facts import FactStore
from core.base.redaction import Redactor
from servers import documents_tools, memory_tools, websearch_tools
from servers.memory.options import MemoryOptions
from servers.rag.library.async_library import AsyncLibrary
from servers.web.client import WebClient
from servers.web.options import WebOptions


async def tool_lists() -> dict[str, list[dict[str, object]]]:
    """The tools by server id; opens no document or connection."""

    def never() -> NoReturn:
        raise RuntimeError("nothing is opened to list tools")

    web = WebClient(WebOptions(), {})
    documents = documents_tools.server_at(AsyncLibrary(never, ()), web)
    websearch = websearch_tools.server_at(web)
    nowhere = Path("/nonexistent")
    tools = memory_tools.MemoryTools(
        MemoryOptions(folder=nowhere), FactStore(nowhere, Redactor({})), never
    )
    memory = memory_tools.server_at(tools)
    return {
        "documents": _entries(await documents.list_tools()),
        "websearch": _entries(await websearch.list_tools()),
        "memory": _entries(await memory.list_tools()),
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
