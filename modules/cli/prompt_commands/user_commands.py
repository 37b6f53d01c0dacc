"""What is the user's own at the prompt: commands, told of where broken; skills; workflows."""

import asyncio
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from config.settings import FileState, SettingsError, file_state
from core.base.text import counted, one_line
from core.errors import ExitCode, UsageError
from modules.cli.prompt_commands.command import Ask, AtPrompt, PromptCommand, prompt_command
from modules.cli.workflow import HEADS, approved_in, saved, summaries, tree_text
from modules.planning.guidance.commands import (
    COMMANDS_MAX,
    TOLD_CHARACTERS,
    UserCommand,
    command_files,
    read_command,
)
from modules.planning.guidance.project import OWN_SKILLS, SKILL
from modules.team.workflow import arguments_of, find_workflow, workflow_files
from modules.terminal.input.candidates import Candidate
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
    return PromptCommand(run, command.name, "Yours", command.description, hint)


@prompt_command("skills", "Servers and documents", "the skills that may be used, and what for")
async def _skills(at: AtPrompt, words: str) -> None:
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


async def _ask(command: UserCommand, at: AtPrompt, words: str) -> ExitCode | Ask:
    """What is typed behind the command goes where its text says."""
    return Ask(command.request(words))


WORKFLOW_ACTIONS: Final = {
    "list": "each with its parameters, and what it does",
    "show": "the steps of one, as a tree",
    "run": "run one: run NAME key=value …",
    "save": "make one of the last request: save NAME [key=value …]",
}


def _workflow_words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    """The actions; behind one, names of workflows, and parameters of the one that is run."""
    action, *given = text.split() or [""]
    if text[-1:].isspace():
        given.append("")
    if not given:
        return [Candidate(name, told) for name, told in WORKFLOW_ACTIONS.items()]
    home = at.setting.places.home
    if len(given) == 1 and action in ("show", "run"):
        return [Candidate(name, about) for name, _, about in summaries(home)]
    if action != "run" or given[0] not in workflow_files(home):
        return ()
    try:
        parameters = find_workflow(home, given[0]).parameters
    except SettingsError:
        return ()
    return [Candidate(f"{name}=", entry.description) for name, entry in parameters.items()]


@prompt_command(
    "workflow",
    "Requests",
    "tasks of several steps that are kept: list, show, run, save",
    "[ACTION] [NAME] [KEY=VALUE]",
    "save makes one of the last request, in which VALUE becomes the parameter KEY. "
    "agent.py workflow --help tells more.",
    _workflow_words,
)
async def _workflow(at: AtPrompt, words: str) -> ExitCode | Ask:
    """List, show, run and save workflows.

    Raises:
        UsageError: it is none of these, or there is no such workflow, or a value is missing.
        SettingsError: the file of a workflow is wrong.
        StorageError: it can't be written.
    """
    try:
        action, *given = shlex.split(words) or ["list"]
    except ValueError as error:  # a quote that is not closed
        raise UsageError(f"/workflow {words}: {error}") from error
    if action not in WORKFLOW_ACTIONS:
        raise UsageError(f"/workflow has no action '{action}'; {', '.join(WORKFLOW_ACTIONS)}")
    home = at.setting.places.home
    if action == "list":
        rows = await asyncio.to_thread(lambda: [*summaries(home)])
        at.say("plan", f"/workflow run NAME runs one\n{table_for([HEADS, *rows])}")
        return ExitCode.ANSWERED
    if not given:
        raise UsageError(f"/workflow {action} takes a name; /workflow list shows all")
    name, *values = given
    if action == "save":
        is_forced = "--force" in values
        kept = arguments_of([value for value in values if value != "--force"])
        items = await at.conversation.session.load()
        file = await asyncio.to_thread(saved, home, name, items, kept, is_forced=is_forced)
        at.say("plan", f"wrote {file}; /workflow run {name} runs it")
        if rules := approved_in(items):
            listed_rules = "\n".join(f"  - {one_line(rule)}" for rule in rules)
            told = "what you allowed in this request is asked about again, unless the file says"
            at.say("plan", f"{told}\napprove:\n{listed_rules}")
        return ExitCode.ANSWERED
    workflow = await asyncio.to_thread(find_workflow, home, name)
    if action == "show":
        at.say("plan", f"{one_line(workflow.description)}\n{tree_text(workflow)}")
        return ExitCode.ANSWERED
    if workflow.approve and name not in await asyncio.to_thread(workflow_files, home):
        workflow = replace(workflow, approve=())
        at.say("plan", "its approve: does not count here; `agent.py workflow run` asks about it")
    arguments = arguments_of(values)
    if missing := workflow.missing(arguments):
        at.next_text = f"/workflow {words} {missing[0]}="
    graph = workflow.graph(arguments)
    return Ask(graph.goal, graph=graph)


SKILL_COMMANDS: Final = (_skills, _workflow)
