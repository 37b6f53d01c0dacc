"""The command line: what it means, what it refuses, and what its help says."""

from pathlib import Path

import pytest

from core.errors import ExitCode
from modules.cli.command_line import (
    COMMANDS,
    Arguments,
    find_command,
    output_of,
    parse_arguments,
    parse_command,
    wanted_output,
)


def parse(*argv: str) -> Arguments:
    return parse_arguments(argv, "1.2.3")


def test_no_arguments_at_all_mean_the_interactive_prompt() -> None:
    assert parse().request is None
    assert wanted_output([]) == "text"


@pytest.mark.parametrize(
    ("argv", "request_text"),
    [
        (["add 5 and 7"], "add 5 and 7"),
        (["add", "5", "and", "7"], "add 5 and 7"),
        (["-"], "-"),
        ([""], ""),
        (["--", ""], ""),
        (["5", "-", "3"], "5 - 3"),
    ],
)
def test_words_are_the_request(argv: list[str], request_text: str) -> None:
    assert parse(*argv).request == request_text


@pytest.mark.parametrize(
    "words",
    [
        ["-5"],
        ["-5 + 3"],
        ["-2^2"],
        ["-.5*4"],
        ["-(3+4)*2"],
        ["-1e5"],
        ["what", "is", "-2^2"],
        ["5", "-3", "-2^2"],
        ["--5 + 3"],
    ],
)
def test_a_minus_sign_begins_a_request_like_any_other_character(words: list[str]) -> None:
    assert parse(*words).request == " ".join(words)
    found = parse("--json", *words, "--quiet")
    assert (found.request, found.quiet, found.json) == (" ".join(words), True, True)


def test_behind_two_dashes_everything_is_the_request() -> None:
    assert parse("--", "-x", "--json").request == "-x --json"
    assert parse("--json", "what", "--", "-x").request == "what -x"
    assert parse("--", "--").request == "--"
    assert parse("--") == parse()


def test_options_stand_before_in_and_after_a_request() -> None:
    expected = parse("--json", "--verbose", "--model", "offline", "a", "b")
    assert (expected.request, expected.model) == ("a b", "offline")
    assert (expected.json, expected.verbose, expected.quiet) == (True, True, False)
    assert parse("a", "--json", "b", "--verbose", "--model=offline") == expected
    assert parse("a", "b", "--model", "offline", "--json", "--verbose") == expected


def test_values_of_options_arrive() -> None:
    found = parse("--profile", "my/p.yaml", "--session", "2026/11/21/session-1-abcdef")
    assert found.profile == Path("my/p.yaml")
    assert found.session == "2026/11/21/session-1-abcdef"
    assert parse("--session", "-5").session == "-5"
    assert not found.allow_tool_changes
    assert parse("x", "--allow-tool-changes").allow_tool_changes
    assert found.approve == []
    assert parse("x", "--approve", "a.b", "--approve", "c").approve == ["a.b", "c"]


def test_more_than_one_file_of_servers_may_be_given() -> None:
    found = parse("--mcp-config", "a.json", "what", "--mcp-config=-1.json")
    assert found.mcp_config == [Path("a.json"), Path("-1.json")]
    assert found.request == "what"


def test_a_request_that_sounds_like_a_command_goes_behind_two_dashes() -> None:
    assert parse("--", "call", "me", "a", "cab").request == "call me a cab"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--modle", "x"], "not understood: --modle; did you mean --model?"),
        (["--modell=gemini", "x"], "not understood: --modell=gemini; did you mean --model?"),
        (["x", "--max-token", "5"], "did you mean --max-tokens"),
        (["x", "--max-tokens", "-5"], "'-5' is no whole number above 0"),
        (["x", "--max-tokens", "1e3"], "'1e3' is no whole number above 0"),
        (["x", "--max-cost", "free"], "'free' is no amount above 0"),
        (["x", "-q"], "not understood: -q; did you mean --quiet?"),
        (["-x"], "-x"),
        (["-pi"], "-pi"),
        (["add", "1", "-v"], "-v"),
        (["--js"], "--js"),
        (["--model"], "--model: expected one argument"),
        (["--session", "--json"], "--session: expected one argument"),
        (["--quiet", "--verbose"], "not allowed with argument"),
        (["--json=yes"], "--json"),
    ],
)
def test_what_is_no_option_ends_with_code_2_and_says_how_to_go_on(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(*argv)
    assert caught.value.code == ExitCode.BAD_USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert "agent.py -- '-x is what?'" in told.err
    assert "agent.py --help" in told.err


def test_the_version_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse("--version")
    assert caught.value.code == 0
    assert capsys.readouterr().out == "cortex-r 1.2.3\n"


@pytest.fixture
def help_text(capsys: pytest.CaptureFixture[str]) -> str:
    """What `--help` prints."""
    with pytest.raises(SystemExit) as caught:
        parse("a request", "--help")
    assert caught.value.code == 0
    return capsys.readouterr().out


def test_help_names_every_exit_code_every_option_and_every_command(help_text: str) -> None:
    first_words = {line.split()[0] for line in help_text.splitlines() if line.strip()}
    assert {str(int(code)) for code in ExitCode} <= first_words
    assert {"--model", "--profile", "--session", "--verbose", "--quiet", "--json"} <= first_words
    assert {"--mcp-config", "--allow-tool-changes", "--max-cost"} <= first_words
    assert {*COMMANDS} <= first_words
    words = set(help_text.replace(",", " ").split())
    assert {"GEMINI_API_KEY", "OLLAMA_HOST", "CORTEX_LOCAL_MODEL", "CORTEX_HOME"} <= words


def test_help_fits_a_line_of_100_characters_and_any_encoding(help_text: str) -> None:
    assert max(map(len, help_text.splitlines())) <= 100
    assert help_text.isascii()


@pytest.mark.parametrize(
    ("argv", "output"),
    [
        ([], "text"),
        (["hi"], "text"),
        (["--json"], "json"),
        (["--output-format"], "text"),
        (["hi", "--output-format=stream-json"], "stream-json"),
    ],
)
def test_the_output_that_is_wanted_shows_before_the_line_is_read(
    argv: list[str], output: str
) -> None:
    assert wanted_output(argv) == output


def test_a_mistake_is_not_hidden_below_a_usage_of_many_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parse("--outptu-format", "json", "hi")
    told = capsys.readouterr().err
    assert "did you mean --output-format?" in told.splitlines()[0]
    assert "agent.py --help" in told


def test_an_option_in_front_that_lacks_its_value_names_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        find_command(["--max-steps", "0", "x"])
    assert capsys.readouterr().err.startswith("agent.py: error: argument --max-steps: '0' is no")


@pytest.mark.parametrize("words", [["--json"], ["--output", "x.png"], []])
def test_a_command_with_json_and_files_of_its_own_prints_no_result_of_a_request(
    words: list[str],
) -> None:
    assert output_of(parse_command(["call", "add", *words])) == "text"


@pytest.mark.parametrize("action", ["run", "save"])
def test_only_what_is_missing_is_called_for(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_command(["workflow", action])
    assert "required: NAME\n" in capsys.readouterr().err
