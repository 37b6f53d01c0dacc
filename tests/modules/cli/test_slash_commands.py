"""`/docs`, `/mcp`, `/tools` and `/usage` at the prompt."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode
from core.session import MultiMCP
from core.turn import Usage
from modules.cli.slash_commands import PromptCommands
from modules.session.history import Activity
from tests.core.dispatch.fixture_servers import QUICK, server

BOUND_SECONDS = 10


def commands(
    dispatcher: MultiMCP,
    used: dict[str, Usage] | None = None,
    done: Activity | None = None,
    disabled: Sequence[str] = (),
) -> tuple[PromptCommands, list[str]]:
    """The commands, and the texts that they say."""
    said: list[str] = []

    def say(stage: str, text: str) -> None:
        said.append(f"{stage}: {text}")

    async def manage_documents(words: str) -> ExitCode:
        say("docs", words)
        return ExitCode.NO_ANSWER

    session_usage, activity = (lambda: used or {}), (lambda: done or Activity())
    return PromptCommands(
        dispatcher, say, session_usage, activity, manage_documents, disabled
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
        ("/tool", "loop: there is no command /tool; there are /docs, /mcp, /tools and /usage"),
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
