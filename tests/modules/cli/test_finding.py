"""Which command lines are commands, which are requests, and which were meant to be commands."""

import pytest

from core.errors import UsageError, UserError
from modules.cli.arguments import ACTIONS, COMMANDS
from modules.cli.commands import find_command, parse_command
from tests.modules.cli.by_hand import said


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["doctor"], ["doctor"]),
        (["call", "me", "a", "cab"], ["call", "me", "a", "cab"]),
        (["run-plan", "a.py", "--json"], ["run-plan", "a.py", "--json"]),
        (["--verbose", "mcp", "list"], ["mcp", "list", "--verbose"]),
        (["--json", "docs", "list"], ["docs", "list", "--json"]),
        (["mcp", "--json", "list"], ["mcp", "list", "--json"]),
        (["--profile", "mcp", "doctor"], ["doctor", "--profile", "mcp"]),
        (["--json", "models"], ["models", "--json"]),
        (
            ["--quiet", "models", "--json", "pull", "x"],
            ["models", "pull", "--quiet", "--json", "x"],
        ),
        (["--model", "gemini", "prompt", "x"], ["prompt", "--model", "gemini", "x"]),
        (["--json", "call", "add", "a=-1"], ["call", "--json", "add", "a=-1"]),
        (["--json", "mcp", "add", "x", "--", "a"], ["mcp", "add", "--json", "x", "--", "a"]),
        (["mcp", "--help"], ["mcp", "--help"]),
    ],
)
def test_a_command_is_the_first_word_options_aside(argv: list[str], command: list[str]) -> None:
    assert find_command(argv) == command


def test_options_before_a_command_are_those_of_the_command() -> None:
    found = find_command(["--verbose", "--json", "mcp", "list"])
    assert found is not None
    with pytest.raises(SystemExit):
        parse_command([*found, "--quiet"])
    assert said(*found) == {"json": True, "verbose": True}
    found = find_command(["--model", "blind", "prompt", "17", "times"])
    assert found is not None
    assert said(*found) == {"request": ["17", "times"], "model": "blind"}


@pytest.mark.parametrize(
    "argv",
    [
        [],
        [""],
        ["--json"],
        ["--", "doctor"],
        ["--json", "--", "doctor"],
        ["doctor who is it"],
        ["call me a cab"],
        ["doctr list"],
        ["what", "is", "mcp"],
        ["docks", "in", "Rotterdam"],
        ["Models", "of", "the", "atom"],
        ["Call", "me", "a", "cab"],
        ["Prompt", "me"],
        ["prompts", "add"],
        ["doctr", "who"],
        ["doctr", "-5"],
        ["doctr", "--", "--json"],
        ["-5", "mcp"],
        ["--modell", "mcp", "list"],
        ["--help", "mcp"],
        ["run", "plan"],
        ["frobnicate"],
    ],
)
def test_anything_else_is_a_request(argv: list[str]) -> None:
    assert find_command(argv) is None


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("doctr", "agent.py doctor"),
        ("DOCTOR", "agent.py doctor"),
        ("doctr --json", "agent.py doctor"),
        ("--json doctr", "agent.py doctor"),
        ("modles list", "agent.py models list"),
        ("MCP list", "agent.py mcp list"),
        ("Mcp LIST", "agent.py mcp list"),
        ("dosc search warranty", "agent.py docs search"),
        ("atuh set gemini", "agent.py auth set"),
        ("runplan --json plan.py", "agent.py run-plan"),
        ("cal --input {} add", "agent.py call"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest(line: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_command(line.split())
    assert isinstance(caught.value, UserError)
    told = str(caught.value)
    assert told.startswith("there is no command '")
    assert f"did you mean: {meant}\n" in told
    assert "a request that begins with this word goes behind --: agent.py -- " in told


def test_every_command_is_known_by_its_own_actions() -> None:
    with_actions = 0
    for command in COMMANDS:
        mistyped = f"{command[:-1]}z"
        for action in ACTIONS.get(command, ()):
            with_actions += 1
            with pytest.raises(UsageError, match=f"{command} {action}"):
                find_command([mistyped, action, "anything"])
            with pytest.raises(SystemExit) as caught:
                parse_command([command, action, "--help"])
            assert caught.value.code == 0
        with pytest.raises(UsageError, match=command):
            find_command([mistyped])
    assert with_actions > 10
