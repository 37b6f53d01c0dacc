"""From a line to the command that it names, or to what could be typed at its end.

A command is a word behind a slash, such as begins no question. A mistyped one is told and not
sent to a model; `/etc/hosts: how many lines?` and the like are requests.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from config.settings import SettingsError
from core.base.text import near_names
from core.errors import NEW_SESSION, ExitCode, UsageError
from modules.cli.command_line import ACTIONS, COMMANDS, is_lone_word
from modules.cli.first_run import FIRST_RUN_COMMANDS
from modules.cli.prompt_commands.command import GROUPS, Ask, AtPrompt, PromptCommand
from modules.cli.prompt_commands.memory import MEMORY_COMMANDS
from modules.cli.prompt_commands.permissions import PERMISSION_COMMANDS
from modules.cli.prompt_commands.requests import REQUEST_COMMANDS
from modules.cli.prompt_commands.servers import SERVER_COMMANDS
from modules.cli.prompt_commands.sessions import SESSION_COMMANDS
from modules.cli.prompt_commands.settings import SETTING_COMMANDS
from modules.cli.prompt_commands.terminal import TERMINAL_COMMANDS, find_command
from modules.cli.prompt_commands.user_commands import SKILL_COMMANDS, UserCommands
from modules.cli.shell_command import SHELL_MARK, run_shell
from modules.cli.switching import look_at_server_files
from modules.models.offline.welcome import asks_for_help
from modules.planning.guidance.commands import FOLDER, NAME
from modules.terminal.input.candidates import Candidate

_COMMAND: Final = re.compile(rf"/({NAME}|\?)")

_HINT: Final = re.compile(r"(?<!another terminal: )agent\.py ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
_EXAMPLE: Final = re.compile(r'(?m)^(\s+)agent\.py "([^"\n]*)"$')

_OTHERWISE_HERE: Final = {
    "config init": "/init",
    "mcp test": "/mcp restart",
    "models": "/model",
    "models list": "/model",
    "sessions list": "/sessions",
    "sessions search": "/search",
}
"""Commands of the command line that have another name at the prompt."""

_SAID_HERE: Final = {
    NEW_SESSION: "have the session summarised with /compact",
    "with --model": "with /model",
}
"""Hints for which the prompt has a command that is none of the command line."""

_WITH_ACTIONS: Final = ("docs", "mcp", "workflow")
"""Commands at the prompt that have actions, if not all that `agent.py` has."""

NEAR: Final = 0.75
"""From which likeness on (difflib's ratio) the first of several words is a mistyped command."""


COMMANDS_AT_PROMPT: Final[tuple[PromptCommand, ...]] = tuple(
    sorted(
        (
            *REQUEST_COMMANDS,
            *SESSION_COMMANDS,
            *MEMORY_COMMANDS,
            *SERVER_COMMANDS,
            *SKILL_COMMANDS,
            *SETTING_COMMANDS,
            *FIRST_RUN_COMMANDS,
            *PERMISSION_COMMANDS,
            *TERMINAL_COMMANDS,
        ),
        key=lambda command: GROUPS.index(command.group),
    )
)
"""All of them, group by group."""


class PromptCommands:
    """Does what a line says that is a command."""

    def __init__(self, at: AtPrompt, commands: Sequence[PromptCommand]) -> None:
        """Work with `at`, which is told the table, and with it the user's own commands."""
        self._at = at
        self._at.commands = self._own = commands
        taken = {name for command in commands for name in (command.name, *command.others)}
        self._users = UserCommands(at.setting.places.home / FOLDER, taken, at.say)
        self._proposed: dict[str, list[Candidate]] = {}  # since the last line
        self._running: asyncio.Task[ExitCode | Ask | None] | None = None
        self._doubted = ""

    async def run(self, line: str) -> ExitCode | Ask:
        """Do what a line says; what is no command is a request to be asked.

        Servers that were added or taken away meanwhile are taken over before.

        Raises:
            UsageError: a command that is not there, or is used wrongly, or a file that is wrong.
            Leaving: the user has enough.
        """
        self._proposed.clear()
        try:
            await look_at_server_files(self._at)
            return await self._run(line)
        except SettingsError as error:
            raise UsageError(str(error)) from error

    async def _run(self, line: str) -> ExitCode | Ask:
        if (shell := line.strip()).startswith(SHELL_MARK):
            return await run_shell(self._at, shell.removeprefix(SHELL_MARK).strip())
        first, *rest = line.split(None, 1) or [""]
        words = rest[0].strip() if rest else ""
        if first.startswith("/"):
            self._at.commands = (*self._own, *self._users.current(first[1:].lower()))
        command = self._meant(first.lower(), words)
        if command is None:
            self._doubt(line.strip())
            return Ask(line.strip())
        if words and not command.arguments:
            raise UsageError(f"/{command.name} stands alone: {command.summary}")
        return await self._until_done(command, words)

    def knows(self, line: str) -> bool:
        """Whether a line is a command behind a slash that is there."""
        found = _COMMAND.fullmatch((line.split(None, 1) or [""])[0].lower())
        if found is None:
            return False
        self._at.commands = (*self._own, *self._users.current(found[1]))
        return self._named(found[1]) is not None

    def candidates(self, text: str) -> tuple[int, list[Candidate]]:
        """What could stand at the end of a line, and how many of its characters that replaces."""
        name, gap, behind = text.partition(" ")
        if not name.startswith("/"):
            return 0, []
        self._at.commands = (*self._own, *self._users.current())
        if not gap:
            found = [Candidate(f"/{each.name}", each.summary) for each in self._at.commands]
            return len(name), [each for each in found if each.text.startswith(name.lower())]
        command = self._named(name[1:].lower())
        if command is None:
            return 0, []
        begun = "" if behind[-1:].isspace() else (behind.split() or [""])[-1]
        if (found := self._proposed.get(command.name)) is None:
            found = [*command.complete(self._at, behind)]
        if command.proposes_once:
            self._proposed[command.name] = found
        return len(begun), [each for each in found if _fits(each.text, begun)]

    def reworded(self, text: str) -> str:
        """A text of ours with what is typed elsewhere as it is typed here, if it is."""
        for elsewhere, here in _SAID_HERE.items():
            text = text.replace(elsewhere, here)
        if "agent.py" not in text:
            return text
        return _HINT.sub(self._typed_here, _EXAMPLE.sub(r"\1\2", text))

    def _typed_here(self, hint: re.Match[str]) -> str:
        name, word = hint.groups()
        if (other := _OTHERWISE_HERE.get(f"{name} {word}")) is not None:
            return other
        behind = f" {word}" if word else ""
        is_action = word in ACTIONS.get(name, ())
        if not is_action and name in _OTHERWISE_HERE:
            return f"{_OTHERWISE_HERE[name]}{behind}"
        if (command := self._named(name)) is None:
            return hint[0]
        if is_action and (
            name not in _WITH_ACTIONS
            or all(each.text != word for each in command.complete(self._at, ""))
        ):
            return hint[0]
        return f"/{name}{behind}"

    def interrupt(self) -> bool:
        """Stop a command that waits for servers; they start on. Whether there was one."""
        return self._running is not None and self._running.cancel()

    def _meant(self, first: str, words: str) -> PromptCommand | None:
        """The command of a line, None where it is a request."""
        for command in self._at.commands:
            if not words and first in command.bare:
                return command
        found = _COMMAND.fullmatch(first)
        if found is None:
            return None
        name = found[1]
        if (command := self._named(name)) is not None:
            return command
        if name in COMMANDS:
            raise UsageError(f"{name} is for the command line: agent.py {name} --help")
        if words and not near_names(name, (c.name for c in self._at.commands), NEAR):
            return None
        return find_command(name, self._at.commands)

    def _doubt(self, line: str) -> None:
        """Stop a lone word that is a command but for its slash; the same line again is sent.

        Raises:
            UsageError: it may well be one, and was not sent.
        """
        before, self._doubted = self._doubted, ""
        if not self._at.is_typed or line == before or not is_lone_word(line) or asks_for_help(line):
            return
        names = {name: each for each in self._own for name in (each.name, *each.others)}
        near = near_names(line.lower(), names, NEAR, most=1)
        if not near:
            return
        self._doubted = self._at.next_text = line
        model = self._at.conversation.model.name
        raise UsageError(
            f"did you mean /{names[near[0]].name}? Enter again sends this to {model} as it is"
        )

    def _named(self, name: str) -> PromptCommand | None:
        return next((c for c in self._at.commands if name in (c.name, *c.others)), None)

    async def _until_done(self, command: PromptCommand, words: str) -> ExitCode | Ask:
        """What a command comes to; `interrupt` ends it."""
        self._running = asyncio.create_task(command.run(self._at, words))
        try:
            await asyncio.wait({self._running})
            if self._running.cancelled():
                self._at.say("loop", f"/{command.name} was stopped")
                return ExitCode.INTERRUPTED
            return self._running.result() or ExitCode.ANSWERED
        finally:
            self._running.cancel()
            self._running = None


def _fits(text: str, begun: str) -> bool:
    """Whether what was begun is the beginning of a word, or of its last part: a session's, say."""
    begun, text = begun.lower(), text.lower()
    return (
        text.startswith(begun)
        or text.rpartition("/")[2].startswith(begun)
        or (len(begun) > 1 and begun in text)
    )
