"""An MCP server whose messages are small in bytes for what they cost: `python dense_server.py`.

Its tool `send(kind)` answers with one, or sends it as a log notification before a short answer. On
the standard library, like `stdlib_server`, whose handshake it speaks.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

MEGABYTE = 1_000_000
SENT = "sent"
"""What the answer after a notification says."""

TOOL = {
    "name": "send",
    "description": "Sends a message of a kind.",
    "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}},
}


def keys(count: int) -> bytes:
    """An object of so many keys."""
    return b"{" + b",".join(b'"%d":0' % number for number in range(count)) + b"}"


def numbers(count: int, number: bytes) -> bytes:
    """An object that holds a list of one number again and again."""
    return b'{"a":[' + b",".join([number] * count) + b"]}"


def text(piece: bytes, megabytes: int) -> bytes:
    """An object that holds one text."""
    return b'{"a":"' + piece * (megabytes * MEGABYTE // len(piece)) + b'"}'


def records(count: int) -> bytes:
    """An object that holds a table as servers give them, each record with five columns."""
    rows = [
        {"id": n, "name": f"record {n}", "price": n / 7, "tags": ["a", "b"]} for n in range(count)
    ]
    return json.dumps({"rows": rows}).encode()


KINDS: dict[str, Callable[[], bytes]] = {
    "4,500,000 keys": lambda: keys(4_500_000),
    "14,000 integers of 4,200 digits": lambda: numbers(14_000, b"7" * 4_200),
    "15,000,000 decimals": lambda: numbers(15_000_000, b"0.5"),
    "60 MB of bytes that are no UTF-8": lambda: text(b"\xff", 60),
    "60 MB of escaped characters": lambda: text(b"\\u6f22", 60),
    "60 MB of spaces": lambda: b'{"a":' + b" " * 60 * MEGABYTE + b"0}",
    "95,000 keys": lambda: keys(95_000),
    "66,000 objects": lambda: numbers(66_000, b'{"a":0}'),
    "40,000 objects of lists": lambda: numbers(40_000, b'{"a":[0]}'),
    "190,000 decimals": lambda: numbers(190_000, b"0.1234567890123456"),
    "230 integers of 4,200 digits": lambda: numbers(230, b"7" * 4_200),
    "a table of 14,000 records": lambda: records(14_000),
    "16 MB of text": lambda: text(b'0123456789 lines of text, \\"quoted\\".\\n', 16),
}
"""What a result, or the data of a log notification, is made of, by name."""

LOGGED = "log: "
"""How a kind begins that is sent as a notification."""

FLOOD = "log, 100 times: "
"""How one begins that is sent as a hundred of them."""


def serve() -> None:
    """Serve until stdin closes."""
    made: dict[str, bytes] = {}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        identity = json.dumps(message["id"]).encode()
        if message["method"] == "tools/call":
            kind = message["params"]["arguments"]["kind"]
            name = kind.removeprefix(LOGGED).removeprefix(FLOOD)
            if name not in made:
                made[name] = KINDS[name]()
            if name == kind:
                _reply(identity, b'{"content":[],"structuredContent":' + made[name] + b"}")
                continue
            for _ in range(100 if kind.startswith(FLOOD) else 1):
                params = b'{"level":"info","data":' + made[name] + b"}"
                _write(
                    b'{"jsonrpc":"2.0","method":"notifications/message","params":' + params + b"}"
                )
            content = [{"type": "text", "text": SENT}]
            _reply(identity, json.dumps({"content": content}).encode())
        elif message["method"] == "initialize":
            _reply(identity, json.dumps(_greeting(message)).encode())
        else:
            _reply(identity, json.dumps({"tools": [TOOL]}).encode())


def _greeting(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": request["params"]["protocolVersion"],
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "dense", "version": "1"},
    }


def _reply(identity: bytes, result: bytes) -> None:
    _write(b'{"jsonrpc":"2.0","id":' + identity + b',"result":' + result + b"}")


def _write(message: bytes) -> None:
    sys.stdout.buffer.write(message + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
