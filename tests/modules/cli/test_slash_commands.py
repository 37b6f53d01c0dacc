"""What can be typed at the prompt behind a slash."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from config.schema import AgentProfile
from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode, UsageError
from core.session import MultiMCP
from core.turn import MemoryItem, Usage
from modules.cli.slash_commands import PromptCommands
from modules.session.history import Activity
from modules.session.kept import KeptSessions
from modules.session.memory import MemoryManager
from tests.core.dispatch.fixture_servers import QUICK, server
from tests.doubles import profile

BOUND_SECONDS = 10


def commands(
    dispatcher: MultiMCP,
    used: dict[str, Usage] | None = None,
    done: Activity | None = None,
    disabled: Sequence[str] = (),
    home: Path = Path("/nowhere"),
    memory: AgentProfile | None = None,
) -> tuple[PromptCommands, list[str]]:
    """The commands, and the texts that they say."""
    said: list[str] = []

    def say(stage: str, text: str) -> None:
        said.append(f"{stage}: {text}")

    async def manage_documents(words: str) -> ExitCode:
        say("docs", words)
        return ExitCode.NO_ANSWER

    session_usage, activity = (lambda: used or {}), (lambda: done or Activity())

    def resumed(session_id: str) -> None:
        say("resumed", session_id)

    kept = KeptSessions(memory or profile(), home, say)
    return PromptCommands(
        dispatcher, say, session_usage, activity, manage_documents, resumed, kept, disabled
    ), said


@pytest.mark.parametrize(
    "line", ["mcp", "tools", "/etc/passwd", "/var is full?", "", "/", "/2", "add 1 and 2"]
)
async def test_other_lines_are_left_alone(line: str) -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert await prompt.run(line) is None
        assert said == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/mcp list", "loop: /mcp stands alone"),
        ("/Tools math", "loop: /tools stands alone"),
        ("/tool", "loop: there is no command /tool; did you mean /tools?"),
        (" /servers ", "loop: there is no command /servers;"),
        ("/doctor", "loop: doctor is for the command line: agent.py doctor --help"),
        ("/run-plan plan.py", "loop: run-plan is for the command line"),
        ("/call add a=1 b=2", "loop: call is for the command line"),
    ],
)
async def test_a_mistyped_command_is_told_and_not_asked(line: str, told: str) -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert await prompt.run(line) == ExitCode.BAD_USAGE
        assert len(said) == 1
        assert said[0].startswith(told)


async def test_documents_are_managed_with_the_words_as_they_were_typed() -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert await prompt.run("/docs search Notice Period") == ExitCode.NO_ANSWER
        assert await prompt.run("/DOCS") == ExitCode.NO_ANSWER
        assert said == ["docs: search Notice Period", "docs: "]


async def test_without_servers_there_are_none_and_no_tools() -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher)
        assert [await prompt.run(line) for line in ("/mcp", " /TOOLS ")] == [ExitCode.ANSWERED] * 2
        assert said == ["mcp: 0 servers", "mcp: 0 tools"]


async def test_servers_are_shown_without_starting_any(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with MultiMCP([server("counting", str(starts))], stop_grace=QUICK) as dispatcher:
        prompt, said = commands(dispatcher)
        await prompt.run("/mcp")
        hint = "one that is down starts when it is needed"
        assert said[0].startswith(f"mcp: 1 server; {hint}\nNAME")
        assert not starts.exists()


async def test_servers_that_are_switched_off_are_named_with_how_to_switch_them_on() -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher, disabled=["time", "gh"])
        await prompt.run("/mcp")
        assert said == [
            "mcp: 0 servers\nswitched off: time, gh; agent.py mcp enable NAME switches one on"
        ]


async def test_ctrl_c_stops_the_wait_for_a_server_that_never_answers() -> None:
    async def interrupt(text: str) -> None:
        prompt.interrupt()

    hooks = DispatcherHooks(on_waiting=interrupt)
    dispatcher = MultiMCP(
        [server("silent")], hooks=hooks, stop_grace=QUICK, slow_start_seconds=0.01
    )
    prompt, said = commands(dispatcher)
    prompt.interrupt()  # nothing runs: nothing happens
    async with asyncio.timeout(BOUND_SECONDS), dispatcher:
        assert await prompt.run("/tools") == ExitCode.INTERRUPTED
        assert said == []
        assert await prompt.run("/mcp") == ExitCode.ANSWERED


async def test_what_a_session_has_used_is_told_by_model() -> None:
    used = {"gemini:a": Usage(2, 1_500, 80, 1_000, 0.0123), "ollama:b": Usage(1, 20, 5)}
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher, used)
        assert await prompt.run("/usage") is ExitCode.ANSWERED
        assert said == [
            "model: gemini:a: 1,500 tokens read (1,000 cached), 80 written, $0.0123\n"
            "ollama:b: 20 tokens read, 5 written\n"
            "in all: 1,520 tokens read (1,000 cached), 85 written, $0.0123\n"
            "0 requests; 0 plans, 0.00 s; 0 tool calls, 0.00 s"
        ]


async def test_what_a_session_has_done_is_told_where_no_model_counts_tokens() -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher, done=Activity(2, 3, 1.24, 1, 0.8))
        assert await prompt.run("/usage") is ExitCode.ANSWERED
        assert said == [
            "model: no model has counted tokens in this session\n"
            "2 requests; 3 plans, 1.24 s; 1 tool call, 0.80 s"
        ]


async def test_kept_sessions_are_listed_and_go_on_by_a_part_of_their_ids(tmp_path: Path) -> None:
    folder = profile().memory_folder(tmp_path)
    for session_id, answer in (("notes", "one"), ("2026/03/04/session-1772600000-bbbbbb", "two")):
        kept = MemoryManager(session_id, folder)
        kept.add(MemoryItem(timestamp=1, type="run_metadata", text="", user_query="how\nmany?"))
        kept.add(MemoryItem(timestamp=2, type="final_answer", text="", final_answer=answer))
        used = 1_000_000 + len(answer) + len(session_id)
        os.utime(kept.path, (used, used))
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher, home=tmp_path)
        assert await prompt.run("/sessions") == ExitCode.ANSWERED
        heads, dated, notes = said.pop().splitlines()[1:]
        assert heads.startswith("session")
        assert dated.startswith("2026/03/04/session-1772600000-bbbbbb")
        assert notes.startswith("notes")
        assert notes.endswith("how many?")
        assert await prompt.run("/resume note") == ExitCode.ANSWERED
        assert said == ["resumed: notes", "memory: continues the session notes\n> how many?\none"]
        assert await prompt.run("/resume") == ExitCode.ANSWERED
        assert said[2] == "resumed: 2026/03/04/session-1772600000-bbbbbb"
        with pytest.raises(UsageError, match="there is no session 'x9'"):
            await prompt.run("/resume x9")


async def test_without_memory_or_sessions_nothing_goes_on(tmp_path: Path) -> None:
    async with MultiMCP([]) as dispatcher:
        prompt, said = commands(dispatcher, home=tmp_path)
        assert await prompt.run("/sessions") == ExitCode.ANSWERED
        assert said[0].startswith("memory: no session is kept in")
        with pytest.raises(UsageError, match="none is kept"):
            await prompt.run("/resume")
        prompt, _ = commands(dispatcher, home=tmp_path, memory=profile().without_memory())
        with pytest.raises(UsageError, match="memory is off"):
            await prompt.run("/resume notes")
        damaged = profile().memory_folder(tmp_path) / "notes.json"
        damaged.parent.mkdir(parents=True)
        damaged.touch()
        with pytest.raises(UsageError, match="memory is off"):
            await prompt.run("/sessions")
        assert [*damaged.parent.iterdir()] == [damaged]  # not even repaired
