"""What goes on in a run, in words: lines under a stage for each event."""

from itertools import islice
from typing import Final, TypeAlias, assert_never

from core.base.json_text import json_start
from core.base.text import clause, counted, listed, one_line, seconds_text, sentence
from core.events import (
    ActionChosen,
    BoardChanged,
    Clarified,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    ModelAsked,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Observed,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RoleChosen,
    RunFinished,
    RunStarted,
    ServerLogged,
    StepFinished,
    SubtaskChanged,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.team.graph import GraphOutcome, TaskGraph
from core.turn import PlanFailed, RunOutcome, ToolCall, Usage
from core.values import Json
from modules.session.history import Activity
from modules.terminal.streams import shown_name

Lines: TypeAlias = list[tuple[str, str]]
"""Stages, each with a text."""

VALUE_CHARACTERS: Final = 200
"""How much of a value one line shows."""

REASON_CHARACTERS: Final = 500
"""How much of the reason why a call was refused one line shows."""

TROUBLE_CHARACTERS: Final = 300
"""How much of a model's trouble one line shows."""

NAME_CHARACTERS: Final = 100
"""How much of an argument's name one line shows."""

ARGUMENTS_SHOWN: Final = 20
"""How many arguments of a call one line shows."""

SUBTASKS_SHOWN: Final = 12
"""How many subtasks one line names."""


def normal_lines(event: Event) -> Lines:
    """What an event is worth; of a failed call, nothing: it is told with what comes next."""
    match event:
        case ToolCallFinished(_, call) if not call.ok:
            return []
        case ToolCallFinished(_, call) | ToolCallKept(call):
            return [("tool", call_line(call))]
        case ToolCallProgress():
            return [("tool", progress_line(event))]
        case ToolCallRefused(tool, arguments, reason):
            refused = f"refused {shown_name(tool)}({arguments_text(arguments)})"
            return [("tool", f"{refused}: {one_line(reason, REASON_CHARACTERS)}")]
        case Observed(step, text):
            return [
                (
                    "loop",
                    f"step {step} found text to go on with ({counted(len(text), 'character')})",
                )
            ]
        case Retrying():
            return [("loop", _retry_line(event))]
        case ModelRetried() | ModelReplaced():
            return [("model", _trouble_line(event))]
        case Clarified(_, question, None):
            asked = sentence(one_line(question, VALUE_CHARACTERS))
            return [("loop", f"no answer to: {asked} The likeliest reading is taken")]
        case RunFinished(outcome):
            return _end_lines(outcome)
        case _:
            return [] if _is_passing(event) else _team_lines(event)


def _end_lines(outcome: RunOutcome) -> Lines:
    if outcome.graph is not None:
        return [("loop", run_line(outcome))]
    return [("model", usage_text(outcome.usage))] if outcome.usage.tokens else []


def _is_passing(event: Event) -> bool:
    """Whether only who wants to know all is told an event of a team."""
    match event:
        case ActionChosen(action):
            return action in ("plan", "answer")
        case Judged(verdict):
            return verdict == "satisfied"
        case _:
            return isinstance(event, RoleChosen | MessageSent | BoardChanged)


def _team_lines(event: Event) -> Lines:
    """What an event of a request in parts is worth, to who wants to know all."""
    match event:
        case ActionChosen(action, reason):
            told = f"chose {action}: {reason}"
        case GraphPlanned(graph, notes):
            changed = [("graph", one_line(note, VALUE_CHARACTERS)) for note in notes]
            return [*changed[:SUBTASKS_SHOWN], ("graph", _graph_line(graph))]
        case Replanned(failed, reason, graph):
            why = clause(one_line(reason, VALUE_CHARACTERS))
            told = f"planned anew, as {failed} failed: {why}; {_graph_line(graph)}"
        case SubtaskChanged(state=state) if state not in ("pending", "ready"):
            took = f" ({spent_text(event.seconds)})" if event.seconds else ""
            told = f"{subtask_text(event)}{took}"
        case RoleChosen(subtask, role, reason):
            told = f"{role} does {subtask}: {reason}"
        case MessageSent(said):
            told = f"{said.sender} to {said.receiver or 'all'}: {said.kind} {said.text}"
        case BoardChanged(entry):
            told = f"{entry.who} notes {entry.topic}: {entry.key} = {entry.value or 'no more'}"
        case Judged(verdict, reason):
            told = f"the result is judged: {verdict.replace('_', ' ')}: {reason}"
        case _:
            return []
    return [("graph", one_line(told, REASON_CHARACTERS))]


def _graph_line(graph: TaskGraph) -> str:
    """`3 subtasks: first, other, both after first, other`."""
    named = [
        subtask.id + (f" after {', '.join(subtask.dependencies)}" if subtask.dependencies else "")
        for subtask in graph.subtasks
    ]
    told = listed(named[:SUBTASKS_SHOWN], len(named))
    return one_line(f"{counted(len(named), 'subtask')}: {told}", REASON_CHARACTERS)


def subtask_text(event: SubtaskChanged) -> str:
    """`first → what it found`, or that it begins, failed, was blocked or cancelled, and why."""
    id_, text = event.subtask.id, one_line(event.text, VALUE_CHARACTERS)
    match event.state:
        case "running":
            return f"{id_} begins" + (f", try {event.attempt}" if event.attempt > 1 else "")
        case "completed":
            return f"{id_} → {text}"
        case state:
            return f"{id_} {state}" + (f": {text}" if text else "")


def spent_text(seconds: float) -> str:
    """`81 ms`, `12 s`, `2 min 5 s`."""
    return seconds_text(seconds) if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def part_lines(id_: str, lines: Lines) -> Lines:
    """Lines of a subtask's own run, behind its id."""
    return [(stage, f"{one_line(id_, NAME_CHARACTERS)}: {text}") for stage, text in lines]


def verbose_lines(event: Event) -> Lines:
    """What an event is worth to who wants to know all."""
    match event:
        case RunStarted(session_id, _, model):
            return [("loop", f"session {session_id}, model {model}")]
        case Perceived(step, perception):
            servers = one_line(", ".join(perception.selected_servers), VALUE_CHARACTERS) or "none"
            hint = one_line(perception.tool_hint or "", VALUE_CHARACTERS)
            hint = f", hint {hint}" if hint else ""
            intent = one_line(perception.intent, VALUE_CHARACTERS)
            return [("perception", f"step {step}: {intent}; servers {servers}{hint}")]
        case PlanWritten() | PlanRepaired():
            return _plan_lines(event)
        case ToolCallStarted(_, tool, arguments):
            return [("tool", f"calls {shown_name(tool)}({arguments_text(arguments)})")]
        case StepFinished(step):
            outcome = "failed" if isinstance(step.result, PlanFailed) else "worked"
            return [("sandbox", f"plan {step.attempt} {outcome} in {step.seconds * 1000:.0f} ms")]
        case RunFinished(outcome):
            spent = ", ".join(f"{k} {v * 1000:.0f} ms" for k, v in outcome.durations.items())
            return [("loop", f"{outcome.status}; {spent}"), *normal_lines(event)]
        case ModelAsked() | ModelAnswered():
            return [("model", _model_line(event))]
        case ServerLogged():
            return [("mcp", server_log_line(event))]
        case ToolCallFinished(_, call):
            return [("tool", call_line(call))]
        case _:  # what is told to everybody
            return normal_lines(event) or _team_lines(event)


def call_line(call: ToolCall, *, with_reason: bool = True) -> str:
    """`server.tool(a=1) → 2 (3 ms)`; in place of the time, that a call was not sent but kept.

    The reason of a failure is left out where it is told elsewhere.
    """
    result = result_text(call, with_reason=with_reason)
    return f"{shown_name(call.tool)}({arguments_text(call.arguments)}) {result} ({took_text(call)})"


def result_text(call: ToolCall, *, with_reason: bool) -> str:
    """`→ 2`, or that it failed, and why where that is wanted."""
    if call.ok:
        return f"→ {json_start(call.result, VALUE_CHARACTERS)}"
    return f"failed: {one_line(call.error_text, VALUE_CHARACTERS)}" if with_reason else "failed"


def took_text(call: ToolCall) -> str:
    """How long a call took, or that nothing was sent."""
    if call.kept:
        return "kept from the failed plan"
    return f"{call.seconds:.1f} s" if call.seconds >= 1 else f"{call.seconds * 1000:.0f} ms"


def _plan_lines(event: PlanWritten | PlanRepaired) -> Lines:
    match event:
        case PlanWritten(step, attempt, plan, path):
            return [("strategy", path), ("plan", f"step {step}, plan {attempt}:\n{plan.source}")]
        case PlanRepaired(repairs=repairs):
            return [("plan", f"repaired: {one_line('; '.join(repairs), VALUE_CHARACTERS)}")]
        case _:
            assert_never(event)


def progress_line(event: ToolCallProgress) -> str:
    """`server.tool: 3/10 reading`, as the server says of its call."""
    message = one_line(event.message or "", VALUE_CHARACTERS)
    if event.total is None:  # of how much, nobody knows: words say more than the number
        return f"{shown_name(event.tool)}: {message or f'{event.progress:g}'}"
    return f"{shown_name(event.tool)}: {event.progress:g}/{event.total:g} {message}".rstrip()


def writing_line(event: ModelWriting) -> str:
    """`gemini: 1,204 characters written`."""
    written = f"{counted(event.characters, 'character')} written"
    if event.thinking_characters:
        written += f", {counted(event.thinking_characters, 'character')} thought"
    return f"{one_line(event.model, NAME_CHARACTERS)}: {written}"


def server_log_line(event: ServerLogged) -> str:
    """`web warning: slow today`."""
    level, text = one_line(event.level, 20), one_line(event.text, VALUE_CHARACTERS)
    return f"{event.server} {level}: {text}"


def _retry_line(event: Retrying) -> str:
    why = clause(one_line(str(event.failure), VALUE_CHARACTERS))
    failed = f"plan {event.attempt} of step {event.step} failed: {why}"
    match event.lifelines_left:
        case 0:
            return f"{failed}; planning again, for the last time"
        case 1:
            return f"{failed}; planning again, 1 lifeline left"
        case left:
            return f"{failed}; planning again, {left} lifelines left"


def arguments_text(arguments: dict[str, Json]) -> str:
    """`a=1, b=[2]`, without the object that wraps all of them."""
    inner = arguments.get("input")
    fields = inner if len(arguments) == 1 and isinstance(inner, dict) else arguments
    shown = [
        f"{one_line(name, NAME_CHARACTERS)}={json_start(value, VALUE_CHARACTERS)}"
        for name, value in islice(fields.items(), ARGUMENTS_SHOWN)
    ]
    return ", ".join([*shown, "…"] if len(fields) > ARGUMENTS_SHOWN else shown)


def retry_line(event: ModelRetried, *, is_known: bool = False) -> str:
    """Why a request is sent once more, and when; `is_known`: the same reason was told before.

    What a person might do about it is left out: it is done already.
    """
    again = f"try {event.attempt + 1} of {event.model} in {event.pause_seconds:.1f} s"
    if is_known:
        return again
    return f"{again}: {one_line(event.reason.partition('; ')[0], TROUBLE_CHARACTERS)}"


def _trouble_line(event: ModelRetried | ModelReplaced) -> str:
    match event:
        case ModelRetried():
            return retry_line(event)
        case ModelReplaced(_, successor, reason):
            return f"{one_line(reason, TROUBLE_CHARACTERS)}; {successor} takes over"
        case _:
            assert_never(event)


def _model_line(event: ModelAsked | ModelAnswered) -> str:
    if isinstance(event, ModelAsked):
        return f"asks {event.model} for {event.purpose}"
    first = event.first_token_seconds
    began = f", first token after {first:.2f} s" if first is not None else ""
    used = f"; {usage_text(event.usage)}" if event.usage.tokens else ""
    return f"{event.model}: {event.purpose} in {event.seconds:.2f} s{began}{used}"


def run_line(outcome: RunOutcome) -> str:
    """`3 tool calls, 1.2 s; 2,103 tokens read, 54 written, $0.0012`."""
    calls = sum(len(step.result.calls) for step in outcome.steps)
    text = f"{counted(calls, 'tool call')}, {outcome.durations.get('total', 0.0):.1f} s"
    plans = len(outcome.steps) if outcome.graph is None else 0
    text = f"{parts_text(outcome.graph)}; {text}" if outcome.graph is not None else text
    text = f"{counted(plans, 'plan')}, {text}" if plans > 1 else text
    return f"{text}; {usage_text(outcome.usage)}" if outcome.usage.tokens else text


def parts_text(ended: GraphOutcome) -> str:
    """`1 of 3 subtasks done; failed: other; blocked: both`."""
    by_state = {state: [id_ for id_, s in ended.states.items() if s == state]
                for state in ("failed", "blocked", "cancelled")}  # fmt: skip
    done = list(ended.states.values()).count("completed")
    told = [f"{done} of {counted(len(ended.states), 'subtask')} done"]
    told += [f"{state}: {listed(ids[:3], len(ids))}" for state, ids in by_state.items() if ids]
    return "; ".join(told)


def usage_text(usage: Usage) -> str:
    """`2,103 tokens read (2,000 cached), 54 written, $0.0012`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    text = f"{usage.input_tokens:,} tokens read{cached}, {usage.output_tokens:,} written"
    if usage.estimated_calls:
        text += " (estimated: the service did not count)"
    if usage.cost:
        text += f", ${usage.cost:.4f}" if usage.cost >= 0.0001 else ", under $0.0001"
    if usage.unpriced_calls:
        text += ", price unknown" if not usage.cost else " and calls without a known price"
    return text


def activity_text(done: Activity) -> str:
    """`2 requests; 3 plans, 1.20 s; 4 tool calls, 0.80 s`."""
    parts = [
        counted(done.requests, "request"),
        f"{counted(done.plans, 'plan')}, {done.seconds:.2f} s",
        f"{counted(done.calls, 'tool call')}, {done.call_seconds:.2f} s",
    ]
    return "; ".join(parts)
