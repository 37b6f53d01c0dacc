"""Named events: those of real runs are of their types, within bounds and without secrets."""

import asyncio
import base64
import json
from pathlib import Path

import pytest

from core.asking import Answer, Question
from core.base.redaction import Redactor
from core.events import (
    Answered,
    Event,
    GraphPlanned,
    ModelReplaced,
    ModelRetried,
    Notice,
    PlanWritten,
    ServerLogged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallRefused,
    ToolCallStarted,
)
from core.run.execution import begin, working
from core.team.graph import Subtask, TaskGraph
from core.tools.content import ImageBlock
from core.turn import Plan, RunOutcome, ToolCall
from core.values import Json, JsonObject
from modules.service.agents import Agent
from modules.service.served.events import (
    DONE,
    EVENT_CHARACTERS_MAX,
    IMAGE_CHARACTERS_MAX,
    LATE_CHARACTERS_MAX,
    RUN_CHARACTERS_MAX,
    EventWords,
    ServiceEvent,
    ended,
)
from tests.command_line import SUMS_SERVER, plan
from tests.modules.service.made import (
    OWNER,
    asks,
    calls,
    checked,
    end_of,
    fixture,
    heard,
    question_of,
    says,
    serving,
    setting,
    until,
)

OURS = "s3cr3t-of-mine"

PNG = base64.b64encode(b"\x89PNG" * 30).decode()


def words() -> EventWords:
    return EventWords("ab" * 16, Redactor({"API_KEY": OURS}), lambda: 7.5)


def told(event: Event, by: EventWords | None = None) -> list[ServiceEvent]:
    """What is told of an event of the engine, each of its type."""
    named = (by or words()).told(event)
    return [checked(ServiceEvent(n, name, data)) for n, (name, data) in enumerate(named, 1)]


def finished(result: Json, *images: ImageBlock) -> ToolCallFinished:
    return ToolCallFinished(1, ToolCall("web.read", {}, True, result, 0.5), images)


class TestRealRuns:
    async def test_two_calls_with_progress_a_log_and_an_image(self, tmp_path: Path) -> None:
        body = 'a = await tools.talk()\nb = await tools.picture()\nreturn f"FINAL_ANSWER: {a} {b}"'
        async with serving(setting(tmp_path, [plan(body)], fixture("typed"))) as runs:
            events = await heard(await runs.start(OWNER, "hm"))
        names = [event.name for event in events]
        for name in ("tool.start", "tool.progress", "tool.content", "tool.complete", "server.log"):
            assert name in names
        [image] = [event.data for event in events if event.name == "tool.content"]
        assert (image["content_type"], image["encoding"]) == ("image/png", "base64")
        assert base64.b64decode(str(image["data"])).startswith(b"\x89PNG")
        assert "tool.complete" in names[names.index("tool.content") :]
        counts = [event.data["content_count"] for event in events if event.name == "tool.complete"]
        assert sorted(counts, key=str) == [0, 1]

    async def test_a_plan_that_fails_and_one_that_takes_its_place(self, tmp_path: Path) -> None:
        replies = [calls("refuse"), calls("divide", "a=1, b=0"), says("at last")]
        servers = SUMS_SERVER, fixture("typed")
        async with serving(setting(tmp_path, replies, *servers)) as runs:
            events = await heard(await runs.start(OWNER, "hm"))
        failed = [event.data for event in events if event.name == "plan.failed"]
        assert [each["attempt_number"] for each in failed] == [1, 2]
        written = [event.data for event in events if event.name == "plan.written"]
        assert [each["attempt_number"] for each in written] == [1, 2, 3]
        errors = [event.data["message"] for event in events if event.name == "tool.error"]
        assert errors == ["not today", "can't divide 1 by zero"]
        assert end_of(events)["answer"] == "at last"

    async def test_a_call_that_nobody_allows_and_a_question(self, tmp_path: Path) -> None:
        replies = [calls("flood", "bytes=9"), asks("which?"), says("so")]
        made = setting(tmp_path, replies, fixture("able"))
        async with serving(made) as runs:
            run = await runs.start(OWNER, "hm")
            leave = await until(run, "clarify.request")
            run.answer(question_of(leave), Answer("not so many bytes"))
            which = await until(run, "clarify.request", leave.id)
            run.answer(question_of(which), Answer("this"))
            events = await heard(run)
        [refused] = [event.data for event in events if event.name == "tool.error"]
        assert (refused["refused"], refused["call"]) == (True, None)
        assert refused["arguments"] == {"bytes": 9}
        answered = [event.data["answered"] for event in events if event.name == "clarify.answered"]
        assert answered == [True, True]

    async def test_a_request_in_parts(self, tmp_path: Path) -> None:
        graph = TaskGraph(
            "two facts",
            (
                Subtask("one", "find one"),
                Subtask("two", "find two"),
                Subtask("both", "join {{one}} and {{two}}", after=("one", "two")),
            ),
        )
        heard_: list[ServiceEvent] = []
        by = words()

        async def listen(event: Event) -> None:
            heard_.extend(told(event, by))

        async with asyncio.timeout(20), Agent(setting(tmp_path, [says("x")] * 6)) as agent:
            talk = agent.conversation()
            outcome = await talk.ask("two facts", listen, graph=graph)
            await talk.aclose()
        names = [event.name for event in heard_]
        [made] = [event.data for event in heard_ if event.name == "workflow.created"]
        steps = made["steps"]
        assert isinstance(steps, list)
        assert [step["after"] for step in steps if isinstance(step, dict)] == [
            *([], [], ["one", "two"])
        ]
        assert names.count("workflow.step.complete") == 3
        inside = [event for event in heard_ if event.name == "plan.written"]
        of_parts = [(event.data["step"], event.data["attempt"]) for event in inside]
        assert sorted(of_parts, key=str) == [("both", 1), ("one", 1), ("two", 1)]
        ends = [*ended(outcome, "notes", "cd")]
        assert [name for name, _ in ends] == ["workflow.complete", DONE]
        for name, fields in ends:
            checked(ServiceEvent(1, *by.document(name, fields)))
        assert ends[0][1]["states"] == dict.fromkeys(("one", "two", "both"), "completed")

    async def test_which_part_asks_is_told(self, tmp_path: Path) -> None:
        graph = TaskGraph(
            "a fact",
            (
                Subtask("leave", "go on", needs="approval", question="go on?"),
                Subtask("fact", "find it", after=("leave",)),
            ),
        )
        asked: list[Question] = []

        async def put(question: Question) -> Answer:
            asked.append(question)
            return Answer({"part": "yes", "approval": "once"}.get(question.kind, "this"))

        async def listen(event: Event) -> None:
            pass

        replies = [says("gone"), asks("which?"), calls("flood", "bytes=9")]
        made = setting(tmp_path, replies, fixture("able"))
        async with asyncio.timeout(20), Agent(made) as agent:
            talk = agent.conversation(None, put)
            with working(begin()):
                await talk.ask("a fact", listen, graph=graph)
                assert [(each.kind, each.step) for each in asked] == [
                    *(("part", "leave"), ("question", "fact"), ("approval", "fact"))
                ]
            await talk.aclose()


class TestBounds:
    @pytest.mark.parametrize(
        "result",
        [
            "x" * 10**6,
            ["y" * 100] * 10**4,
            {f"k{n}": n for n in range(10**5)},
            [[0] * 1000] * 1000,
            {"k" * 10**6: 1},
        ],
    )
    def test_a_long_result_is_cut(self, result: Json) -> None:
        [event] = told(finished(result))
        assert len(json.dumps(event.data, ensure_ascii=False)) < 2 * EVENT_CHARACTERS_MAX
        assert "…" in json.dumps(event.data["result"], ensure_ascii=False)

    @pytest.mark.parametrize("levels", [60, 900, 5_000])
    def test_a_result_of_many_levels_is_told(self, levels: int) -> None:
        result: Json = "inside"
        for _ in range(levels):
            result = [result]
        [event] = told(finished(result))
        json.dumps(event.data)

    def test_a_graph_of_200_long_parts_that_all_need_each_other_is_whole(self) -> None:
        names = [f"part_{number}" for number in range(200)]
        parts = tuple(
            Subtask(name, "d" * 4_000, after=tuple(names[:number]))
            for number, name in enumerate(names)
        )
        [event] = told(GraphPlanned(TaskGraph("g", parts), ("n" * 5_000,) * 50))
        steps = event.data["steps"]
        assert isinstance(steps, list)
        assert [step["id"] for step in steps if isinstance(step, dict)] == names

    def test_images_are_left_out_that_are_too_large_or_too_many_or_no_base64(self) -> None:
        by = words()
        large = "A" * IMAGE_CHARACTERS_MAX
        images = [
            *told(finished("x", ImageBlock(PNG, "image/png")), by)[:1],
            *told(finished("x", ImageBlock(f"{large}AAAA", "image/png")), by)[:1],
            *told(finished("x", ImageBlock("no base64!", "image/png")), by)[:1],
        ]
        assert [image.data["data"] for image in images] == [PNG, "", ""]
        assert [image.data["metadata"] for image in images] == [
            {},
            {"left_out": "the image is too large"},
            {"left_out": "it is not base64"},
        ]
        many = [told(finished("x", ImageBlock(large, "image/png")), by)[0] for _ in range(9)]
        too_many = {"left_out": "the run has shown too many images"}
        assert many[-1].data["metadata"] == too_many
        assert sum(len(str(image.data["data"])) for image in many) < RUN_CHARACTERS_MAX

    def test_a_run_that_tells_too_much_tells_little_from_then_on_but_never_less_of_its_end(
        self,
    ) -> None:
        by, told_characters = words(), 0
        for _ in range(700):
            [event] = told(finished("x" * 10**6), by)
            told_characters += len(str(event.data))
        assert told_characters < 1.1 * RUN_CHARACTERS_MAX
        assert len(str(told(finished("x" * 10**6), by)[0].data)) < 2 * LATE_CHARACTERS_MAX
        assert told(Answered("y" * 5_000), by)[0].data["content"] == "y" * 5_000


class TestSecrets:
    @pytest.mark.parametrize(
        "event",
        [
            PlanWritten(1, 1, Plan(f"key = '{OURS}'"), "p"),
            Notice("mcp", OURS),
            ServerLogged("s", "info", OURS),
            ToolCallStarted(1, "web.read", {OURS: [OURS]}),
            ToolCallRefused("web.read", {"url": f"https://x/{OURS}"}, OURS),
            finished({"text": OURS}),
            finished("x", ImageBlock("AAAA", f"image/{OURS}")),
            ModelRetried("m", OURS, 1, 0.5),
            ModelReplaced("m", "n", OURS),
            SubtaskEvent("one", 1, Notice("mcp", OURS)),
        ],
    )
    def test_no_event_holds_a_secret_of_ours(self, event: Event) -> None:
        events = told(event)
        assert events
        assert OURS not in json.dumps([each.data for each in events])

    def test_the_answer_stands_as_it_is_and_what_is_said_beside_does_not(self) -> None:
        [chunk] = told(Answered(f"it is {OURS}"))
        assert chunk.data["content"] == f"it is {OURS}"
        for outcome in (RunOutcome("done", OURS, ""), RunOutcome("failed", None, OURS)):
            [(name, fields)] = ended(outcome, None, "")
            done: JsonObject = words().document(name, fields)[1]
            checked(ServiceEvent(1, name, done))
            assert done["answer"] == outcome.answer
            assert OURS not in str(done["message"])
