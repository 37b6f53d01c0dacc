"""Command lines that begin with `mcp`, read into commands. Light: imports no engine."""

import argparse
from collections.abc import Sequence
from typing import assert_never

from config.servers import FIRST_FETCH_SECONDS, START_TIMEOUT_SECONDS
from modules.cli.arguments import END_OF_OPTIONS
from modules.cli.command import (
    AddServer,
    CheckServer,
    Command,
    ListServers,
    ListTools,
    Options,
    RemoveServer,
    ShowLog,
    ShowStatus,
    SwitchServer,
)
from modules.cli.help import ACTION_HELP, MCP_HELP, Action
from modules.cli.parser_parts import (
    AddArguments,
    CommandParser,
    parsers_of_actions,
    read_options,
    seconds,
)

LOG_LINES_SHOWN = 20
"""How much of a log `mcp logs` shows unless told otherwise."""

LOG_LINES_MAX = 100_000


def parse_mcp(argv: Sequence[str], program: str) -> Command:
    """Parse `argv`, whose first word is `mcp`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    # Behind -- stands a program of somebody else, with options of its own.
    end = argv.index(END_OF_OPTIONS) if END_OF_OPTIONS in argv else len(argv)
    command = tuple(argv[end + 1 :])
    arguments: dict[Action, AddArguments] = {
        "tools": _add_server,
        "add": _add_entry,
        "remove": _add_name,
        "enable": _add_name,
        "disable": _add_name,
        "test": _add_name,
        "logs": _add_log,
    }
    whole, parsers = parsers_of_actions(f"{program} mcp", MCP_HELP, ACTION_HELP, arguments)
    found, unknown = whole.parse_known_args(argv[1:end])
    action: Action = found.action
    parser = parsers[action]
    if unknown:
        parser.refuse(unknown)
    if command and action != "add":
        parser.error(f"'{command[0]}' behind -- is not understood; only `mcp add` takes a command")
    return _command(action, parser, found, command)


def _command(
    action: Action, parser: CommandParser, found: argparse.Namespace, command: tuple[str, ...]
) -> Command:
    options = read_options(found)
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
        case "enable" | "disable":
            return SwitchServer(options, found.name, on=action == "enable")
        case "test":
            return CheckServer(options, found.name)
        case "logs":
            return ShowLog(options, found.name, found.lines, found.follow)
        case _:
            assert_never(action)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server, as `mcp list` names it")


def _add_server(parser: CommandParser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="only the tools of this one")


def _add_log(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument(
        "-n",
        "--lines",
        metavar="LINES",
        type=_line_count,
        default=LOG_LINES_SHOWN,
        help=f"how many lines ({LOG_LINES_SHOWN})",
    )
    parser.add_argument("--follow", action="store_true", help="show what comes, until Ctrl-C")


def _add_entry(parser: CommandParser) -> None:
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
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"how long its start may take ({START_TIMEOUT_SECONDS:g}; "
        f"{FIRST_FETCH_SECONDS:g} at first where npx, uvx or the like download it)",
    )
    # A command without its --. With no default, argparse would name it as missing.
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)


def _added(
    parser: CommandParser, found: argparse.Namespace, options: Options, command: tuple[str, ...]
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
        found.timeout,
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
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of lines from 0 to {LOG_LINES_MAX:,}"
        )
    return int(text)
