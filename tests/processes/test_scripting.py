"""What scripts rely on: formats and their schemas, exit codes, one request however it is given."""

import json
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from modules.cli.schema import SCHEMAS
from tests.command_line import (
    ROOT,
    SUMS_SERVER,
    Finished,
    agent,
    environment,
    fresh_agent,
    plan,
    script,
    session_files,
    without_servers,
    write_profile,
)
from tests.modules.cli.by_hand import entry
from tests.processes.forked_terminal import ForkedTerminal

STREAM = ("--output-format", "stream-json")


@cache
def validator(name: str) -> jsonschema_rs.Validator:
    """What checks a printed object against the schema of that name."""
    return jsonschema_rs.validator_for(SCHEMAS[name]())


def checked(name: str, line: str) -> dict[str, Any]:
    """The object of a printed line, which its schema describes to the last field."""
    document: dict[str, Any] = json.loads(line)
    assert [str(error) for error in validator(name).iter_errors(document)] == []
    return document


def streamed(done: Finished) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events that were printed, and the result."""
    *events, result = (checked("line", line) for line in done.out.splitlines())
    assert [each["type"] for each in (*events, result)].count("result") == 1
    checked("result", json.dumps(result))
    return events, result


def test_a_schema_knows_every_field_that_is_printed_and_no_other(tmp_path: Path) -> None:
    sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    events, result = streamed(agent(tmp_path, *sums, *STREAM, "add 5 and 7"))
    assert (result["answer"], result["value"], result["exit_code"]) == ("12", 12, 0)
    kinds = [event["type"] for event in events]
    assert kinds[0] == "run_started"
    assert kinds[-2:] == ["step_finished", "answered"]
    assert kinds.index("plan_written") < kinds.index("tool_call_started")
    definitions = cast("dict[str, dict[str, Any]]", SCHEMAS["line"]()["$defs"])
    for document in (*events, result):
        assert document.keys() == definitions[document["type"]]["properties"].keys()


def test_without_a_name_the_command_prints_all_schemas_and_a_near_name_is_proposed(
    tmp_path: Path,
) -> None:
    done = agent(tmp_path, "schema")
    assert json.loads(done.out) == {name: make() for name, make in SCHEMAS.items()}
    assert json.loads(agent(tmp_path, "schema", "line", "--json").out) == SCHEMAS["line"]()
    wrong = agent(tmp_path, "schema", "resul")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean result?" in wrong.err


def test_a_tool_that_fails_is_in_the_stream_and_the_run_goes_on(tmp_path: Path) -> None:
    failing = "return f'FINAL_ANSWER: {await tools.divide(a=1, b=0)}'"
    replies = [plan(failing), plan('return "FINAL_ANSWER: no such number"')]
    options = [
        *("--profile", str(write_profile(tmp_path, SUMS_SERVER))),
        *("--model", script(tmp_path, replies)),
    ]
    events, result = streamed(agent(tmp_path, *options, *STREAM, "divide 1 by 0"))
    (called,) = [event["call"] for event in events if event["type"] == "tool_call_finished"]
    assert (called["ok"], called["tool"]) == (False, "math.divide")
    assert [event["failure"]["kind"] for event in events if event["type"] == "retrying"] == ["tool"]
    assert [step["result"] for step in result["steps"]] == ["failed", "final_answer"]
    assert result["answer"] == "no such number"


@pytest.mark.parametrize(
    ("options", "code", "status", "told"),
    [
        (["--model", "offline", "qwxz frobnicate"], 3, "no_answer", "No model is connected"),
        (["--model", "nope", "add 5 and 7"], 2, "failed", "there is no model 'nope'"),
        (["--max-tokens", "few", "add 5 and 7"], 2, "failed", "is no whole number"),
        (["--profile", "nowhere.yaml", "add 5 and 7"], 2, "failed", "nowhere.yaml"),
        ([""], 2, "failed", "the request is empty"),
        (["doctr"], 2, "failed", "did you mean: agent.py doctor"),
        (["what is in @nope.png"], 2, "failed", "@nope.png can't be attached"),
    ],
)
@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_every_failure_prints_a_result_and_ends_with_its_code(
    tmp_path: Path, options: list[str], code: int, status: str, told: str, output: str
) -> None:
    done = agent(tmp_path, "--output-format", output, *options)
    assert done.code == code
    result = checked("result", done.out.splitlines()[-1])
    assert (result["answer"], result["status"], result["exit_code"]) == (None, status, code)
    assert told in result["message"]
    assert told in done.err
    plain = agent(tmp_path, *options)
    assert (plain.code, plain.out) == (code, "")


def test_a_model_that_is_down_is_exit_code_1(tmp_path: Path) -> None:
    options = ["--profile", str(write_profile(tmp_path))]
    model = script(tmp_path, [{"error": "no route"}])
    done = agent(tmp_path, *options, "--model", model, *STREAM, "hm?")
    _, result = streamed(done)
    assert (done.code, result["status"], result["exit_code"]) == (1, "failed", 1)


def test_an_interrupted_run_prints_its_result_too(tmp_path: Path) -> None:
    waiting = plan("await tools.hang()\nreturn 'FINAL_ANSWER: late'")
    options = [
        *("--profile", str(write_profile(tmp_path, entry("typed", str(tmp_path / "pid"))))),
        *("--model", script(tmp_path, [waiting])),
    ]
    with subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "agent.py"),
            *options,
            *STREAM,
            "--approve",
            "typed.hang",
            "please wait",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
        text=True,
    ) as running:
        assert running.stdout is not None
        lines: list[str] = []
        for line in running.stdout:  # each arrives as it comes: nothing waits for the end
            lines.append(line)
            if json.loads(line)["type"] == "tool_call_started":
                running.send_signal(signal.SIGINT)
    _, result = streamed(Finished(running.returncode, "".join(lines), ""))
    assert (running.returncode, result["status"], result["exit_code"]) == (130, "interrupted", 130)


def test_large_values_are_cut_in_events_and_whole_in_the_result(tmp_path: Path) -> None:
    replies = [plan('return "FINAL_ANSWER: " + "x" * 100000 + "."')]
    options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
    done = agent(tmp_path, *options, *STREAM, "long")
    events, result = streamed(done)
    assert len(result["answer"]) == 100_001
    assert max(len(json.dumps(event)) for event in events) < 66_000
    assert [each["text"][-3:] for each in events if each["type"] == "answered"] == ["xx…"]


def test_secrets_are_in_no_event_and_the_answer_is_left_as_it_is(tmp_path: Path) -> None:
    secret = "0123456789-hush"  # noqa: S105 - it opens nothing
    replies = [plan(f'key = "{secret}"\nreturn "FINAL_ANSWER: " + key[:3]')]
    options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
    done = agent(tmp_path, *options, *STREAM, "x", env=environment(tmp_path, MY_API_KEY=secret))
    events, result = streamed(done)
    assert secret not in done.out
    written = next(event for event in events if event["type"] == "plan_written")
    assert "[redacted MY_API_KEY]" in written["plan"]["source"]
    assert "[redacted MY_API_KEY]" in result["steps"][0]["plan"]
    assert (result["answer"], result["value"]) == ("012", "012")


def test_prompts_are_in_the_stream_and_the_trace_where_the_profile_wants_them(
    tmp_path: Path,
) -> None:
    secret = "0123456789-hush"  # noqa: S105 - it opens nothing
    profile, written = write_profile(tmp_path), plan("return 'FINAL_ANSWER: no'")
    options = ["--profile", str(profile), "--model", script(tmp_path, [written])]
    env = environment(tmp_path, MY_API_KEY=secret)

    def asked_and_replied() -> tuple[str, str]:
        done = agent(tmp_path, *options, *STREAM, f"is it {secret}?", env=env)
        assert secret not in done.out
        events, _ = streamed(done)
        told = next(event for event in events if event["type"] == "model_answered")
        return told["prompt"], told["reply"]

    assert asked_and_replied() == ("", written)
    with profile.open("a", encoding="utf-8") as file:
        file.write("trace: {prompts: true}\n")
    prompt, reply = asked_and_replied()
    assert "is it [redacted MY_API_KEY]?" in prompt
    assert reply == written
    traced = ["trace", "--profile", str(profile)]
    short, whole = (agent(tmp_path, *traced, *more).out for more in ((), ("--verbose",)))
    assert "prompt: You are Test" in short
    assert "is it [redacted MY_API_KEY]?" in whole
    assert secret not in short + whole
    indented = {line.strip("│ ") for line in whole.splitlines()}
    assert {line.strip("│ ") for line in prompt.splitlines()} <= indented, "no line is left out"


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "add 5 and 7"],
        ["--prompt", "add 5 and 7"],
        ["--prompt=add 5 and 7"],
        ["--json", "-p", "add 5 and 7", "--quiet"],
        ["-p", "-5 + 17"],
        ["-p", "--5 + 7"],
        ["add", "5", "--json", "and", "7"],
        ["--json", "add", "5", "and", "7"],
    ],
)
def test_a_request_is_the_value_of_an_option_or_stands_anywhere(
    tmp_path: Path, words: list[str]
) -> None:
    sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    done = agent(tmp_path, *sums, *words)
    answer = json.loads(done.out)["answer"] if "--json" in words else done.out.strip()
    assert (done.code, answer) == (0, "12")


def test_a_request_as_a_value_is_no_command_and_no_option(tmp_path: Path) -> None:
    options = without_servers(tmp_path, answer="asked")
    assert agent(tmp_path, *options, "-p", "doctor").out == "asked\n"
    assert agent(tmp_path, *options, "-p", "-x is what?").out == "asked\n"
    both = agent(tmp_path, *options, "-p", "one", "two")
    assert both.code == 2
    assert "the request is given more than once (--prompt 'one', 'two'); give one" in both.err
    twice = agent(tmp_path, *options, "-p", "one", "-p", "two")
    assert "given more than once" in twice.err
    eaten = agent(tmp_path, *options, "-p", "--json")
    assert (eaten.code, "-p/--prompt: expected one argument" in eaten.err) == (2, True)


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_each_line_of_a_pipe_has_its_own_in_every_format(tmp_path: Path, output: str) -> None:
    replies = [plan('return "FINAL_ANSWER: 1"'), {"error": "no route"}]
    options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
    lines = b"one\n\n/usage\ntwo\nwhat is in @nope.png\n/usge\n"
    done = agent(tmp_path, *options, "--output-format", output, stdin=lines)
    assert done.code == 1
    if output == "text":
        first, *blank, outage, image, command = done.out.splitlines()
        assert (first, blank) == ("1", ["", ""])
        assert all(line.startswith("[") for line in (outage, image, command))
        return
    printed = [checked("line", line) for line in done.out.splitlines()]
    results = [each for each in printed if each["type"] == "result"]
    assert [each["answer"] for each in results] == ["1", "", "", None, None, None]
    assert [each["exit_code"] for each in results] == [0, 0, 0, 1, 2, 2]
    assert (len(printed) > len(results)) is (output == "stream-json")


def schema_file(folder: Path, schema: object) -> str:
    """A file with a JSON Schema."""
    path = folder / "answer.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return str(path)


PRICES = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}


class TestJsonSchema:
    def test_an_answer_that_validates_is_printed_as_json(self, tmp_path: Path) -> None:
        replies = [plan('return "FINAL_ANSWER: ```json\\n{\\"price\\": 5}\\n```"')]
        options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
        wanted = ["--json-schema", schema_file(tmp_path, PRICES)]
        done = agent(tmp_path, *options, *wanted, "what does it cost?")
        assert (done.code, json.loads(done.out)) == (0, {"price": 5})

    def test_one_that_does_not_is_repaired_once(self, tmp_path: Path) -> None:
        replies = [
            plan('return "FINAL_ANSWER: five dollars"'),
            plan('return "FINAL_ANSWER: {\\"price\\": 5}"'),
        ]
        options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
        wanted = ["--json-schema", schema_file(tmp_path, PRICES)]
        events, result = streamed(agent(tmp_path, *options, *wanted, *STREAM, "its cost?"))
        assert (result["exit_code"], result["value"]) == (0, {"price": 5})
        (failure,) = [each["failure"] for each in events if each["type"] == "retrying"]
        assert failure["kind"] == "answer"
        assert 'the whole: the value is not of type "object"' in failure["message"]

    def test_after_one_repair_the_run_ends_with_3_and_keeps_the_last_answer(
        self, tmp_path: Path
    ) -> None:
        answers = ('{"price": null}', '{"price": []}')
        replies = [plan(f"return 'FINAL_ANSWER: {answer}'") for answer in answers]
        options = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, replies)]
        wanted = ["--json-schema", schema_file(tmp_path, PRICES)]
        done = agent(tmp_path, *options, *wanted, "--json", "its cost?")
        result = checked("result", done.out)
        assert (done.code, result["exit_code"], result["answer"]) == (3, 3, None)
        assert result["rejected_answer"] == '{"price": []}'
        assert 'price: the value is not of type "number"' in result["message"]
        assert result["message"] in done.err

    def test_the_offline_planner_answers_with_a_value_or_fails_clearly(
        self, tmp_path: Path
    ) -> None:
        sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER)), "add 5 and 7"]
        number = ["--json-schema", schema_file(tmp_path, {"type": "integer"})]
        assert agent(tmp_path, *sums, *number).out == "12\n"
        done = agent(tmp_path, *sums, "--json-schema", schema_file(tmp_path, PRICES))
        assert (done.code, done.out) == (3, "")
        assert "it does not validate against" in done.err

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (None, "No such file"),
            ("{", "this is no JSON"),
            ("[]", "is an object, true or false"),
            ('{"type": "objct"}', "this is no JSON Schema: at /type, "),
            ('{"$ref": "http://127.0.0.1:1/x"}', "this is no JSON Schema"),
        ],
    )
    def test_a_file_that_is_no_schema_is_bad_usage_and_asks_nothing(
        self, tmp_path: Path, text: str | None, told: str
    ) -> None:
        if text is not None:
            (tmp_path / "s.json").write_text(text, encoding="utf-8")
        options = without_servers(tmp_path)
        done = agent(tmp_path, *options, "--json-schema", str(tmp_path / "s.json"), "hm?")
        assert (done.code, done.out) == (2, "")
        assert f"--json-schema {tmp_path / 's.json'}: " in done.err
        assert told in done.err


class TestLimits:
    def test_a_request_may_take_so_many_steps(self, tmp_path: Path) -> None:
        told = "return f'FURTHER_PROCESSING_REQUIRED: {found}'"
        more = [plan(f"found = await tools.add(a=1, b={n})\n{told}") for n in range(3)]
        options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
        model = ["--model", script(tmp_path, more)]
        done = agent(tmp_path, *options, *model, "--max-steps", "2", "hm?")
        assert (done.code, done.out) == (3, "")
        assert "No answer within 2 steps" in done.err

    def test_a_request_may_take_so_long(self, tmp_path: Path) -> None:
        options = [
            *("--profile", str(write_profile(tmp_path, entry("typed", str(tmp_path / "pid"))))),
            *("--model", script(tmp_path, [plan("await tools.hang()")])),
            *("--approve", "typed.hang", "--timeout", "1", *STREAM),
        ]
        done = agent(tmp_path, *options, "please wait")
        _, result = streamed(done)
        assert (done.code, result["status"], result["exit_code"]) == (3, "no_answer", 3)
        assert result["message"] == "No answer within 1 s (--timeout)"
        assert "No answer within 1 s (--timeout)" in done.err

    @pytest.mark.parametrize("tools", ["math.add", "add", "math", "divide,add"])
    def test_only_the_tools_that_are_named_are_offered(self, tmp_path: Path, tools: str) -> None:
        sums = ["--profile", str(write_profile(tmp_path, SUMS_SERVER)), "--tools", tools]
        assert agent(tmp_path, *sums, "add 5 and 7").out == "12\n"
        calls = plan("return f'FINAL_ANSWER: {await tools.multiply(a=2, b=3)}'")
        scripted = ["--model", script(tmp_path, [calls] * 2)]
        done = agent(tmp_path, *sums, *scripted, "multiply 2 by 3")
        assert (done.out == "6\n") is (tools == "math")
        assert (done.code == 0) is (tools == "math")

    def test_an_unknown_tool_is_bad_usage_and_nothing_is_sent(self, tmp_path: Path) -> None:
        options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
        model = ["--model", script(tmp_path, [])]
        done = agent(tmp_path, *options, *model, "--tools", "math.ad", "add 5 and 7")
        assert (done.code, done.out) == (2, "")
        assert "--tools: there is no tool 'math.ad'; did you mean math.add" in done.err

    def test_without_tools_a_plan_has_none(self, tmp_path: Path) -> None:
        options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER)), "--no-tools"]
        model = ["--model", script(tmp_path, [plan("return 'FINAL_ANSWER: 12'")])]
        assert agent(tmp_path, *options, *model, "add 5 and 7").out == "12\n"
        assert not (tmp_path / "logs" / "servers").exists()
        both = agent(tmp_path, *options, "--tools", "add", "add 5 and 7")
        assert (both.code, "not allowed with argument" in both.err) == (2, True)

    def test_a_seed_is_said_to_have_no_effect_where_it_has_none(self, tmp_path: Path) -> None:
        done = agent(tmp_path, *without_servers(tmp_path), "--seed", "7", "hm?")
        assert done.out == "12\n"
        assert "--seed has no effect on scripted:" in done.err

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--max-steps", "0"),
            ("--max-steps", "add 5 and 7"),
            ("--timeout", "-1"),
            ("--timeout", "soon"),
            ("--tools", ","),
            ("--seed", "1.5"),
        ],
    )
    def test_a_wrong_value_is_bad_usage(self, tmp_path: Path, option: str, value: str) -> None:
        done = agent(tmp_path, *without_servers(tmp_path), option, value, "hm?")
        assert (done.code, done.out) == (2, "")
        assert f"argument {option}: " in done.err


PAID = {
    "models": {
        "paid": {
            "type": "openai",
            "model": "dear",
            "base_url": "http://127.0.0.1:1/v1",
            "price": {"input": 1.0, "output": 1.0},
        }
    }
}


class TestALoneWord:
    @pytest.fixture
    def options(self, tmp_path: Path) -> list[str]:
        """A model that costs something, and that nobody serves."""
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "models.json").write_text(json.dumps(PAID), encoding="utf-8")
        profile = write_profile(tmp_path)
        with profile.open("a", encoding="utf-8") as file:
            file.write("llm: {retries: 0}\n")
        return ["--profile", str(profile), "--model", "paid"]

    def at_a_terminal(self, home: Path, *arguments: str) -> ForkedTerminal:
        environ = environment(home, OPENAI_API_KEY="sk-0123456789", TERM="xterm")
        return ForkedTerminal(*arguments, environ=environ, cwd=home, timeout=20)

    @pytest.mark.parametrize("answer", ["\r", "n\r", "\x04"])
    def test_is_asked_about_at_a_terminal_before_a_paid_model_sees_it(
        self, tmp_path: Path, options: list[str], answer: str
    ) -> None:
        terminal = self.at_a_terminal(tmp_path, *options, "frobnicate")
        terminal.expect_exact("'frobnicate' is no command. Send it to openai:dear as a request?")
        terminal.send(answer)
        terminal.expect_exact("nothing was sent")
        assert terminal.wait() == 2
        assert session_files(tmp_path) == []

    @pytest.mark.parametrize("words", [["frobnicate"], ["-p", "frobnicate"], ["17"]])
    def test_goes_to_the_model_where_that_is_meant(
        self, tmp_path: Path, options: list[str], words: list[str]
    ) -> None:
        terminal = self.at_a_terminal(tmp_path, *options, *words)
        if words == ["frobnicate"]:
            terminal.expect_exact("[y/N]")
            terminal.send("y\r")
        terminal.expect_exact("127.0.0.1:1")
        assert terminal.wait() == 1

    @pytest.mark.parametrize(
        ("word", "told"),
        [
            (
                "frobnicate",
                "'frobnicate' is no command, and a lone word is not sent to openai:dear",
            ),
            ("frobnicate", "agent.py -p frobnicate sends it"),
            ("tools", "there is no command 'tools'; did you mean: agent.py mcp tools"),
        ],
    )
    def test_is_refused_in_a_pipe_before_a_paid_model_sees_it(
        self, tmp_path: Path, options: list[str], word: str, told: str
    ) -> None:
        env = environment(tmp_path, OPENAI_API_KEY="sk-0123456789")
        done = agent(tmp_path, *options, word, env=env)
        assert (done.code, done.out) == (2, "")
        assert told in done.err
        assert session_files(tmp_path) == []

    def test_is_a_request_beside_a_text_and_for_a_model_that_costs_nothing(
        self, tmp_path: Path, options: list[str]
    ) -> None:
        env = environment(tmp_path, OPENAI_API_KEY="sk-0123456789")
        done = agent(tmp_path, *options, "summarise", env=env, stdin=b"the text\n")
        assert done.code == 1, done.err
        assert agent(tmp_path, *options, "-p", "frobnicate", env=env).code == 1
        terminal = self.at_a_terminal(tmp_path, *options[:2], "--model", "offline", "frobnicate")
        terminal.expect_exact("No model is connected")
        assert terminal.wait() == 3


def test_the_model_of_a_result_is_the_one_that_answered(tmp_path: Path) -> None:
    recording = tmp_path / "r.jsonl"
    line = {"key": "", "purpose": "decision", "prompt": "another", "outcome": {"text": "x"}}
    recording.write_text(json.dumps(line))
    chain = f"replay:{recording},offline"
    for request, model in (("uppercase one", "offline"), ("help", "")):
        done = fresh_agent(
            tmp_path, "--json", request, "--model", chain, "--profile", str(write_profile(tmp_path))
        )
        assert json.loads(done.out)["model"] == model, done.err
    done = fresh_agent(
        tmp_path, "--json", "x", "--model", chain[:-8], "--profile", str(write_profile(tmp_path))
    )
    assert json.loads(done.out)["model"] == chain[:-8], "it was to answer"
