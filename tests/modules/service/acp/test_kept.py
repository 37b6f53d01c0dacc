"""Kept sessions as an editor lists them, and is shown one."""

from pathlib import Path

import pytest

from config.schema import load_profile
from core.base.redaction import Redactor
from core.errors import UsageError
from core.mcp.peer import RpcError
from core.turn import MemoryItem
from core.values import JsonObject
from modules.service.acp.kept import PAGE_SIZE, kept_items, page_of, past_updates
from modules.service.acp.messages import Params, read
from modules.session.history import folder_item
from modules.session.kept import KeptSessions
from modules.session.memory import MemoryManager
from tests.command_line import write_profile


def kept_in(home: Path) -> KeptSessions:
    def unheard(_stage: str, _text: str) -> None: ...

    return KeptSessions(load_profile(write_profile(home)), home, unheard)


def page(home: Path, params: Params | None = None) -> JsonObject:
    return page_of(kept_in(home), params or Params(), Redactor({}))


def asked(request: str, at: float = 1.0) -> MemoryItem:
    return MemoryItem(timestamp=at, type="run_metadata", text="", user_query=request)


def keep(home: Path, session_id: str, *items: MemoryItem) -> None:
    memory = MemoryManager(session_id, home / "memory")
    for item in items:
        memory.add(item)


def names(page: JsonObject) -> list[str]:
    found = page["sessions"]
    assert isinstance(found, list)
    return sorted(str(each["sessionId"]) for each in found if isinstance(each, dict))


def test_a_session_is_listed_in_its_folder_and_one_without_in_each(tmp_path: Path) -> None:
    keep(tmp_path, "here", asked("add 5 and 7"), folder_item(Path("/work/here")))
    keep(tmp_path, "there", asked("tell"), folder_item(Path("/work/there")))
    keep(tmp_path, "terminal", asked("help"))
    assert names(page(tmp_path)) == ["here", "terminal", "there"]
    found = page(tmp_path, Params(cwd=Path("/work/here")))
    assert names(found) == ["here", "terminal"]
    assert str(found["sessions"]).count("/work/here") == 2
    assert "add 5 and 7" in str(found["sessions"])


def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    for number in range(PAGE_SIZE + 3):
        keep(tmp_path, f"session-{number}", asked("add 5 and 7"))
    first = page(tmp_path)
    cursor = first["nextCursor"]
    assert isinstance(cursor, str)
    second = page(tmp_path, Params(cursor=cursor))
    assert "nextCursor" not in second
    assert len({*names(first), *names(second)}) == PAGE_SIZE + 3
    for wrong in ("x", "-1", "²"):
        with pytest.raises(RpcError, match="`cursor` must match"):
            read({"cursor": wrong})


def test_a_session_that_is_not_there_or_can_not_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(RpcError, match="no session nowhere is kept"):
        kept_items(kept_in(tmp_path), "nowhere")
    with pytest.raises(UsageError):
        kept_items(kept_in(tmp_path), "../../etc/passwd")


def test_a_damaged_session_is_left_out_of_the_list(tmp_path: Path) -> None:
    keep(tmp_path, "sound", asked("add 5 and 7"))
    (tmp_path / "memory" / "broken.json").mkdir()
    assert names(page(tmp_path)) == ["sound"]


def test_what_was_taken_back_is_not_shown_again() -> None:
    undone = MemoryItem(timestamp=3.0, type="run_metadata", text="", metadata={"undone": 2.0})
    items = [
        asked("first"),
        MemoryItem(
            timestamp=1.1,
            type="tool_output",
            text="",
            tool_name="add",
            tool_args={"a": 1},
            tool_result={"result": 3},
            success=True,
            metadata={"server": "math"},
        ),
        MemoryItem(timestamp=1.2, type="final_answer", text="", final_answer="3"),
        asked("second", at=2.0),
        MemoryItem(timestamp=2.1, type="final_answer", text="", final_answer="no"),
        undone,
    ]
    told = [*past_updates(items, Redactor({}), Path("/work"))]
    kinds = [each["sessionUpdate"] for each in told]
    assert kinds == ["user_message_chunk", "tool_call", "agent_message_chunk"]
    assert str(told[1]["title"]).startswith("math.add")
