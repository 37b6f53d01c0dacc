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

`approve:` lists rules (`core.provenance.rules`) for the calls that need no question while it runs.

A parameter's value is the user's word, and stands in what a step is asked. A step's result is not:
it goes along as a text (`core.team.graph.filled`). Samples ship beside this file; a workflow under
CORTEX_HOME takes the place of a sample of its name.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import yaml
from pydantic import BeforeValidator, Field

from config.checking import Section, check, line_of
from config.settings import WORKFLOWS, SettingsError
from config.texts import compose_yaml, document_in, load_yaml
from core.base.files import FileTooLarge, read_regular
from core.base.frozen import frozen
from core.base.text import did_you_mean, lazy_pattern, near_names
from core.errors import UsageError
from core.provenance.rules import RuleError, read_rule
from core.team.graph import ID_FORM, SUBTASKS_MAX, Need, Subtask, TaskGraph, problems
from core.values import Json, JsonObject

SAMPLES: Final = Path(__file__).with_name("sample")
"""Those that ship."""

BYTES_MAX: Final = 256 * 1024
VALUE_CHARACTERS_MAX: Final = 10_000
SUFFIX: Final = ".yaml"

REQUEST_CHARACTERS_MAX: Final = 4_000
"""So much of a request is looked at for the name of a workflow and its values."""

NAME_FORM: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_REFERENCE: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")

_RUN_BY_NAME: Final = lazy_pattern(
    r"\s*(?i:(?:please\s+)?(?:run|start|use|do)\s+(?:(?:the|my|our)\s+)?workflow)\s+"
    rf"[`'\"]?({NAME_FORM.pattern})[`'\"]?(?:\s+with\s+(.*?))?\s*[.!]?\s*",
    re.DOTALL,
)
_GIVEN: Final = lazy_pattern(
    r"([a-z][a-z0-9_]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(.*?))"
    r"(?=\s*(?:,|;|\band\b|\s)\s*(?:and\s+)?[a-z][a-z0-9_]*\s*=|\s*$)",
    re.DOTALL,
)

Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=4_000)]


def _as_text(value: object) -> object:
    """YAML's `yes`, `no` and numbers as what a person would have typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


GivenText: TypeAlias = Annotated[str | None, BeforeValidator(_as_text)]
"""What a person could have typed."""


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
    default: GivenText = None

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
    approve: tuple[Text, ...] = ()
    steps: tuple[StepEntry, ...] = Field(min_length=1, max_length=SUBTASKS_MAX)


@frozen
class Workflow:
    """A workflow that was read and is sound; its parameters are not filled yet."""

    name: str
    description: str
    parameters: Mapping[str, ParameterEntry]
    subtasks: tuple[Subtask, ...]
    approve: tuple[str, ...] = ()

    def graph(self, arguments: Mapping[str, str]) -> TaskGraph:
        """The graph with the parameters' values in it.

        Raises:
            UsageError: a value is missing, not of its type, or of no parameter.
        """
        values = dict(self._values(arguments))

        def put(found: re.Match[str]) -> str:
            return values.get(found[1], found[0])

        subtasks = (
            replace(
                each,
                description=_REFERENCE.sub(put, each.description),
                expected=_REFERENCE.sub(put, each.expected),
                question=_REFERENCE.sub(put, each.question),
                default=None if each.default is None else _REFERENCE.sub(put, each.default),
            )
            for each in self.subtasks
        )
        return TaskGraph(asking_for(self.name, values), tuple(subtasks), self.approve)

    def missing(self, arguments: Mapping[str, str]) -> tuple[str, ...]:
        """The parameters that have to be given, and are not."""
        needed = (name for name, entry in self.parameters.items() if entry.default is None)
        return tuple(name for name in needed if name not in arguments)

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


def load_workflow(path: Path, roles: Collection[str] | None = None) -> Workflow:
    """Read and check one file; its roles too, where it is told which are there.

    Raises:
        SettingsError: it can't be read, or is wrong; every problem is told.
    """
    try:
        return checked_workflow(path, read_regular(path, BYTES_MAX).decode("utf-8"), roles)
    except FileNotFoundError:
        raise SettingsError(f"{path} is not there") from None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except (FileTooLarge, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error


def checked_workflow(path: Path, text: str, roles: Collection[str] | None = None) -> Workflow:
    """The workflow that stands in the text of a file, or would.

    Raises:
        SettingsError: it is wrong; every problem is told, with its line where it has one.
    """
    document = document_in(path, text, load_yaml)
    file = check(document, WorkflowFile, path, text)
    steps = tuple(each.subtask for each in file.steps)
    # To the graph a parameter is no reference: it is filled before the graph is made.
    parameters = {*file.parameters}
    filled = tuple(replace(s, description=_without(s.description, parameters)) for s in steps)
    wrong = [*_wrong_names(path.stem, file)]
    wrong += [
        (problem, next((n for n, s in enumerate(steps) if problem.startswith(_of(s))), None))
        for problem in problems(TaskGraph(file.description, filled), roles)
    ]
    if wrong:
        nodes = compose_yaml(text)
        lines = ((line_of(nodes, ("steps", n)) if n is not None else None) for _, n in wrong)
        told = (SettingsError.at(path, line, w) for line, (w, _) in zip(lines, wrong, strict=True))
        raise SettingsError("\n".join(map(str, told)))
    return Workflow(path.stem, file.description, file.parameters, steps, file.approve)


def own_workflows(home: Path) -> dict[str, Path]:
    """The files that the user keeps under CORTEX_HOME, by name."""
    return _files(home / WORKFLOWS)


def workflow_files(home: Path) -> dict[str, Path]:
    """The files of all workflows by name: the user's, and the samples."""
    return dict(sorted((_files(SAMPLES) | own_workflows(home)).items()))


def _files(folder: Path) -> dict[str, Path]:
    found = folder.glob(f"*{SUFFIX}")
    return {path.stem: path for path in found if not path.name.startswith(".")}


def find_workflow(home: Path, name: str) -> Workflow:
    """The workflow of that name, or that of a file where a path is given.

    Raises:
        UsageError: there is none; the message gives the nearest.
        SettingsError: it is wrong.
    """
    return load_workflow(workflow_file(home, name))


def workflow_file(home: Path, name: str) -> Path:
    """The file of the workflow of that name, or the one that is named; it may be wrong.

    Raises:
        UsageError: there is none of that name; the message gives the nearest.
    """
    if name.endswith((SUFFIX, ".yml")) or "/" in name:
        return Path(name)
    files = workflow_files(home)
    if name not in files:
        meant = did_you_mean(near_names(name, files), "agent.py workflow list shows all")
        raise UsageError(f"there is no workflow '{name}' in {home / WORKFLOWS}; {meant}")
    return files[name]


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


def asked_workflow(request: str) -> tuple[str, dict[str, str]] | None:
    """The workflow that a request names, and the values that it gives; None if it names none.

    Such a request is what `asking_for` writes.
    """
    if (found := _RUN_BY_NAME.fullmatch(request[:REQUEST_CHARACTERS_MAX])) is None:
        return None
    given = {
        each[1]: each[2] or each[3] or each[4] or "" for each in _GIVEN.finditer(found[2] or "")
    }
    return found[1], given


def named_graph(request: str, home: Path) -> TaskGraph | None:
    """The graph of the workflow that a request names; None if it names none. Reads files.

    Raises:
        UsageError: there is no such workflow, or a value is missing or wrong.
        SettingsError: its file is wrong.
    """
    if (named := asked_workflow(request)) is None:
        return None
    return find_workflow(home, named[0]).graph(named[1])


def asking_for(name: str, arguments: Mapping[str, str]) -> str:
    """The request that asks for a workflow with these values."""
    given = (
        f'{key}="{value}"' if " " in value else f"{key}={value}" for key, value in arguments.items()
    )
    said = " and ".join(given)
    return f"run the workflow {name} with {said}" if said else f"run the workflow {name}"


def workflow_text(
    description: str,
    subtasks: Sequence[Subtask],
    parameters: Mapping[str, str],
    approve: Sequence[str] = (),
) -> str:
    """The text of a workflow's file; `parameters` are words that stand in the steps, by name.

    Where such words stand, their parameter does in the file, with them as its default.

    Raises:
        UsageError: they stand in no step.
    """
    names = {value: name for name, value in parameters.items()}
    longest_first = "|".join(re.escape(value) for value in sorted(names, key=len, reverse=True))
    words = re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)" if longest_first else "(?!)")
    steps: list[Json] = []
    for each in subtasks:
        said: JsonObject = {"id": each.id}
        for key, text in (("do", each.description), ("expected", each.expected),
                          ("question", each.question)):  # fmt: skip
            if text:
                said[key] = words.sub(lambda found: f"{{{{{names[found[0]]}}}}}", text)
        more: JsonObject = {
            "role": each.role, "after": [*each.after], "tools": [*each.tools],
            "critical": each.critical, "needs": each.needs, "default": each.default,
        }  # fmt: skip
        steps.append(said | {key: v for key, v in more.items() if v not in (None, [], False)})
    put = json.dumps(steps, ensure_ascii=False)
    for value, name in names.items():
        if f"{{{{{name}}}}}" not in put:
            raise UsageError(f"'{value}' stands in no step, and can't become {name}")
    document: JsonObject = {"description": description}
    if parameters:
        document["parameters"] = {name: {"default": value} for value, name in names.items()}
    if approve:
        document["approve"] = [*approve]
    document["steps"] = steps
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _wrong_names(name: str, file: WorkflowFile) -> Iterator[tuple[str, int | None]]:
    """What is wrong with names, and in which step."""
    if NAME_FORM.fullmatch(name) is None:
        yield "a workflow's file is named in small letters, digits, _ and -", None
    steps = [step.id for step in file.steps]
    for parameter in file.parameters:
        if ID_FORM.fullmatch(parameter) is None:
            yield f"parameter '{parameter}': a small letter, then small letters, digits and _", None
        if parameter in steps:
            told = f"'{parameter}' is a parameter and a step; call one of them otherwise"
            yield told, steps.index(parameter)
    for rule in file.approve:
        try:
            read_rule(rule)
        except RuleError as error:
            yield f"approve: {error}", None


def _of(subtask: Subtask) -> str:
    """How a problem of a subtask begins (`core.team.graph.problems`)."""
    return f"subtask '{subtask.id}'"


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
            if entry.type == "integer":
                return str(int(value))
            if math.isfinite(number := float(value)):
                return str(number).removesuffix(".0")
            raise ValueError
        except ValueError:
            wanted = "a whole number" if entry.type == "integer" else "a number"
            raise UsageError(f"{name} is '{value}'; {wanted} is wanted") from None
    # Braces in a value would be read as a reference to a step.
    return value.replace("{{", "{ {").replace("}}", "} }")
