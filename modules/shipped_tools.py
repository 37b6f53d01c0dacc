"""The tool lists that ship with the program, for servers of our own that are slow to start.

They stand in where nothing is cached yet, so that the first request of a fresh installation starts
no server but those that it needs. What a server lists itself counts from then on.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from config.servers import ServerSpec
from core.dispatch.tool_cache import ToolCache
from core.tool_spec import ToolSpec

if TYPE_CHECKING:
    from core.values import JsonObject

LISTS = Path(__file__).resolve().parent.parent / "servers" / "tool_lists.json"


class _Listed(TypedDict):
    name: str
    description: str
    input_schema: "JsonObject"
    output_schema: "JsonObject | None"
    read_only: bool
    idempotent: bool


class ShippedToolCache(ToolCache):
    """A tool cache that knows the shipped lists as well."""

    def load(self, spec: ServerSpec) -> list[ToolSpec] | None:
        """What the server listed last, else what ships for it."""
        return super().load(spec) or shipped_tools(spec)


def shipped_tools(spec: ServerSpec, lists: Path = LISTS) -> list[ToolSpec] | None:
    """The shipped list of a server of our own; None where there is none, or it can't be read.

    The file is ours, and a test compares it with what the servers list.
    """
    if not spec.bundled:
        return None
    try:
        by_server = cast("dict[str, list[_Listed]]", json.loads(lists.read_bytes()))
    except (OSError, ValueError):
        return None
    name = Path(spec.command[1]).stem.removesuffix("_server") if len(spec.command) > 1 else ""
    tools = by_server.get(name)
    if tools is None:
        return None
    return [
        ToolSpec(
            spec.id,
            tool["name"],
            tool["description"],
            tool["input_schema"],
            tool["output_schema"],
            read_only=tool["read_only"],
            says_effects=True,
            idempotent=tool["idempotent"],
        )
        for tool in tools
    ]
