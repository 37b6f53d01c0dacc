"""Commands as users meet them: real processes, pipes, signals, the prompt, the README."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import ExitCode
from core.session import MCP
from core.version import __version__
from modules.cli.command_line import find_command, parse_arguments, parse_command
from modules.cli.parser import EXIT_CODES_HELP
from tests.command_line import (
    ROOT,
    agent,
    environment,
    fresh_agent,
    plan,
    script,
    session_files,
    unread,
    without_servers,
    write_profile,
)
from tests.modules.cli.by_hand import SERVERS, Hand, entry


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A profile with the typed server, which writes its process id to `pid`."""
    return str(write_profile(tmp_path, entry("typed", str(tmp_path / "pid"))))


def test_a_command_is_answered_on_stdout_with_its_exit_code(tmp_path: Path, profile: str) -> None:
    done = fresh_agent(tmp_path, "call", "next", "--profile", profile)
    assert (done.code, done.out, done.err) == (0, "1\n", "")
    refused = agent(tmp_path, "call", "refuse", "--profile", profile)
    assert (refused.code, refused.out) == (4, "")
    assert refused.err == "'typed.refuse' answered with an error: not today\n"


def test_a_mistyped_command_asks_no_model_and_options_may_stand_before_a_command(
    tmp_path: Path,
) -> None:
    options = without_servers(tmp_path, answer="a model was asked")
    done = agent(tmp_path, *options, "modles", "list")
    assert (done.code, done.out) == (2, "")
    assert "did you mean: agent.py models" in done.err
    assert session_files(tmp_path) == []
    done = agent(tmp_path, *options, "docks", "in", "Rotterdam")
    assert (done.code, done.out) == (0, "a model was asked\n")
    done = agent(tmp_path, "--json", *options[:2], "mcp", "list")
    assert (done.code, done.out) == (0, "[]\n")


def test_arguments_come_from_a_pipe(tmp_path: Path, profile: str) -> None:
    words = ["call", "typed", "--profile", profile, "--input", "-"]
    done = agent(tmp_path, *words, stdin='{"name": "grün"}'.encode())
    assert (done.code, json.loads(done.out)) == (0, {"name": "grün"})


def test_help_is_an_answer_on_stdout_under_the_programs_name(tmp_path: Path) -> None:
    done = agent(tmp_path, "mcp", "add", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: agent.py mcp add NAME")


def test_a_reader_that_has_gone_gives_no_traceback(tmp_path: Path, profile: str) -> None:
    done = unread(tmp_path, "call", "next", "--profile", profile)
    assert (done.code, done.err) == (1, "stdout was closed before the answer was written\n")


def test_a_reader_that_has_seen_enough_of_a_listing_gets_no_message(
    tmp_path: Path, profile: str
) -> None:
    done = unread(tmp_path, "mcp", "list", "--profile", profile)
    assert (done.code, done.err) == (1, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_a_call_gives_130_and_leaves_no_process(
    tmp_path: Path, profile: str, number: signal.Signals
) -> None:
    words = ["call", "hang", "--profile", profile, "--verbose"]
    process = subprocess.Popen(
        [sys.executable, ROOT / "agent.py", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "calls typed.hang" in line:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), 0)


def test_following_a_log_ends_with_ctrl_c(tmp_path: Path, profile: str) -> None:
    log = tmp_path / "logs" / "servers" / "typed.log"
    log.parent.mkdir(parents=True)
    log.write_text("hello\n", encoding="utf-8")
    process = subprocess.Popen(
        [
            sys.executable,
            ROOT / "agent.py",
            "mcp",
            "logs",
            "typed",
            "--follow",
            "--profile",
            profile,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hello\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "interrupted\n")


APPROVED = ("--approve", "typed.next", "count twice")


class TestPerCall:
    """`connection: per_call`, and the one-shot class behind it: a process for each call."""

    @pytest.mark.parametrize(
        ("connection", "counted"), [("per_call", "1 1"), ("persistent", "1 2")]
    )
    def test_state_does_not_survive_from_one_call_of_a_plan_to_the_next(
        self, tmp_path: Path, connection: str, counted: str
    ) -> None:
        profile = write_profile(tmp_path, entry("typed", more=f"connection: {connection}"))
        body = "a = await tools.next()\nb = await tools.next()\nreturn f'FINAL_ANSWER: {a} {b}'"
        model = script(tmp_path, [plan(body)])
        done = agent(tmp_path, "--profile", str(profile), "--model", model, *APPROVED)
        assert (done.code, done.out) == (0, f"{counted}\n")

    def test_a_tool_is_called_by_hand(self, hand: Hand) -> None:
        pid = hand.home / "pid"
        hand.write_profile(entry("typed", str(pid), more="connection: per_call"))
        for _ in range(2):
            done = hand.run("call", "typed.next")
            assert (done.code, done.out) == (0, "1\n")
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text(encoding="utf-8")), 0)

    async def test_the_one_shot_class_needs_no_profile(self) -> None:
        one = MCP("typed_server.py", str(SERVERS), sys.executable)
        assert "next" in [tool.name for tool in await one.list_tools()]
        assert [(await one.call_tool("next", {})).text for _ in range(2)] == ["1", "1"]


class TestAtThePrompt:
    def test_servers_and_tools_are_shown_on_stderr(self, tmp_path: Path, profile: str) -> None:
        model = script(tmp_path, [])
        options = ["--profile", profile, "--model", model]
        done = agent(tmp_path, *options, stdin=b"/mcp\n/tools\n /MCP \n")
        assert (done.code, done.out) == (0, "\n\n\n")
        assert "[mcp] 1 server; one that does not run starts when it is needed\nNAME" in done.err
        assert "[mcp] 1 server\nNAME" in done.err
        states = re.findall(r"^typed +(not started|\w+)", done.err, re.MULTILINE)
        assert states == ["not started", "up"]
        assert "[mcp] 8 tools\n- typed(name: str" in done.err

    def test_an_entry_that_cannot_be_used_is_told_once_a_session(self, tmp_path: Path) -> None:
        given = tmp_path / "given.json"
        given.write_text('{"mcpServers": {"sad": {"command": "x", "env": {"A": "${NOT_SET}"}}}}')
        replies = [plan('return "FINAL_ANSWER: yes"')] * 2
        profile = ["--profile", str(write_profile(tmp_path)), "--mcp-config", str(given)]
        options = [*profile, "--model", script(tmp_path, replies)]
        done = agent(tmp_path, *options, stdin=b"one\ntwo\n")
        assert done.out.split() == ["yes", "yes"]
        assert done.err.count("'sad'") == done.err.count("NOT_SET, which is not set") == 1

    def test_what_only_begins_like_a_command_is_a_request(self, tmp_path: Path) -> None:
        lines = ["mcp", "tools", "/etc/passwd", "/var: is it full?"]
        replies = [plan(f'return "FINAL_ANSWER: {number}"') for number in range(len(lines))]
        options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
        done = agent(tmp_path, *options, stdin="\n".join(lines).encode())
        assert done.out.split() == ["0", "1", "2", "3"]


class TestReadme:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_it_states_the_exit_codes_that_help_states(self) -> None:
        for code in ExitCode:
            (meaning,) = re.findall(rf"^  {int(code)} +(.+)$", EXIT_CODES_HELP, re.MULTILINE)
            assert f"| {int(code)} | {meaning} |" in self.readme

    def test_the_command_lines_that_it_shows_are_understood(self) -> None:
        pages = [self.readme, *(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))]
        shown = re.findall(r"^\$ (?:.*\| )?python agent\.py(.*)$", "\n".join(pages), re.MULTILINE)
        lines = [shlex.split(line, comments=True) for line in shown]
        words = [line[: line.index("|")] if "|" in line else line for line in lines]
        assert len([line for line in words if find_command(line) is not None]) >= 6
        for line in words:
            if (command := find_command(line)) is not None:
                parse_command(command)
            else:
                parse_arguments(line, __version__)
