"""The memory server as a process of its own, spoken to by our own client, over real files."""

import asyncio
import json
import sys
from pathlib import Path

from config.servers import ServerSpec
from core.base.memory.exchanges import DatedExchange
from core.session import MultiMCP
from core.values import Json
from tests.command_line import ROOT
from tests.core.base.memory.session_files import write_session

BOUND_SECONDS = 55


async def test_it_finds_the_past_and_keeps_facts_for_the_next_process(tmp_path: Path) -> None:
    lease = DatedExchange(1_700_000_000.0, "when does the lease end?", "It ends in May.", ("look",))
    write_session(tmp_path, "2023/11/14/session-1700000000-abcdef", [lease])
    environment = {"CORTEX_MEMORY": json.dumps({"folder": str(tmp_path), "embedder": "none"})}
    command = (sys.executable, str(ROOT / "servers" / "memory_server.py"))
    spec = ServerSpec(
        "memory", command, ROOT, environment, bundled=True, start_timeout_seconds=BOUND_SECONDS
    )

    async def told(*calls: tuple[str, dict[str, Json]]) -> list[str]:
        async with asyncio.timeout(BOUND_SECONDS), MultiMCP([spec]) as dispatcher:
            await dispatcher.initialize()
            return [
                (await dispatcher.call_tool(tool, {"input": arguments})).text
                for tool, arguments in calls
            ]

    found, kept = await told(
        ("search_memory", {"query": "end of the lease"}),
        ("remember", {"text": "Remember that I'm vegetarian."}),
    )
    assert "session 2023/11/14/session-1700000000-abcdef" in found
    assert "Answered: It ends in May." in found
    assert "I'm vegetarian" in kept
    recalled, forgotten = await told(("recall", {}), ("forget", {"fact": "vegetarian"}))
    assert "I'm vegetarian" in recalled
    assert "Forgotten" in forgotten
    assert (tmp_path / "index" / "index.sqlite3").stat().st_mode & 0o777 == 0o600
