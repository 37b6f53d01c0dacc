"""Tells commands from requests: the first word decides, options aside. Light: imports no engine."""

from collections.abc import Iterable, Sequence

from core.base.text import edit_distance
from core.errors import UsageError
from modules.cli.arguments import COMMANDS, END_OF_OPTIONS, leading_options, looks_like_option

MISTYPED_BY_MAX = 2
"""So many characters a word may differ from a command that it was meant to be."""


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


def _goes_on(command: str, words: Sequence[str]) -> bool:
    """Whether the rest of the line is as it would be behind the command."""
    if len(words) == 1:
        return True
    return looks_like_option(words[1]) or words[1].casefold() in _actions(command)


def _actions(command: str) -> Iterable[str]:
    from modules.cli.parser import actions_of  # late: a request needs no parser of commands

    return actions_of(command)


def _in_order(command: str, words: list[str]) -> list[str]:
    """The command, its action, and what stands before either: a parser of actions wants it so."""
    options, rest = leading_options(words)
    if not options or not rest or rest[0] == END_OF_OPTIONS or not _actions(command):
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
