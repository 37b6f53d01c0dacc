"""Sessions at the prompt: listed, resumed, what they have used."""

import os
from pathlib import Path

import pytest

from core.errors import ExitCode, StorageError, UsageError
from core.turn import USAGE, MemoryItem
from core.values import JsonObject
from core.version import __version__
from modules.session.memory import MemoryManager
from tests.core.dispatch.fixture_servers import server
from tests.doubles import profile
from tests.modules.cli.prompt_commands.typed import Typed

DATED = "2026/03/04/session-1772600000-bbbbbb"


def keep(home: Path, session_id: str, *items: MemoryItem) -> Path:
    """A session with these items on the disk."""
    kept = MemoryManager(session_id, profile().memory_folder(home))
    for item in items:
        kept.add(item)
    return kept.path


def exchange(request: str, answer: str) -> tuple[MemoryItem, MemoryItem]:
    """A request and its answer."""
    return (
        MemoryItem(timestamp=1, type="run_metadata", text="", user_query=request),
        MemoryItem(timestamp=2, type="final_answer", text="", final_answer=answer),
    )


async def test_what_a_session_has_used_is_told_by_model(tmp_path: Path) -> None:
    one: JsonObject = {
        "model_calls": 2,
        "input_tokens": 1500,
        "output_tokens": 80,
        "cached_tokens": 1000,
    }
    other: JsonObject = {"model_calls": 1, "input_tokens": 20, "output_tokens": 5}
    used: JsonObject = {"gemini:a": {**one, "cost": 0.0123}, "ollama:b": other}
    item = MemoryItem(timestamp=1, type="run_metadata", text="", metadata={USAGE: used})
    keep(tmp_path, "notes", item)
    async with Typed(tmp_path) as typed:
        await typed.run("/resume notes")
        assert await typed.run("/usage") is ExitCode.ANSWERED
        assert typed.said[-1] == (
            "model: gemini:a: 1,500 tokens read (1,000 cached), 80 written, $0.0123\n"
            "ollama:b: 20 tokens read, 5 written\n"
            "in all: 1,520 tokens read (1,000 cached), 85 written, $0.0123\n"
            "0 requests; 0 plans, 0.00 s; 0 tool calls, 0.00 s"
        )


async def test_a_session_that_has_not_begun_has_used_nothing(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run("/usage") is ExitCode.ANSWERED
        assert typed.said[0].startswith("model: no model has counted tokens in this session\n")
        assert typed.conversation.session.id is None


async def test_kept_sessions_are_listed_and_go_on_by_a_part_of_their_ids(tmp_path: Path) -> None:
    for age, (session_id, answer) in enumerate(((DATED, "two"), ("notes", "one"))):
        path = keep(tmp_path, session_id, *exchange("how\nmany?", answer))
        os.utime(path, (2_000_000 - age, 2_000_000 - age))
    async with Typed(tmp_path) as typed:
        assert await typed.run("/sessions") == ExitCode.ANSWERED
        heads, dated, notes = typed.said.pop().splitlines()[1:]
        assert heads.startswith("session")
        assert dated.startswith(DATED)
        assert notes.startswith("notes")
        assert notes.endswith("how many?")
        await typed.run("/sessions 1")
        assert typed.said.pop().endswith("and 1 more: /sessions N shows so many")
        assert await typed.run("/resume note") == ExitCode.ANSWERED
        assert typed.said == ["memory: continues the session notes\n> how many?\none"]
        assert typed.conversation.session.id == "notes"
        assert await typed.run("/resume") == ExitCode.ANSWERED
        assert typed.conversation.session.id == DATED
        with pytest.raises(UsageError, match=r"there is no session 'x9'.*see: /sessions"):
            await typed.run("/resume x9")
        assert typed.proposed("/resume bbb") == [DATED]
        assert typed.proposed("/resume ") == [DATED, "notes"]


async def test_the_one_session_that_is_kept_is_not_resumed_over_itself(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        keep(tmp_path, "notes", *exchange("how many?", "one"))
        assert await typed.run("/resume notes") == ExitCode.ANSWERED
        with pytest.raises(UsageError, match=r"^no other session is kept so far"):
            await typed.run("/resume")
        assert typed.conversation.session.id == "notes"


async def test_without_memory_or_sessions_nothing_goes_on(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run("/sessions") == ExitCode.ANSWERED
        assert typed.said[0].startswith("memory: no session is kept in")
        with pytest.raises(UsageError, match="no other session is kept"):
            await typed.run("/resume")
    async with Typed(tmp_path, profile=profile().without_memory()) as typed:
        with pytest.raises(UsageError, match="memory is off"):
            await typed.run("/resume notes")
        assert typed.proposed("/resume ") == []
        damaged = profile().memory_folder(tmp_path) / "notes.json"
        damaged.parent.mkdir(parents=True)
        damaged.touch()
        with pytest.raises(UsageError, match="memory is off"):
            await typed.run("/sessions")
        assert [*damaged.parent.iterdir()] == [damaged]  # not even repaired


async def test_what_runs_did_is_a_tree(tmp_path: Path) -> None:
    keep(tmp_path, "notes", *exchange("how many?", "two"))
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="nothing was asked in this session yet"):
            await typed.run("/trace")
        await typed.run("/trace note")
        assert typed.said[-1].startswith("trace: 1 run\nhow many?  ")
        await typed.run("/resume notes")
        await typed.run("/trace")
        assert typed.said[-1].startswith("trace: 1 run\nhow many?  ")
        assert typed.proposed("/trace no") == ["notes"]


async def test_the_last_answer_and_the_session_are_saved_over_nothing(tmp_path: Path) -> None:
    keep(tmp_path, "notes", *exchange("how many?", "two"))
    file = tmp_path / "an answer.md"
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="no answer in this session yet"):
            await typed.run("/save x.md")
        await typed.run("/resume notes")
        assert await typed.run(f"/save '{file}'") == ExitCode.ANSWERED
        assert file.read_text(encoding="utf-8") == "two\n"
        with pytest.raises(UsageError, match="is there already; add --force"):
            await typed.run(f"/save --session '{file}'")
        await typed.run(f"/save '{file}' --session --force")
        assert file.read_text(encoding="utf-8").startswith("# notes\n\nSession `notes`\n\n## 1970")
        assert "> how many?\n\ntwo\n" in file.read_text(encoding="utf-8")
        with pytest.raises(UsageError, match="it is no file"):
            await typed.run(f"/save --force {tmp_path}")
        with pytest.raises(StorageError, match=r"x\.md can't be written"):
            await typed.run(f"/save {tmp_path}/none/x.md")


@pytest.mark.parametrize("words", ["", "--session", "a b", "'a", "--all a", "--all"])
async def test_save_takes_one_file(words: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="/save takes one file"):
            await typed.run(f"/save {words}")


async def test_without_a_terminal_nothing_is_copied(tmp_path: Path) -> None:
    keep(tmp_path, "notes", *exchange("how many?", "two"))
    async with Typed(tmp_path) as typed:
        await typed.run("/resume notes")
        with pytest.raises(UsageError, match=r"no terminal is there; /save FILE"):
            await typed.run("/copy")


async def test_how_things_are_is_a_table(tmp_path: Path) -> None:
    keep(tmp_path, "notes", *exchange("how many?", "two"))
    async with Typed(tmp_path, servers=[server("good")]) as typed:
        await typed.run("/resume notes")
        await typed.conversation.session.load()
        await typed.run("/status")
        rows = dict(line.split(None, 1) for line in typed.said[-1].splitlines()[2:])
    assert rows["version"] == __version__
    assert rows["model"] == "scripted: given by the program"
    assert rows["session"] == "notes"
    assert rows["CORTEX_HOME"] == str(tmp_path)
    assert rows["servers"] == "good not started"
    assert rows["its"] == f"file     {profile().memory_folder(tmp_path)}/notes.json"
    async with Typed(tmp_path, profile=profile().without_memory()) as typed:
        await typed.run("/status")
        assert "memory       off (" in typed.said[-1]


async def test_the_board_of_the_newest_team_is_shown(tmp_path: Path) -> None:
    entry: JsonObject = {"topic": "facts", "key": "months", "value": "3", "who": "analyst"}
    told: JsonObject = {"team": "BoardChanged", "version": 1, "source": "docs.search", **entry}
    board = MemoryItem(timestamp=1.5, type="run_metadata", text="", metadata=told)
    asked, answered = exchange("compare", "done")
    keep(tmp_path, "notes", asked, board, answered, *exchange("and now?", "nothing"))
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="was answered in parts"):
            await typed.run("/board")
        await typed.run("/resume notes")
        assert await typed.run("/board") is ExitCode.ANSWERED
        assert typed.said[-1] == "team: facts\n  months: 3 (analyst, from docs.search)"
