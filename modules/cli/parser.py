"""What the parsers of all commands share: messages, options, and how options are read."""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from config.checking import MAX_SECONDS
from modules.cli.arguments import (
    EXIT_CODES_HELP,
    OptionsParser,
    add_loudness_options,
    add_source_options,
)
from modules.cli.surroundings import Run


class CommandParser(OptionsParser):
    """Says how a request is told from a command, and where help is."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; `prog` is the program, the command, and for some its action."""
        program, command, *_ = self.prog.split()
        super().error(
            f"{message}\nhelp: {self.prog} --help; "
            f"a request that begins with this word goes behind --: {program} -- {command} …"
        )


def command_parser(program: str, command: str, description: str) -> CommandParser:
    """A parser whose help is printed as it is written, `program` standing for `agent.py`."""
    return CommandParser(
        prog=f"{program} {command}",
        description=description.replace("agent.py", program),
        epilog=EXIT_CODES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def read_words(
    parser: CommandParser, words: Sequence[str], more: str = "", *, is_mixed: bool = False
) -> argparse.Namespace:
    """What the words say to a command without actions; with `is_mixed`, options go anywhere.

    Raises:
        SystemExit: code 2 with a message, which `more` ends, or 0 after `--help`.
    """
    add_options(parser)
    read = parser.parse_known_intermixed_args if is_mixed else parser.parse_known_args
    found, unknown = read(words)
    if unknown:
        parser.refuse(unknown, more)
    return found


def _no_arguments(parser: CommandParser) -> None:
    """Add nothing."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a command: its help, as a summary and the rest, what does it, what it takes.

    `arguments` adds those that it has for itself; options it has as every command. `refusal` is
    said of words that it can't read, in place of the words: one of them may be a secret.
    """

    summary: str
    details: str
    run: Run
    arguments: Callable[[CommandParser], None] = _no_arguments
    refusal: str = ""


def read_action(
    words: Sequence[str],
    program: str,
    command: str,
    description: str,
    actions: Mapping[str, Action],
) -> argparse.Namespace:
    """What the words say to a command whose first argument is one of these actions.

    What is found has the `action`, what does it as `run`, and its own `parser`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    whole = command_parser(program, command, description)
    choices = whole.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=CommandParser
    )
    for name, action in actions.items():
        told = f"{action.summary[0].upper()}{action.summary[1:]}.\n\n{action.details}"
        parser = choices.add_parser(
            name,
            help=action.summary,
            description=told.replace("agent.py", program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        action.arguments(parser)
        add_options(parser)
        parser.set_defaults(run=action.run, parser=parser)
    found, unknown = whole.parse_known_args(words)
    if unknown:
        chosen: CommandParser = found.parser
        if refusal := actions[found.action].refusal:
            chosen.error(refusal)
        chosen.refuse(unknown)
    return found


def add_options(parser: CommandParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
    add_source_options(parser)
    add_loudness_options(parser, "show more")


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
