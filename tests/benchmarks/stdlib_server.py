"""An MCP server on the standard library: up in 30 ms, so that a figure is the client's.

`python stdlib_server.py [TOOLS]` lists `text(megabytes)`, whose result is text of that size, and
TOOLS more with schemas of an ordinary length. It answers one request at a time.
"""

import json
import sys
from typing import Any

END_OF_TEXT = "the end of the text"
TEXT_LINE = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n"
MEGABYTE = 1_000_000


def long_text(megabytes: int) -> str:
    """ASCII text of that size in lines of 64 bytes; its end can be recognised."""
    size = megabytes * MEGABYTE
    return (TEXT_LINE * (size // len(TEXT_LINE) + 1))[: size - len(END_OF_TEXT)] + END_OF_TEXT


def text_tool() -> dict[str, Any]:
    """The tool with the long result."""
    return {
        "name": "text",
        "description": "Text of so many megabytes.",
        "inputSchema": {
            "type": "object",
            "properties": {"megabytes": {"type": "integer"}},
            "required": ["megabytes"],
        },
    }


def ordinary_tool(number: int) -> dict[str, Any]:
    """A tool as servers in the wild describe theirs: seven parameters, some 1,300 characters."""
    properties: dict[str, Any] = {
        f"parameter_{index}": {
            "type": ("string", "integer", "boolean")[index % 3],
            "description": f"What parameter {index} of tool {number} decides, in a sentence.",
        }
        for index in range(6)
    }
    properties["order"] = {
        "type": "string",
        "enum": ["newest first", "oldest first"],
        "default": "newest first",
        "description": "In which order the records come.",
    }
    return {
        "name": f"tool_{number}",
        "description": f"Looks up records of kind {number}, filters them, and gives them page by "
        "page. Use it when the request names such a record; it changes nothing.",
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["parameter_0", "parameter_1"],
        },
        "annotations": {"readOnlyHint": True},
    }


def serve(tools: list[dict[str, Any]]) -> None:
    """Serve until stdin closes; a result is made once for each size."""
    texts: dict[int, bytes] = {}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        identity = json.dumps(message["id"]).encode()
        if message["method"] == "tools/call":
            size = message["params"]["arguments"]["megabytes"]
            if size not in texts:
                content = [{"type": "text", "text": long_text(size)}]
                texts[size] = json.dumps({"content": content}).encode()
            _reply(identity, texts[size])
        elif message["method"] == "initialize":
            _reply(identity, json.dumps(_greeting(message)).encode())
        elif message["method"] == "tools/list":
            _reply(identity, json.dumps({"tools": tools}).encode())
        else:
            error = b'{"code":-32601,"message":"no such method"}'
            _write(b'{"jsonrpc":"2.0","id":' + identity + b',"error":' + error + b"}\n")


def _greeting(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": request["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "stdlib", "version": "1"},
    }


def _reply(identity: bytes, result: bytes) -> None:
    _write(b'{"jsonrpc":"2.0","id":' + identity + b',"result":' + result + b"}\n")


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    more = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    serve([text_tool(), *(ordinary_tool(number) for number in range(more))])
