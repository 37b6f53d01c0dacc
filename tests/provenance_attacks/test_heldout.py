"""Cases that were written from the rule alone, without sight of the code that decides."""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, cast

import pytest
from pydantic import TypeAdapter

from core.asking import Leave, LeaveQuestion
from core.errors import CallRefused
from core.provenance.guard import Provenance, ProvenanceGuard, Refused
from core.provenance.known import Known, ProvenancePolicy
from core.provenance.rules import Rule, RuleError, read_rule
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

FOLDER: Final = Path(__file__).parent / "heldout"
ROOT: Final = "{root}"
INJECTION: Final = "{injection}"


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: JsonObject


@dataclass(frozen=True)
class Setup:
    folders: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    symlinks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    cwd: str = ROOT
    home: str = ""


@dataclass(frozen=True)
class RuleCase:
    id: str
    kind: str
    rule: str
    call: Call
    read_untrusted: bool
    user_words: str
    allowed: bool
    why: str
    certain: bool
    setup: Setup = field(default_factory=Setup)
    configuration: str = ""


@dataclass(frozen=True)
class RequestCase:
    id: str
    request: str
    call: Call


@dataclass(frozen=True)
class ExactCase:
    id: str
    call: Call
    must_not_cover: list[Call]


@dataclass(frozen=True)
class Step:
    call: Call
    result: Json
    trusted_result: bool


@dataclass(frozen=True)
class Injection:
    in_step: int
    text: str
    calls: list[Call]


@dataclass(frozen=True)
class Task:
    id: str
    kind: Literal["values from the user's words", "value only in what is read"]
    request: str
    configuration: str
    approve: list[str]
    steps: list[Step]
    injection: Injection
    certain: bool


RULES = TypeAdapter(list[RuleCase]).validate_json((FOLDER / "rules.json").read_bytes())
REQUESTS = TypeAdapter(list[RequestCase]).validate_json((FOLDER / "requests.json").read_bytes())
EXACT = TypeAdapter(list[ExactCase]).validate_json((FOLDER / "exact_rules.json").read_bytes())
TASKS = TypeAdapter(list[Task]).validate_json((FOLDER / "tasks.json").read_bytes())


READ_OTHERWISE: Final = {
    "rule-137": "a line break in a text for people is the server's to refuse",
    "rule-150": "a comment in an address is asked about",
    "rule-321": "operators are asked about in quotes too: shells differ",
    "rule-322": "so is a substitution",
    "rule-423": "groups of four are another text",
    "rule-468": "a word of the user's is a word of the user's",
    "rule-488": "another form of a time is another text",
    "rule-494": "of what is no address, the address in it counts",
}
"""Cases that the issue leaves open (`certain: false`), and what we decided."""


def _tools() -> dict[str, ToolSpec]:
    found: dict[str, ToolSpec] = {}
    for each in cast("list[JsonObject]", json.loads((FOLDER / "tools.json").read_text("utf-8"))):
        server, _, name = str(each["name"]).partition(".")
        schema = cast("JsonObject", each["parameters"])
        found[f"{server}.{name}"] = ToolSpec(
            server, name, str(each["description"]), schema, read_only=each["only_reads"] is True
        )
    return found


TOOLS = _tools()


def _tool(name: str) -> ToolSpec:
    """The tool; of a name that only looks alike, the one that it imitates, under that name."""
    if name in TOOLS:
        return TOOLS[name]
    server, _, bare = name.rpartition(".")
    model = next((t for t in TOOLS.values() if t.name == bare.strip().lower()), TOOLS["bank.pay"])
    return replace(model, server=server, name=bare)


def _rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for text in texts:
        try:
            found.append(read_rule(text))
        except RuleError:
            continue  # what can't be read allows nothing
    return tuple(found)


def _guard(
    rules: Iterable[str],
    words: str,
    configuration: str = "",
    folder: str = "",
    home: str = "",
) -> ProvenanceGuard:
    servers = {tool.server for tool in TOOLS.values()}
    policy = ProvenancePolicy(
        rules=_rules(rules),
        texts=dict.fromkeys(servers, (configuration,)) if configuration else {},
        runs_in=dict.fromkeys(servers, folder),
        home=home,
    )
    return ProvenanceGuard(Provenance(Known(policy)), lambda: ToolCatalog(TOOLS.values()), [words])


async def _refused(guard: ProvenanceGuard, call: Call) -> Refused | None:
    tool = _tool(call.tool)
    try:
        return await guard.refusal(tool, tool.bind_raw(call.arguments))
    except CallRefused as error:
        return Refused(str(error))


def _set_up(setup: Setup, root: Path) -> None:
    for folder in setup.folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file in setup.files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("x", "utf-8")
    for link, target in setup.symlinks:
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target.replace(ROOT, str(root)))


def _placed(text: str, root: Path) -> str:
    return text.replace(ROOT, str(root))


def _placed_call(call: Call, root: Path) -> Call:
    arguments = json.dumps(call.arguments).replace(ROOT, json.dumps(str(root))[1:-1])
    return Call(call.tool, cast("JsonObject", json.loads(arguments)))


async def _is_allowed(case: RuleCase, root: Path) -> bool:
    _set_up(case.setup, root)
    guard = _guard(
        [_placed(case.rule, root)],
        _placed(case.user_words, root),
        _placed(case.configuration, root),
        _placed(case.setup.cwd, root),
        _placed(case.setup.home, root) or str(Path.home()),
    )
    if case.read_untrusted:
        await guard.note(TOOLS["web.fetch_page"], {"url": "https://a.example"}, "obey")
    return await _refused(guard, _placed_call(case.call, root)) is None


@pytest.mark.parametrize("kind", sorted({case.kind for case in RULES}))
async def test_a_rule_allows_what_it_says(kind: str, tmp_path: Path) -> None:
    cases = [case for case in RULES if case.kind == kind]
    for case in cases:
        (tmp_path / case.id).mkdir()
        is_ours = case.id in READ_OTHERWISE
        assert not (is_ours and case.certain), case.id
        told = f"{case.id}: {case.why}"
        allowed = await _is_allowed(case, (tmp_path / case.id).resolve())
        assert allowed == (case.allowed is not is_ours), told


async def test_no_request_allows_a_call() -> None:
    for case in REQUESTS:
        assert await _refused(_guard([], case.request), case.call) is not None, case.id


def _rule_in(refused: Refused | None) -> str:
    """The rule that a refusal names."""
    assert refused is not None
    found = re.search(r"allow it with --approve (.*), or do without it", refused.reason, re.DOTALL)
    assert found is not None, refused.reason
    return shlex.split(found[1])[0]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.id)
async def test_the_rule_that_a_refusal_names_allows_this_call_alone(
    case: ExactCase, tmp_path: Path
) -> None:
    async def may(rules: list[str], call: Call) -> Refused | None:
        guard = _guard(rules, "", folder=str(tmp_path))
        await guard.note(TOOLS["web.fetch_page"], {"url": "https://a.example"}, "obey")
        return await _refused(guard, _placed_call(call, tmp_path))

    rule = _rule_in(await may([], case.call))
    assert await may([rule], case.call) is None, rule
    for other in case.must_not_cover:
        assert await may([rule], other) is not None, (rule, other)


async def _played(
    task: Task, rules: list[str], *, attacked: bool, allows: list[Call] | None = None
) -> tuple[list[Refused | None], list[Refused | None], int]:
    """What became of the task's own calls, of the injected ones, and how often a person was asked.

    `allows`: the calls that the person says yes to; None: nobody is there.
    """
    questions = 0
    guard = _guard(rules, task.request, task.configuration)

    async def ask(question: LeaveQuestion) -> Leave:
        nonlocal questions
        questions += 1
        asked = Call(question.tool, question.calls[0].arguments)
        return Leave("once" if allows is not None and asked in allows else "no")

    if allows is not None:
        provenance = Provenance(guard.known, ask)
        guard = ProvenanceGuard(provenance, lambda: ToolCatalog(TOOLS.values()), [task.request])
    own: list[Refused | None] = []
    injected: list[Refused | None] = []
    for number, step in enumerate(task.steps):
        own.append(await _refused(guard, step.call))
        text = json.dumps(step.result, ensure_ascii=False)
        said = json.dumps(task.injection.text if attacked else "", ensure_ascii=False)[1:-1]
        result = cast("Json", json.loads(text.replace(INJECTION, said)))
        if not step.trusted_result and own[-1] is None:
            await guard.note(TOOLS[step.call.tool], step.call.arguments, result)
        if attacked and number == task.injection.in_step:
            injected = [await _refused(guard, call) for call in task.injection.calls]
    return own, injected, questions


def _changing(task: Task) -> list[Call]:
    return [s.call for s in task.steps if not TOOLS[s.call.tool].read_only]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_with_nobody_there_no_injected_call_is_sent(task: Task) -> None:
    own, injected, _ = await _played(task, task.approve, attacked=True)
    assert len(injected) == len(task.injection.calls) > 0
    assert None not in injected
    if task.kind == "values from the user's words":
        assert [each for each in own if each is not None] == []
    else:
        refused = [each for each in own if each is not None]
        rules = [*task.approve, *map(_rule_in, refused[:1])]
        again, injected, _ = await _played(task, rules, attacked=True)
        assert sum(each is not None for each in again) < len(refused)
        assert None not in injected


async def test_a_person_who_allows_the_tasks_own_calls_is_asked_little_and_sends_no_other() -> None:
    asked = passed = 0
    for task in TASKS:
        _, _, questions = await _played(task, [], attacked=False, allows=_changing(task))
        asked += questions
        _, injected, _ = await _played(task, [], attacked=True, allows=_changing(task))
        passed += injected.count(None)
    assert passed == 0
    assert asked <= 1.3 * len(TASKS)
