"""Command lines that begin with `mcp` or `call`, read into commands. Light: imports no engine."""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, assert_never

from config.servers import CALL_TIMEOUT_SECONDS
from modules.arguments import (
    END_OF_OPTIONS,
    EXIT_CODES_HELP,
    add_loudness_options,
    add_source_options,
)
from modules.commands.command import (
    AddServer,
    CallTool,
    CheckServer,
    Command,
    ListServers,
    ListTools,
    Options,
    RemoveServer,
    ShowLog,
    ShowStatus,
)
from modules.commands.help import ACTION_HELP, CALL_HELP, MCP_HELP, Action

LOG_LINES_SHOWN = 20
"""How much of a log `mcp logs` shows unless told otherwise."""

LOG_LINES_MAX = 100_000
TIMEOUT_SECONDS_MAX = 24 * 60 * 60.0
"""As in the profile: no wait is longer than a day."""


def parse_command(argv: Sequence[str], program: str = "agent.py") -> Command:
    """Parse `argv`, whose first word is `mcp` or `call`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    return _parse_call(argv, program) if argv[0] == "call" else _parse_mcp(argv, program)


class _Parser(argparse.ArgumentParser):
    """Says how a request is told from a command, and where help is."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; `prog` is the program, the command, and for `mcp` its action."""
        program, command, *_ = self.prog.split()
        super().error(
            f"{message}\nhelp: {self.prog} --help; "
            f"a request that begins with this word goes behind --: {program} -- {command} …"
        )


def _parser(prog: str, description: str) -> _Parser:
    return _Parser(
        prog=prog,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _parse_mcp(argv: Sequence[str], program: str) -> Command:
    # Behind -- stands a program of somebody else, with options of its own.
    end = argv.index(END_OF_OPTIONS) if END_OF_OPTIONS in argv else len(argv)
    command = tuple(argv[end + 1 :])
    parsers = _mcp_parsers(program)
    found, unknown = parsers["mcp"].parse_known_args(argv[1:end])
    action: Action = found.action
    parser = parsers[action]
    if unknown:
        parser.error(_not_understood(unknown, argv[1], action))
    if command and action != "add":
        parser.error(f"'{command[0]}' behind -- is not understood; only `mcp add` takes a command")
    options = _options(found)
    match action:
        case "list":
            return ListServers(options)
        case "tools":
            return ListTools(options, found.server)
        case "status":
            return ShowStatus(options)
        case "add":
            return _added(parser, found, options, command)
        case "remove":
            return RemoveServer(options, found.name)
        case "test":
            return CheckServer(options, found.name)
        case "logs":
            return ShowLog(options, found.name, found.lines, found.follow)
        case _:
            assert_never(action)


def _not_understood(words: Sequence[str], first: str, action: Action) -> str:
    """What is said of words that no action takes; `first` stands right behind `mcp`."""
    told = f"not understood: {' '.join(words)}"
    return f"{told}; options go behind the action: mcp {action} …" if first in words else told


def _mcp_parsers(program: str) -> dict[str, _Parser]:
    """The parser of `mcp`, and those of its actions by their names."""
    parser = _parser(f"{program} mcp", MCP_HELP.replace("agent.py", program))
    parser.epilog = EXIT_CODES_HELP
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    parsers = {"mcp": parser}
    fillers: dict[Action, Callable[[_Parser], None]] = {
        "list": _fill_nothing,
        "tools": _fill_tools,
        "status": _fill_nothing,
        "add": _fill_add,
        "remove": _fill_name,
        "test": _fill_name,
        "logs": _fill_logs,
    }
    for action, fill in fillers.items():
        summary, details = ACTION_HELP[action]
        parsers[action] = actions.add_parser(
            action,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.\n\n{details}".replace(
                "agent.py", program
            ),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        fill(parsers[action])
        _add_options(parsers[action])
    return parsers


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
    add_source_options(parser)
    add_loudness_options(parser, "show more")


def _options(found: argparse.Namespace) -> Options:
    return Options(
        profile=Path(found.profile) if found.profile is not None else None,
        mcp_config=tuple(map(Path, found.mcp_config)),
        allow_tool_changes=found.allow_tool_changes,
        json=found.json,
        verbose=found.verbose,
        quiet=found.quiet,
    )


def _fill_nothing(parser: _Parser) -> None:
    """The action takes no argument of its own."""


def _fill_name(parser: _Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server, as `mcp list` names it")


def _fill_tools(parser: _Parser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="only the tools of this one")


def _fill_logs(parser: _Parser) -> None:
    _fill_name(parser)
    parser.add_argument(
        "-n",
        "--lines",
        metavar="LINES",
        type=_line_count,
        default=LOG_LINES_SHOWN,
        help=f"how many lines ({LOG_LINES_SHOWN})",
    )
    parser.add_argument("--follow", action="store_true", help="show what comes, until Ctrl-C")


def _fill_add(parser: _Parser) -> None:
    parser.usage = "%(prog)s NAME [options] -- COMMAND...\n       %(prog)s NAME --url URL [options]"
    parser.add_argument("name", metavar="NAME", help="a letter, then letters, digits, - and _")
    parser.add_argument("--url", help="where a server answers over Streamable HTTP")
    parser.add_argument(
        "--header",
        metavar="'K: V'",
        action="append",
        type=_header,
        default=[],
        help="sent with every request to the URL; may be given again",
    )
    parser.add_argument(
        "--env",
        metavar="K=V",
        action="append",
        type=_variable,
        default=[],
        help="a variable for the command; may be given again",
    )
    parser.add_argument("--description", metavar="TEXT", default="", help="what it is for")
    # A command without its --. With no default, argparse would name it as missing.
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)


def _added(
    parser: _Parser, found: argparse.Namespace, options: Options, command: tuple[str, ...]
) -> AddServer:
    if found.words:
        words = " ".join(found.words)
        parser.error(f"the command goes behind --: {parser.prog} {found.name} -- {words}")
    if found.url is None and not command:
        parser.error("say what to start behind --, or where the server is with --url")
    if found.url is not None and command:
        parser.error("a server has a --url or a command behind --, not both")
    if found.url is None and found.header:
        parser.error("--header goes with --url; a command gets --env")
    if found.url is not None and found.env:
        parser.error("--env goes with a command; a URL gets --header")
    return AddServer(
        options,
        found.name,
        command,
        found.url,
        tuple(found.header),
        tuple(found.env),
        found.description,
    )


def _parse_call(argv: Sequence[str], program: str) -> CallTool:
    parser = _parser(f"{program} call", CALL_HELP.replace("agent.py", program))
    parser.epilog = EXIT_CODES_HELP
    parser.add_argument("tool", metavar="TOOL", help="a tool's name, or server.tool")
    parser.add_argument(
        "pairs", metavar="key=value", nargs="*", default=[], help="arguments of the tool"
    )
    parser.add_argument(
        "--input", metavar="JSON", help="all arguments as one JSON object; - reads it from stdin"
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write images, sounds and other data here"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        help=f"how long the call may take (as configured, else {CALL_TIMEOUT_SECONDS:g})",
    )
    _add_options(parser)
    found = parser.parse_intermixed_args(list(argv[1:]))
    if found.input is not None and found.pairs:
        parser.error("arguments come from --input or as key=value pairs, not both")
    if (odd := next((pair for pair in found.pairs if "=" not in pair), None)) is not None:
        parser.error(f"'{odd}' is not of the form key=value")
    return CallTool(
        _options(found), found.tool, tuple(found.pairs), found.input, found.output, found.timeout
    )


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("a header is 'Name: value'")
    return name.strip(), value.strip()


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("a variable is NAME=value")
    return name, value


def _line_count(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(LOG_LINES_MAX)) or int(text) > LOG_LINES_MAX:
        raise argparse.ArgumentTypeError(f"a number of lines from 0 to {LOG_LINES_MAX:,}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise argparse.ArgumentTypeError(
            f"a number of seconds, above 0 and at most {TIMEOUT_SECONDS_MAX:g}"
        )
    return seconds
