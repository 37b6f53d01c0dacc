"""What can be typed at the prompt behind a slash: found, refused, completed."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from core.errors import NEW_SESSION, ExitCode, UsageError
from modules.cli.prompt_commands.command import Ask, AtPrompt, PromptCommand
from modules.cli.prompt_commands.dispatch import COMMANDS_AT_PROMPT, PromptCommands
from modules.terminal.input.candidates import Candidate
from modules.terminal.input.repl import Leaving
from tests.modules.cli.prompt_commands.typed import Typed
from tests.test_layout import ROOT, SOURCES

PLACES_OF_THE_PROMPT = (
    *("modules/cli/prompt_commands/", "modules/cli/first_run.py", "modules/cli/interactive.py"),
    *("modules/cli/docs.py", "modules/cli/switching.py", "modules/terminal/input/"),
)


@pytest.mark.parametrize(
    "line",
    [
        *("mcp", "tools", "/etc/passwd", "/var is full?", "/", "/2", "add 1 and 2"),
        *("new york weather", "exit strategies", "help me", "??", "help", "?"),
    ],
)
async def test_other_lines_are_requests(line: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run(f"  {line}\n") == Ask(line)
        assert typed.said == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/usage now", "/usage stands alone: tokens"),
        ("/tool", "there is no command /tool; did you mean /tools?"),
        ("/sesions 5", "there is no command /sesions; did you mean /sessions"),
        (" /frobnicate ", "there is no command /frobnicate; see /help"),
        ("/doctor", "doctor is for the command line: agent.py doctor --help"),
        ("/run-plan plan.py", "run-plan is for the command line"),
        ("/call add a=1 b=2", "call is for the command line"),
        ("/help frob", "there is no command /frob; see /help"),
        ("/sessions x", "/sessions takes a number"),
    ],
)
async def test_a_mistyped_command_is_told_and_not_asked(
    line: str, told: str, tmp_path: Path
) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match=told.replace("?", r"\?")):
            await typed.run(line)


@pytest.mark.parametrize("line", ["exit", "quit", "EXIT", " quit\n", "/exit", "/quit"])
async def test_exit_leaves(line: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(Leaving):
            await typed.run(line)


@pytest.mark.parametrize("line", ["new", " NEW \n", "New", "/new"])
async def test_new_begins_another_session_and_says_so(line: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert await typed.run(line) == ExitCode.ANSWERED
        assert typed.said == ["memory: the next request begins a new session"]


async def test_help_lists_every_command_once_and_tells_more_of_each(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        await typed.run("/help")
        listed = [line.split()[0] for line in typed.said[0].splitlines() if line.startswith("  /")]
        assert listed == [f"/{command.name}" for command in COMMANDS_AT_PROMPT]
        assert f"\n  {'/undo':<24}  take the last" in typed.said[0]  # however long others are
        for command in COMMANDS_AT_PROMPT:
            await typed.run(f"/? /{command.name.upper()}")
            assert typed.said[-1].startswith(f"help: {command.usage}: {command.summary}")


def test_names_are_given_once() -> None:
    names = [name for each in COMMANDS_AT_PROMPT for name in (each.name, *each.others)]
    assert len(names) == len({*names})


async def test_a_line_is_completed_by_commands_and_their_words(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert typed.proposed("/se") == ["/sessions", "/search"]
        assert typed.proposed("/") == [f"/{command.name}" for command in COMMANDS_AT_PROMPT]
        assert typed.proposed("/help usa") == ["usage"]
        assert typed.proposed("/docs re") == ["reindex", "remove"]
        assert typed.proposed("/docs add re") == []
        assert typed.proposed("/nothing re") == []
        assert typed.proposed("add 1 and 2") == []
        assert typed.commands.candidates("/help us")[0] == len("us")
        assert typed.commands.candidates("/help ")[0] == 0


async def test_services_and_files_are_looked_at_once_a_prompt_not_at_each_key(
    tmp_path: Path,
) -> None:
    looks: list[str] = []

    def look(at: AtPrompt, text: str) -> Iterable[Candidate]:
        looks.append(text)
        return [Candidate("one"), Candidate("two")]

    async def run(at: AtPrompt, words: str) -> ExitCode:
        return ExitCode.ANSWERED

    own = PromptCommand(run, "look", "Settings", "", "[X]", complete=look, proposes_once=True)
    async with Typed(tmp_path) as typed:
        commands = PromptCommands(typed.at, [own])
        for text, left in (("/look ", ["one", "two"]), ("/look t", ["two"]), ("/look o", ["one"])):
            assert [each.text for each in commands.candidates(text)[1]] == left
        assert looks == [""]
        await commands.run("/look")
        commands.candidates("/look t")
        assert looks == ["", "t"]
    slow = {command.name for command in COMMANDS_AT_PROMPT if command.proposes_once}
    assert slow == {"model", "resume", "trace"}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        *(("sesions", "/sessions"), ("mcp", "/mcp"), ("Tools", "/tools"), ("staus", "/status")),
        *(("undo", "/undo"), ("strateyg", "/strategy")),
    ],
)
async def test_a_command_without_its_slash_is_asked_about_and_sent_when_it_comes_again(
    line: str, meant: str, tmp_path: Path
) -> None:
    async with Typed(tmp_path) as typed:
        typed.at.is_typed = True
        with pytest.raises(UsageError, match=f"did you mean {meant}[?,]"):
            await typed.run(line)
        assert typed.at.next_text == line
        assert await typed.run(line) == Ask(line)
        with pytest.raises(UsageError, match="did you mean"):
            await typed.run(line)


@pytest.mark.parametrize(
    "line",
    [
        *("plan a trip to Rome", "search the web for cats", "edit this text: helo", "help", "?"),
        *(
            "list sessions",
            "plan b",
            "run the numbers for 2024",
            "copy that in French",
            "save me some money",
            "yes",
            "Berlin",
        ),
        *("undo the damage", "status of the project?", "list documents", "sessions of parliament"),
        *("memory foam", "model trains", "help me plan", "trace the origin of tea"),
    ],
)
async def test_requests_that_begin_like_a_command_are_sent(line: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        typed.at.is_typed = True
        assert await typed.run(line) == Ask(line)


@pytest.mark.parametrize(
    ("told", "here"),
    [
        ("none yet; agent.py docs add FILE adds one", "none yet; /docs add FILE adds one"),
        ("agent.py mcp tools lists them", "/mcp tools lists them"),
        ("agent.py mcp test math says more", "/mcp restart math says more"),
        ("agent.py models lists what is there", "/model lists what is there"),
        ("(agent.py models)", "(/model)"),
        ("as agent.py config init does", "as /init does"),
        ("see agent.py sessions, agent.py trace", "see /sessions, /trace"),
        ("agent.py workflow list shows all", "/workflow list shows all"),
        (
            f"shorten it, {NEW_SESSION}, or wait",
            "shorten it, have the session summarised with /compact, or wait",
        ),
        ("choose another model with --model", "choose another model with /model"),
        ('Try:\n\n    agent.py "add 5 and 7"', "Try:\n\n    add 5 and 7"),
        *(
            (text, text)
            for text in (
                "agent.py models pull qwen3",
                "agent.py auth set gemini",
                "agent.py mcp add x",
                "agent.py --help",
                "agent.py doctor",
                "in another terminal: agent.py sessions search x",
                "agent.py docs watch",
            )
        ),
    ],
)
async def test_hints_name_what_can_be_typed_at_the_prompt(
    told: str, here: str, tmp_path: Path
) -> None:
    async with Typed(tmp_path) as typed:
        assert typed.commands.reworded(told) == here


def sentences(path: Path) -> Iterator[str]:
    """The texts of a file that are no docstrings and no single words."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield from [node.value] if " " in node.value else []


def test_only_the_prompt_names_its_own_commands() -> None:
    names = "|".join(each.name for each in COMMANDS_AT_PROMPT)
    named = re.compile(rf"(?<![\w/])(?<!At the prompt: )(?<!often ending in )/(?:{names})\b")
    told = {
        f"{place}: {text}"
        for path in SOURCES
        if not (place := str(path.relative_to(ROOT))).startswith(PLACES_OF_THE_PROMPT)
        for text in sentences(path)
        if named.search(text)
    }
    assert told == set()
