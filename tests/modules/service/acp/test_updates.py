"""Events of runs as an editor is shown them."""

from pathlib import Path

from core.base.redaction import Redactor
from core.events import (
    Answered,
    Event,
    GraphPlanned,
    ModelAnswered,
    ModelAsked,
    ModelWriting,
    PlanWritten,
    Replanned,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallStarted,
)
from core.team.graph import Subtask, TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.content import ImageBlock
from core.turn import Plan, ToolCall, Usage
from core.values import JsonObject
from modules.service.acp.calls import IMAGE_CHARACTERS_MAX
from modules.service.acp.plan import calls_in
from modules.service.acp.updates import RunUpdates
from tests.doubles import tool

FOLDER = Path("/work/project")
SECRET = "sk-1234567890abcdef"  # noqa: S105 - nobody's
TOOLS = ToolCatalog([tool("add"), tool("read_file", "files")])


async def shown(*events: Event) -> list[JsonObject]:
    """What is told of these events."""
    told: list[JsonObject] = []

    async def send(update: JsonObject) -> None:
        told.append(update)

    updates = RunUpdates(send, Redactor({"API_KEY": SECRET}), FOLDER)
    updates.begin(lambda: TOOLS, 1_000)
    for event in events:
        await updates(event)
    return told


def entries_of(plan: JsonObject) -> list[JsonObject]:
    entries = plan["entries"]
    assert isinstance(entries, list)
    return [entry for entry in entries if isinstance(entry, dict)]


def call(result: str, *, ok: bool = True) -> ToolCall:
    return ToolCall("files.read_file", {"path": "notes.md"}, ok, result, 0.1)


async def test_a_call_names_its_files_and_keeps_secrets() -> None:
    started = ToolCallStarted(1, "files.read_file", {"path": "notes.md", "key": SECRET})
    progress = ToolCallProgress(1, "files.read_file", 1, 2, "half of it")
    first, second, third = await shown(started, progress, ToolCallFinished(1, call(SECRET)))
    assert first["kind"] == "other", "none that an editor may allow without asking"
    assert first["locations"] == [{"path": "/work/project/notes.md"}]
    assert SECRET not in str([first, second, third])
    assert "half of it" in str(second["content"])
    assert [each["status"] for each in (first, second, third)] == [
        "in_progress",
        "in_progress",
        "completed",
    ]
    assert first["toolCallId"] == second["toolCallId"] == third["toolCallId"]


async def test_a_call_that_failed_and_one_that_was_kept() -> None:
    started = ToolCallStarted(1, "files.read_file", {"path": "/etc/hosts"})
    told = await shown(started, ToolCallFinished(1, call("no", ok=False)), ToolCallKept(call("x")))
    assert [each["status"] for each in told] == ["in_progress", "failed", "completed"]
    assert told[0]["toolCallId"] != told[2]["toolCallId"]


async def test_pictures_of_a_call_are_shown_within_bounds() -> None:
    small, huge = (
        ImageBlock("aGk=", "image/png"),
        ImageBlock("x" * IMAGE_CHARACTERS_MAX, "image/png"),
    )
    started = ToolCallStarted(1, "files.read_file", {})
    _, done = await shown(started, ToolCallFinished(1, call("x"), (small, huge)))
    content = done["content"]
    assert isinstance(content, list)
    assert content[1] == {
        "type": "content",
        "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    }
    assert "too large" in str(content[2])


async def test_the_parts_of_a_graph_are_the_plan() -> None:
    first, last = Subtask("first", "add 5 and 7"), Subtask("last", "tell {{first}}", critical=True)
    graph = TaskGraph("sums", (first, last))
    inner = PlanWritten(1, 1, Plan("async def solve():\n    return await tools.add(a=1, b=2)"), "")
    told = await shown(
        GraphPlanned(graph),
        SubtaskChanged(first, "running"),
        SubtaskEvent("first", 1, inner),
        SubtaskEvent("first", 1, ToolCallStarted(1, "math.add", {})),
        SubtaskEvent("first", 1, Answered("12")),
        SubtaskChanged(first, "completed"),
        SubtaskChanged(last, "failed"),
        Replanned("last", "it failed", TaskGraph("sums", (first, Subtask("other", "ask")))),
    )
    plans = [entries_of(each) for each in told if each["sessionUpdate"] == "plan"]
    assert [[(e["content"], e["status"]) for e in plan] for plan in plans] == [
        [("add 5 and 7", "pending"), ("tell {{first}}", "pending")],
        [("add 5 and 7", "in_progress"), ("tell {{first}}", "pending")],
        [("add 5 and 7", "completed"), ("tell {{first}}", "pending")],
        [("add 5 and 7", "completed"), ("tell {{first}} (failed)", "completed")],
        [("add 5 and 7", "completed"), ("ask", "pending")],
    ]
    assert all(each["sessionUpdate"] != "agent_message_chunk" for each in told)


async def test_an_answer_is_told_as_it_is_and_the_window_as_it_fills() -> None:
    asked = ModelAnswered("m", "decision", Usage(1, 300, 100), 0.1, None)
    usage, answer = await shown(asked, Answered(SECRET))
    assert usage == {"sessionUpdate": "usage_update", "used": 400, "size": 1_000}
    assert SECRET in str(answer), "an answer is what was asked for"


async def test_the_calls_of_a_plan_are_the_plan_where_there_are_several() -> None:
    one = Plan("async def solve():\n    return await tools.add(a=1, b=2)")
    two = Plan(f"{one.source} + await tools.files.read_file(path='a')")
    add = ToolCall("math.add", {"a": 1, "b": 2}, True, 3, 0.1)
    told = await shown(
        PlanWritten(1, 1, one, ""),
        PlanWritten(1, 2, two, ""),
        ToolCallStarted(1, "math.add", {"a": 1, "b": 2}),
        ToolCallFinished(1, add),
        ToolCallKept(call("x")),
    )
    plans = [entries_of(each) for each in told if each["sessionUpdate"] == "plan"]
    assert [[each["content"] for each in plan] for plan in plans] == [
        ["math.add", "files.read_file"]
    ] * 4
    assert [[each["status"] for each in plan] for plan in plans] == [
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "pending"],
        ["completed", "completed"],
    ]


async def test_an_answer_is_told_while_it_is_written() -> None:
    def writing(answer: str) -> ModelWriting:
        text = f'async def solve():\n    return "FINAL_ANSWER: {answer}'
        return ModelWriting("m", len(text), 0, text)

    said = Plan('async def solve():\n    return "FINAL_ANSWER: one two"')
    events = (writing("one"), writing("one two"), PlanWritten(1, 1, said, ""), Answered("one two"))
    told = await shown(ModelAsked("m", "decision"), *events)
    assert [each["content"] for each in told] == [
        {"type": "text", "text": "one"},
        {"type": "text", "text": " two"},
    ]
    anew = await shown(ModelAsked("m", "decision"), writing("wrong"), Answered("right"))
    assert [each["content"] for each in anew] == [
        {"type": "text", "text": "wrong"},
        {"type": "text", "text": "\n\nright"},
    ]


def test_the_calls_of_a_plan_stand_in_its_order() -> None:
    source = (
        "async def solve():\n    x = await tools.files.read_file(path='a')\n"
        "    y = await tools.add(a=1, b=await tools.add(a=2, b=3))\n    return x"
    )
    assert calls_in(source, TOOLS) == ["files.read_file", "math.add", "math.add"]
    assert calls_in("async def", TOOLS) == []
