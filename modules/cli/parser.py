"""What the parsers of requests and commands share: options, how they are read, messages."""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn, cast

from config.checking import MAX_SECONDS
from config.schema import GraphMode
from core.base.frozen import frozen
from core.base.text import NEAR_SHOWN, lazy_pattern, near_names
from core.errors import ExitCode
from core.provenance.rules import RuleError, read_rule
from modules.cli.surroundings import Options, Run

END_OF_OPTIONS = "--"

EXIT_CODES_HELP = """\
exit codes:
  0    answered
  1    the world failed: model, server, sandbox or disk (or a bug of ours: see the log it names)
  2    bad usage or configuration
  3    no answer: limits spent, the request declined, plans failed, or --json-schema missed
  4    the tool of `call` answered with an error
  130  interrupted
"""

_SIGNED_NUMBER = lazy_pattern(r"-[\d.(]")
"""What begins with a minus sign, not with the dash of an option: none of ours looks like that."""


def looks_like_option(word: str) -> bool:
    """Whether a word could only be an option: not a dash alone, and no number with its sign."""
    return word.startswith("-") and word.strip("-") != "" and not _SIGNED_NUMBER.match(word)


GRAPH_SUFFIXES: Final = (".yaml", ".yml")
_GRAPH: Final = "--graph="

USAGE_LINES_MAX: Final = 4
"""A longer usage would hide the message below it; `--help` shows it."""


class Misused(SystemExit):
    """A command line that can't be read; stderr has been told of it, in other words too."""

    def __init__(self, message: str) -> None:
        """End with code 2; `message` is for those who read no stderr."""
        super().__init__(int(ExitCode.BAD_USAGE))
        self.message = message


PARSER_WANTED: Final = ("\0parser",)
"""Words that no shell can hand on: what is to be read is not wanted, but what would read it."""


class ParserBuilt(Exception):
    """A parser of a command, with all that it takes, in place of what it read."""

    def __init__(self, parser: "OptionsParser") -> None:
        """Carry the parser."""
        super().__init__(parser.prog)
        self.parser = parser


class OptionsParser(argparse.ArgumentParser):
    """Proposes the nearest option or choice for a word that is none."""

    def error(self, message: str) -> NoReturn:
        """Tell of usage and mistake on stderr, and end with code 2.

        Raises:
            Misused: always.
        """
        if (usage := self.format_usage()).count("\n") <= USAGE_LINES_MAX:
            self._print_message(usage, sys.stderr)
        self._print_message(f"{self.prog}: error: {message}\n", sys.stderr)
        raise Misused(message)

    @property
    def option_names(self) -> frozenset[str]:
        """Every option, as it is written; those of its actions too."""
        choices = [each for action in self._actions for each in _parsers_of(action)]
        return frozenset(self._option_string_actions).union(*(one.option_names for one in choices))

    def take_signs(self) -> None:
        """Have `-.5` and `-(3+4)` be words; by default only a plain number such as `-5` is."""
        self._negative_number_matcher = _SIGNED_NUMBER

    def refuse(self, words: Sequence[str], more: str = "") -> NoReturn:
        """Exit with code 2 over words that can't be read; `more` says what is to be said of it."""
        near = self._near_options(words)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        self.error(f"not understood: {' '.join(words)}{meant}{more}")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = near_names(str(value).lower(), map(str, action.choices or ()))
            if not near:
                raise
            meant = f"{error.message}; did you mean {' or '.join(near)}?"
            raise argparse.ArgumentError(action, meant) from None

    def _near_options(self, words: Sequence[str]) -> list[str]:
        """The options that words with a dash may have meant: they begin so, or are alike."""
        near: dict[str, None] = {}
        for word in words:
            name = word.partition("=")[0].lstrip("-").lower()
            if not word.startswith("-") or not name:
                continue
            known = {option.lstrip("-"): option for option in self._option_string_actions}
            begun = [full for full in known if full.startswith(name)][:NEAR_SHOWN]
            near.update(dict.fromkeys(known[full] for full in begun or near_names(name, known)))
        return [*near]


def _parsers_of(action: argparse.Action) -> list[OptionsParser]:
    """Those of a command's actions, where it has actions."""
    choices = cast("Mapping[str, object] | Sequence[str] | None", action.choices)
    found = choices.values() if isinstance(choices, Mapping) else ()
    return [each for each in found if isinstance(each, OptionsParser)]


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
    parser: CommandParser, words: Sequence[str], more: str = "", *, is_mixed: bool = True
) -> Options:
    """What the words say to a command without actions.

    Where it `is_mixed`, options go anywhere between words, and no word behind -- has a dash.

    Raises:
        SystemExit: code 2 with a message, which `more` ends, or 0 after `--help`.
    """
    add_options(parser)
    if tuple(words) == PARSER_WANTED:
        raise ParserBuilt(parser)
    read = parser.parse_known_intermixed_args if is_mixed else parser.parse_known_args
    found, unknown = read(words, Options())
    if unknown:
        parser.refuse(unknown, more)
    return found


def _no_arguments(parser: CommandParser) -> None:
    """Add nothing."""


@frozen
class Action:
    """One action of a command: its help, as a summary and the rest, what does it, what it takes.

    `arguments` adds those that it has for itself; `options` are those of every command where it
    has no others. `refusal` is said of words that it can't read, in place of the words: one of
    them may be a secret.
    """

    summary: str
    details: str
    run: Run
    arguments: Callable[[CommandParser], None] = _no_arguments
    refusal: str = ""
    options: Callable[[CommandParser], None] | None = None


def read_action(
    words: Sequence[str],
    program: str,
    command: str,
    description: str,
    actions: Mapping[str, Action],
    *,
    usual: str | None = None,
) -> Options:
    """What the words say to a command whose first argument is one of these actions.

    Where no action is named, the `usual` one is meant. What is found has the `action`, what does
    it as `run`, and its own `parser`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    is_bare = not words or (looks_like_option(words[0]) and words[0] not in ("-h", "--help"))
    words = [usual, *words] if usual is not None and is_bare else words
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
        (action.options or add_options)(parser)
        parser.set_defaults(run=action.run, parser=parser)
    if tuple(words) == PARSER_WANTED:
        raise ParserBuilt(whole)
    found, unknown = whole.parse_known_args(words, Options())
    if unknown:
        chosen: CommandParser = found.parser
        name = found.action
        found, unknown = chosen.parse_known_intermixed_args(words[1:], Options(action=name))
        if unknown and (refusal := actions[name].refusal):
            chosen.error(refusal)
        if unknown:
            chosen.refuse(unknown)
    return found


def add_options(parser: CommandParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
    add_source_options(parser)
    add_loudness_options(parser, "show more")


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where servers are configured; requests and commands share them."""
    parser.add_argument(
        "--profile",
        metavar="FILE",
        type=Path,
        help="a profile in place of config/profiles.yaml",
    )
    parser.add_argument(
        "--mcp-config",
        metavar="FILE",
        action="append",
        type=Path,
        default=[],
        help="servers of this mcp.json too; may be given again",
    )
    parser.add_argument(
        "--allow-tool-changes",
        action="store_true",
        help="accept tools whose definition has changed since their first use",
    )


def add_approve_option(parser: argparse.ArgumentParser) -> None:
    """`--approve RULE`, for requests and plans."""
    parser.add_argument(
        "--approve",
        metavar="RULE",
        action="append",
        default=[],
        type=_rule,
        help="let plans call a tool without asking: server.tool, server.tool(argument=pattern), "
        "or server.tool(*) with anything; may be given again",
    )


def add_instructions_option(parser: argparse.ArgumentParser) -> None:
    """`--no-instructions`, for requests and what shows their prompts."""
    parser.add_argument(
        "--no-instructions",
        action="store_true",
        help="leave out instructions and skills: CORTEX.md, AGENTS.md, SKILL.md",
    )


def add_graph_options(parser: argparse.ArgumentParser) -> None:
    """`--graph [FILE]` and `--no-graph`, for requests and what plans them.

    Words go through `with_graph_files` first.
    """
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--graph",
        metavar="FILE.yaml",
        nargs="?",
        type=_graph,
        help="answer in parts that are planned by themselves, or by the graph in this file",
    )
    which.add_argument(
        "--no-graph",
        action="store_const",
        const="never",
        dest="graph",
        help="answer with one plan, whatever the request looks like",
    )


def with_graph_files(words: Sequence[str]) -> list[str]:
    """The words with each `--graph` joined to the file behind it, and to nothing else."""
    joined: list[str] = []
    for word in words:
        if joined[-1:] == [_GRAPH] and word.endswith(GRAPH_SUFFIXES):
            joined[-1] += word
        else:
            joined.append(_GRAPH if word == "--graph" else word)
    return joined


def _graph(text: str) -> GraphMode | Path:
    if not text:
        return "always"
    if not text.endswith(GRAPH_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text!r} is no .yaml file")
    return Path(text)


def add_loudness_options(parser: argparse.ArgumentParser, verbose: str) -> None:
    """`--verbose`, which shows what `verbose` says, and `--quiet`; not both."""
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("--verbose", action="store_true", help=verbose)
    loudness.add_argument("--quiet", action="store_true", help="no progress on stderr")


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


def whole_number(least: int, most: int, what: str = "") -> Callable[[str], int]:
    """What reads a number between these; `what` a word that is none has to be, in a message."""

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not is_number or not least <= int(text) <= most:
            meant = what or f"whole number from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{text!r} is no {meant}")
        return int(text)

    return read


def _rule(text: str) -> str:
    try:
        return str(read_rule(text))
    except RuleError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
