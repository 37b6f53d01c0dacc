"""`workflow`: tasks of several steps that are kept in files: listed, shown, checked, run, saved."""

import hashlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.settings import WORKFLOWS, SettingsError
from core.asking import YES
from core.base.files import folder_locked, read_regular, write_atomically
from core.base.memory.exchanges import dated_exchanges
from core.base.text import one_line
from core.errors import ExitCode, UsageError, storing
from core.provenance.rules import read_rule
from core.team.graph import Subtask
from core.tools.json_schema import as_object
from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.cli.command_line import add_request_options, arguments_for
from modules.cli.interaction import Setting, answer
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Options, Surroundings
from modules.cli.trace import session_named
from modules.planning.guidance.trust import FILE_NAME, TrustStore
from modules.session.history import LEAVE, RULES
from modules.session.team_items import graph_of
from modules.team.roles import roles_of
from modules.team.workflow import (
    BYTES_MAX,
    NAME_FORM,
    SAMPLES,
    SUFFIX,
    Workflow,
    arguments_of,
    checked_workflow,
    find_workflow,
    load_workflow,
    workflow_file,
    workflow_files,
    workflow_text,
)
from modules.terminal.streams import printable, typed_answer, write

HEADS: Final = ("workflow", "parameters", "what it does")
STEP_CHARACTERS: Final = 100
"""How much of a step the tree shows."""

_HELP: Final = """\
Tasks of several steps that are kept: a YAML file each in the folder workflows under CORTEX_HOME,
with parameters. Steps that do not need each other run at the same time. A request runs one, too:
agent.py "run the workflow savings with amount=2000"

examples:
  agent.py workflow list
  agent.py workflow run savings amount=2000 years=5
  agent.py workflow save lease --last city=Berlin
  agent.py workflow check"""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `workflow`; raises as `read_action`."""
    return read_action(words, program, "workflow", _HELP, _ACTIONS)


def list_workflows(around: Surroundings) -> ExitCode:
    """Each with its parameters and what it does, or what is wrong with it."""
    home = around.places.home
    documents: list[Json] = [_document(found, path) for path, found in _read_all(home)]
    return around.report_rows(documents, [HEADS, *summaries(home)])


def summaries(home: Path) -> Iterator[tuple[str, str, str]]:
    """The cells of each workflow's row under `HEADS`."""
    for path, found in _read_all(home):
        if isinstance(found, Workflow):
            more = " (a sample)" if path.parent == SAMPLES else ""
            about = f"{one_line(found.description, STEP_CHARACTERS)}{more}"
            yield path.stem, " ".join(_usage(found)), about
        else:
            yield path.stem, "", f"can't be used: agent.py workflow check {path.stem}"


def _read_all(home: Path) -> Iterator[tuple[Path, Workflow | str]]:
    """Each file with its workflow, or with what is wrong with it."""
    for path in workflow_files(home).values():
        yield path, _read(path)


def _read(path: Path, roles: Collection[str] | None = None) -> Workflow | str:
    try:
        return load_workflow(path, roles)
    except SettingsError as error:
        return str(error)


def _usage(workflow: Workflow) -> Iterator[str]:
    """`city=` for what has to be given, `[other=Berlin]` for what may be."""
    for name, entry in workflow.parameters.items():
        yield (
            f"{name}=" if entry.default is None else f"[{name}={one_line(str(entry.default), 40)}]"
        )


def _document(found: Workflow | str, path: Path) -> JsonObject:
    """A workflow as JSON."""
    told: JsonObject = {"name": path.stem, "file": str(path), "sample": path.parent == SAMPLES}
    if isinstance(found, str):
        return {**told, "ok": False, "problems": [*found.splitlines()]}
    parameters: JsonObject = {n: e.model_dump() for n, e in found.parameters.items()}
    steps: list[Json] = [
        {"id": s.id, "do": s.description, "needs": [*_needed(s, found.subtasks)]}
        for s in found.subtasks
    ]
    told |= {"ok": True, "description": found.description, "parameters": parameters}
    return {**told, "steps": steps}


def show_workflow(around: Surroundings) -> ExitCode:
    """Its file, and its steps as a tree.

    Raises:
        UsageError: there is none of that name.
        SettingsError: its file is wrong.
    """
    path = workflow_file(around.places.home, around.options.name)
    found = load_workflow(path)
    text = path.read_text(encoding="utf-8").rstrip()
    return around.report(_document(found, path), f"{path}\n\n{text}\n\n{tree_text(found)}")


def tree_text(workflow: Workflow) -> str:
    """The steps as a tree: below each, those that it needs."""
    steps = {step.id: step for step in workflow.subtasks}
    needed = {id_ for step in steps.values() for id_ in _needed(step, workflow.subtasks)}
    seen: set[str] = set()

    def lines(id_: str, first: str, more: str) -> Iterator[str]:
        again = " (see above)" if id_ in seen else ""
        yield f"{first}{id_}: {one_line(steps[id_].description, STEP_CHARACTERS)}{again}"
        if not again:
            seen.add(id_)
            below = _needed(steps[id_], workflow.subtasks)
            for number, each in enumerate(below, 1):
                is_last = number == len(below)
                branch, stem = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
                yield from lines(each, f"{more}{branch}", f"{more}{stem}")

    return "\n".join(line for id_ in steps if id_ not in needed for line in lines(id_, "", ""))


def _needed(step: Subtask, steps: Sequence[Subtask]) -> tuple[str, ...]:
    """The steps that come before one; a parameter is none."""
    ids = {each.id for each in steps}
    return tuple(id_ for id_ in step.dependencies if id_ in ids)


def check_workflows(around: Surroundings) -> ExitCode:
    """Read one, or all, as a run would; every fault is told with its line.

    Raises:
        UsageError: there is none of that name.
    """
    home = around.places.home
    paths = [workflow_file(home, name) for name in around.options.names]
    roles = roles_of(around.profile.team)
    read = [(path, _read(path, roles)) for path in paths or workflow_files(home).values()]
    if around.options.json:
        around.print_json([_document(found, path) for path, found in read])
    for path, found in read:
        if isinstance(found, str):
            for line in found.splitlines():
                around.complaints.say("config", line)
        elif not around.options.json:
            around.print(f"{path}: right")
    is_right = all(isinstance(found, Workflow) for _, found in read)
    return ExitCode.ANSWERED if is_right else ExitCode.BAD_USAGE


def run_workflow(around: Surroundings) -> ExitCode:
    """Run one with its parameters' values; at a terminal, those that are missing are asked for.

    Raises:
        UsageError: there is none of that name, or a value is missing or wrong.
        SettingsError: its file is wrong, or the profile.
    """
    options = around.options
    if options.prompt:
        raise UsageError("the workflow is the request: leave out --prompt")
    workflow = _with_leave(find_workflow(around.places.home, options.name), around)
    given = _asked_for(workflow, arguments_of(options.values), around)
    graph = workflow.graph(given)
    arguments = arguments_for(graph.goal, options)
    profile = arguments.adapted(around.profile)
    setting = Setting(
        arguments,
        around.places,
        around.complaints,
        profile,
        around.servers,
        spawned={},
        environ=around.environ,
    )
    return answer(graph.goal, setting, around.waits(), graph)


def _with_leave(workflow: Workflow, around: Surroundings) -> Workflow:
    """The workflow, without its rules where it comes from elsewhere and nobody confirms them.

    What is confirmed holds as long as the file says what it says.
    """
    home, path = around.places.home, workflow_file(around.places.home, around.options.name)
    if not workflow.approve or path in (*workflow_files(home).values(),):
        return workflow
    store, file = TrustStore(home / FILE_NAME), path.resolve()
    sha256 = hashlib.sha256(read_regular(path, BYTES_MAX)).hexdigest()
    said = store.verdict(file, sha256)
    if said is None and (said := _confirmed(f"{path} may call", workflow.approve, around)):
        with storing(home / FILE_NAME):
            store.decide(file, sha256, is_trusted=True)
    return workflow if said else replace(workflow, approve=())


def _confirmed(what: str, rules: Sequence[str], around: Surroundings) -> bool:
    """Whether somebody who is there agrees to rules that they are shown."""
    if around.stderr is None:
        return False
    shown = "".join(f"  {printable(one_line(str(read_rule(rule))))}\n" for rule in rules)
    write(f"{what}, without asking:\n{shown}", around.stderr)
    if not (sys.stdin.isatty() and around.stderr.isatty()):
        write(
            "nobody is here to confirm it: such calls are asked about or refused\n", around.stderr
        )
        return False
    with suppress(EOFError):
        return typed_answer("Is that right? [y/N] ", around.stderr).lower() in YES
    return False


def _asked_for(
    workflow: Workflow, given: Mapping[str, str], around: Surroundings
) -> dict[str, str]:
    """The values, with those that are missing as somebody types them, where somebody is there."""
    values = {**given}
    if around.stderr is None or not (sys.stdin.isatty() and around.stderr.isatty()):
        return values
    with suppress(EOFError):  # what is missing is told as it is where nobody is there
        for name in workflow.missing(given):
            about = workflow.parameters[name].description
            question = f"{name}{f' ({one_line(about)})' if about else ''}: "
            if not (line := typed_answer(question, around.stderr)):
                break
            values[name] = line
    return values


def save_workflow(around: Surroundings) -> ExitCode:
    """Make a workflow of the newest request of a session.

    Raises:
        UsageError: no such session, nothing was asked, or the name is taken.
        StorageError: the session can't be read, or the file not be written.
    """
    options = around.options
    _, items = session_named(around)
    values = arguments_of(options.values)
    rules = approved_in(items)
    if rules and not _confirmed(f"the workflow {options.name} may call", rules, around):
        rules = ()
    path = saved(around.places.home, options.name, items, values, rules, is_forced=options.force)
    told = f"wrote {path}; agent.py workflow run {options.name} runs it"
    return around.report({"file": str(path)}, told)


def saved(
    home: Path,
    name: str,
    items: Sequence[MemoryItem],
    values: Mapping[str, str],
    approve: Sequence[str] = (),
    *,
    is_forced: bool,
) -> Path:
    """The file into which the newest request went: its graph, or itself as the one step.

    Each of `values` is to stand in it, and becomes a parameter whose default it is. `approve` are
    the rules for what it may call.

    Raises:
        UsageError: nothing was asked, a value does not stand in the request, or the name is taken
            or none.
        StorageError: the file can't be written.
    """
    if NAME_FORM.fullmatch(name) is None:
        raise UsageError(f"'{name}' is no name: small letters, digits, _ and - make one")
    asked = dated_exchanges(items)
    if not asked:
        raise UsageError("nothing was asked in this session; a workflow is made of a request")
    request = asked[-1].request
    steps = _steps(items) or (Subtask("answer", request.replace("{{", "{ {")),)
    text = workflow_text(one_line(request, STEP_CHARACTERS), steps, values, approve)
    path = home / WORKFLOWS / f"{name}{SUFFIX}"
    try:
        checked_workflow(path, text)
    except SettingsError as error:
        raise UsageError(f"no workflow can be made of it: {error}") from error
    with storing(path), folder_locked(path):
        if path.exists() and not is_forced:
            raise UsageError(f"{path} is there already; --force replaces it")
        write_atomically(path, text.encode())
    return path


def approved_in(items: Sequence[MemoryItem]) -> tuple[str, ...]:
    """The rules for the calls that the user allowed in the newest request."""
    rules: dict[str, None] = {}
    for item in items:
        if item.user_query is not None and item.type == "run_metadata":
            rules.clear()
        said = as_object(item.metadata.get(LEAVE)).get(RULES)
        for rule in said if isinstance(said, list) else ():
            rules[str(rule)] = None
    return tuple(rules)


def _steps(items: Sequence[MemoryItem]) -> tuple[Subtask, ...]:
    """The steps by which the newest request was answered; none where it was a single plan."""
    steps: tuple[Subtask, ...] = ()
    for item in items:
        if item.user_query is not None and item.type == "run_metadata":
            steps = ()
        if (graph := graph_of(item)) is not None:
            steps = graph.subtasks
    return steps


def _name_argument(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a workflow, or a FILE of one")


def _check_arguments(parser: CommandParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="workflows, or files; else all")


def _run_arguments(parser: CommandParser) -> None:
    _name_argument(parser)
    parser.add_argument(
        "values",
        metavar="KEY=VALUE",
        nargs="*",
        default=[],
        help="values of the workflow's parameters",
    )


def _save_arguments(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what the workflow will be called")
    parser.add_argument(
        "values",
        metavar="KEY=VALUE",
        nargs="*",
        default=[],
        help="the VALUE that stands in the request becomes the parameter KEY",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--from", metavar="SESSION", dest="session", help="a session's id, or a part"
    )
    which.add_argument(
        "--last", action="store_true", help="the session that was used last, as without --from"
    )
    parser.add_argument("--force", action="store_true", help="replace a workflow of that name")


_ACTIONS: Final[Mapping[str, Action]] = {
    "list": Action(
        "the workflows under CORTEX_HOME, and samples",
        """\
A parameter in [ ] has the value that is shown if none is given.

examples:
  agent.py workflow list
  agent.py workflow list --json | jq -r '.[].name'""",
        list_workflows,
    ),
    "show": Action(
        "a workflow's file, and its steps as a tree",
        """\
Below each step stand those that it needs.

examples:
  agent.py workflow show savings""",
        show_workflow,
        _name_argument,
    ),
    "check": Action(
        "say what is wrong with workflows, with its lines",
        """\
Exits with 2 where something is wrong.

examples:
  agent.py workflow check
  agent.py workflow check drafts/lease.yaml""",
        check_workflows,
        _check_arguments,
    ),
    "run": Action(
        "run a workflow",
        """\
It takes the options of a request. At a terminal, values that are missing are asked for. Where a
step needs leave or an answer and nobody is there to give it, the step's default counts.

examples:
  agent.py workflow run savings amount=2000 years=5
  agent.py workflow run savings --json | jq .answer""",
        run_workflow,
        _run_arguments,
        options=add_request_options,
    ),
    "save": Action(
        "make a workflow of a session's newest request",
        """\
Its steps are those by which the request was answered in parts; else the request is the one step.

examples:
  agent.py workflow save lease --last
  agent.py workflow save lease --from 4f8a1c city=Berlin""",
        save_workflow,
        _save_arguments,
    ),
}
