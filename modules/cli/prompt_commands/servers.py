"""Commands about servers, their tools, and documents."""

import asyncio
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from config.servers import ServerSpec
from core.base.text import counted, did_you_mean, near_names
from core.errors import ExitCode, UsageError
from modules.cli.command_line import ACTIONS
from modules.cli.docs import manage_at_prompt
from modules.cli.mcp import LOG_LINES_SHOWN, disable, enable
from modules.cli.mcp_list import NOTHING_CONFIGURED, server_table, show_log
from modules.cli.mcp_servers import status_text, tool_line, tools_text
from modules.cli.prompt_commands.command import (
    Ask,
    AtPrompt,
    Handler,
    prompt_command,
)
from modules.cli.surroundings import Options, Surroundings
from modules.cli.switching import look_at_server_files
from modules.terminal.input.candidates import Candidate
from modules.terminal.tables import table_for

AsTyped: TypeAlias = Callable[[Surroundings], ExitCode]
"""What `agent.py mcp ACTION` does with what was typed."""


def _mcp_words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    action, gap, rest = text.lstrip().partition(" ")
    if not gap:
        yield from map(Candidate, _MCP_ACTIONS)
    elif action in _MCP_ACTIONS and action not in ("list", "status") and " " not in rest.lstrip():
        servers = at.setting.servers
        offered = {"enable": servers.everyone, "logs": servers.everyone}
        for spec in offered.get(action, servers.specs):
            yield Candidate(spec.id, spec.description)


@prompt_command(
    "mcp",
    "Servers and documents",
    "the servers and how each is; restart, logs, enable, disable, tools",
    "[ACTION [NAME]]",
    "Without an action, how each is now; none is started. list: the entries; status: all "
    "started and asked; restart NAME: its session ended, and another one begun; logs NAME: "
    "the end of its log; disable NAME, enable NAME: as `agent.py mcp`, at once; tools [NAME]: "
    "its tools. What others add to mcp.json or take out of it is seen at the next line.",
    _mcp_words,
)
async def _mcp(at: AtPrompt, words: str) -> ExitCode | Ask | None:
    """Each server and how it is; starts none. With words, what these say.

    Raises:
        UsageError: no such action, or no such server.
    """
    action, _, rest = words.partition(" ")
    if action:
        run = _MCP_ACTIONS.get(action)
        if run is None:
            meant = did_you_mean(near_names(action, _MCP_ACTIONS), ", ".join(_MCP_ACTIONS))
            raise UsageError(f"/mcp has no action {action!r}; {meant}")
        return await run(at, rest.strip())
    statuses = at.dispatcher.status()
    is_any_down = any(status.state in ("down", "not started") for status in statuses)
    hint = "; one that does not run starts when it is needed" if is_any_down else ""
    off = ", ".join(spec.id for spec in at.setting.servers.disabled)
    told = f"\nswitched off: {off}; /mcp enable NAME switches one on" if off else ""
    number = counted(len(statuses), "server") if statuses or off else NOTHING_CONFIGURED
    at.say("mcp", f"{number}{hint}{_status_table(at)}{told}")
    return ExitCode.ANSWERED


def _status_table(at: AtPrompt) -> str:
    statuses = at.dispatcher.status()
    return f"\n{status_text(statuses, table_for)}" if statuses else ""


async def _list(at: AtPrompt, words: str) -> None:
    """Every configured server, with nothing started."""
    rows, problems = await asyncio.to_thread(server_table, _around(at))
    told = f"{counted(len(rows) - 1, 'server')}\n{table_for(rows)}"
    at.say("mcp", "\n".join([told if rows[1:] else NOTHING_CONFIGURED, *problems]))


async def _status(at: AtPrompt, words: str) -> ExitCode:
    """Start every server, and say how each fares."""
    names = [spec.id for spec in at.dispatcher.specs]
    with at.during("mcp", "all servers to answer"):
        pings = (at.dispatcher.ping(name) for name in names)
        await asyncio.gather(*pings, return_exceptions=True)  # the table tells why one failed
    is_failed = any(status.state == "failed" for status in at.dispatcher.status())
    at.say("mcp", f"{counted(len(names), 'server')}{_status_table(at)}")
    return ExitCode.WORLD_FAILED if is_failed else ExitCode.ANSWERED


async def _restart(at: AtPrompt, words: str) -> None:
    """End a server's session, and begin another.

    Raises:
        UsageError: no such server, or it is switched off.
        ServerError: it did not start.
    """
    name = _running(at, words).id
    await at.dispatcher.restart(name)
    at.say("mcp", f"'{name}' was started anew: {_tools_of(at, name)}")


async def _logs(at: AtPrompt, words: str) -> None:
    """The end of what a server wrote to stderr."""
    name = _found(at, words).id
    at.say("mcp", await _as_typed(at, show_log, name=name, lines=LOG_LINES_SHOWN, follow=False))


async def _enable(at: AtPrompt, words: str) -> None:
    """Switch a server on, and bring it back now.

    Raises:
        UsageError, SettingsError: as `agent.py mcp enable`.
        ServerError: it did not start.
    """
    name = _found(at, words).id
    await _switch(at, enable, name)
    if name not in at.dispatcher.server_tools:
        await at.dispatcher.restart(name)
        at.say("mcp", f"'{name}' has started: {_tools_of(at, name)}")


async def _disable(at: AtPrompt, words: str) -> None:
    """Switch a server off: it ends, and its tools are gone.

    Raises:
        UsageError, SettingsError: as `agent.py mcp disable`.
    """
    name = _found(at, words).id
    await _switch(at, disable, name)


async def _switch(at: AtPrompt, run: AsTyped, name: str) -> None:
    told = await _as_typed(at, run, name=name)
    if at.setting.servers.is_current:
        at.say("mcp", told)  # else it is told what has changed
    await look_at_server_files(at)


async def _tools_by_server(at: AtPrompt, words: str) -> ExitCode:
    """The tools of one server, or server by server; starts those whose tools are not known."""
    names = [_running(at, words).id] if words else [spec.id for spec in at.dispatcher.specs]
    await at.dispatcher.initialize(names)
    known = {name: at.dispatcher.server_tools.get(name, []) for name in names}
    at.say("mcp", tools_text(known, at.dispatcher.catalog, whole=False))
    failed = [error for name in names if (error := at.dispatcher.failures.get(name))]
    return ExitCode.WORLD_FAILED if failed else ExitCode.ANSWERED


_MCP_ACTIONS: Final[Mapping[str, Handler]] = {
    "list": _list,
    "status": _status,
    "restart": _restart,
    "logs": _logs,
    "enable": _enable,
    "disable": _disable,
    "tools": _tools_by_server,
}


async def _as_typed(at: AtPrompt, run: AsTyped, **said: object) -> str:
    """What `agent.py mcp …` would print."""
    around = _around(at, **said)
    await asyncio.to_thread(run, around)
    around.stdout.seek(0)
    return around.stdout.read().rstrip("\n")


def _around(at: AtPrompt, **said: object) -> Surroundings:
    """What `agent.py mcp …` works in, with the configuration read anew; it prints to a text."""
    usual = {**vars(at.setting.arguments), "json": False, "verbose": False, "quiet": True}
    options, setting = Options(**{**usual, **said}), at.setting
    texts = io.StringIO()
    return Surroundings(options, setting.places, setting.complaints, at.environ, texts, None)


def _tools_of(at: AtPrompt, name: str) -> str:
    return counted(len(at.dispatcher.server_tools.get(name, [])), "tool")


def _found(at: AtPrompt, name: str) -> ServerSpec:
    """The configured server of that name, a switched-off one too.

    Raises:
        UsageError: there is none.
    """
    everyone = {spec.id: spec for spec in at.setting.servers.everyone}
    if not name:
        raise UsageError(f"say which server: {', '.join(everyone) or 'none is configured'}")
    if name not in everyone:
        meant = did_you_mean(near_names(name, everyone), "/mcp list shows all")
        raise UsageError(f"there is no server '{name}'; {meant}")
    return everyone[name]


def _running(at: AtPrompt, name: str) -> ServerSpec:
    """The same, unless it is switched off."""
    if (spec := _found(at, name)) in at.setting.servers.disabled:
        raise UsageError(f"'{name}' is switched off; /mcp enable {name} switches it on")
    return spec


@prompt_command("tools", "Servers and documents", "the tools, as a planner sees them")
async def _tools(at: AtPrompt, words: str) -> None:
    await at.dispatcher.initialize()
    catalog = at.dispatcher.catalog
    lines = [tool_line(tool, catalog) for tool in catalog]
    at.say("mcp", "\n".join([counted(len(lines), "tool"), *lines]))


def _docs_actions(at: AtPrompt, text: str) -> Iterable[Candidate]:
    if " " not in text.lstrip():
        yield from (Candidate(action) for action in ACTIONS["docs"] if action != "watch")


@prompt_command(
    "docs",
    "Servers and documents",
    "your documents: add, list, search, remove",
    "[ACTION …]",
    "As `agent.py docs`: add PATH, list, status, search WORDS, reindex, remove FILE.",
    _docs_actions,
)
async def _docs(at: AtPrompt, words: str) -> ExitCode:
    profile, places = at.setting.profile, at.setting.places
    with at.during("docs", "your documents"):
        return await manage_at_prompt(words, profile, places, at.environ, at.say)


SERVER_COMMANDS: Final = (_mcp, _tools, _docs)
