"""Commands about the prompt itself: help, the screen, leaving."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from core.base.text import did_you_mean, near_names
from core.errors import ExitCode, UsageError
from modules.cli.prompt_commands.command import AtPrompt, PromptCommand, prompt_command
from modules.terminal.input.candidates import Candidate
from modules.terminal.input.codes import clear_screen
from modules.terminal.input.repl import Leaving

_KEYS: Final = (
    "Tab completes; Ctrl-R searches what was typed before; Alt-Enter, Ctrl-J or a \\ at the end "
    "begins a new line; Ctrl-G opens $EDITOR; Esc Esc clears; Ctrl-C cancels, twice leaves; "
    "@file goes along.\n!COMMAND runs in your shell, where terminal.shell of the profile is true."
)

USAGE_COLUMNS: Final = 24
"""A longer usage pushes its own summary to the right, not those of all others."""


def _names(at: AtPrompt, text: str) -> Iterable[Candidate]:
    return (Candidate(command.name, command.summary) for command in at.commands)


@prompt_command(
    "help",
    "Terminal",
    "these commands, or more about one",
    "[NAME]",
    "Without a slash, `help` shows what can be asked here.",
    _names,
    others=("?",),
)
async def _help(at: AtPrompt, words: str) -> None:
    if words:
        command = find_command(words.removeprefix("/").lower(), at.commands)
        at.say("help", about(command))
    else:
        at.say("help", overview(at.commands))


def find_command(name: str, commands: Sequence[PromptCommand]) -> PromptCommand:
    """The command of that name, without its slash.

    Raises:
        UsageError: there is none; the message gives the nearest, or says where all stand.
    """
    for command in commands:
        if name in (command.name, *command.others):
            return command
    meant = did_you_mean(
        [f"/{one}" for one in near_names(name, (command.name for command in commands))], "see /help"
    )
    raise UsageError(f"there is no command /{name}; {meant}")


def overview(commands: Sequence[PromptCommand]) -> str:
    """The commands group by group, a line each."""
    parts: list[str] = []
    for group in dict.fromkeys(command.group for command in commands):
        lines = [f"  {c.usage:<{USAGE_COLUMNS}}  {c.summary}" for c in commands if c.group == group]
        parts.append("\n".join([group, *lines]))
    tail = "/help NAME tells more of one. Without a slash: new, help, exit. All else is a request."
    return "\n".join(["at the prompt:", *parts, tail, _KEYS])


def about(command: PromptCommand) -> str:
    """All there is to tell of one command."""
    names = [f"/{name}" for name in command.others] + [*command.bare]
    also = f"\nthe same: {', '.join(names)}" if names else ""
    details = f"\n{command.details}" if command.details else ""
    return f"{command.usage}: {command.summary}{details}{also}"


@prompt_command(
    "clear", "Terminal", "empty the screen", details="The session goes on; /new begins another one."
)
async def _clear(at: AtPrompt, words: str) -> None:
    clear_screen(sys.stderr)


@prompt_command(
    "exit",
    "Terminal",
    "leave",
    details="Ctrl-D does the same, and so does Ctrl-C twice.",
    others=("quit",),
    bare=("exit", "quit"),
)
async def _exit(at: AtPrompt, words: str) -> ExitCode:
    """Leave.

    Raises:
        Leaving: always.
    """
    raise Leaving


TERMINAL_COMMANDS: Final = (_help, _clear, _exit)
