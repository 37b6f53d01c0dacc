"""Commands of the user's own at the prompt: seen at once, and told of where broken."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from config.settings import FileState, SettingsError, file_state
from core.base.text import counted, one_line
from core.errors import ExitCode, UsageError
from modules.cli.prompt_commands.command import Ask, AtPrompt, PromptCommand
from modules.planning.guidance.commands import (
    COMMANDS_MAX,
    TOLD_CHARACTERS,
    UserCommand,
    command_files,
    read_command,
)
from modules.planning.guidance.project import OWN_SKILLS, SKILL
from modules.terminal.tables import table_for


class UserCommands:
    """The commands in a folder, read again where a file is another than before."""

    def __init__(
        self, folder: Path, taken: Collection[str], say: Callable[[str, str], None]
    ) -> None:
        """Read nothing yet; `taken` are names that mean something else, `say` tells of trouble."""
        self._folder = folder
        self._taken = taken
        self._say = say
        self._read: dict[Path, tuple[FileState, UserCommand | str]] = {}
        self._told: set[str] = set()

    def current(self, typed: str | None = None) -> Sequence[PromptCommand]:
        """The commands that are there now.

        Where one was `typed`, what can't be used is told, each once.

        Raises:
            UsageError: what was typed can't be used.
        """
        found: dict[str, PromptCommand] = {}
        problems: list[str] = []
        for name, path in command_files(self._folder):
            if name in self._taken:
                problems.append(f"{path}: /{name} is a command of Cortex-R; give it another name")
                continue
            command = self._command(name, path)
            if isinstance(command, str):
                if name == typed:
                    raise UsageError(command)
                problems.append(command)
            elif len(found) < COMMANDS_MAX:
                found.setdefault(name, _prompt_command(command))
            else:
                problems.append(f"{self._folder}: only {COMMANDS_MAX} commands are read")
        for problem in problems if typed is not None else ():
            if problem not in self._told:
                self._told.add(problem)
                self._say("config", problem)
        return sorted(found.values(), key=lambda command: command.name)

    def _command(self, name: str, path: Path) -> UserCommand | str:
        """The command in a file, or why there is none."""
        seen = file_state(path)
        if (known := self._read.get(path)) is None or known[0] != seen:
            try:
                known = (seen, read_command(name, path))
            except SettingsError as error:
                known = (seen, str(error))
            self._read[path] = known
        return known[1]


def _prompt_command(command: UserCommand) -> PromptCommand:
    run = partial(_ask, command)
    hint = command.argument_hint or "[…]"
    return PromptCommand(command.name, "Yours", command.description, run, hint)


async def _skills(at: AtPrompt, words: str) -> ExitCode:
    """Each skill, what it is for, and whether it may be used."""
    guide = at.conversation.guide
    if guide is None:
        raise UsageError("no skill is used: --no-instructions, or the planner reads none")
    _, found = await asyncio.to_thread(guide.find, at.conversation.profile.guidance)
    states = {True: "trusted", False: "refused", None: "not trusted yet: agent.py trust"}
    rows = [
        (
            skill.name,
            one_line(skill.description, TOLD_CHARACTERS),
            "yours" if skill.is_own else states[guide.verdict(skill)],
        )
        for skill in found.texts
    ]
    how = f"; put one into {guide.home / OWN_SKILLS / 'NAME' / SKILL}" if not rows else ""
    table = (table_for([("skill", "for", "state"), *rows]),) if rows else ()
    at.say("guidance", "\n".join((f"{counted(len(rows), 'skill')}{how}", *table, *found.problems)))
    return ExitCode.ANSWERED


async def _ask(command: UserCommand, at: AtPrompt, words: str) -> ExitCode | Ask:
    """What is typed behind the command goes where its text says."""
    return Ask(command.request(words))


SKILL_COMMANDS: Final = (
    PromptCommand(
        "skills",
        "Servers and documents",
        "the skills that may be used, and what for",
        _skills,
    ),
)
