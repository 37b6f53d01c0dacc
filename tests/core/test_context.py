"""The context: session ids, subtasks, and the input of the current step."""

from config.servers import ServerEntry
from core.context import Progress
from core.turn import MemoryItem
from tests.doubles import FakeMemory, FakeParts, context, profile


def test_subtasks_are_updated_newest_first_within_the_step() -> None:
    ctx = context(FakeParts([], {}))
    ctx.step = 1
    ctx.log_subtask("add")
    ctx.step = 2
    ctx.log_subtask("add")
    ctx.log_subtask("add")
    ctx.update_subtask_status("add", "success")
    ctx.update_subtask_status("absent", "failure")
    assert ctx.task_progress == [
        Progress(1, "add", "pending"),
        Progress(2, "add", "pending"),
        Progress(2, "add", "success"),
    ]


def test_the_override_replaces_the_request_for_a_later_step() -> None:
    ctx = context(FakeParts([], {}), request="first")
    assert ctx.current_input == "first"
    ctx.user_input_override = "second"
    assert (ctx.user_input, ctx.current_input) == ("first", "second")


def test_memory_goes_to_the_session() -> None:
    memory = FakeMemory()
    item = MemoryItem(timestamp=1, type="run_metadata", text="x")
    context(FakeParts([], {}), memory=memory).add_memory(item)
    assert memory.items == [item]


def test_basic_tools_are_named_with_their_server() -> None:
    ctx = context(FakeParts([], {}))
    server = ServerEntry(id="math", script="x.py", basic_tools=("add", "sin"))
    ctx.agent_profile = profile(servers=[server])
    assert ctx.basic_tools == {"math.add", "math.sin"}
