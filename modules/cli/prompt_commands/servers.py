"""Commands about servers, their tools, and documents."""

from collections.abc import Iterable
from typing import Final

from core.base.text import counted
from core.errors import ExitCode
from modules.cli.command_line import ACTIONS
from modules.cli.mcp_servers import status_text, tool_line
from modules.cli.prompt_commands.command import AtPrompt, PromptCommand
from modules.terminal.input.candidates import Candidate
from modules.terminal.tables import table_for


async def _mcp(at: AtPrompt, words: str) -> ExitCode:
    """Each server and how it is; starts none."""
    statuses = at.dispatcher.status()
    table = f"\n{status_text(statuses, table_for)}" if statuses else ""
    is_any_down = any(status.state == "down" for status in statuses)
    hint = "; one that is down starts when it is needed" if is_any_down else ""
    off = ", ".join(spec.id for spec in at.setting.servers.disabled)
    told = f"\nswitched off: {off}; agent.py mcp enable NAME switches one on" if off else ""
    at.say("mcp", f"{counted(len(statuses), 'server')}{hint}{table}{told}")
    return ExitCode.ANSWERED


async def _tools(at: AtPrompt, words: str) -> ExitCode:
    """Each tool as the planner sees it; starts the servers whose tools are not known."""
    await at.dispatcher.initialize()
    catalog = at.dispatcher.catalog
    lines = [tool_line(tool, catalog) for tool in catalog]
    at.say("mcp", "\n".join([counted(len(lines), "tool"), *lines]))
    return ExitCode.ANSWERED


async def _docs(at: AtPrompt, words: str) -> ExitCode:
    """What the words say, done by the documents' own program."""
    with at.during("docs", "your documents"):
        return await at.documents.run(words)


def _docs_actions(at: AtPrompt, text: str) -> Iterable[Candidate]:
    if " " not in text.lstrip():
        yield from (Candidate(action) for action in ACTIONS["docs"] if action != "watch")


SERVER_COMMANDS: Final = (
    PromptCommand("mcp", "Servers and documents", "the servers, and how each is", _mcp),
    PromptCommand("tools", "Servers and documents", "the tools, as a planner sees them", _tools),
    PromptCommand(
        "docs",
        "Servers and documents",
        "your documents: add, list, search, remove",
        _docs,
        "[ACTION …]",
        "As `agent.py docs`: add PATH, list, status, search WORDS, reindex, remove FILE.",
        _docs_actions,
    ),
)
