"""What the documents server lists, as the text of `servers/tool_lists.json`.

The file ships with the program, so that no server has to start before it is needed, not even the
first time. After a change of tools: `python -m servers.tool_list > servers/tool_lists.json`.
"""

import asyncio
import json
import sys
from collections.abc import Sequence


async def tool_lists() -> dict[str, list[dict[str, object]]]:
    """The tools by server id; imports the MCP SDK, opens no document."""
    from servers.documents_server import server_at
    from servers.rag.desk import Desk, Library

    def never() -> Library:
        raise RuntimeError("nothing is opened to list tools")

    listed = await server_at(Desk(never, ())).list_tools()
    tools: Sequence[dict[str, object]] = [
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
    return {"documents": list(tools)}


def main() -> None:
    """Write the file's text to stdout."""
    text = json.dumps(asyncio.run(tool_lists()), indent=1, ensure_ascii=False)
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
