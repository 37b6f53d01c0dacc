"""Commands of the command line: which one is meant, reading its words, doing it.

The module of a command is loaded when the command is named.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from config.settings import Places
from core.base.text import edit_distance
from core.errors import ExitCode, UsageError
from modules.cli.arguments import ACTIONS, COMMANDS, leading_options
from modules.cli.parser import END_OF_OPTIONS, looks_like_option
from modules.cli.surroundings import Options, Run, Surroundings
from modules.terminal.streams import Complaints, StdoutClosed

MISTYPED_BY_MAX: Final = 2
"""So many characters a word may differ from a command that it was meant to be."""

_ACTING: Final = frozenset({"call", "run-plan"})
"""Commands that do something in the world, so that an answer that nobody reads is lost."""

Parse: TypeAlias = Callable[[Sequence[str], str], Options]
"""Reads the words behind a command's own; takes the program's name too."""


def find_command(argv: Sequence[str], program: str = "agent.py") -> list[str] | None:
    """The command line of a command, its word first and options behind its action; None: a request.

    Raises:
        UsageError: a command was meant, and mistyped.
        SystemExit: code 2 with a message on stderr, where an option before it lacks its value.
    """
    options, words = leading_options(argv)
    if not words or words[0] == END_OF_OPTIONS:
        return None
    if words[0] in COMMANDS:
        return _in_order(words[0], [*options, *words[1:]])
    how_far = {name: edit_distance(words[0].casefold(), name) for name in COMMANDS}
    near = [name for name in COMMANDS if how_far[name] <= MISTYPED_BY_MAX and _goes_on(name, words)]
    if near:
        nearest = min(how_far[name] for name in near)
        meant = [name for name in near if how_far[name] == nearest]
        raise UsageError(_mistyped(words, meant, program))
    return None


def parse_command(argv: Sequence[str], program: str = "agent.py") -> Options:
    """Parse `argv`, whose first word is one of `modules.cli.arguments.COMMANDS`.

    What is found has `run`, which does it, and the `command`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    command, *words = argv
    found = _parser_of(command)(words, program)
    found.command = command
    return found


def run_command(
    found: Options,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
) -> ExitCode:
    """Do what was found in a command line.

    `environ` is what variables in the servers' configuration mean. `complaints` learns the
    secrets of that configuration.

    Raises:
        SettingsError, UserError: the user must change the command line or a file.
        WorldError: a server or the disk failed.
        StdoutLost: nobody reads the output.
    """
    run: Run = found.run
    try:
        around = Surroundings(found, places, complaints, environ)
        done = run(around)
        return done if isinstance(done, ExitCode) else around.run(done)
    except StdoutClosed:
        if found.command in _ACTING:
            raise
        return ExitCode.WORLD_FAILED  # `| head` has seen enough, and needs no message


def _parser_of(command: str) -> Parse:
    match command:
        case "auth":
            from modules.cli.auth import parse
        case "call":
            from modules.cli.call import parse
        case "docs":
            from modules.cli.docs import parse
        case "doctor":
            from modules.cli.doctor import parse
        case "models":
            from modules.cli.models import parse
        case "prompt":
            from modules.cli.prompt import parse
        case "run-plan":
            from modules.cli.run_plan import parse
        case "sessions":
            from modules.cli.sessions import parse
        case _:
            from modules.cli.mcp import parse
    return parse


def _goes_on(command: str, words: Sequence[str]) -> bool:
    """Whether the rest of the line is as it would be behind the command."""
    if len(words) == 1:
        return True
    return looks_like_option(words[1]) or words[1].casefold() in ACTIONS.get(command, ())


def _in_order(command: str, words: list[str]) -> list[str]:
    """The command, its action, and what stands before either: a parser of actions wants it so."""
    options, rest = leading_options(words)
    if not options or not rest or rest[0] == END_OF_OPTIONS or command not in ACTIONS:
        return [command, *words]
    return [command, rest[0], *options, *rest[1:]]


def _mistyped(words: Sequence[str], meant: Sequence[str], program: str) -> str:
    action = [word.casefold() for word in words[1:2] if not looks_like_option(word)]
    lines = " or ".join(" ".join([program, name, *action]) for name in meant)
    request = " ".join(words)
    return (
        f"there is no command '{words[0]}'; did you mean: {lines}\n"
        f"a request that begins with this word goes behind --: {program} -- {request}"
    )
