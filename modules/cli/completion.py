"""`completion`: what makes a shell complete commands, options and files, from the parsers."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast

from core.errors import ExitCode
from modules.cli.command_line import COMMANDS, command_options, request_options
from modules.cli.parser import command_parser, read_words
from modules.cli.surroundings import Options, Surroundings

_HELP: Final = """\
Print a script that makes a shell complete commands, their actions, options, choices and files.

examples:
  bash: agent.py completion bash > ~/.local/share/bash-completion/completions/agent.py
  zsh:  agent.py completion zsh > ~/.zfunc/_agent.py   (a folder in fpath, before compinit)
  fish: agent.py completion fish > ~/.config/fish/completions/agent.py.fish
  now:  eval "$(agent.py completion bash)"

It completes a command of this name: an installed program, or an alias for `python agent.py`."""

_SHELLS: Final = ("bash", "zsh", "fish")
_FILES: Final = frozenset({"FILE", "PATH"})


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `completion`; raises as `read_words`."""
    parser = command_parser(program, "completion", _HELP)
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
    parser.set_defaults(run=print_script, program=program)
    return read_words(parser, words)


def print_script(around: Surroundings) -> ExitCode:
    """Print the script for a shell."""
    shell, program = around.options.shell, around.options.program
    script = completion_script(shell, program)
    return around.report({"shell": shell, "script": script}, script)


def completion_script(shell: str, program: str) -> str:
    """What makes `shell` complete the words behind `program`."""
    import shtab  # late: nothing else needs it

    parser = _whole(program)
    for action in _actions(parser):
        action.help = " ".join((action.help or "").split())
        if action.type is Path or action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined] - shtab reads it there
    return shtab.complete(parser, shell)


def _whole(program: str) -> argparse.ArgumentParser:
    """A parser of requests' options with each command and its actions below it."""
    parser = request_options(program)
    commands = parser.add_subparsers(dest="command")
    for name, purpose in COMMANDS.items():
        commands.add_parser(name, help=purpose)
    parsers = cast("dict[str, argparse.ArgumentParser]", commands.choices)
    parsers.update({name: command_options(name, program) for name in COMMANDS})
    return parser


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every option and argument, of commands and their actions too."""
    for action in parser._actions:  # argparse has no other way to list them
        yield action
        if isinstance(choices := cast("object", action.choices), dict):
            for below in cast("dict[str, argparse.ArgumentParser]", choices).values():
                yield from _actions(below)
