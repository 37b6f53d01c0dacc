"""`sessions`: kept sessions listed, shown, exported, named, deleted."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from config.schema import load_profile
from core.base.files import folder_locked
from core.turn import MemoryItem
from modules.session.history import taken_back
from modules.session.kept import TITLE_CHARACTERS_MAX, KeptSessions
from modules.session.memory import MemoryManager
from tests.command_line import write_profile
from tests.core.base.open_folders import has_open
from tests.modules.cli.by_hand import Hand
from tests.modules.trace.session_items import in_parts

OLD = "2024/01/02/session-1704200000-aaaaaa"
NEW = "2026/03/04/session-1772600000-bbbbbb"
OTHER = "2026/03/04/session-1772600999-cccccc"


def keep(home: Path, session_id: str, *told: tuple[str, str | None], age_days: float = 0) -> Path:
    memory = MemoryManager(session_id, home / "memory")
    for request, answer in told:
        memory.add(
            MemoryItem(timestamp=1.7e9, type="run_metadata", text="Started", user_query=request)
        )
        if answer is not None:
            memory.add(
                MemoryItem(
                    timestamp=1.7e9,
                    type="final_answer",
                    text="Answer",
                    final_answer=answer,
                    user_query=request,
                )
            )
    used = time.time() - age_days * 86_400
    os.utime(memory.path, (used, used))
    return memory.path


@pytest.fixture
def sessions(hand: Hand) -> Hand:
    """A home with three sessions, one of them long unused."""
    write_profile(hand.home)
    keep(hand.home, OLD, ("add 1 and 2", "3"), age_days=200)
    keep(hand.home, NEW, ("what is <b>?", "it is & more"), ("who?", None), age_days=2)
    keep(hand.home, "notes", ("tidy\nup", "done"), age_days=1)
    return hand


def ids(hand: Hand, *words: str) -> list[str]:
    return [each["id"] for each in json.loads(hand.run("sessions", "list", "--json", *words).out)]


def test_the_sessions_used_last_come_first(sessions: Hand) -> None:
    assert ids(sessions) == ["notes", NEW, OLD]
    assert ids(sessions, "--limit", "1") == ["notes"]
    told = sessions.run("sessions", "--limit", "2")
    assert told.code == 0
    assert "tidy up" in told.out
    assert "and 1 more: --all shows them" in told.out
    assert ids(sessions, "--all") == ["notes", NEW, OLD]


def test_without_sessions_it_says_so(hand: Hand) -> None:
    write_profile(hand.home)
    done = hand.run("sessions")
    assert (done.code, done.err) == (0, "")
    assert "no session is kept in" in done.out
    assert hand.run("sessions", "list", "--json").out == "[]\n"


@pytest.mark.parametrize("part", [NEW, "2026/03", "bbbbbb", "bbb", "session-17726", "1772600000"])
def test_a_unique_part_of_an_id_is_enough(sessions: Hand, part: str) -> None:
    shown = json.loads(sessions.run("sessions", "show", part, "--json").out)
    assert shown["id"] == NEW
    told = [(each["request"], each["answer"]) for each in shown["exchanges"]]
    assert told == [("what is <b>?", "it is & more"), ("who?", None)]


def test_of_a_request_in_parts_it_is_told_how_they_ended(sessions: Hand) -> None:
    memory = MemoryManager(NEW, sessions.home / "memory")
    memory.load()
    for item in in_parts(1.9e9):
        memory.add(item)
    told = sessions.run("sessions", "show", NEW).out
    assert "> compare\n(1 of 3 subtasks done; failed: other; blocked: both)\n(no answer)" in told
    *others, last = json.loads(sessions.run("sessions", "show", NEW, "--json").out)["exchanges"]
    assert [each["graph"] for each in others] == [None, None]
    states = [(each["id"], each["state"]) for each in last["graph"]["subtasks"]]
    assert states == [("first", "completed"), ("other", "failed"), ("both", "blocked")]


def test_a_part_of_several_ids_names_them_and_one_of_none_the_nearest(sessions: Hand) -> None:
    keep(sessions.home, OTHER, ("x", "y"))
    done = sessions.run("sessions", "show", "2026/03/04")
    assert (done.code, done.out) == (2, "")
    assert NEW in done.err
    assert OTHER in done.err
    done = sessions.run("sessions", "show", "noted")
    assert done.code == 2
    assert "the nearest: notes" in done.err
    assert sessions.run("sessions", "show", "../../etc/passwd").code == 2


def test_exports_hold_the_same_in_three_forms(sessions: Hand) -> None:
    page = sessions.run("sessions", "export", "bbbbbb", "--html").out
    assert "what is &lt;b&gt;?" in page
    assert "it is &amp; more" in page
    assert "<b>" not in page
    assert "unsafe-inline" not in page
    assert "<script" not in page
    markdown = sessions.run("sessions", "export", "bbbbbb").out
    assert "> what is <b>?" in markdown
    assert "(no answer)" in markdown
    items = json.loads(sessions.run("sessions", "export", "bbbbbb", "--json").out)
    assert [item["type"] for item in items] == ["run_metadata", "final_answer", "run_metadata"]


def test_what_was_taken_back_is_shown_as_such_in_every_form(sessions: Hand) -> None:
    memory = MemoryManager(NEW, sessions.home / "memory")
    memory.load()
    found = taken_back(memory.get_session_items(), 1.7e9)
    assert found is not None
    memory.add(found[1])
    shown = json.loads(sessions.run("sessions", "show", NEW, "--json").out)
    assert [each["taken_back"] for each in shown["exchanges"]] == [False, True]
    for words in (["show"], ["export"], ["export", "--html"]):
        assert sessions.run("sessions", *words, NEW).out.count("(taken back)") == 1


def test_a_title_stands_in_lists_and_the_last_one_counts(sessions: Hand) -> None:
    assert sessions.run("sessions", "rename", "bbbbbb", "first").code == 0
    assert sessions.run("sessions", "rename", "bbbbbb", "The", "lease").code == 0
    assert ids(sessions)[0] == NEW
    assert "The lease" in sessions.run("sessions").out
    assert sessions.run("sessions", "rename", "bbbbbb", " ").code == 2
    shown = json.loads(sessions.run("sessions", "show", NEW, "--json").out)
    assert (shown["title"], len(shown["exchanges"])) == ("The lease", 2)


def test_a_session_is_deleted_only_where_somebody_says_so(sessions: Hand) -> None:
    done = sessions.run("sessions", "delete", "notes")
    assert done.code == 2
    assert "--yes" in done.err
    assert sessions.run("sessions", "delete", "notes", "--yes").code == 0
    assert ids(sessions) == [NEW, OLD]
    assert sessions.run("sessions", "delete", "notes", "--yes").code == 2


def test_old_sessions_are_pruned_after_a_look(sessions: Hand) -> None:
    look = sessions.run("sessions", "prune", "--older-than", "90d", "--dry-run")
    assert look.out == f"{OLD}\n1 session would be deleted\n"
    assert len(ids(sessions)) == 3
    assert sessions.run("sessions", "prune", "--older-than", "90d").code == 0
    assert ids(sessions) == ["notes", NEW]
    assert not (sessions.home / "memory" / "2024" / "01" / "02").exists()
    with pytest.raises(SystemExit):
        sessions.run("sessions", "prune", "--older-than", "soon")


def test_a_damaged_session_is_passed_over_in_lists_and_told(sessions: Hand) -> None:
    (sessions.home / "memory" / "bad.json").mkdir()
    done = sessions.run("sessions", "list")
    assert done.code == 0
    assert "bad.json" in done.err
    assert "notes" in done.out


def test_what_was_set_aside_and_what_killed_writers_left_go_with_a_session(sessions: Hand) -> None:
    folder = sessions.home / "memory"
    for name in ("notes.json.damaged-1", ".notes.json.0123456789abcdef.tmp", "notes2.json"):
        (folder / name).write_text("what was asked", encoding="utf-8")
    assert sessions.run("sessions", "delete", "notes", "--yes").code == 0
    assert not [*folder.glob("*notes.json*")]
    assert (folder / "notes2.json").exists()


def test_pruning_passes_over_what_cannot_be_deleted_and_says_so(sessions: Hand) -> None:
    (sessions.home / "memory" / "bad.json").mkdir()
    os.utime(sessions.home / "memory" / "bad.json", (1, 1))
    done = sessions.run("sessions", "prune", "--older-than", "90d", "--json")
    assert json.loads(done.out)["deleted"] == [OLD]
    assert "bad.json can't be deleted" in done.err


def test_a_session_that_is_used_meanwhile_is_not_pruned(sessions: Hand) -> None:
    kept = KeptSessions(load_profile(sessions.home / "profile.yaml"), sessions.home, print)
    assert not kept.delete("notes", used_before=time.time() - 2 * 86_400)
    assert not kept.delete("gone")
    assert kept.delete("notes", used_before=time.time())
    assert kept.ids() == [NEW, OLD]


def test_a_title_is_masked_before_it_is_cut(sessions: Hand) -> None:
    title = "x" * (TITLE_CHARACTERS_MAX - 5)
    with (sessions.home / "profile.yaml").open("a", encoding="utf-8") as profile:
        profile.write("memory: {mask: ['[0-9]{4}-[0-9]{4}', 'two  lines']}\n")
    assert sessions.run("sessions", "rename", "notes", f"{title} 1234-5678").code == 0
    assert sessions.run("sessions", "rename", "notes", "two  lines").code == 0
    stored = json.loads((sessions.home / "memory" / "notes.json").read_bytes())
    texts = [item["text"] + item["metadata"].get("title", "") for item in stored]
    assert not [text for text in texts if "12" in text or "two" in text]


def test_what_is_kept_is_masked_again_where_it_is_shown(sessions: Hand) -> None:
    assert sessions.run("sessions", "rename", "notes", "a pin").code == 0
    with (sessions.home / "profile.yaml").open("a", encoding="utf-8") as profile:
        profile.write("memory: {mask: ['tidy', 'done', 'pin']}\n")
    for words in (
        *(["show"], ["show", "--json"], ["export", "--json"], ["export"], ["export", "--html"]),
        *(["list"], ["list", "--json"]),
    ):
        named = ["notes"] if words[0] != "list" else []
        out = sessions.run("sessions", words[0], *named, *words[1:]).out
        assert "[redacted MASK]" in out
        assert not [word for word in ("tidy", "done", "pin") if word in out], words


def test_an_export_holds_what_json_lacks_as_text(sessions: Hand) -> None:
    item = '{"timestamp": 1e400, "type": "run_metadata", "text": "", "metadata": {"a": 1e400}}'
    (sessions.home / "memory" / "odd.json").write_text(f"[{item}]", encoding="utf-8")
    (exported,) = json.loads(sessions.run("sessions", "export", "odd", "--json").out)
    assert exported["timestamp"] == exported["metadata"]["a"] == "Infinity"


def test_what_was_said_is_searched_also_where_the_profile_has_no_memory_server(
    sessions: Hand,
) -> None:
    found = json.loads(sessions.run("sessions", "search", "tidy", "--mode", "words", "--json").out)
    assert [(each["session"], each["answer"]) for each in found["memories"]] == [("notes", "done")]
    told = sessions.run("sessions", "search", "zebra", "--mode", "words")
    assert (told.code, "Nothing that was asked" in told.out) == (0, True), told.out
    with pytest.raises(SystemExit, match="2"):
        sessions.run("sessions", "search")


def test_a_session_that_is_being_written_is_deleted_afterwards(sessions: Hand) -> None:
    kept = KeptSessions(load_profile(sessions.home / "profile.yaml"), sessions.home, print)
    path = kept.path("notes")
    deleting = threading.Thread(target=kept.delete, args=("notes",))
    with folder_locked(path):
        deleting.start()
        while not has_open(path.parent, at_least=2):
            assert deleting.is_alive()
        assert path.exists()
    deleting.join()
    assert not path.exists()
