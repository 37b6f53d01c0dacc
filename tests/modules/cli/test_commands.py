"""Which command lines are commands, and what these mean, refuse and explain."""

import re
import textwrap
from pathlib import Path

import pytest

from core.errors import ExitCode, UsageError, UserError
from core.tools.catalog import ToolCatalog
from modules.cli.command_line import ACTIONS, COMMANDS, find_command, parse_command
from modules.cli.mcp import LOG_LINES_SHOWN
from modules.planning.preparation import prepare_plan
from tests.modules.cli.by_hand import said
from tests.modules.sandbox.sandbox_tools import spec


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
        (["--last", "trace"], ["trace", "--last"]),
        (["--html", "run.html", "trace"], ["trace", "--html", "run.html"]),
        (
            ["--limit", "5", "sessions", "search", "x"],
            ["sessions", "search", "--limit", "5", "x"],
        ),
        (["docs", "--mode", "words", "search", "x"], ["docs", "search", "--mode", "words", "x"]),
        (["--nothing", "call", "add"], None),
        (["-5", "call"], None),
    ],
)
def test_a_command_is_the_first_word_options_aside(
    argv: list[str], command: list[str] | None
) -> None:
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
        ["plan b"],
        ["doc s"],
        ["docs search"],
        ["tools of the trade"],
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
        ["summarise"],
        ["Grüße"],
        ["天气怎么样"],
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
        ("modles list", "agent.py models"),
        ("MCP list", "agent.py mcp"),
        ("Mcp LIST", "agent.py mcp"),
        ("dosc search warranty", "agent.py docs"),
        ("atuh set gemini", "agent.py auth"),
        ("runplan --json plan.py", "agent.py run-plan"),
        ("cal --input {} add", "agent.py call"),
        ("tools", "agent.py mcp tools"),
        ("Tool --json", "agent.py mcp tools"),
        ("status", "agent.py mcp status or agent.py docs status"),
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
        mistyped = f"{command}z"
        for action in ACTIONS.get(command, ()):
            with_actions += 1
            with pytest.raises(UsageError, match=command):
                find_command([mistyped, action, "anything"])
        with pytest.raises(UsageError, match=command):
            find_command([mistyped])
    assert with_actions > 10


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("mcp list --json --quiet", {"json": True, "quiet": True}),
        ("mcp tools math --verbose", {"server": "math", "verbose": True}),
        ("mcp remove math", {"name": "math"}),
        ("mcp logs math", {"name": "math", "lines": LOG_LINES_SHOWN}),
        ("mcp logs -n 5 math --follow", {"name": "math", "lines": 5, "follow": True}),
        ("call add a=1 b=2", {"tool": "add", "pairs": ["a=1", "b=2"]}),
        ("call add --input -", {"tool": "add", "input": "-"}),
        (
            "call add a=-1 --json b:=[2] --timeout 0.5 --output x.png",
            {
                "tool": "add",
                "pairs": ["a=-1", "b:=[2]"],
                "json": True,
                "timeout": 0.5,
                "data_file": Path("x.png"),
            },
        ),
        ("run-plan plan.py", {"file": "plan.py"}),
        ("run-plan - --json", {"file": "-", "json": True}),
        (
            "run-plan --tools math,,web,math plan.py",
            {"file": "plan.py", "tools": ("math", "web")},
        ),
        ("run-plan -- --odd.py", {"file": "--odd.py"}),
        ("prompt --show 17 times --model m", {"request": ["17", "times"], "model": "m", "show": 1}),
        ("doctor --json --verbose", {"json": True, "verbose": True}),
        ("auth set gemini --quiet", {"name": "gemini", "quiet": True}),
    ],
)
def test_each_command_line_is_read(line: str, meant: dict[str, object]) -> None:
    assert said(*line.split()) == meant


def test_no_tools_are_none_that_are_offered() -> None:
    assert parse_command(["run-plan", "plan.py", "--tools="]).tools == ()
    assert parse_command(["run-plan", "plan.py"]).tools is None


@pytest.mark.parametrize("line", ["mcp status", "call add", "run-plan plan.py", "doctor"])
def test_every_command_says_where_servers_are_configured(line: str) -> None:
    words = ["--profile", "p.yaml", "--mcp-config", "a.json", "--mcp-config", "b.json"]
    found = parse_command([*line.split(), *words, "--allow-tool-changes"])
    assert (found.profile, found.mcp_config) == (Path("p.yaml"), [Path("a.json"), Path("b.json")])
    assert found.allow_tool_changes


def test_a_program_to_add_stands_behind_two_dashes_with_its_own_options() -> None:
    line = "mcp add time --env TZ=UTC --env A=b=c --description Clock -- npx -y server --json -- x"
    assert said(*line.split()) == {
        "name": "time",
        "program": ["npx", "-y", "server", "--json", "--", "x"],
        "env": [("TZ", "UTC"), ("A", "b=c")],
        "description": "Clock",
    }


def test_a_url_to_add_may_have_headers() -> None:
    words = ["mcp", "add", "docs", "--url", "https://a/mcp"]
    assert said(*words, "--header", "Authorization: Bearer x:y") == {
        "name": "docs",
        "url": "https://a/mcp",
        "header": [("Authorization", "Bearer x:y")],
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("mcp", "ACTION"),
        ("mcp frobnicate", "invalid choice: 'frobnicate'"),
        ("mcp list math", "agent.py mcp list: error: not understood: math\n"),
        ("mcp lst", "invalid choice: 'lst' (choose from "),
        ("mcp lst", "did you mean list?"),
        ("docs Lst", "did you mean list"),
        ("docs search x --mode word", "did you mean words?"),
        ("mcp list --jsn", "mcp list: error: not understood: --jsn; did you mean --json?\n"),
        ("call add --outpt x", "not understood: --outpt x; did you mean --output?"),
        ("mcp list -- math", "only `mcp add` takes a command"),
        ("mcp list --json --verbose --quiet", "not allowed with argument"),
        ("mcp add", "required: NAME\n"),
        ("mcp add x", "--url"),
        ("mcp add x --", "--url"),
        ("mcp add x npx server", "the command goes behind --: agent.py mcp add x -- npx server"),
        ("mcp add x --url https://a -- npx", "not both"),
        ("mcp add x --header A:b -- npx", "--header goes with --url"),
        ("mcp add x --url https://a --env A=b", "--env goes with a command"),
        ("mcp add x --url https://a --header nothing", "a header is 'Name: value'"),
        ("mcp add x --env nothing -- npx", "a variable is NAME=value"),
        ("mcp remove", "NAME"),
        ("mcp test", "NAME"),
        ("mcp logs x -n -5", "'-5' is no number of lines from 0"),
        ("mcp logs x -n 1000000000", "'1000000000' is no number of lines from 0"),
        ("mcp logs x -n many", "'many' is no number of lines from 0"),
        ("call", "required: TOOL\n"),
        ("call me a cab", "'a' is not of the form key=value"),
        ("call add a=1 --input {}", "not both"),
        ("call add --timeout 0", "'0' is no number of seconds"),
        ("call add --timeout nan", "'nan' is no number of seconds"),
        ("call add --timeout soon", "'soon' is no number of seconds"),
        ("call add --out x", "--out"),
        ("run-plan", "required: FILE\n"),
        ("run-plan a.py b.py", "not understood: b.py"),
        ("run-plan a.py --tools", "expected one argument"),
        ("doctor who is it?", "not understood: who is it?; doctor takes options only"),
        ("doctor --jsn", "not understood: --jsn"),
        ("models pull", "required: NAME"),
        ("models push x", "invalid choice: 'push'"),
        ("models pull a b", "not understood: b"),
        ("models list x", "not understood: x"),
        ("models --what", "not understood: --what"),
        ("auth", "required: ACTION"),
        ("auth get gemini", "invalid choice: 'get'"),
        ("auth set", "required: NAME"),
        ("auth list gemini", "takes no more words"),
        ("docs", "required: ACTION"),
        ("docs find x", "invalid choice"),
        ("docs add", "required: PATH"),
        ("docs search", "required: WORDS"),
        ("docs search x -k 0", "from 1 to 50"),
        ("docs search x -k many", "from 1 to 50"),
        ("docs search x --mode magic", "invalid choice"),
        ("docs list x", "not understood: x"),
        ("docs remove a.md b.md", "not understood: b.md"),
    ],
)
def test_what_is_no_command_ends_with_code_2_and_says_how_to_go_on(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.split()
    with pytest.raises(SystemExit) as caught:
        parse_command(words)
    assert caught.value.code == ExitCode.BAD_USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert told in shown.err
    assert "--help" in shown.err
    assert f"goes behind --: agent.py -- {words[0]} " in shown.err


WITH_ACTIONS = [(command, action) for command in ACTIONS for action in ACTIONS[command]]


def help_of(capsys: pytest.CaptureFixture[str], *words: str, program: str = "agent.py") -> str:
    with pytest.raises(SystemExit) as caught:
        parse_command([*words, "--help"], program)
    assert caught.value.code == 0
    return capsys.readouterr().out


class TestHelp:
    @pytest.mark.parametrize("command", ACTIONS)
    def test_the_overview_names_every_action_and_every_exit_code(
        self, capsys: pytest.CaptureFixture[str], command: str
    ) -> None:
        lines = help_of(capsys, command).splitlines()
        first_words = {line.split()[0] for line in lines if line.strip()}
        assert {*ACTIONS[command]} <= first_words
        assert {str(int(code)) for code in ExitCode} <= first_words

    @pytest.mark.parametrize("words", WITH_ACTIONS, ids=str)
    def test_every_action_says_what_it_does_and_shows_an_example(
        self, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = help_of(capsys, *words)
        assert re.search(f"examples:\n.*agent.py {words[0]} {words[1]}", text)
        assert "--mcp-config FILE" in text

    def test_run_plan_shows_a_plan_that_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = help_of(capsys, "run-plan")
        (body,) = re.findall(r"^  (async def solve.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        tool = spec("add", "ab", wrap=False)
        assert prepare_plan(textwrap.dedent(f"  {body}"), ToolCatalog([tool])).failure is None

    @pytest.mark.parametrize("words", [*((word,) for word in COMMANDS), *WITH_ACTIONS], ids=str)
    def test_it_names_the_program_as_it_was_called(
        self, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = help_of(capsys, *words, program="cortex-r")
        assert " ".join(["cortex-r", *words]) in text
        assert "agent.py" not in text

    @pytest.mark.parametrize("words", [*((word,) for word in COMMANDS), *WITH_ACTIONS], ids=str)
    def test_help_fits_a_line_of_100_characters_and_any_encoding(
        self,
        words: tuple[str, ...],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        text = help_of(capsys, *words)
        assert max(map(len, text.splitlines())) <= 100
        assert text.isascii()
