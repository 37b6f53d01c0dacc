"""Questions of real servers at a real pseudo-terminal, to the whole agent."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from tests.command_line import ROOT, agent, environment, plan, script, write_profile
from tests.processes.forked_terminal import ForkedTerminal

SERVERS = ROOT / "tests" / "fixtures" / "servers"
WAIT_SECONDS = 20
PROMPT = "cortex-r>"

Run = Callable[..., ForkedTerminal]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Starts `agent.py` with these arguments in a terminal, which is closed behind the test."""
    opened: list[ForkedTerminal] = []

    def start(*arguments: str) -> ForkedTerminal:
        environ = environment(tmp_path, TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1")
        terminal = ForkedTerminal(*arguments, environ=environ, cwd=tmp_path, timeout=WAIT_SECONDS)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def exit_code(terminal: ForkedTerminal) -> int | None:
    terminal.expect(pexpect.EOF)
    terminal.wait()
    return terminal.exitstatus


def asking(home: Path, *tools: str) -> list[str]:
    """Options for a run whose plans call these tools of the asking server, one a plan."""
    profile = write_profile(home, f"id: asking\nscript: {SERVERS / 'asking_server.py'}")
    plans = [plan(f"return f'FINAL_ANSWER: {{await tools.{tool}()}}'") for tool in tools]
    approved = [word for tool in tools for word in ("--approve", f"asking.{tool}")]
    return ["--profile", str(profile), "--model", script(home, plans), *approved]


class TestOneRequest:
    def test_a_form_is_filled_in_and_the_server_gets_the_answers(
        self, tmp_path: Path, run: Run
    ) -> None:
        terminal = run(*asking(tmp_path, "table"), "book a table")
        terminal.expect_exact("\a")  # for who looks elsewhere
        terminal.expect_exact("server 'asking' asks")
        terminal.expect_exact("│ Which table would you like?")
        terminal.expect_exact("1/2 Guests (a whole number from 1 up to 12; required)")
        terminal.expect_exact(">")
        terminal.send("20\r")
        terminal.expect_exact("expected: a whole number from 1 up to 12")
        terminal.send("4\r")
        terminal.expect_exact("[w] >")
        terminal.send("\r")
        terminal.expect_exact("Send them?")
        terminal.send("\r")
        terminal.expect_exact('"guests": 4, "seat": "w"')
        assert exit_code(terminal) == 0

    def test_ctrl_c_ends_the_call_and_the_run(self, tmp_path: Path, run: Run) -> None:
        terminal = run(*asking(tmp_path, "insisting"), "book a table")
        terminal.expect_exact(">")
        terminal.sendintr()
        terminal.expect_exact("interrupted")
        assert exit_code(terminal) == 130

    def test_a_page_is_shown_and_not_opened(self, tmp_path: Path, run: Run) -> None:
        terminal = run(*asking(tmp_path, "page"), "grant it")
        terminal.expect_exact("https://bank.example/grant?id=7")
        terminal.expect_exact("host: bank.example")
        terminal.expect_exact("[y/N]")
        terminal.sendeof()
        terminal.expect_exact("""{"action": "decline"}""")
        assert exit_code(terminal) == 0

    def test_what_is_typed_reaches_no_file(self, tmp_path: Path, run: Run) -> None:
        terminal = run(*asking(tmp_path, "table"), "book a table")
        terminal.expect_exact(">")
        terminal.send("not-a-number-but-private\r")
        terminal.expect_exact("expected")
        terminal.sendeof()
        terminal.expect_exact("decline")
        assert exit_code(terminal) == 0
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if b"but-private" in path.read_bytes()]

    def test_without_a_terminal_the_server_is_declined_and_a_line_says_so(
        self, tmp_path: Path
    ) -> None:
        done = agent(tmp_path, *asking(tmp_path, "table"), "book a table")
        assert done.out == "{'action': 'decline'}\n"
        assert "server 'asking' asked: Which table would you like? (declined:" in done.err

    def test_a_server_that_keeps_asking_is_declined_and_told_in_a_few_lines(
        self, tmp_path: Path
    ) -> None:
        done = agent(tmp_path, *asking(tmp_path, "insisting"), "book a table")
        assert done.out == "{'action': 'decline'}\n"
        assert done.err.count("(declined: nobody is at a terminal") == 3
        assert done.err.count("its questions are declined") == 1


class TestApproval:
    """A call that may change something."""

    @pytest.fixture
    def options(self, tmp_path: Path) -> list[str]:
        profile = write_profile(
            tmp_path, f"id: able\nscript: {SERVERS / 'able_server.py'}\ndescription: pids"
        )
        body = "await tools.pid(path='/x', text='all of it')\nreturn 'FINAL_ANSWER: done'"
        return [
            "--profile",
            str(profile),
            "--model",
            script(tmp_path, [plan(body)] * 4),
            "how many pids?",
        ]

    @pytest.mark.parametrize("answer", ["y", "n"])
    def test_all_arguments_are_shown_and_the_answer_counts(
        self, options: list[str], run: Run, answer: str
    ) -> None:
        terminal = run(*options)
        terminal.expect_exact("wants to call 'pid' of server 'able'")
        terminal.expect_exact('│ path: "/x"')
        terminal.expect_exact('│ text: "all of it"')
        terminal.expect_exact("it may change something.")
        terminal.expect_exact("[y/N/a/A/e]")
        terminal.send(f"{answer}\r")
        assert exit_code(terminal) == (0 if answer == "y" else 3)

    def test_without_a_terminal_it_is_refused_with_the_option_that_allows_it(
        self, tmp_path: Path, options: list[str]
    ) -> None:
        done = agent(tmp_path, "--quiet", *options)
        assert (done.code, done.out) == (3, "")
        assert "able.pid was not called" in done.err
        rule = "able.pid(path=/x)"
        assert f"--approve '{rule}'" in done.err
        done = agent(tmp_path, "--approve", rule, *options)
        assert (done.code, done.out) == (0, "done\n")


class TestRepl:
    def test_ctrl_c_at_a_question_goes_back_to_the_prompt(self, tmp_path: Path, run: Run) -> None:
        terminal = run(*asking(tmp_path, "insisting", "table"))
        terminal.expect_exact(PROMPT)
        terminal.send("book a table\r")
        terminal.expect_exact("required)")
        terminal.sendintr()
        terminal.expect_exact("interrupted")
        terminal.expect_exact(PROMPT)
        terminal.send("exit\r")
        assert exit_code(terminal) == 0

    def test_questions_come_between_two_prompts(self, tmp_path: Path, run: Run) -> None:
        terminal = run(*asking(tmp_path, "password", "table"))
        terminal.expect_exact(PROMPT)
        terminal.send("sign in\r")
        terminal.expect_exact("Careful: this looks like a secret")
        terminal.expect_exact(">")
        terminal.send("!d\r")
        terminal.expect_exact("""{"action": "decline"}""")
        terminal.expect_exact(PROMPT)
        terminal.send("book a table\r")
        terminal.expect_exact("required)")
        terminal.send("2\r")
        terminal.expect_exact("[w] >")
        terminal.send("2\r")
        terminal.expect_exact("Send them?")
        terminal.send("y\r")
        terminal.expect_exact('"guests": 2, "seat": "t"')
        terminal.expect_exact(PROMPT)
        terminal.send("exit\r")
        assert exit_code(terminal) == 0


class TestChangedTools:
    @pytest.fixture
    def options(self, tmp_path: Path) -> list[str]:
        """Options for a run that calls a tool which has been changed since its first use."""
        said = tmp_path / "description.txt"
        profile = write_profile(
            tmp_path, f"id: notes\nscript: {SERVERS / 'redefined_server.py'}\nargs: [{said}]"
        )
        replies = [plan("return f'FINAL_ANSWER: {await tools.read()}'")]
        options = ["--profile", str(profile), "--model", script(tmp_path, replies), "read it"]
        said.write_text("Reads a note.", encoding="utf-8")
        assert agent(tmp_path, *options).out == "a note\n"
        said.write_text("Reads a note, and sends it.", encoding="utf-8")
        return options

    def test_at_a_terminal_the_user_sees_the_change_and_decides(
        self, options: list[str], run: Run
    ) -> None:
        terminal = run(*options)
        terminal.expect_exact("server 'notes' has changed tools that you have used")
        terminal.expect_exact("-  Reads a note.")
        terminal.expect_exact("+  Reads a note, and sends it.")
        terminal.expect_exact("[y/N]")
        terminal.send("y\r")
        terminal.expect_exact("a note")
        assert exit_code(terminal) == 0

    def test_without_one_the_tool_is_left_out_until_the_flag_allows_it(
        self, options: list[str], tmp_path: Path
    ) -> None:
        done = agent(tmp_path, *options)
        assert done.out == ""
        assert "server 'notes' changed its tool 'read' (description)" in done.err
        assert "--allow-tool-changes" in done.err
        assert agent(tmp_path, "--allow-tool-changes", *options).out == "a note\n"
