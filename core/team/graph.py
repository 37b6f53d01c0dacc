"""A task graph: subtasks, what each needs of the others, and what is wrong with a graph.

A subtask names the result of another one as `{{id}}`, or a part of it as `{{id.field}}`, in its
description. Such a reference is a dependency too. The graph is a value; whoever wrote it (a model,
a file, the offline planner), `problems` says what keeps it from running, in words.
"""

import json
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal, TypeAlias, TypeVar

from core.base.frozen import frozen
from core.base.text import lazy_pattern, near_names, one_line, sentence
from core.values import Json

SUBTASKS_MAX: Final = 200
"""A larger graph is no plan that anybody could follow; `team.max_parts` of a profile is less."""

TEXT_CHARACTERS_MAX: Final = 4_000
"""Longest description of a subtask."""

ID_FORM: Final = lazy_pattern(r"[a-z][a-z0-9_]{0,39}")
"""An id names a variable in the plans of those who use its result."""

TAKEN_NAMES: Final = frozenset({"memory", "solve", "tools", *keyword.kwlist})
"""Names that mean something else in plans, so that no result can have them."""

_REFERENCE: Final = lazy_pattern(r"\{\{\s*([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_.-]+))?\s*\}\}")

Need: TypeAlias = Literal["approval", "input"]

INPUT: Final = "input"
"""`{{input}}` in a subtask that needs an input stands for what the person says."""

SubtaskState: TypeAlias = Literal[
    "pending",  # something that it needs is not there yet
    "ready",  # it waits for its turn
    "running",
    "completed",
    "failed",
    "blocked",  # something that it needs failed
    "cancelled",  # the graph ended before it did
]


MayUse: TypeAlias = Callable[[str, str], bool]
"""Whether a role may use a tool, both by their names."""

_T = TypeVar("_T")


@frozen
class Subtask:
    """A part of a request that is planned and run by itself.

    Attributes:
        id: its name, and that of the variable in which others find its result.
        description: what is to be done, as a request; may hold references.
        expected: what the result should be, in words.
        role: who of the team should do it; None for whoever fits.
        after: ids of subtasks that come first, beside those that the description refers to.
        tools: names of the tools that it may use; empty for all.
        critical: nothing else is of use if it fails.
        needs: what a person has to give before it runs: leave, or an answer to `question`.
        question: what the person is asked; the description where it is empty.
        default: what stands for the answer where nobody can be asked, or answers in time; None
            is a failure.
    """

    id: str
    description: str
    expected: str = ""
    role: str | None = None
    after: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    critical: bool = False
    needs: Need | None = None
    question: str = ""
    default: str | None = None

    @property
    def references(self) -> tuple[tuple[str, str], ...]:
        """The (id, field) pairs that its description refers to, each once; the field may be ""."""
        found = (
            (id_, field or "")
            for id_, field in _REFERENCE.findall(self.description)
            if not self.means_input(id_)
        )
        return tuple(dict.fromkeys(found))

    def means_input(self, name: str) -> bool:
        """Whether a reference means what a person is asked for, and no other subtask."""
        return name == INPUT and self.needs == "input"

    @property
    def words(self) -> str:
        """The description without its references."""
        return _REFERENCE.sub(" ", self.description)

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The ids of all that must come first, in the order in which they are named."""
        return tuple(dict.fromkeys((*self.after, *(id_ for id_, _ in self.references))))


@frozen
class TaskGraph:
    """Subtasks in the order in which they were written; the last answers the request.

    Attributes:
        goal: the request that it answers, or what a kept workflow is for.
        approve: rules for calls that need no question while it runs (`core.provenance.rules`), as
            a kept workflow names them.
    """

    goal: str
    subtasks: tuple[Subtask, ...]
    approve: tuple[str, ...] = ()

    def __getitem__(self, id_: str) -> Subtask:
        """The subtask of that id.

        Raises:
            KeyError: there is none.
        """
        for subtask in self.subtasks:
            if subtask.id == id_:
                return subtask
        raise KeyError(id_)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order in which they were written."""
        return tuple(subtask.id for subtask in self.subtasks)

    @property
    def results(self) -> tuple[str, ...]:
        """The ids that no other after: what the graph is there for."""
        needed = {id_ for subtask in self.subtasks for id_ in subtask.dependencies}
        return tuple(id_ for id_ in self.ids if id_ not in needed)

    def sorter(self, done: Collection[str] = ()) -> TopologicalSorter[str]:
        """The standard library's sorter, prepared, for what is not `done`.

        Raises:
            graphlib.CycleError: there is a cycle.
        """
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for subtask in self.subtasks:
            if subtask.id not in done:
                sorter.add(subtask.id, *(d for d in subtask.dependencies if d not in done))
        sorter.prepare()
        return sorter

    def after(self, id_: str) -> frozenset[str]:
        """The ids of all that depend on a subtask, directly or not."""
        users: dict[str, list[str]] = {}
        for subtask in self.subtasks:
            for needed in subtask.dependencies:
                users.setdefault(needed, []).append(subtask.id)
        found: set[str] = set()
        left = [id_]
        while left:
            for user in users.get(left.pop(), ()):
                if user not in found:
                    found.add(user)
                    left.append(user)
        return frozenset(found)

    def is_same_as(self, other: "TaskGraph") -> bool:
        """Whether the same would be done, whatever the parts are called."""
        return sorted(_shapes(self)) == sorted(_shapes(other))


@frozen
class GraphOutcome:
    """How a graph ended: the state of each subtask, the results, and why others have none.

    Attributes:
        stopped: why it ended before its time, empty if it did not.
        attempts: how often each was tried, of those that began.
        seconds: wall time of the last try of each that has ended.
        roles: who did each, where the team had somebody.
        notes: what is to be known beside the results: by a subtask that a committee did, who
            disagrees; by a fact of which workers say different things, what counts.
    """

    graph: TaskGraph
    states: dict[str, SubtaskState] = field(default_factory=dict[str, SubtaskState])
    results: dict[str, str] = field(default_factory=dict[str, str])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    stopped: str = ""
    attempts: dict[str, int] = field(default_factory=dict[str, int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    roles: dict[str, str] = field(default_factory=dict[str, str])
    notes: dict[str, str] = field(default_factory=dict[str, str])

    def behind(self, earlier: "GraphOutcome") -> "GraphOutcome":
        """The same with what an earlier run of parts of this graph took, and who did them."""
        ids = {*self.graph.ids}

        def both(before: Mapping[str, _T], now: Mapping[str, _T]) -> dict[str, _T]:
            return {id_: value for id_, value in {**before, **now}.items() if id_ in ids}

        return replace(
            self,
            attempts=both(earlier.attempts, self.attempts),
            seconds=both(earlier.seconds, self.seconds),
            notes=both(earlier.notes, self.notes),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every subtask has its result."""
        return all(state == "completed" for state in self.states.values())


def problems(
    graph: TaskGraph,
    roles: Collection[str] | None = None,
    tools: Collection[str] | None = None,
    most: int = SUBTASKS_MAX,
) -> tuple[str, ...]:
    """Why the graph can't run, a sentence each; empty if it can.

    `roles` and `tools` are the names that exist, None where nobody knows them yet. `most` parts are
    allowed.
    """
    if len(graph.ids) > most:
        limit = "" if most == SUBTASKS_MAX else "; team.max_parts of the profile says so"
        return (f"there are {len(graph.ids)} subtasks; at most {most}{limit}",)
    found = [*_wrong_parts(graph, roles, tools)]
    if not found and (cycle := _cycle(graph)) is not None:
        found.append(f"these wait for each other: {' → '.join(cycle)}")
    return tuple(found)


def _wrong_parts(
    graph: TaskGraph, roles: Collection[str] | None, tools: Collection[str] | None
) -> Iterator[str]:
    ids = graph.ids
    if not ids:
        yield "there is no subtask"
    for id_ in sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        yield f"two subtasks have the id {_quoted(id_)}"
    for subtask in graph.subtasks:
        role = () if subtask.role is None else (subtask.role,)
        for wrong in (
            *_wrong_words(subtask),
            *_missing(subtask.dependencies, ids, "which is not there"),
            *_missing(role, role if roles is None else roles, "a role that is not there"),
            *_missing(subtask.tools, subtask.tools if tools is None else tools,
                      "a tool that is not there"),
        ):  # fmt: skip
            yield f"subtask {_quoted(subtask.id)}{wrong}"


def _missing(names: Sequence[str], known: Collection[str], what: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f" needs {_quoted(name)}, {what}{_near(name, known)}"


def _wrong_words(subtask: Subtask) -> Iterator[str]:
    if ID_FORM.fullmatch(subtask.id) is None:
        yield ": an id is a small letter, then small letters, digits and _"
    if subtask.id in TAKEN_NAMES:
        yield " needs another id: this word means something else in plans"
    if not subtask.description.strip():
        yield " does not say what is to be done"
    if len(subtask.description) > TEXT_CHARACTERS_MAX:
        yield f": its description has over {TEXT_CHARACTERS_MAX:,} characters"


def _cycle(graph: TaskGraph) -> tuple[str, ...] | None:
    """Ids that wait for each other, the first of them again at the end; None if there are none."""
    try:
        graph.sorter()
    except CycleError as error:
        found: list[str] = error.args[1]
        return tuple(reversed(found))  # graphlib tells who is needed first; we who waits for whom
    return None


def joined_small_parts(graph: TaskGraph, may_use: MayUse) -> tuple[TaskGraph, tuple[str, ...]]:
    """The graph without parts that are a single tool call, and a sentence on each that went.

    Planning costs more than one call. A subtask that may use one tool and needs nothing joins the
    only one that needs it, which then does both. That one must need nothing else, as the two calls
    could run at the same time; and it must be sure to have the tool.
    """
    told: list[str] = []
    while (pair := _small_part(graph, may_use)) is not None:
        part, user = pair
        name = f" Call the result {part.id}." if user.references else ""
        joined = replace(
            user,
            description=f"{sentence(part.description)}{name} "
            + _REFERENCE.sub(part.id, user.description),
            after=(),
            tools=tuple(dict.fromkeys((*part.tools, *user.tools))) if user.tools else (),
            critical=user.critical or part.critical,
        )
        kept = (joined if s.id == user.id else s for s in graph.subtasks if s.id != part.id)
        graph = TaskGraph(graph.goal, tuple(kept))
        told.append(f"{part.id} is a single call, and is done in {user.id}")
    return graph, tuple(told)


def _small_part(graph: TaskGraph, may_use: MayUse) -> tuple[Subtask, Subtask] | None:
    for part in graph.subtasks:
        if len(part.tools) != 1 or part.dependencies or part.role is not None:
            continue
        users = [s for s in graph.subtasks if part.id in s.dependencies]
        if len(users) != 1:
            continue
        (user,) = users
        if user.dependencies != (part.id,) or user.needs is not None:
            continue
        has_tool = (
            bool(user.tools)  # whoever is chosen has all that are listed
            if user.role is None
            else all(may_use(user.role, tool) for tool in (*part.tools, *user.tools))
        )
        if has_tool and not any(field for _, field in user.references):
            return part, user
    return None


def filled(subtask: Subtask, results: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """What a subtask asks, and the texts that go along with it, by the names that it gives them.

    A number stands where the reference stood. Any other result goes along as a text, and the
    reference becomes its name: what others wrote is data and never part of what is asked.
    """
    texts: dict[str, str] = {}

    def put(found: re.Match[str]) -> str:
        name, field = found[1], found[2] or ""
        if subtask.means_input(name):
            return found[0]
        value = field_of(results[name], field)
        if is_number(value):
            return value
        variable = name if not field else f"{name}_{re.sub(r'[^a-z0-9]+', '_', field.lower())}"
        texts[variable] = value
        return variable

    asked = _REFERENCE.sub(put, subtask.description)
    texts |= {id_: results[id_] for id_ in subtask.after if id_ in results and id_ not in texts}
    return asked, texts


def field_of(result: str, field: str) -> str:
    """A part of a result that is JSON, by names and places with dots between; "" is all of it.

    What has no such part is given whole: a text that was to be an object still holds the facts.
    """
    if not field:
        return result
    try:
        value: Json = json.loads(result)
    except (ValueError, RecursionError):
        return result
    for key in field.split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return result
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_number(text: str) -> bool:
    """Whether a text is one decimal number, of a size that stands in a request."""
    return re.fullmatch(r"-?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", text.strip()) is not None


def _shapes(graph: TaskGraph) -> Iterable[str]:
    """Each subtask as text that no renaming changes: its words, and those of what it needs."""
    for subtask in graph.subtasks:
        needed = sorted(_words(graph, id_) for id_ in subtask.dependencies)
        yield f"{_words(graph, subtask.id)} <- {needed} {subtask.role} {sorted(subtask.tools)}"


def _words(graph: TaskGraph, id_: str) -> str:
    """What a subtask says, without case, spaces and the names of others."""
    said = next((s.description for s in graph.subtasks if s.id == id_), id_)
    return " ".join(_REFERENCE.sub("{{}}", said).lower().split())


def _near(name: str, names: Iterable[str]) -> str:
    near = near_names(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _quoted(name: str) -> str:
    return f"'{one_line(name, 60)}'"
