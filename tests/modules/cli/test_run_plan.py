"""`run-plan`: a plan by hand, through the path of the loop."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import ExitCode
from core.turn import FailureKind, FinalAnswer, PlanFailed, PlanFailure
from core.values import Json
from modules.cli.run_plan import PlanReport, failure_text
from tests.command_line import ROOT, SUMS_SERVER, environment, plan, write_profile
from tests.modules.cli.by_hand import Hand, entry


def write_plan(hand: Hand, body: str) -> str:
    """A `solve()` around these lines, as a file; gives its name."""
    path = hand.home / "plan.py"
    path.write_text(plan(body), encoding="utf-8")
    return str(path)


def the_one(values: Json) -> Json:
    """What an array of one element holds."""
    assert isinstance(values, list)
    (value,) = values
    return value


@pytest.fixture
def sums(hand: Hand) -> Hand:
    """A hand with the servers `math` and, switched off, `rest`."""
    hand.write_profile(SUMS_SERVER, entry("typed", id="rest", more="disabled: true"))
    return hand


class TestAnAnswer:
    def test_it_goes_to_stdout_and_what_led_to_it_to_stderr(self, sums: Hand) -> None:
        body = "total = await tools.add(a=5, b=7)\nprint('one\\n[tool] two')\n"
        done = sums.run("run-plan", write_plan(sums, f"{body}return f'FINAL_ANSWER: {{total}}'"))
        assert (done.code, done.out) == (0, "12\n")
        call, *printed = done.err.splitlines()
        assert call.startswith("[tool] math.add(a=5, b=7) → 12 (")
        assert printed == ["[printed] one", "[printed] [tool] two"]

    def test_quiet_leaves_stderr_empty_and_verbose_tells_more(self, sums: Hand) -> None:
        body = "print('x')\nawait tools.add(a=5, b=7)\n"
        name = write_plan(sums, f"{body}return 'FURTHER_PROCESSING_REQUIRED: so far'")
        done = sums.run("run-plan", name, "--quiet")
        assert (done.code, done.out, done.err) == (0, "so far\n", "")
        calls, answers, *told = sums.run("run-plan", name, "--verbose").err.splitlines()
        assert calls == "[tool] calls math.add(a=5, b=7)"
        assert answers.startswith("[tool] math.add(a=5, b=7) → 12 (")
        assert told[0] == "[printed] x"
        assert told[1].startswith("[sandbox] the plan took ")
        assert told[2].startswith("[plan] a run would go on with this text")

    def test_a_value_without_a_verdict_is_shown_with_a_note(self, hand: Hand) -> None:
        done = hand.run("run-plan", write_plan(hand, "return {'a': [1, 'ü']}"))
        assert (done.code, done.out) == (0, '{"a": [1, "ü"]}\n')
        assert done.err.startswith("[plan] a run would not take this value")

    def test_repairs_are_told_before_what_the_plan_does(self, sums: Hand) -> None:
        name = write_plan(sums, "total = tools.add(a=5, b=7)\nreturn f'FINAL_ANSWER: {total}'")
        found = sums.object("run-plan", name)
        assert found["answer"] == "12"
        repair = str(the_one(found["repairs"]))
        assert "await" in repair
        for options in ((), ("--verbose",)):
            told, *_, call = sums.run("run-plan", name, *options).err.splitlines()[
                : 2 + len(options)
            ]
            assert told == f"[plan] repaired: {repair}"
            assert call.startswith("[tool] math.add(a=5, b=7) → 12")
        assert sums.run("run-plan", name, "--quiet").err == ""


class TestJson:
    def test_one_object_holds_all_that_happened(self, sums: Hand) -> None:
        body = "print('hi')\nreturn f'FINAL_ANSWER: {await tools.add(a=5, b=7)}'"
        found = sums.object("run-plan", write_plan(sums, body))
        call = the_one(found["calls"])
        assert isinstance(call, dict)
        assert (call["tool"], call["ok"], call["result"]) == ("math.add", True, 12)
        assert call["arguments"] == {"input": {"a": 5, "b": 7}}
        assert isinstance(call["seconds"], float)
        assert isinstance(found.pop("seconds"), float)
        del found["calls"]
        assert found == {
            "ok": True,
            "verdict": "final_answer",
            "answer": "12",
            "value": "FINAL_ANSWER: 12",
            "printed": "hi\n",
            "repairs": [],
            "failure": None,
            "exit_code": 0,
        }

    def test_it_is_there_when_the_plan_fails_too(self, hand: Hand) -> None:
        done = hand.run("run-plan", write_plan(hand, "print('hi')\nreturn 1 / 0"), "--json")
        found = json.loads(done.out)
        assert (done.code, found["exit_code"], found["ok"]) == (3, 3, False)
        assert (found["verdict"], found["answer"], found["printed"]) == (None, None, "hi\n")
        assert found["failure"] == {
            "kind": "error",
            "message": "ZeroDivisionError: division by zero",
            "line": 3,
            "text": "return 1 / 0",
        }


class TestAFailedPlan:
    def test_the_line_is_shown_with_its_number(self, hand: Hand) -> None:
        name = write_plan(hand, "x = 1\nreturn x / 0")
        done = hand.run("run-plan", name)
        assert (done.code, done.out) == (3, "")
        assert done.err == (
            f"{name}:3: the plan failed (error): ZeroDivisionError: division by zero\n"
            "  3 | return x / 0\n"
        )

    def test_a_plan_without_a_result_has_failed(self, hand: Hand) -> None:
        done = hand.run("run-plan", write_plan(hand, "pass"))
        assert (done.code, done.out) == (3, "")
        assert "the plan failed (no_verdict): solve() returned nothing" in done.err

    def test_an_answer_that_a_run_would_not_take_is_none_and_says_why(self, sums: Hand) -> None:
        body = "x = (lambda: tools.add(1, 2))()\nreturn f'FINAL_ANSWER: {x}'"
        done = sums.run("run-plan", write_plan(sums, body))
        assert (done.code, done.out) == (3, "")
        assert (
            "the plan failed (no_verdict): the answer holds a call that was never awaited"
            in done.err
        )

    def test_a_call_that_may_change_something_needs_a_yes_also_in_a_plan_by_hand(
        self, hand: Hand
    ) -> None:
        hand.write_profile(entry("able"))
        name = write_plan(hand, "return f'FINAL_ANSWER: {await tools.pid() and 1}'")
        done = hand.run("run-plan", name)
        assert (done.code, done.out) == (3, "")
        assert "able.pid was not called: it may change something" in done.err
        assert "--approve able.pid" in done.err
        assert hand.run("run-plan", name, "--approve", "able.pid").out == "1\n"

    def test_a_server_that_dies_under_a_plan_is_code_1(self, hand: Hand) -> None:
        hand.write_profile(entry("able"))
        name = write_plan(hand, "return await tools.die()")
        done = hand.run("run-plan", name, "--approve", "able.die")
        assert (done.code, done.out) == (1, "")
        assert "the plan failed (tool): server 'able'" in done.err

    def test_a_server_that_does_not_start_is_told_and_is_code_1(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"))
        done = hand.run("run-plan", write_plan(hand, "return await tools.teapot()"))
        assert (done.code, done.out) == (1, "")
        assert "no module named teapot" in done.err
        assert "there is no tools.teapot" in done.err


class TestServers:
    def test_a_plan_without_tools_starts_none(self, hand: Hand) -> None:
        starts = hand.home / "starts"
        hand.write_profile(entry("counting", str(starts)))
        body = "import json\nx = [len(json.dumps(y)) for y in range(3)]\nreturn sum(x)"
        assert hand.run("run-plan", write_plan(hand, body)).out == "3\n"
        assert not starts.exists()

    def test_what_is_no_python_is_told_with_its_line(self, hand: Hand) -> None:
        syntax = hand.run("run-plan", write_plan(hand, "return await tools.add(1"))
        assert syntax.code == 3
        assert "(syntax)" in syntax.err

    def test_only_the_named_ones_are_offered(self, hand: Hand) -> None:
        starts = hand.home / "starts"
        hand.write_profile(SUMS_SERVER, entry("counting", str(starts)))
        name = write_plan(hand, "return await tools.add(a=1, b=2)")
        assert hand.run("run-plan", name, "--tools", "math").out == "3\n"
        assert not starts.exists()
        done = hand.run("run-plan", name, "--tools", "")
        assert done.code == 3
        assert "there is no tools.add" in done.err

    @pytest.mark.parametrize(
        ("names", "told"),
        [
            ("maht", "there is no server 'maht'; did you mean math?"),
            ("math,rest", "server 'rest' is disabled"),
        ],
    )
    def test_one_that_is_unknown_or_switched_off_is_refused(
        self, sums: Hand, names: str, told: str
    ) -> None:
        done = sums.run("run-plan", write_plan(sums, "return 1"), "--tools", names)
        assert (done.code, done.out) == (2, "")
        assert told in done.err


def test_the_limits_of_the_profile_hold(hand: Hand) -> None:
    limits = "agent: {name: Test, id: t}\nsandbox: {printed_bytes: 10, source_bytes: 90}\n"
    (hand.home / "profile.yaml").write_text(limits, encoding="utf-8")
    done = hand.run("run-plan", write_plan(hand, "print('x' * 1000)\nreturn 1"))
    assert (done.code, done.out) == (3, "")
    assert "(limit): the plan printed more than 10 bytes" in done.err
    longer = hand.run("run-plan", write_plan(hand, f"return '{'x' * 100}'"))
    assert (longer.code, longer.out) == (2, "")
    assert "longer than the 90 bytes" in longer.err


def test_ctrl_c_ends_a_plan_that_spins(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, SUMS_SERVER)
    with profile.open("a", encoding="utf-8") as file:
        file.write("sandbox: {cpu_seconds: 50}\n")
    (tmp_path / "a.py").write_text(plan("await tools.add(1, 2)\nwhile True:\n    pass"))
    words = ["run-plan", "a.py", "--profile", str(profile)]
    process = subprocess.Popen(
        [sys.executable, ROOT / "agent.py", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "math.add" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def report(
    *, value: Json = None, kind: FailureKind | None = None, is_world_down: bool = False
) -> PlanReport:
    """A plan that answered, or failed in that way."""
    failed = PlanFailed(PlanFailure(kind, "so")) if kind is not None else FinalAnswer("yes")
    return PlanReport(failed, value, "", (), 0.1, is_world_down)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (report(), ExitCode.ANSWERED),
        (report(is_world_down=True), ExitCode.ANSWERED),
        (report(kind="syntax"), ExitCode.NO_ANSWER),
        (report(kind="tool"), ExitCode.NO_ANSWER),
        (report(kind="tool", is_world_down=True), ExitCode.WORLD_FAILED),
        (report(kind="error", is_world_down=True), ExitCode.NO_ANSWER),
        (report(kind="crash"), ExitCode.WORLD_FAILED),
        (report(kind="no_verdict", value=0), ExitCode.ANSWERED),
        (report(kind="no_verdict", value=None), ExitCode.NO_ANSWER),
        (report(kind="no_verdict", value=" "), ExitCode.NO_ANSWER),
        (report(kind="no_verdict", value="FINAL_ANSWER:  "), ExitCode.NO_ANSWER),
        (report(kind="no_verdict", value="FINAL_ANSWER: <object>"), ExitCode.NO_ANSWER),
    ],
)
def test_the_exit_code_says_whose_doing_it_was(found: PlanReport, code: ExitCode) -> None:
    assert found.exit_code == code
    assert (found.answer is not None) == (code == ExitCode.ANSWERED)


def test_a_failure_without_a_line_names_the_plan_and_cannot_forge_lines_of_ours() -> None:
    told = failure_text(PlanFailure("error", "one\n[loop] two"), "a.py")
    assert told == "a.py: the plan failed (error): one\n  [loop] two"
