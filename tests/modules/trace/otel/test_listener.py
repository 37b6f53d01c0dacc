"""Spans and measurements of runs: what lies in what, under which ids, and that all of it ends."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.semconv._incubating.attributes import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    gen_ai_attributes,
)
from opentelemetry.semconv._incubating.metrics import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    gen_ai_metrics,
)
from opentelemetry.trace import StatusCode

from config.schema import RoleEntry, TeamSection
from core.base.redaction import Redactor
from core.events import (
    ActionChosen,
    Answered,
    Clarified,
    Event,
    GraphPlanned,
    Judged,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    ModelReplaced,
    ModelRetried,
    Notice,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallRefused,
    ToolCallStarted,
    collect,
)
from core.loop import AgentLoop
from core.mcp.hooks import OnProgress
from core.ports import CallTool
from core.run.execution import begin, working
from core.team.graph import Subtask, SubtaskState, TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    FinalAnswer,
    PerceptionResult,
    Plan,
    PlanFailure,
    RunOutcome,
    ToolCall,
    Usage,
)
from core.values import JsonObject
from modules.trace.otel import names
from modules.trace.otel.recording import CONTENT_CHARACTERS, Contents
from tests.doubles import FakeDispatcher, context, planned, tool, value_result
from tests.modules.team.test_run import JOINED, Played, answer, by_words
from tests.modules.trace.otel.kept import Kept, ids, parent_id, told_of

CANARY = "sk-0123456789abcdef"
STARTED = RunStarted("notes", "add 1 and 2", "openai:gpt-6-luna", "a" * 32, "b" * 16)
DONE = RunFinished(RunOutcome("done", "3", ""))
CALL = ToolCall("math.add", {"a": 1}, True, 3, 0.25)
USED = Usage(1, 900, 100, 64, 0.25)


async def hear(kept: Kept, *events: Event) -> None:
    listener = kept.telemetry.listener()
    for event in events:
        await listener(event)


async def adding(tools: ToolCatalog, call: CallTool) -> ActionResult:
    await call(tools.resolve("add"), {"a": 1})
    return FinalAnswer("3")


async def test_a_run_is_a_span_with_its_calls_under_the_ids_that_servers_are_told() -> None:
    kept, seen = Kept(), list[Event]()

    async def see(event: Event) -> None:
        seen.append(event)

    adder = FakeDispatcher([tool("add", a="integer")], {"math.add": value_result(3)})
    loop = AgentLoop(context(planned(p=adding), dispatcher=adder))
    with working(begin(user="ada", conversation="c1", metadata={"door": "http"})) as work:
        await collect(loop.run(), kept.telemetry.listener(), see)
    (call,), (run,) = kept.named("execute_tool"), kept.named("invoke_agent")
    assert (call.name, run.name) == ("execute_tool math.add", "invoke_agent Cortex-R")
    assert ids(run) == (work.trace_id, work.span_id)
    started = next(event for event in seen if isinstance(event, ToolCallStarted))
    assert ids(call) == (work.trace_id, started.span_id)
    assert (parent_id(run), parent_id(call)) == ("", work.span_id)
    told = told_of(run)
    assert told[names.USER] == "ada"
    assert told[names.CONVERSATION] == "c1"
    assert told["cortex_r.metadata.door"] == "http"
    assert told[names.STATUS] == "done"
    assert run.status.status_code is StatusCode.UNSET
    assert [event.name for event in run.events] == [names.PLAN_WRITTEN]
    operations = {point[names.OPERATION] for point, _ in kept.points(names.DURATION.name)}
    assert operations == {"invoke_agent", "execute_tool"}


async def test_a_run_lies_in_its_callers_span() -> None:
    kept = Kept()
    with working(begin(f"00-{'a' * 32}-{'c' * 16}-01", "vendor=1")) as work:
        mine = RunStarted("notes", "x", "offline", work.trace_id, work.span_id)
        await hear(kept, mine, DONE)
    (run,) = kept.spans
    assert ids(run) == ("a" * 32, work.span_id)
    assert parent_id(run) == "c" * 16
    assert run.parent is not None
    assert run.parent.is_remote
    with working(begin(f"00-{'a' * 32}-{'c' * 16}-00")) as unsampled:
        mine = RunStarted("notes", "x", "offline", unsampled.trace_id, unsampled.span_id)
        await hear(kept, mine, ToolCallKept(CALL), DONE)
    assert len(kept.spans) == 1, "the caller wants none"


async def test_a_request_to_a_model_is_one_span_however_often_it_is_sent() -> None:
    kept = Kept()
    reply = ModelAnswered("openai:gpt-6-luna", "decision", USED, 2.5, 0.5, "r", "p", "1" * 16)
    await hear(
        kept,
        STARTED,
        ModelAsked("openai:gpt-6-luna", "decision", "1" * 16),
        ModelRetried("openai:gpt-6-luna", "busy", 1, 0.5, "1" * 16),
        ModelAsked("openai:gpt-6-luna", "decision", "1" * 16),
        reply,
        ModelAsked("gemini:flash", "text", "2" * 16),
        ModelFailed("gemini:flash", "text", "down", "2" * 16),
        ModelReplaced("gemini:flash", "openai:gpt-6-luna", "down"),
        DONE,
    )
    first, second, run = kept.spans
    assert (first.name, ids(first)[1]) == ("chat gpt-6-luna", "1" * 16)
    told = told_of(first)
    assert told[names.PROVIDER] == "openai"
    assert told[names.INPUT_TOKENS] == 900
    assert told[names.CACHED_TOKENS] == 64
    assert told[names.COST] == 0.25
    assert told[names.FIRST_CHUNK] == 0.5
    assert [event.name for event in first.events] == [names.MODEL_RETRIED]
    assert (second.name, ids(second)[1]) == ("chat flash", "2" * 16)
    assert told_of(second)[names.PROVIDER] == "gcp.gemini"
    assert told_of(second)[names.ERROR_TYPE] == names.UNAVAILABLE
    assert second.status.status_code is StatusCode.ERROR
    assert [event.name for event in run.events] == [names.MODEL_REPLACED]
    tokens = {p[names.TOKEN_TYPE]: total for p, total in kept.points(names.TOKEN_USAGE.name)}
    assert tokens == {"input": 900, "output": 100}
    assert [total for _, total in kept.points(names.SPENT.name)] == [0.25]
    assert [total for _, total in kept.points(names.TIME_TO_FIRST_CHUNK.name)] == [0.5]


async def test_what_models_took_beside_all_runs_is_measured() -> None:
    kept = Kept()
    await hear(kept, ModelAnswered("m", "text", USED, 1, None))
    assert kept.spans == []
    assert [total for _, total in kept.points(names.SPENT.name)] == [0.25]


async def test_failed_kept_and_refused_calls_are_told_apart() -> None:
    kept = Kept()
    failed = ToolCall("math.add", {}, False, "boom", 0.1)
    started = ToolCallStarted(1, "math.add", {}, "1" * 16)
    refused = ToolCallRefused("web.read", {}, "nobody asked for it")
    await hear(
        kept, STARTED, started, ToolCallFinished(1, failed), ToolCallKept(CALL), refused, DONE
    )
    first, second, third, _ = kept.spans
    assert told_of(first)[names.ERROR_TYPE] == names.TOOL_ERROR
    assert told_of(second)[names.KEPT] is True
    assert told_of(third)[names.ERROR_TYPE] == names.REFUSED


async def test_plans_and_repairs_are_events_of_the_run() -> None:
    kept = Kept()
    failure = PlanFailure("syntax", "that is no Python")
    await hear(
        kept,
        STARTED,
        PlanWritten(1, 1, Plan("p"), "x"),
        PlanRepaired(1, 1, ("two", "repairs")),
        Retrying(1, 1, failure, 2),
        Clarified(1, "which?", None),
        RunFinished(RunOutcome("no_answer", None, "why not")),
    )
    (run,) = kept.spans
    told = {event.name: told_of(event) for event in run.events}
    assert told[names.PLAN_REPAIRED][names.COUNT] == 2
    assert told[names.PLAN_FAILED][names.ERROR_TYPE] == "syntax"
    assert names.CLARIFIED in told
    assert told_of(run)[names.ERROR_TYPE] == "no_answer"
    assert run.status.status_code is StatusCode.ERROR


SAID: Sequence[Event] = (
    RunStarted("notes", f"secret request {CANARY}", "m", "a" * 32, "b" * 16),
    Perceived(1, PerceptionResult(intent="secret intent")),
    ModelAsked("m", "decision", "1" * 16),
    ModelAnswered("m", "decision", USED, 1, None, "secret reply", f"secret {CANARY}", "1" * 16),
    PlanWritten(1, 1, Plan("secret plan"), "x"),
    ToolCallStarted(1, "math.add", {"key": f"secret {CANARY}"}, "2" * 16),
    ToolCallFinished(1, ToolCall("math.add", {}, True, {"page": "secret \ud800" * 40_000}, 1.0)),
    Retrying(1, 1, PlanFailure("error", "secret failure"), 0),
    Clarified(1, "secret question", "secret answer"),
    RunFinished(RunOutcome("done", "secret result", "")),
)


async def test_nothing_that_was_said_is_sent_unless_it_is_asked_for() -> None:
    kept = Kept()
    await hear(kept, *SAID)
    told = "".join(span.to_json() for span in kept.spans)
    assert "execute_tool math.add" in told
    assert "secret" not in told
    assert CANARY not in told


async def test_contents_are_sent_without_secrets_and_cut() -> None:
    kept = Kept(Contents(Redactor({"MODEL_API_KEY": CANARY})))
    await hear(kept, *SAID)
    chat, call, run = kept.spans
    told = told_of(run)
    (message,) = json.loads(str(told[names.INPUT_MESSAGES]))
    assert message["parts"][0]["content"] == "secret request [redacted MODEL_API_KEY]"
    assert "secret result" in str(told[names.OUTPUT_MESSAGES])
    assert told[names.INTENT] == "secret intent"
    assert "secret reply" in str(told_of(chat)[names.OUTPUT_MESSAGES])
    arguments = str(told_of(call)[names.CALL_ARGUMENTS])
    assert json.loads(arguments) == {"key": "secret [redacted MODEL_API_KEY]"}
    result = str(told_of(call)[names.CALL_RESULT])
    assert len(result) < CONTENT_CHARACTERS + 100
    assert result.encode("utf-8"), "the SDK sends nothing of a batch with a lone surrogate"
    assert CANARY not in "".join(span.to_json() for span in kept.spans)
    texts = [told_of(event)[names.TEXT] for event in run.events]
    assert texts == ["secret plan", "secret failure", "secret question → secret answer"]


async def test_parts_at_the_same_time_lie_in_the_workflow_each_with_its_own(
    tmp_path: Path,
) -> None:
    replies = by_words(first_fact=answer("one"), second_fact=answer("two"), common=JOINED)
    kept, played = Kept(), Played(tmp_path, replies)
    with working(begin()) as work:
        await played.ask()
        await hear(kept, *played.events)
    (workflow,) = kept.named("invoke_workflow")
    assert parent_id(workflow) == work.span_id
    parts = kept.parts
    assert {told_of(part)[names.SUBTASK] for part in parts} == {
        "first",
        "second",
        "both",
    }
    assert {parent_id(part) for part in parts} == {ids(workflow)[1]}
    inside = [span for span in kept.named("chat") if parent_id(span) != work.span_id]
    assert {parent_id(span) for span in inside} == {ids(part)[1] for part in parts}
    assert {ids(span)[0] for span in kept.spans} == {work.trace_id}
    assert kept.open_spans == 0
    assert kept.grumbles.heard == []


async def test_members_of_a_committee_are_told_apart(tmp_path: Path) -> None:
    kept = Kept()
    roles = {name: RoleEntry(purpose="Knows roofs.") for name in ("one", "two", "three")}
    section = TeamSection(pattern="committee", roles=roles)
    played = Played(tmp_path, lambda _: answer("red"), team=section)
    with working(begin()):
        await played.ask(TaskGraph("the roof", (Subtask("roof", "what is known of roofs"),)))
        await hear(kept, *played.events)
    parts = kept.parts
    assert len(parts) == 3
    assert len({part.name for part in parts}) == 3, "each by the name of its role"
    assert {parent_id(span) for span in kept.named("chat")} >= {ids(part)[1] for part in parts}
    assert kept.open_spans == 0


async def test_a_run_that_is_interrupted_ends_all_that_is_open_in_it() -> None:
    class Hanging(FakeDispatcher):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            loop.interrupt()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    kept = Kept()
    adder = Hanging([tool("add", a="integer")], {})
    loop = AgentLoop(context(planned(p=adding), dispatcher=adder))
    with working(begin()):
        await collect(loop.run(), kept.telemetry.listener())
    assert kept.open_spans == 0
    call, run = kept.spans
    assert told_of(call)[names.ERROR_TYPE] == "interrupted"
    assert told_of(run)[names.ERROR_TYPE] == "interrupted"


async def test_a_run_without_an_end_ends_with_the_next_one_or_the_process() -> None:
    kept = Kept()
    await hear(kept, STARTED, ToolCallStarted(1, "math.add", {}), STARTED)
    assert [told_of(span).get(names.ERROR_TYPE) for span in kept.spans] == [
        names.UNFINISHED,
        names.UNFINISHED,
    ]
    assert kept.open_spans == 1
    await kept.telemetry.close()
    assert kept.open_spans == 0
    await kept.telemetry.close()


async def test_conversations_at_the_same_time_do_not_mix() -> None:
    kept = Kept()
    one, other = kept.telemetry.listener(), kept.telemetry.listener()
    await one(RunStarted("s1", "x", "m", "1" * 32, "1" * 16))
    await other(RunStarted("s2", "y", "m", "2" * 32, "2" * 16))
    for listener in (one, other):
        await listener(ToolCallStarted(1, "math.add", {}))
        await listener(DONE)
    traces = {ids(span) for span in kept.named("invoke_agent")}
    assert traces == {("1" * 32, "1" * 16), ("2" * 32, "2" * 16)}
    assert {(ids(s)[0], parent_id(s)) for s in kept.named("execute_tool")} == traces


SUBTASKS = [Subtask(id_, "do it") for id_ in ("one", "two")]
STATES: Sequence[SubtaskState] = ("running", "completed", "failed", "blocked", "cancelled")
SPANS = st.sampled_from(["", "1" * 16, "2" * 16])
MODEL, PURPOSE = st.just("m"), st.sampled_from(["decision", "text"])
SIMPLE = st.one_of(
    st.sampled_from(
        [
            STARTED,
            DONE,
            RunFinished(RunOutcome("interrupted", None, "x")),
            RunFinished(RunOutcome("failed", None, "x")),
            Notice("memory", "x"),
            ActionChosen("graph", "x"),
            GraphPlanned(TaskGraph("x", tuple(SUBTASKS))),
            Replanned("one", "x", TaskGraph("x", tuple(SUBTASKS))),
            Judged("satisfied", "x"),
            ModelReplaced("m", "n", "x"),
            ToolCallKept(CALL),
            ToolCallRefused("math.add", {}, "x"),
            PlanWritten(1, 1, Plan("p"), "x"),
            PlanRepaired(1, 1, ("x",)),
            Answered("3"),
        ]
    ),
    st.builds(ModelAsked, MODEL, PURPOSE, SPANS),
    st.builds(ModelAnswered, MODEL, PURPOSE, st.just(USED), st.just(1.0), st.none(), span_id=SPANS),
    st.builds(ModelRetried, MODEL, st.just("busy"), st.just(1), st.just(0.5), SPANS),
    st.builds(ModelFailed, MODEL, PURPOSE, st.just("down"), SPANS),
    st.builds(ToolCallStarted, st.integers(1, 2), st.just("math.add"), st.just({}), SPANS),
    st.builds(ToolCallFinished, st.integers(1, 2), st.just(CALL)),
    st.builds(SubtaskChanged, st.sampled_from(SUBTASKS), st.sampled_from(STATES)),
)
EVENTS = st.recursive(
    SIMPLE,
    lambda inner: st.builds(
        SubtaskEvent, st.sampled_from(["one", "two"]), st.integers(1, 2), inner, SPANS
    ),
    max_leaves=3,
)


@settings(deadline=None, max_examples=200)
@given(st.lists(EVENTS, max_size=30))
async def test_whatever_events_come_no_span_stays_open(events: list[Event]) -> None:
    kept = Kept()
    await hear(kept, STARTED, *events, DONE)
    assert kept.open_spans == 0
    assert kept.grumbles.heard == [], "nothing is done to a span that has ended"
    spans = {ids(span)[1] for span in kept.spans}
    assert all(parent_id(span) in {"", *spans} for span in kept.spans)


def test_names_of_the_conventions_are_theirs() -> None:
    known = (*vars(gen_ai_attributes).values(), *vars(gen_ai_metrics).values())
    theirs = {name for name in known if isinstance(name, str)}
    ours = {name for name in vars(names).values() if isinstance(name, str)}
    metrics = (names.TOKEN_USAGE, names.DURATION, names.TIME_TO_FIRST_CHUNK)
    ours |= {metric.name for metric in metrics}
    assert {name for name in ours if name.startswith("gen_ai.")} - theirs == {names.COST}
