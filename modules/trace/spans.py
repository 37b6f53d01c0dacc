"""What happened in a session, as spans: runs, in them perception, plans, calls of models and tools.

Of a request that was answered in parts, each subtask is a span that holds those of its own runs.

A session's items say when they were written and how long what they tell of took; so a span begins
where its item was written, less its seconds. Times are Unix time in seconds, and seconds.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Literal, TypeAlias

from typing_extensions import TypedDict

from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import one_line
from core.team.graph import GraphOutcome, SubtaskState
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json, JsonObject
from modules.session.history import MODEL_CALLS, PERCEPTION, QUESTION, SUBTASK, TEAM, TRACE, runs_in
from modules.session.team_items import ATTEMPT_OF_SUBTASK, ROLE, ended_state, graph_outcome
from modules.terminal.answer import SCHEMA_VERSION, plain_json

SpanKind: TypeAlias = Literal[
    "run", "perception", "plan", "model", "retry", "call", "question", "subtask", "decision"
]
"""A `retry` is a request to a model that failed, and the pause before the next one. A `decision` is
how a request is answered in parts, what was planned anew, or what a result is worth."""

SpanState: TypeAlias = Literal["ok", "failed", "kept", "refused", "open", "skipped"]
"""`kept` is a call whose earlier result was given again, `open` what never ended, `skipped` what
never began."""

NOTE_CHARACTERS: Final = 200
"""How much of a result or failure stands beside a span's name."""

NUMBER_MAX: Final = 1e12
"""A file's number that is larger is none of ours."""

NO_ANSWER: Final = "no answer"

TRACE_HEAD: Final = "trace"
"""Heads the id of a run's trace among its details."""

_DECISIONS: Final = {
    "ActionChosen": "how to answer",
    "GraphPlanned": "planned",
    "Replanned": "planned anew",
    "BoardChanged": "whiteboard",
    "Judged": "judged",
}
"""Names of decisions, by the kinds of their events."""

_PERCEIVED: Final = ("intent", "servers", "entities", "tool_hint")


@frozen
class Span:
    """Something that took time; `details` are texts with their headings, `children` lie within.

    `tokens` and `cost` (US dollars) are those of calls of models; a run or a subtask has the sums
    of all that lies within. `trace_id` is that of a run, as logs and OpenTelemetry name it.
    """

    kind: SpanKind
    name: str
    started_at: float
    seconds: float
    state: SpanState = "ok"
    note: str = ""
    details: tuple[tuple[str, str], ...] = ()
    tokens: int = 0
    cost: float = 0.0
    trace_id: str = ""
    children: tuple["Span", ...] = field(default=())

    @property
    def ended_at(self) -> float:
        """When it ended."""
        return self.started_at + self.seconds


class TraceDocument(TypedDict):
    """A session's runs; times are Unix time in seconds, and seconds."""

    type: Literal["trace"]
    schema: Literal[1]
    id: str
    title: str
    runs: list[Span]


def trace_document(
    session_id: str, title: str, runs: Sequence[Span], redactor: Redactor
) -> JsonObject:
    """A `TraceDocument` as JSON, without secrets."""
    return {
        "type": "trace",
        "schema": SCHEMA_VERSION,
        "id": session_id,
        "title": title,
        "runs": redactor.json(plain_json(runs)),
    }


def runs_of(items: Iterable[MemoryItem]) -> tuple[Span, ...]:
    """The runs of a session, in their order; what belongs to none, as a title, is left out."""
    return tuple(map(_run, runs_in(map(_dated, items))))


def _dated(item: MemoryItem) -> MemoryItem:
    """The item; where its time is none, as a file may hold NaN, at the beginning of time."""
    seconds = _number(item.timestamp)
    return item if seconds == item.timestamp else item.model_copy(update={"timestamp": seconds})


def _run(items: Sequence[MemoryItem]) -> Span:
    """One run, from the item that begins it to the last before the next one."""
    first = items[0]
    answer, note, status = None, "", ""
    for item in items:
        if item.type == "final_answer":
            answer = item.final_answer
        note = _text(item.metadata.get("message")) or note
        status = _text(item.metadata.get("status")) or status
    ended_at = max(item.timestamp for item in items)
    own = [item for item in items if SUBTASK not in item.metadata]
    children = [*_parts(items, ended_at), *_spans(own, ended_at)]
    is_done, trace_id = answer is not None, _text(first.metadata.get(TRACE))
    return _summed(
        Span(
            "run",
            first.user_query or "",
            first.timestamp,
            round(ended_at - first.timestamp, 6),
            "ok" if is_done else "failed" if status else "open",
            one_line(answer or note or NO_ANSWER, NOTE_CHARACTERS),
            _details(
                ("request", first.user_query),
                ("answer", answer),
                ("why it has none", note),
                (TRACE_HEAD, trace_id),
            ),
            trace_id=trace_id or "",
        ),
        children,
    )


def _summed(span: Span, children: Iterable[Span]) -> Span:
    """The span with what lies within it, in order, and the tokens and dollars of all of that."""
    within = tuple(sorted(children, key=lambda child: child.started_at))
    # What a subtask has used is summed already.
    inner = [each for child in within if child.kind != "subtask" for each in child.children]
    return replace(
        span,
        tokens=sum(each.tokens for each in (*within, *inner)),
        cost=sum(each.cost for each in (*within, *inner)),
        children=within,
    )


def _parts(items: Sequence[MemoryItem], ended_at: float) -> Iterator[Span]:
    """A span for each subtask that the items of a run tell of."""
    outcome = graph_outcome(items)
    by_id: dict[str, list[MemoryItem]] = {}
    for item in items:
        if isinstance(id_ := item.metadata.get(SUBTASK), str):
            by_id.setdefault(id_, []).append(item)
    for id_, own in by_id.items():
        course = [item for item in own if TEAM in item.metadata]
        by_role: dict[str, list[MemoryItem]] = {}
        for item in own:
            if TEAM not in item.metadata:
                by_role.setdefault(_text(item.metadata.get(ROLE)) or "", []).append(item)
        if len(by_role) > 1:  # a committee, or another role after a failure
            children = [_member(role, items, ended_at) for role, items in by_role.items()]
        else:
            children = _spans([item for items in by_role.values() for item in items], ended_at)
        yield _part(id_, course, children, outcome, ended_at)


def _member(role: str, items: Sequence[MemoryItem], ended_at: float) -> Span:
    """What one of several roles did for a subtask."""
    children = _spans(items, ended_at)
    began = min((child.started_at for child in children), default=ended_at)
    ended = max((child.ended_at for child in children), default=ended_at)
    plans = [child for child in children if child.kind == "plan"]
    state, note = (plans[-1].state, plans[-1].note) if plans else ("open", "")
    seconds = round(max(0.0, ended - began), 6)
    return _summed(Span("subtask", role or "worker", began, seconds, state, note), children)


def _part(
    id_: str,
    course: Sequence[MemoryItem],
    children: Sequence[Span],
    outcome: GraphOutcome | None,
    ended_at: float,
) -> Span:
    """A subtask: what was decided about it, what its runs did, and how it ended."""
    end = next((item for item in reversed(course) if ended_state(item)), None)
    ended = None if end is None else ended_state(end)
    text = None if end is None else _text(end.metadata.get("text"))
    begins = [child.started_at for child in children]
    if end is not None:
        ended_at = end.timestamp
        begins.append(begun_at(end))
    began = min(begins, default=ended_at)
    states: Mapping[SubtaskState, SpanState] = {"completed": "ok", "failed": "failed"}
    state: SpanState = (
        "open" if ended is None else states.get(ended, "open" if children else "skipped")
    )
    chosen = [_text(item.metadata.get("reason")) for item in course if item is not end]
    role = outcome.roles.get(id_) if outcome is not None else None
    described = None
    if outcome is not None and id_ in outcome.graph.ids:
        described = outcome.graph[id_].description
        role = role or outcome.graph[id_].role
    told = text or ("" if ended is None else ended)
    return _summed(
        Span(
            "subtask",
            f"{id_} · {role}" if role else id_,
            began,
            round(max(0.0, ended_at - began), 6),
            state,
            one_line(told, NOTE_CHARACTERS),
            _details(
                ("asked", described),
                ("why this role", next(filter(None, chosen), None)),
                ("result" if state == "ok" else "why it has none", told),
            ),
        ),
        children,
    )


def _decision(item: MemoryItem) -> Span:
    """What was decided about the whole, at a moment."""
    told, details = item.metadata, _details(("in full", item.text))
    name = _DECISIONS.get(_text(told.get(TEAM)) or "", "decided")
    return Span("decision", name, item.timestamp, 0.0, note=one_line(item.text, NOTE_CHARACTERS),
                details=details)  # fmt: skip


def _spans(items: Sequence[MemoryItem], ended_at: float) -> list[Span]:
    """What the items of one run of the loop tell, or of several; `ended_at` is when all ended."""
    children: list[Span] = []
    calls: list[Span] = []  # since the last plan ended
    open_calls: dict[Json, MemoryItem] = {}
    for item in items:
        match item.type:
            case "tool_call":
                open_calls[_call_key(item)] = item
            case "tool_output" if item.tool_name == SANDBOX_STEP:
                thought, begin = _thinking(item), begun_at(item)
                before = [e for e in thought if e.kind == "perception" or e.ended_at <= begin]
                within = [each for each in thought if each not in before]
                children += [*before, _plan(item, [*within, *calls])]
                calls = []
            case "tool_output":
                open_calls.pop(_call_key(item), None)
                calls.append(_call(item))
            case "run_metadata" if QUESTION in item.metadata:
                children.append(_question(item))
            case "run_metadata" if TEAM in item.metadata:
                children.append(_decision(item))
            case _:
                children += _thinking(item)
    calls += [_unfinished(item, ended_at) for item in open_calls.values()]
    return [*children, *calls]


def _plan(item: MemoryItem, children: Iterable[Span]) -> Span:
    step, attempt = item.metadata.get("step"), item.metadata.get("attempt")
    result = result_of(item)
    repairs = item.metadata.get("repairs")
    return Span(
        "plan",
        f"plan {step}.{attempt}{'' if attempt in (None, 1) else ', retry'}",
        begun_at(item),
        _number(item.metadata.get("seconds")),
        "ok" if item.success else "failed",
        one_line(result, NOTE_CHARACTERS),
        _details(
            ("plan", _text((item.tool_args or {}).get("plan"))),
            ("repaired", _lines(repairs)),
            ("result", result),
        ),
        children=tuple(sorted(children, key=lambda span: span.started_at)),
    )


def _call(item: MemoryItem) -> Span:
    result = result_of(item)
    state: SpanState = "ok" if item.success else "failed"
    if item.metadata.get("kept"):
        state = "kept"
    elif item.metadata.get("refused"):
        state = "refused"
    is_instant = state in ("kept", "refused")
    span = Span(
        "call",
        tool_of(item),
        item.timestamp if is_instant else begun_at(item),
        0.0 if is_instant else _number(item.metadata.get("seconds")),
        state,
        one_line(result, NOTE_CHARACTERS),
    )
    return replace(span, details=_details(("arguments", _json(item.tool_args)), ("result", result)))


def _unfinished(item: MemoryItem, ended_at: float) -> Span:
    """A call that the session tells no end of: it was interrupted."""
    seconds = round(max(0.0, ended_at - item.timestamp), 6)
    details = _details(("arguments", _json(item.tool_args)))
    return Span("call", tool_of(item), item.timestamp, seconds, "open", "it did not end", details)


def _question(item: MemoryItem) -> Span:
    question, reply = _text(item.metadata.get(QUESTION)), _text(item.metadata.get("reply"))
    note = one_line(question or "", NOTE_CHARACTERS)
    details = _details(("question", question), ("answer", reply))
    state: SpanState = "open" if reply is None else "ok"
    return Span("question", "asked back", item.timestamp, 0.0, state, note, details)


def _thinking(item: MemoryItem) -> list[Span]:
    """Perception, with what it asked models, and the other calls of models of an item.

    What can't be read is left out.
    """
    told, seen = item.metadata.get(MODEL_CALLS), item.metadata.get(PERCEPTION)
    calls = told if isinstance(told, list) else []
    models = [_model_call(each) for each in calls if isinstance(each, dict)]
    if not isinstance(seen, dict):
        return models
    details = ((name.replace("_", " "), _text(seen.get(name))) for name in _PERCEIVED)
    at, seconds = _number(seen.get("at")), _number(seen.get("seconds"))
    within = tuple(each for each in models if at <= each.started_at < at + seconds)
    note = one_line(_text(seen.get("intent")) or "", NOTE_CHARACTERS)
    span = Span("perception", "perception", at, seconds, note=note, details=_details(*details))
    return [replace(span, children=within), *(each for each in models if each not in within)]


def _model_call(call: JsonObject) -> Span:
    usage, trouble = call.get("usage"), _text(call.get("trouble"))
    used = usage if isinstance(usage, dict) else {}
    read, written = _number(used.get("input_tokens")), _number(used.get("output_tokens"))
    cost = _number(used.get("cost"))
    counts = f"{read:,.0f} tokens read, {written:,.0f} written" if read or written else ""
    span = Span(
        "model",
        f"{_text(call.get('model')) or 'a model'}: {_text(call.get('purpose')) or 'asked'}",
        _number(call.get("at")),
        _number(call.get("seconds")),
        note=f"{counts}, ${cost:.4f}" if cost else counts,
        details=_details(
            ("prompt", _text(call.get("prompt"))), ("reply", _text(call.get("reply")))
        ),
        tokens=int(read + written),
        cost=cost,
    )
    if trouble is None:
        return span
    note = one_line(trouble, NOTE_CHARACTERS)
    return replace(
        span,
        kind="retry",
        state="failed",
        note=note,
        details=_details(("reason", trouble), ("reply", _text(call.get("reply")))),
    )


def begun_at(item: MemoryItem) -> float:
    """When what an item tells of began: a call, or the request for a plan."""
    return item.timestamp - _number(item.metadata.get("seconds"))


def tool_of(item: MemoryItem) -> str:
    """The qualified name of the tool that an item of a call is about."""
    server, name = _text(item.metadata.get("server")), item.tool_name or "a tool"
    return f"{server}.{name}" if server else name


def result_of(item: MemoryItem) -> str:
    """What a call or a plan came to, as text."""
    value = (item.tool_result or {}).get("result")
    return value if isinstance(value, str) else _json(value)


def _details(*given: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((head, text) for head, text in given if text)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _lines(value: Json) -> str:
    return "\n".join(f"- {each}" for each in value) if isinstance(value, list) else ""


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> float:
    """A number that can be one of seconds, tokens or dollars; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value <= NUMBER_MAX else 0.0


def _call_key(item: MemoryItem) -> str:
    """What tells a call from others of its run, or of a subtask's several runs."""
    return json.dumps([item.metadata.get(ATTEMPT_OF_SUBTASK), item.metadata.get("call_id")])
