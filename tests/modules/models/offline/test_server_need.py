"""Which servers a request waits for, of those whose tools nobody knows yet."""

from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.known_tools import shipped_tools
from core.tools.catalog import ToolCatalog
from modules.models.offline.planner import servers_to_ask

HERE = Path()
CLOCK = ServerSpec("time", ("uvx", "mcp-server-time"), HERE)
ISSUES = ServerSpec("gh", ("npx", "-y", "@modelcontextprotocol/server-github"), HERE)
HANGING = ServerSpec("hang", ("python3", "hang.py"), HERE, description="never answers")
EVERYONE = [CLOCK, ISSUES, HANGING]
ALL = [spec.id for spec in EVERYONE]


def shipped() -> ToolCatalog:
    """The tools of our own servers."""
    bundled = (
        ServerSpec(name, ("python", f"servers/{name}_server.py"), HERE, bundled=True)
        for name in ("math", "documents", "websearch")
    )
    return ToolCatalog(tool for spec in bundled for tool in shipped_tools(spec) or ())


@pytest.mark.parametrize(
    ("request_text", "asked"),
    [
        ("3+4", []),
        ("factorial of 5 divided by factorial of 3", []),
        ("what time is it in Tokyo?", ["time"]),
        ("list my GitHub repositories", ["gh"]),
        ("why does it hang?", ["hang"]),
        ("run this python server", ALL),
        ("write a haiku", ALL),
        ("what is the capital of France?", ALL),
    ],
)
def test_a_request_waits_for_servers_that_may_be_meant_or_that_alone_could_help(
    request_text: str, asked: list[str]
) -> None:
    assert servers_to_ask(request_text, EVERYONE, shipped(), ()) == asked
