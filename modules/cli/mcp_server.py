"""`mcp-server`: the agent as an MCP server over stdin and stdout, for MCP clients to start."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.errors import ExitCode, UsageError
from modules.cli.parser import (
    add_approve_option,
    add_instructions_option,
    command_parser,
    read_words,
)
from modules.cli.surroundings import Options, Surroundings
from modules.planning.guidance.guide import Guide
from modules.trace.telemetry import closing

_HELP: Final = """\
Be an MCP server: programs such as Claude Desktop and VS Code start this, and ask the agent. It
speaks MCP, one JSON-RPC message a line, on stdin and stdout, and ends when stdin closes. Tools:
ask, list_sessions, read_session, search_documents; with service.gateway in the profile also those
of all servers. Questions and requests for leave go to the person in front of the client, if it
can ask (elicitation); else nobody is there. An entry for each client is in docs/mcp.md.

examples:
  agent.py mcp-server
  agent.py mcp-server --profile work.yaml --approve files.write_file
  npx @modelcontextprotocol/inspector agent.py mcp-server"""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `mcp-server`; raises as `read_words`."""
    parser = command_parser(program, "mcp-server", _HELP)
    parser.add_argument("--model", metavar="NAME", help="as for a request")
    add_approve_option(parser)
    add_instructions_option(parser)
    parser.set_defaults(run=serve)
    return read_words(parser, words)


def serve(around: Surroundings) -> ExitCode:
    """Serve the client; what is wrong with the configuration is told before.

    Raises:
        UsageError: stdin is a terminal, where no client is.
        SettingsError: the profile or a file of servers can't be used.
    """
    if sys.stdin.isatty():
        raise UsageError(
            "this is started by an MCP client, which writes to its stdin; to try it by hand: "
            "npx @modelcontextprotocol/inspector agent.py mcp-server"
        )
    around.tell_notes(to_users=True)
    return around.run(_serve(around))


async def _serve(around: Surroundings) -> ExitCode:
    # late: the MCP SDK takes 0.7 s, and the completion of command lines reads all commands
    from modules.service.mcp_door.stdio import AgentSetting, serve_agent

    options, places = around.options, around.places
    setting = AgentSetting(
        places,
        places,
        around.profile,
        around.profile_file,
        around.environ,
        around.redactor,
        model=options.model,
        mcp_files=options.mcp_config,
        approve=options.approve,
        guide=None if options.no_instructions else Guide(places.home, Path.cwd()),
        allow_tool_changes=options.allow_tool_changes,
        telemetry=around.telemetry(),
        is_server=True,
    )
    await closing(setting.telemetry, serve_agent(setting))
    return ExitCode.ANSWERED
