"""The product as its users meet it: `agent.py` as a process (see `tests/forked_agent.py`).

The demonstration runs with the real math server; the others with one that starts at once.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.version import __version__
from modules.terminal.answer import LABEL
from tests.command_line import (
    INDIA,
    ROOT,
    SUMS_SERVER,
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
from tests.documentation.picture import PICTURE, shown_by

ANSWER = "7.599822246093079e+33"


def test_the_demonstration_is_answered_on_stdout_alone(tmp_path: Path) -> None:
    done = fresh_agent(tmp_path, INDIA)
    assert (done.code, done.out) == (0, f"{ANSWER}\n")
    # The picture on the README's first screen, in which only the times may differ.
    drawn = shown_by(PICTURE.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    assert _timeless(drawn) == _timeless(f"$ make run\n{done.err}{LABEL} {ANSWER}\n")
    (session,) = session_files(tmp_path)
    items = json.loads(session.read_text(encoding="utf-8"))
    assert {item["type"] for item in items} == {
        "run_metadata",
        "tool_call",
        "tool_output",
        "final_answer",
    }
    assert items[-1]["final_answer"] == ANSWER


@pytest.mark.parametrize("is_piped", [False, True])
def test_a_server_that_is_not_needed_is_neither_waited_for_nor_started(
    tmp_path: Path, is_piped: bool
) -> None:
    silent = f"id: hang\nscript: {ROOT / 'tests' / 'fixtures' / 'servers' / 'silent_server.py'}"
    sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER, silent))]
    agent(tmp_path, "mcp", "tools", "math", *sums)
    done = agent(tmp_path, *sums, stdin=b"3+4\n") if is_piped else agent(tmp_path, *sums, "3+4")
    assert (done.code, done.out) == (0, "7\n")
    assert "hang" not in done.err
    assert not (tmp_path / "logs" / "servers" / "hang.log").exists()


def _timeless(text: str) -> str:
    return re.sub(r"\(\d+ ms\)", "(… ms)", text)


def test_json_is_one_object_and_its_session_id_continues_the_session(tmp_path: Path) -> None:
    sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    done = agent(tmp_path, *sums, "--json", "--quiet", "add 5 and 7")
    (line,) = done.out.splitlines()
    document = json.loads(line)
    assert (document["answer"], document["status"], document["exit_code"]) == ("12", "done", 0)
    (step,) = document["steps"]
    assert "async def solve():" in step["plan"]
    (call,) = step["calls"]
    assert (call["tool"], call["result"]) == ("math.add", 12)
    assert document["session_id"].count("/") == 3
    assert set(document["durations"]) == {"perception", "decision", "action", "total"}
    again = agent(tmp_path, *sums, "--session", document["session_id"], "now divide that by 2")
    assert (again.code, again.out) == (0, "6\n")
    assert len(session_files(tmp_path)) == 1


def test_odd_characters_on_stdin_are_answered_quietly_and_without_a_home(tmp_path: Path) -> None:
    odd = 'ASCII values of "a{b}`c"'
    env = {"PATH": os.environ["PATH"], "CORTEX_HOME": str(tmp_path)}
    sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    done = agent(tmp_path, *sums, "--quiet", "-", stdin=f"\x02{odd}\n".encode(), env=env)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == [ord(c) for c in "a{b}`c"]


def test_requests_on_a_pipe_share_a_session(tmp_path: Path) -> None:
    lines = b"add 5 and 7\nnow multiply that by 2\nnew\nexit\nadd 1 and 1\n"
    done = agent(tmp_path, "--profile", str(write_profile(tmp_path, SUMS_SERVER)), stdin=lines)
    assert (done.code, done.out) == (0, "12\n24\n\n")


def test_each_line_of_a_pipe_gives_one_line_failures_included(tmp_path: Path) -> None:
    replies = [
        plan('return "FINAL_ANSWER: two\\nlines"'),
        {"error": "no route"},
        plan('return "FINAL_ANSWER: 3"'),
    ]
    options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
    lines = b"first\n\nsecond\nwhat is in @nope.png\nthird\n"
    done = agent(tmp_path, *options, stdin=lines)
    first, blank, second, image, third = done.out.splitlines()
    assert (first, blank, third) == ("two\\nlines", "", "3")
    assert second.startswith("[")
    assert "no route" in second
    assert image.startswith("[@nope.png can't be attached")
    assert done.code == 1
    done = agent(tmp_path, *options, "--json", stdin=b"what is in @nope.png\n")
    document = json.loads(done.out)
    assert (done.code, document["answer"], document["exit_code"]) == (2, None, 2)
    assert "@nope.png" in document["message"]


def test_stdin_beside_a_request_goes_with_it_unless_a_loop_reads_it(tmp_path: Path) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]
    done = agent(tmp_path, *bare, "how many lines does this have?", stdin=b"a\nb\nc\n")
    assert (done.code, done.out) == (0, "3\n")
    assert "stdin (3 lines, 6 characters) go with the request" in done.err
    done = agent(tmp_path, *bare, "--no-stdin", "uppercase hello", stdin=b"a\n")
    assert (done.code, done.out) == (0, "HELLO\n")
    assert "[stdin]" not in done.err
    done = agent(tmp_path, *bare, "--no-stdin", "-", stdin=b"a\n")
    assert (done.code, done.out) == (2, "")
    assert "leaves nothing to answer" in done.err


@pytest.mark.skipif(not Path("/proc/self/fd/0").exists(), reason="nobody tells of others' stdin")
def test_a_loop_over_a_pipe_asks_for_every_line(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "agent.py"), "--profile", str(write_profile(tmp_path))]
    call = " ".join(map(shlex.quote, words))
    loop = f'printf "a\\nb\\n" | while read x; do {call} "uppercase $x"; done'
    done = subprocess.run(
        ["sh", "-c", loop],
        capture_output=True,
        env=environment(tmp_path),
        timeout=60,
        check=False,
    )
    assert done.stdout.decode() == "A\nB\n"
    assert b"stdin is left alone" in done.stderr


def test_a_scripted_model_takes_the_same_path(tmp_path: Path) -> None:
    replies = [
        "I would say 3.",
        plan("return await tools.add(a=1"),
        plan('x = await tools.divide(a=1, b=0)\nreturn f"FINAL_ANSWER: {x}"'),
        plan('x = await tools.add(a=1, b=2)\nreturn f"FINAL_ANSWER: {x}"'),
    ]
    options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    options += ["--model", script(tmp_path, replies)]
    done = agent(tmp_path, "--json", *options, "add 1 and 2")
    document = json.loads(done.out)
    assert (done.code, document["answer"]) == (0, "3")
    kinds = [step["text"].partition(":")[0] for step in document["steps"][:-1]]
    assert kinds == ["no_plan", "syntax", "tool"]
    assert "divide 1 by zero" in document["steps"][2]["text"]


def test_further_processing_takes_another_step(tmp_path: Path) -> None:
    replies = [
        plan('return f"FURTHER_PROCESSING_REQUIRED: {await tools.add(a=1, b=2)}"'),
        plan('return "FINAL_ANSWER: three"'),
    ]
    options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    options += ["--model", script(tmp_path, replies)]
    done = agent(tmp_path, "--json", *options, "spell 1 + 2")
    document = json.loads(done.out)
    assert document["answer"] == "three"
    assert [step["step"] for step in document["steps"]] == [1, 2]


def test_exit_3_when_no_plan_works_and_stdout_stays_empty(tmp_path: Path) -> None:
    replies = [plan(f"return {{'number': {number}}}") for number in range(4)]
    bare = str(write_profile(tmp_path))
    done = agent(tmp_path, "--profile", bare, "--model", script(tmp_path, replies), "anything")
    assert (done.code, done.out) == (3, "")
    assert "No answer: 4 plans for step 1 failed" in done.err


def test_exit_3_with_an_explanation_when_the_offline_planner_does_not_understand(
    tmp_path: Path,
) -> None:
    bare = str(write_profile(tmp_path))
    done = agent(tmp_path, "--profile", bare, "write a poem about the sea")
    assert (done.code, done.out) == (3, "")
    assert "No model is connected; without one I do sums" in done.err
    assert "Connect a model for it" in done.err


def test_exit_1_when_the_model_is_down(tmp_path: Path) -> None:
    bare = str(write_profile(tmp_path))
    model = script(tmp_path, [{"error": "no route"}])
    done = agent(tmp_path, "--profile", bare, "--model", model, "write a poem")
    assert (done.code, done.out) == (1, "")
    assert "no route" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nonsense"], "--nonsense"),
        ([""], "empty"),
        (["  \t\n"], "empty"),
        (["x" * 100_001], "100,000 characters"),
        (["--model", "jpt-17", "hi"], "jpt-17"),
        (["--model", "gemini", "hi"], "GEMINI_API_KEY"),
        (["--profile", "nowhere.yaml", "hi"], "nowhere.yaml"),
        (["--session", "../../etc/passwd", "hi"], "session"),
        (["--model", "scripted:nowhere.json", "hi"], "nowhere.json"),
    ],
)
def test_exit_2_for_what_the_user_must_change(
    tmp_path: Path, arguments: list[str], told: str
) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]  # starts no server in advance
    done = agent(tmp_path, *bare, *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("agent: [", "not valid YAML"),
        ("agent: {name: x, id: y}\nstrategy: {planning_mode: bold}", "conservative or exploratory"),
        ("agent: {name: x, id: y}\nmoods: 3", "unknown key 'moods'"),
        ("- a list", "mapping"),
    ],
)
def test_exit_2_for_a_broken_profile_naming_file_key_and_values(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text, encoding="utf-8")
    done = agent(tmp_path, "--profile", str(path), "add 1 and 2")
    assert done.code == 2
    assert str(path) in done.err
    assert told in done.err


def test_broken_servers_that_may_be_needed_are_told_and_the_others_work(tmp_path: Path) -> None:
    dies = tmp_path / "dies.py"
    dies.write_text("import sys; sys.exit('no database')", encoding="utf-8")
    prints = tmp_path / "prints.py"
    prints.write_text("print('hello, I am not JSON')", encoding="utf-8")
    profile = write_profile(
        tmp_path,
        SUMS_SERVER,
        f"id: dying\nscript: {dies}\ndescription: can add",
        f"id: printing\nscript: {prints}\ndescription: can add",
        "id: absent\nscript: nowhere.py\ndescription: can add",
    )
    done = agent(tmp_path, "--profile", str(profile), "add 5 and 7")
    assert (done.code, done.out) == (0, "12\n")
    for name in ("dying", "printing", "absent"):
        assert name in done.err
    assert "no database" in done.err


def test_a_read_only_memory_folder_costs_a_warning_not_the_answer(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "memory").write_text("a file where the folder should be", encoding="utf-8")
    done = agent(home, *without_servers(tmp_path), "add 5 and 7")
    assert (done.code, done.out) == (0, "12\n")
    assert "[memory]" in done.err


def test_a_damaged_session_file_is_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "memory" / "2026" / "01" / "01"
    folder.mkdir(parents=True)
    (folder / "session-1-abcdef.json").write_text("[{", encoding="utf-8")
    session = ["--session", "2026/01/01/session-1-abcdef"]
    done = agent(tmp_path, *without_servers(tmp_path), *session, "add 5 and 7")
    assert (done.code, done.out) == (0, "12\n")
    assert "damaged" in done.err
    assert "[{" in [path.read_text(encoding="utf-8") for path in folder.iterdir()]


def test_a_number_beyond_floats_is_answered_and_the_session_goes_on(tmp_path: Path) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]
    done = agent(tmp_path, "--quiet", *bare, stdin=b"2^1200\n2+2\n")
    assert (done.code, done.out) == (0, f"{2**1200}\n4\n")
    (file,) = session_files(tmp_path)
    session = str(file.relative_to(tmp_path / "memory").with_suffix(""))
    again = agent(tmp_path, "--quiet", *bare, "--session", session, "2+3")
    assert (again.code, again.out, again.err) == (0, "5\n", "")


def test_a_reader_that_has_gone_gives_no_traceback(tmp_path: Path) -> None:
    done = unread(tmp_path, *without_servers(tmp_path), "add 5 and 7")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "stdout was closed" in done.err


@pytest.mark.parametrize("arguments", [["go"], ["--json", "go"], ["--help"]])
def test_a_full_disk_behind_stdout_is_the_worlds_fault_and_said_in_one_line(
    tmp_path: Path, arguments: list[str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        options = ["--quiet", *without_servers(tmp_path), *arguments]
        done = agent(tmp_path, *options, stdout=full.fileno())
    assert done.code == 1
    assert done.err == "the answer can't be written to stdout: No space left on device\n"


def test_what_a_model_says_on_stderr_drives_no_terminal_and_tells_no_secret(
    tmp_path: Path,
) -> None:
    model = script(tmp_path, [{"declined": "\x1b[2Jit is sekret-value-123"}])
    bare = str(write_profile(tmp_path))
    env = environment(tmp_path, SOME_API_KEY="sekret-value-123")
    done = agent(tmp_path, "--quiet", "--profile", bare, "--model", model, "go", env=env)
    assert (done.code, done.err) == (3, "\\x1b[2Jit is [redacted SOME_API_KEY]\n")


@pytest.mark.parametrize(("number", "piped"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_interrupting_gives_130_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals, *, piped: bool
) -> None:
    marker = tmp_path / "server.pid"
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW_SERVER, encoding="utf-8")
    profile = write_profile(tmp_path, f"id: slow\nscript: {slow}\nargs: [{marker}]")
    model = script(tmp_path, [plan("return await tools.wait()")] * 2)
    options = ["--profile", profile, "--model", model, "--verbose", "--approve", "slow.wait"]
    process = subprocess.Popen(
        [sys.executable, ROOT / "agent.py", *options, *([] if piped else ["wait now"])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("wait\nwait\n")  # two requests from a pipe: both end
    process.stdin.flush()
    for line in process.stderr:
        if "calls slow.wait" in line:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "[interrupted]\n" if piped else "")
    assert "Traceback" not in err
    assert "calls slow.wait" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text(encoding="utf-8")), 0)


def test_version_and_help_are_answers_on_stdout(tmp_path: Path) -> None:
    assert fresh_agent(tmp_path, "--version").out == f"cortex-r {__version__}\n"
    done = agent(tmp_path, "--help", env=environment(tmp_path, COLUMNS="80"))
    assert done.code == 0
    for code in ("0  ", "1  ", "2  ", "3  ", "4  ", "130"):
        assert f"\n  {code}" in done.out


SLOW_SERVER = """
import json, os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
    elif message.get("method") == "tools/list":
        schema = {"type": "object", "properties": {}}
        result = {"tools": [{"name": "wait", "description": "Waits.", "inputSchema": schema}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
"""A server with one tool that never answers; writes its pid where its argument says."""


def test_no_memory_writes_nothing_and_masks_keep_out_what_they_match(tmp_path: Path) -> None:
    profile = write_profile(tmp_path)
    text = profile.read_text(encoding="utf-8")
    profile.write_text(f"{text}\nmemory:\n  mask: ['hello']\n", encoding="utf-8")
    bare = ["--profile", str(profile)]
    done = agent(tmp_path, *bare, "--no-memory", "--session", "notes", "uppercase hello")
    assert (done.code, done.out) == (0, "HELLO\n")
    assert "neither read nor kept" in done.err
    assert not list(tmp_path.rglob("notes.json"))
    done = agent(tmp_path, *bare, "--session", "notes", "uppercase hello")
    assert (done.code, done.out) == (0, "HELLO\n")
    (kept,) = tmp_path.rglob("notes.json")
    items = kept.read_text(encoding="utf-8")
    assert "uppercase [redacted MASK]" in items
    assert "hello" not in items


def test_the_last_session_goes_on_and_a_part_of_an_id_resumes_one(tmp_path: Path) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]
    asked = "what was the first thing I asked?"
    done = agent(tmp_path, *bare, "--continue", "uppercase hello")
    assert (done.code, done.out) == (0, "HELLO\n")
    assert "a new one begins" in done.err
    done = agent(tmp_path, *bare, "--continue", asked)
    assert (done.code, done.out) == (0, "uppercase hello\n")
    (kept,) = tmp_path.rglob("session-*.json")
    done = agent(tmp_path, *bare, "--resume", kept.stem[-6:], asked)
    assert (done.code, done.out) == (0, "uppercase hello\n")
    done = agent(tmp_path, *bare, "--resume", "nope", asked)
    assert (done.code, done.out) == (2, "")
    assert "there is no session 'nope'" in done.err
