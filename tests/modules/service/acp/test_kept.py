"""Kept sessions as an editor lists them, and is shown one."""

from pathlib import Path

import pytest

from config.schema import load_profile
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from core.errors import UsageError
from core.mcp.peer import RpcError
from core.turn import MemoryItem
from core.values import JsonObject
from modules.service.acp.door import Editor
from modules.service.acp.kept import PAGE_SIZE, SessionList, past_updates
from modules.service.acp.messages import Abilities, ListSessions
from modules.service.acp.sessions import AcpSessions
from modules.service.agents import AgentSetting
from modules.session.history import folder_item
from modules.session.memory import MemoryManager
from tests.command_line import write_profile


def setting(home: Path) -> AgentSetting:
    file = write_profile(home)
    places = Places(ROOT, home)
    return AgentSetting(places, places, load_profile(file), file, {}, Redactor({}))


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
    sessions = SessionList(setting(tmp_path))
    assert names(sessions.page(ListSessions())) == ["here", "terminal", "there"]
    page = sessions.page(ListSessions(cwd="/work/here"))
    assert names(page) == ["here", "terminal"]
    assert all("/work/here" in str(each) for each in [page["sessions"]])
    assert "add 5 and 7" in str(page["sessions"])


def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    for number in range(PAGE_SIZE + 3):
        keep(tmp_path, f"session-{number}", asked("add 5 and 7"))
    sessions = SessionList(setting(tmp_path))
    first = sessions.page(ListSessions())
    cursor = first["nextCursor"]
    assert isinstance(cursor, str)
    second = sessions.page(ListSessions(cursor=cursor))
    assert "nextCursor" not in second
    assert len({*names(first), *names(second)}) == PAGE_SIZE + 3
    for wrong in ("x", "-1", "²"):
        with pytest.raises(RpcError, match="'cursor' is none"):
            sessions.page(ListSessions(cursor=wrong))


def test_a_session_that_is_not_there_or_can_not_be_is_told(tmp_path: Path) -> None:
    sessions = SessionList(setting(tmp_path))
    with pytest.raises(RpcError, match="no session nowhere is kept"):
        sessions.items("nowhere")
    with pytest.raises(UsageError):
        sessions.items("../../etc/passwd")
    sessions.delete("nowhere")


def test_a_damaged_session_is_left_out_of_the_list(tmp_path: Path) -> None:
    keep(tmp_path, "sound", asked("add 5 and 7"))
    (tmp_path / "memory" / "broken.json").mkdir()
    assert names(SessionList(setting(tmp_path)).page(ListSessions())) == ["sound"]


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


async def test_a_deleted_session_is_gone(tmp_path: Path) -> None:
    keep(tmp_path, "old", asked("add 5 and 7"))

    async def ask(method: str, params: JsonObject) -> JsonObject:
        raise AssertionError(method)

    async def tell(method: str, params: JsonObject) -> None:
        raise AssertionError(method)

    sessions = AcpSessions(setting(tmp_path), Editor(Abilities, ask, tell))
    assert await sessions.answer("session/delete", {"sessionId": "old"}) == {}
    assert names(await sessions.answer("session/list", {})) == []
    await sessions.aclose()
