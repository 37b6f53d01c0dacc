"""Who decided what in a session, and on which evidence; read from its items, and told as text.

Evidence is cited by the number of an item in its session, from 1: `sessions export --json` has them
in this order.
"""

from collections.abc import Callable, Iterable, Sequence
from textwrap import fill
from typing import Final, Literal, TypeAlias

from typing_extensions import TypedDict

from core.base.clock import moment
from core.base.frozen import frozen
from core.base.text import counted, one_line, sentence
from core.team.board import BoardEntry
from core.team.bus import COORDINATOR
from core.team.facts import SETTLED
from core.team.whiteboard import TOPICS
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json, JsonObject
from modules.session.history import LEAVE, MODEL_CALLS, QUESTION, SUBTASK, TEAM, runs_in
from modules.team.needs import PERSON
from modules.terminal.streams import printable
from modules.trace.spans import NUMBER_MAX, begun_at, result_of, tool_of

DecisionKind: TypeAlias = Literal[
    "action", "plan", "repair", "refusal", "approval", "clarification", "model", "graph", "role",
    "replanning", "contradiction", "judgement", "answer",
]  # fmt: skip

WHY_CHARACTERS: Final = 300
CITED_CHARACTERS: Final = 200
CITED_MAX: Final = 10

_US: Final = "Cortex-R"
_COORDINATOR: Final = f"the {COORDINATOR}"


@frozen
class Citation:
    """An item of the session that a decision rests on, by its number, and how its text begins."""

    item: int
    text: str


@frozen
class Decision:
    """One decision; `at` is Unix time in seconds, `details` are texts with their headings.

    `subtask` is that in whose run it was made; "" where it was none.
    """

    at: float
    kind: DecisionKind
    who: str
    what: str
    why: str = ""
    subtask: str = ""
    evidence: tuple[Citation, ...] = ()
    details: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> str:
        """It as a sentence on one line."""
        within = f" (in {self.subtask})" if self.subtask else ""
        why = f": {one_line(self.why, WHY_CHARACTERS)}" if self.why else ""
        is_name = not self.who.startswith(("the ", "a ", "nobody"))
        who = self.who if is_name else f"{self.who[0].upper()}{self.who[1:]}"
        return sentence(f"{who} {self.what}{within}{why}")


@frozen
class DecidedRun:
    """A request, and what was decided for it, in order."""

    request: str
    asked_at: float
    decisions: tuple[Decision, ...]


class DecisionsDocument(TypedDict):
    """What was decided in a session's runs; times are Unix time in seconds."""

    type: Literal["decisions"]
    schema: Literal[1]
    id: str
    title: str
    runs: list[DecidedRun]


def decisions_of(items: Sequence[MemoryItem]) -> tuple[DecidedRun, ...]:
    """What was decided in each run of a session; what can't be read is left out."""
    numbers = {id(item): number for number, item in enumerate(items, start=1)}
    return tuple(_Reading(run, numbers.__getitem__).run for run in runs_in(items))


def board_of(run: Iterable[MemoryItem]) -> tuple[BoardEntry, ...]:
    """The whiteboard of a run, as far as its items tell."""
    entries: dict[tuple[str, str], BoardEntry] = {}
    for item in run:
        match item.metadata:
            case {"team": "SubtaskChanged", "subtask": str(id_), "state": str(state)}:
                entry = BoardEntry("progress", id_, state, COORDINATOR, 1, item.timestamp)
            case {"team": "BoardChanged", "topic": str(name), "key": str(key), "value": str(value),
                  "who": str(who), "version": int(version)} if name in TOPICS:  # fmt: skip
                topic = TOPICS[TOPICS.index(name)]
                source = _text(item.metadata.get("source"))
                entry = BoardEntry(topic, key, value, who, version, item.timestamp, source)
            case _:
                continue
        entries[entry.topic, entry.key] = entry
    return tuple(entries.values())


class _Reading:
    """Reads one run, item by item; `number` gives the place of an item."""

    def __init__(self, items: Sequence[MemoryItem], number: Callable[[int], int]) -> None:
        self._number = number
        self._found: list[Decision] = []
        self._request = items[0]
        self._model = _text(items[0].metadata.get("model")) or "a model"
        self._plans: dict[str, MemoryItem] = {}  # the last, of the request and of each subtask
        self._calls: dict[str, list[MemoryItem]] = {}  # that succeeded since
        self._used: dict[str, list[MemoryItem]] = {}  # those of the last plan
        self._parts: list[MemoryItem] = []  # subtasks that ended
        self._entries: list[MemoryItem] = []
        self._asked: dict[str, MemoryItem] = {}  # what subtasks needed to know, by their ids
        for item in items:
            self._read(item)

    @property
    def run(self) -> DecidedRun:
        """All that was found."""
        request = self._request.user_query or ""
        # A plan's item comes when it has run: what happened meanwhile was decided later.
        in_order = sorted(self._found, key=lambda decision: decision.at)
        return DecidedRun(request, _seconds(self._request), tuple(in_order))

    def _read(self, item: MemoryItem) -> None:
        self._troubles(item)
        whose = _text(item.metadata.get(SUBTASK))
        match item.type:
            case "tool_output" if item.tool_name == SANDBOX_STEP:
                self._plan(item, whose)
            case "tool_output" if item.metadata.get("refused"):
                tool = tool_of(item)
                self._add("refusal", item, "the guard", f"refused {tool}", result_of(item))
            case "tool_output" if item.success:
                self._calls.setdefault(whose, []).append(item)
            case "final_answer":
                self._answer(item)
            case "run_metadata" if isinstance(leave := item.metadata.get(LEAVE), dict):
                self._leave(item, leave)
            case "run_metadata" if isinstance(question := item.metadata.get(QUESTION), str):
                reply = item.metadata.get("reply")
                who, what = (
                    ("the user", f"answered «{one_line(reply, WHY_CHARACTERS)}»")
                    if isinstance(reply, str)
                    else ("nobody", "answered a question")
                )
                self._add("clarification", item, who, what, f"asked was «{question}»")
            case "run_metadata" if TEAM in item.metadata:
                self._team(item)
            case "run_metadata" if isinstance(status := item.metadata.get("status"), str):
                what = f"gave no answer ({status})"
                why = _text(item.metadata.get("message"))
                self._add("answer", item, _US, what, why, [*self._plans.values()])
            case _:
                pass

    def _plan(self, item: MemoryItem, whose: str) -> None:
        told = item.metadata
        # The first plan of a run read none: another try of the subtask, or another member, did.
        is_first = (told.get("step"), told.get("attempt")) == (1, 1)
        before = None if is_first else self._plans.get(whose)
        who, name = _planner(item) or self._model, f"plan {told.get('step')}.{told.get('attempt')}"
        why = ""
        if before is not None:
            said = result_of(before)
            why = f"it read {said}" if before.success else f"the one before failed: {said}"
        plan = (item.tool_args or {}).get("plan")
        details = (("plan", _text(plan)), ("result", result_of(item)))
        based_on = [self._request] if before is None else [before, *self._used.get(whose, ())]
        self._add("plan", item, who, f"chose {name}", why, based_on, details)
        repairs = told.get("repairs")
        if isinstance(repairs, list) and repairs:
            self._add("repair", item, _US, f"repaired {name}", "; ".join(map(str, repairs)))
        self._plans[whose], self._used[whose] = item, self._calls.pop(whose, [])

    def _answer(self, item: MemoryItem) -> None:
        plan = self._plans.get("")
        based_on = self._parts if plan is None else [plan, *self._used.get("", ())]
        who = _COORDINATOR if self._parts else (plan and _planner(plan)) or self._model
        answer = item.final_answer or ""
        self._add("answer", item, who, "answered", answer, based_on, (("answer", answer),))

    def _leave(self, item: MemoryItem, leave: JsonObject) -> None:
        tool, holds = _text(leave.get("tool")), _text(leave.get("holds"))
        what = f"did not allow {tool}" if holds == "no" else f"allowed {tool} ({holds})"
        values = _text(leave.get("values"))  # of a version before 2026-11-28
        why = _text(leave.get("words")) or (f"it was asked about {values}" if values else "")
        self._add("approval", item, "the user", what, why, (), (("for", _text(leave.get("for"))),))

    def _team(self, item: MemoryItem) -> None:
        match item.metadata:
            case {"team": "ActionChosen", "action": str(action), "reason": str(reason)}:
                self._add("action", item, _US, f"chose to answer by: {action}", reason)
            case {"team": "GraphPlanned", "graph": {"subtasks": list(subtasks)}, **more}:
                what = f"took a graph of {counted(len(subtasks), 'subtask')}"
                notes = more.get("notes")
                why = "; ".join(map(str, notes)) if isinstance(notes, list) else ""
                self._add("graph", item, _COORDINATOR, what, why, [self._request])
            case {"team": "RoleChosen", "subtask": str(id_), "role": str(role), "reason": str(why)}:
                self._add("role", item, _COORDINATOR, f"gave {id_} to the {role}", why)
            case {"team": "SubtaskChanged"}:
                self._parts.append(item)
            case {"team": "MessageSent", "correlation": str(id_), "text": str(text)}:
                self._message(item, id_, one_line(text, WHY_CHARACTERS))
            case {"team": "Replanned", "failed": str(failed), "reason": str(why)}:
                of_it = [each for each in self._parts if each.metadata.get(SUBTASK) == failed]
                what = f"planned anew, as {failed} failed"
                self._add("replanning", item, _COORDINATOR, what, why, of_it[-1:])
            case {"team": "Judged", "verdict": str(verdict), "reason": str(why)}:
                what = f"judged: {verdict.replace('_', ' ')}"
                self._add("judgement", item, "the reviewer", what, why, self._parts)
            case {"team": "BoardChanged", "topic": topic, "key": str(key), "value": str(value)}:
                # Other decisions on the board are of events that stand here by themselves.
                verb = {"decisions": "settled", "blockers": "could not settle"}.get(str(topic))
                if verb is not None and key.startswith("facts.") and value != SETTLED:
                    about = [e for e in self._entries if f"facts.{e.metadata.get('key')}" == key]
                    who = f"the {_text(item.metadata.get('who'))}"
                    self._add("contradiction", item, who, f"{verb} {key}", value, about)
                self._entries.append(item)
            case _:
                pass

    def _message(self, item: MemoryItem, subtask: str, text: str) -> None:
        """What a committee came to, or a person was asked and said, or what stands for that."""
        sender, kind = _text(item.metadata.get("sender")), item.metadata.get("kind")
        if kind == "question":
            self._asked[subtask] = item
            return
        if kind == "verdict":
            why = text.removeprefix(f"{sender} decides: ")
            self._add("judgement", item, f"the {sender}", f"decided about {subtask}", why)
            return
        asked = self._asked.get(subtask)
        why = "" if asked is None else f"asked was «{asked.metadata.get('text')}»"
        who, what = (
            ("the user", f"answered «{text}» for {subtask}")
            if sender == PERSON
            else ("nobody", f"answered for {subtask}, so that «{text}» stands")
        )
        self._add("clarification", item, who, what, why, [asked] if asked else [])

    def _troubles(self, item: MemoryItem) -> None:
        """Models that others had to stand in for."""
        calls = item.metadata.get(MODEL_CALLS)
        for call in calls if isinstance(calls, list) else ():
            match call:
                case {"model": str(name), "purpose": str(what), "trouble": str(why)} if (
                    what.endswith("takes over")
                ):
                    self._add("model", item, _US, f"gave up {name}; {what}", why)
                case _:
                    pass

    def _add(
        self,
        kind: DecisionKind,
        item: MemoryItem,
        who: str,
        what: str,
        why: str = "",
        based_on: Sequence[MemoryItem] = (),
        details: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Note a decision; the item that tells of it is its last evidence."""
        cited = [*based_on[-CITED_MAX:], item]
        evidence = tuple(
            Citation(self._number(id(each)), one_line(each.text, CITED_CHARACTERS))
            for each in cited
        )
        part = _text(item.metadata.get(SUBTASK)) if TEAM not in item.metadata else ""
        texts = tuple((head, text) for head, text in details if text)
        found = (kind, one_line(who, CITED_CHARACTERS), one_line(what, WHY_CHARACTERS), why, part)
        self._found.append(Decision(_seconds(item), *found, evidence, texts))


def paragraphs(runs: Iterable[DecidedRun], width: int | None = None) -> str:
    """A paragraph a run: its decisions as sentences, the request before them.

    Lines end at words before `width` columns where it is given.
    """
    told: list[str] = []
    for run in runs:
        text = " ".join(each.told for each in run.decisions) or "Nothing was decided."
        lines = [one_line(run.request, WHY_CHARACTERS), text]
        told.append("\n".join(lines if width is None else (fill(line, width) for line in lines)))
    return "\n\n".join(told)


def whole_text(runs: Iterable[DecidedRun]) -> str:
    """Everything: of each decision when, by whom, why, on which evidence, and its texts in full."""
    lines: list[str] = []
    for run in runs:
        lines += [one_line(run.request), ""]
        for each in run.decisions:
            lines.append(f"{moment(each.at)}  {each.kind}: {each.told}")
            lines += (f"  item {cited.item}: {cited.text}" for cited in each.evidence)
            for head, text in each.details:
                lines += [f"  {head}:", *(f"    {line}" for line in printable(text).splitlines())]
            lines.append("")
    return "\n".join(lines[:-1])


def _planner(item: MemoryItem) -> str:
    """The model that wrote a plan; "" where the item does not say."""
    calls = item.metadata.get(MODEL_CALLS)
    named = [
        _text(call.get("model"))
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and call.get("purpose") == "decision"
    ]
    return named[-1] if named else ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _seconds(item: MemoryItem) -> float:
    """When it was decided; of a plan, when it was asked for."""
    seconds = begun_at(item) if item.tool_name == SANDBOX_STEP else item.timestamp
    return seconds if 0 <= seconds <= NUMBER_MAX else 0.0
