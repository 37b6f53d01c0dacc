"""What the parsers of all commands share: messages, options, and how options are read. Light."""

import argparse
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, TypeAlias, TypeVar

from config.servers import MAX_SECONDS
from modules.cli.arguments import (
    EXIT_CODES_HELP,
    OptionsParser,
    add_loudness_options,
    add_source_options,
)
from modules.cli.command import Options


class CommandParser(OptionsParser):
    """Says how a request is told from a command, and where help is."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; `prog` is the program, the command, and for `mcp` its action."""
        program, command, *_ = self.prog.split()
        super().error(
            f"{message}\nhelp: {self.prog} --help; "
            f"a request that begins with this word goes behind --: {program} -- {command} …"
        )


def command_parser(prog: str, description: str, epilog: str | None = None) -> CommandParser:
    """A parser whose help is printed as it is written."""
    return CommandParser(
        prog=prog,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


AddArguments: TypeAlias = Callable[[CommandParser], None]
"""Adds the arguments that one action has for itself."""

ActionT = TypeVar("ActionT", bound=str)


def parsers_of_actions(
    prog: str,
    description: str,
    actions: Mapping[ActionT, tuple[str, str]],
    arguments: Mapping[ActionT, AddArguments],
) -> tuple[CommandParser, Mapping[ActionT, CommandParser]]:
    """The parser of a command, whose first argument is its `action`, and those of its actions.

    `prog` is the program and the command. `actions` are their helps: a summary, and the rest.
    Each takes the `arguments` that are named for it, and the options of every command. In all
    texts the program's name stands for `agent.py`.
    """
    program = prog.partition(" ")[0]
    whole = command_parser(prog, description.replace("agent.py", program), EXIT_CODES_HELP)
    words = whole.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=CommandParser
    )
    parsers: dict[ActionT, CommandParser] = {}
    for action, (summary, details) in actions.items():
        told = f"{summary[0].upper()}{summary[1:]}.\n\n{details}"
        parsers[action] = parser = words.add_parser(
            action,
            help=summary,
            description=told.replace("agent.py", program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if action in arguments:
            arguments[action](parser)
        add_options(parser)
    return whole, parsers


def add_options(parser: CommandParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
    add_source_options(parser)
    add_loudness_options(parser, "show more")


def read_options(found: argparse.Namespace) -> Options:
    """What was said with them."""
    return Options(
        profile=Path(found.profile) if found.profile is not None else None,
        mcp_config=tuple(map(Path, found.mcp_config)),
        allow_tool_changes=found.allow_tool_changes,
        json=found.json,
        verbose=found.verbose,
        quiet=found.quiet,
    )


def seconds(text: str) -> float:
    """How long something may take.

    Raises:
        ArgumentTypeError: it is no number of seconds, or too many.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds above 0 and at most {MAX_SECONDS:g}"
        )
    return found
