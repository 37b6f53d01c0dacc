"""Workflows that are kept: a YAML file each, with parameters, made into a task graph.

    description: What two cities have in common.
    parameters:
      city: {description: the one}
      other: {default: Berlin}
    steps:
      - id: first
        do: find three facts about {{city}}
      - id: second
        do: find three facts about {{other}}
      - id: answer
        do: say what {{first}} and {{second}} have in common

A parameter's value is the user's word, and stands in what a step is asked. A step's result is not:
it goes along as a text (`core.team.graph.filled`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import yaml
from pydantic import Field

from config.checking import Section, check
from config.settings import SettingsError
from config.texts import TextProblem, load_yaml
from core.base.files import FileTooLarge, read_regular
from core.base.frozen import frozen
from core.base.text import near_names
from core.errors import UsageError
from core.team.graph import ID_FORM, SUBTASKS_MAX, Need, Subtask, TaskGraph, problems
from core.values import JsonObject

FOLDER: Final = "workflows"
"""Under CORTEX_HOME."""

BYTES_MAX: Final = 256 * 1024
VALUE_CHARACTERS_MAX: Final = 10_000
SUFFIX: Final = ".yaml"

NAME_FORM: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_REFERENCE: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")

Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]


class ParameterEntry(Section):
    """One parameter of a workflow; without a default it has to be given."""

    type: Literal["text", "number", "integer"] = "text"
    description: str = ""
    default: str | int | float | None = None


class StepEntry(Section):
    """One step; see `core.team.graph.Subtask`."""

    id: Text
    do: Text
    expected: str = ""
    role: str | None = None
    after: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    critical: bool = False
    needs: Need | None = None
    question: str = ""
    default: str | None = None

    @property
    def subtask(self) -> Subtask:
        """The subtask that it is."""
        return Subtask(
            self.id,
            self.do,
            self.expected,
            self.role,
            self.after,
            self.tools,
            self.critical,
            self.needs,
            self.question,
            self.default,
        )


class WorkflowFile(Section):
    """The whole of a workflow's file."""

    description: Text
    parameters: Mapping[str, ParameterEntry] = Field(default_factory=dict[str, ParameterEntry])
    steps: tuple[StepEntry, ...] = Field(min_length=1, max_length=SUBTASKS_MAX)


@frozen
class Workflow:
    """A workflow that was read and is sound; its parameters are not filled yet."""

    name: str
    description: str
    parameters: Mapping[str, ParameterEntry]
    subtasks: tuple[Subtask, ...]

    def graph(self, arguments: Mapping[str, str]) -> TaskGraph:
        """The graph with the parameters' values in it.

        Raises:
            UsageError: a value is missing, not of its type, or of no parameter.
        """
        values = dict(self._values(arguments))

        def put(found: re.Match[str]) -> str:
            return values.get(found[1], found[0])

        subtasks = (
            replace(each, description=_REFERENCE.sub(put, each.description))
            for each in self.subtasks
        )
        said = ", ".join(f"{name}={value}" for name, value in values.items())
        return TaskGraph(f"{self.name} ({said})" if said else self.name, tuple(subtasks))

    def _values(self, arguments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name in arguments:
            if name not in self.parameters:
                near = near_names(name, self.parameters)
                known = ", ".join(near or self.parameters)
                meant = f"it takes {known}" if known else "it takes none"
                raise UsageError(f"the workflow {self.name} has no parameter '{name}'; {meant}")
        for name, entry in self.parameters.items():
            given = arguments.get(name)
            if given is None and entry.default is None:
                what = f" ({entry.description})" if entry.description else ""
                raise UsageError(
                    f"the workflow {self.name} wants {name}{what}: give it as {name}=VALUE"
                )
            yield name, _checked(name, entry, str(entry.default) if given is None else given)


def load_workflow(path: Path) -> Workflow:
    """Read and check one file.

    Raises:
        SettingsError: it can't be read, or is wrong; every problem is told.
    """
    try:
        return checked_workflow(path, read_regular(path, BYTES_MAX).decode("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} is not there") from None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except (FileTooLarge, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def checked_workflow(path: Path, text: str) -> Workflow:
    """The workflow that stands in the text of a file, or would.

    Raises:
        SettingsError: it is wrong; every problem is told.
    """
    try:
        document = load_yaml(text)
    except TextProblem as problem:
        raise SettingsError.at(path, problem.line, f"not valid YAML: {problem}") from problem
    file = check(document, WorkflowFile, path, text)
    name = path.stem
    wrong = [*_wrong_names(name, file)]
    parameters = {*file.parameters}
    steps = tuple(each.subtask for each in file.steps)
    # To the graph a parameter is no reference: it is filled before the graph is made.
    filled = tuple(replace(s, description=_without(s.description, parameters)) for s in steps)
    wrong += problems(TaskGraph(file.description, filled))
    if wrong:
        raise SettingsError("\n".join(f"{path}: {problem}" for problem in wrong))
    return Workflow(name, file.description, file.parameters, steps)


def workflow_files(home: Path) -> dict[str, Path]:
    """The files of all kept workflows under CORTEX_HOME, by name."""
    found = sorted((home / FOLDER).glob(f"*{SUFFIX}"))
    return {path.stem: path for path in found if not path.name.startswith(".")}


def find_workflow(home: Path, name: str) -> Workflow:
    """The kept workflow of that name, or that of a file where a path is given.

    Raises:
        UsageError: there is none; the message gives the nearest.
        SettingsError: it is wrong.
    """
    if name.endswith((SUFFIX, ".yml")) or "/" in name:
        return load_workflow(Path(name))
    files = workflow_files(home)
    if name not in files:
        near = near_names(name, files)
        meant = f"did you mean {' or '.join(near)}?" if near else "agent.py workflow list shows all"
        raise UsageError(f"there is no workflow '{name}' in {home / FOLDER}; {meant}")
    return load_workflow(files[name])


def arguments_of(words: Sequence[str]) -> dict[str, str]:
    """The values of `key=value` words.

    Raises:
        UsageError: a word is none, or a key stands twice.
    """
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key:
            raise UsageError(f"'{word}' is no key=value; put quotes around a value with spaces")
        if key in found:
            raise UsageError(f"{key} is given twice")
        found[key] = value
    return found


def workflow_text(
    description: str, subtasks: Sequence[Subtask], parameters: Mapping[str, str]
) -> str:
    """The text of a workflow's file; `parameters` are values that stand in the steps, by name.

    Where such a value stands, its parameter does in the file, with the value as its default.
    """

    def worded(text: str) -> str:
        for name, value in parameters.items():
            text = text.replace(value, f"{{{{{name}}}}}")
        return text

    steps: list[JsonObject] = []
    for each in subtasks:
        said: JsonObject = {"id": each.id, "do": worded(each.description)}
        more: JsonObject = {
            "expected": worded(each.expected), "role": each.role, "after": [*each.after],
            "tools": [*each.tools], "critical": each.critical, "needs": each.needs,
            "question": worded(each.question), "default": each.default,
        }  # fmt: skip
        steps.append(
            said | {key: value for key, value in more.items() if value not in (None, "", [], False)}
        )
    document: JsonObject = {"description": description}
    if parameters:
        document["parameters"] = {name: {"default": value} for name, value in parameters.items()}
    return yaml.safe_dump(
        document | {"steps": [*steps]}, sort_keys=False, allow_unicode=True, width=100
    )


def _wrong_names(name: str, file: WorkflowFile) -> Iterator[str]:
    if NAME_FORM.fullmatch(name) is None:
        yield "a workflow's file is named in small letters, digits, _ and -"
    steps = {step.id for step in file.steps}
    for parameter in file.parameters:
        if ID_FORM.fullmatch(parameter) is None:
            yield f"parameter '{parameter}': a small letter, then small letters, digits and _"
        if parameter in steps:
            yield f"'{parameter}' is a parameter and a step; call one of them otherwise"


def _without(text: str, parameters: set[str]) -> str:
    return _REFERENCE.sub(lambda found: "…" if found[1] in parameters else found[0], text)


def _checked(name: str, entry: ParameterEntry, value: str) -> str:
    """The value in its own form.

    Raises:
        UsageError: it is not of its type, or too long.
    """
    if len(value) > VALUE_CHARACTERS_MAX:
        raise UsageError(f"{name} has over {VALUE_CHARACTERS_MAX:,} characters")
    if entry.type != "text":
        try:
            return str(int(value)) if entry.type == "integer" else str(float(value))
        except ValueError:
            raise UsageError(f"{name} is '{value}'; a {entry.type} is wanted") from None
    # Braces in a value would be read as a reference to a step.
    return value.replace("{{", "{ {").replace("}}", "} }")
