"""Ours: the dispatcher, as the agent uses it."""

import asyncio
from pathlib import Path
from typing import cast

from config.servers import ServerSpec
from core.session import MultiMCP
from core.values import JsonObject
from tests.benchmarks.drivers.turns import Target, take_turns

RESULT_BYTES_MAX = 64 * 1024 * 1024
"""Results of 50 MB are measured too; by default they would be cut at 16 MiB."""


def spec_of(target: Target, name: str = "bench") -> ServerSpec:
    """The server as the configuration would name it."""
    return ServerSpec(
        name,
        tuple(target.command),
        Path(target.cwd),
        url=target.url or None,
        result_bytes=RESULT_BYTES_MAX,
    )


async def main() -> None:
    """Hold one session and call its tools."""
    async with MultiMCP([spec_of(Target.from_command_line())]) as multi:
        await multi.initialize()
        if multi.failures:
            raise multi.failures["bench"]

        async def call(tool: str, arguments: dict[str, object]) -> object:
            return await multi.call_tool(tool, cast("JsonObject", arguments))

        await take_turns(call)


if __name__ == "__main__":
    asyncio.run(main())
