"""`acp`: the agent for an editor that speaks the Agent Client Protocol, over stdin and stdout."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.errors import ExitCode
from modules.cli.parser import (
    add_approve_option,
    add_instructions_option,
    command_parser,
    read_words,
)
from modules.cli.surroundings import Options, Surroundings
from modules.service.acp.door import AcpDoor, Editor, Sessions
from modules.service.acp.stdio import OwnStdio
from modules.service.own_stdio import take_stdio
from modules.trace.telemetry import Telemetry

_HELP: Final = """\
Answer an editor (Zed, a JetBrains IDE, Neovim) over the Agent Client Protocol: one JSON-RPC message
a line, on stdin and stdout. The editor starts this and ends it; docs/acp.md has what to put into
its settings. Sessions are those of the terminal: agent.py sessions list.

examples:
  agent.py acp
  agent.py acp --model claude --approve files.write_file"""

_BY_HAND: Final = """\
This speaks the Agent Client Protocol with an editor, one JSON-RPC message a line; Ctrl-D ends it.
How an editor starts it: docs/acp.md. At a terminal you want agent.py alone."""


def parse(words: Sequence[str], program: str = "agent.py") -> Options:
    """Read the words behind `acp`; raises as `read_words`."""
    parser = command_parser(program, "acp", _HELP)
    parser.add_argument(
        "--model", metavar="NAME", help="as for requests; the editor's user may pick another"
    )
    add_approve_option(parser)
    add_instructions_option(parser)
    parser.set_defaults(run=serve)
    return read_words(parser, words)


async def serve(around: Surroundings) -> ExitCode:
    """Answer until the editor closes our stdin."""
    if sys.stdin.isatty():
        around.complaints.say("acp", _BY_HAND)
    opened: list[Telemetry] = []

    def open_(editor: Editor) -> Sessions:
        return _sessions(around, editor, opened)

    try:
        await AcpDoor(OwnStdio(*take_stdio()), open_, around.redactor).serve()
    finally:
        for telemetry in opened:
            await telemetry.close()
    return ExitCode.ANSWERED


def _sessions(around: Surroundings, editor: Editor, opened: list[Telemetry]) -> Sessions:
    """What answers requests; what has to be closed in the end is added to `opened`.

    Raises:
        SettingsError: the profile can't be used.
    """
    # late: 0.6 s, for which `initialize` does not wait
    from modules.service.acp.sessions import AcpSessions, AgentSetting

    options, telemetry = around.options, around.telemetry()
    opened += [] if telemetry is None else [telemetry]
    setting = AgentSetting(
        places=around.places,
        shared=around.places,
        profile=around.profile,
        profile_file=around.profile_file,
        environ=around.environ,
        redactor=around.redactor,
        model=options.model,
        mcp_files=[Path(file).absolute() for file in options.mcp_config],
        approve=options.approve,
        telemetry=telemetry,
    )
    return AcpSessions(setting, editor, has_guide=not options.no_instructions)
