"""Runs of the program as a collector sees them, and as users see them beside a bad collector."""

import json
import subprocess
import sys
from pathlib import Path

from tests.command_line import ROOT, Finished, agent, environment
from tests.modules.trace.otel.receiver import Received, attributes, receiving

REQUEST = "add 5 and 7"
NOT_REACHED = "[trace] spans or metrics did not reach the OpenTelemetry collector"


def traced(
    home: Path, endpoint: str, *arguments: str, stdin: bytes = b"", **extra: str
) -> Finished:
    env = environment(home, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **extra)
    return agent(home, *arguments, stdin=stdin, env=env)


def kinds(received: Received) -> list[str]:
    return sorted(span.name for span in received.spans)


def test_a_request_is_a_trace_that_its_caller_its_answer_and_its_session_name(
    tmp_path: Path,
) -> None:
    trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    with receiving() as received:
        parent = f"00-{trace}-{caller}-01"
        done = traced(tmp_path, received.endpoint, "--json", REQUEST, TRACEPARENT=parent)
    told = json.loads(done.out)
    assert (told["answer"], told["trace_id"], done.code) == ("12", trace, 0)
    assert kinds(received) == ["chat offline", "execute_tool math.add", "invoke_agent Cortex-R"]
    assert {span.trace_id.hex() for span in received.spans} == {trace}
    (run,) = received.named("invoke_agent")
    assert run.parent_span_id.hex() == caller
    assert attributes(run)["session.id"] == told["session_id"]
    assert b"add 5 and 7" not in received.raw, "contents are not sent unasked"
    shown = agent(tmp_path, "trace", "--json")
    assert json.loads(shown.out)["runs"][0]["trace_id"] == trace


def test_contents_are_sent_where_they_are_asked_for(tmp_path: Path) -> None:
    with receiving() as received:
        traced(tmp_path, received.endpoint, REQUEST, CORTEX_OTEL_CONTENT="1")
    (call,) = received.named("execute_tool")
    assert json.loads(str(attributes(call)["gen_ai.tool.call.arguments"])) == {
        "input": {"a": 5, "b": 7}
    }
    assert b"add 5 and 7" in received.raw


def test_each_line_of_a_pipe_is_a_trace_of_its_own(tmp_path: Path) -> None:
    lines = b"add 5 and 7\nadd 1 and 2\n"
    with receiving() as received:
        done = traced(tmp_path, received.endpoint, "--json", stdin=lines)
    traces = [json.loads(line)["trace_id"] for line in done.out.splitlines()]
    assert [span.trace_id.hex() for span in received.named("invoke_agent")] == traces
    assert len({*traces}) == 2


def test_a_collector_that_is_down_fails_or_hangs_changes_no_answer(tmp_path: Path) -> None:
    with receiving(500) as failing, receiving(hangs=True) as hanging:
        for endpoint in ("http://127.0.0.1:9", failing.endpoint, hanging.endpoint):
            done = traced(tmp_path, endpoint, REQUEST)
            assert (done.code, done.out) == (0, "12\n")
            assert done.err.count(NOT_REACHED) == 1
            assert done.err.splitlines()[-1].startswith(f"{NOT_REACHED} at {endpoint}: ")
        assert not hanging.gate.is_set()


PROGRAM = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from modules.app import run_agent
code = run_agent(["--no-stdin", "add 5 and 7"])
ours = ("opentelemetry.sdk", "opentelemetry.exporter", "modules.trace.otel")
print("otel:", any(name.startswith(ours) for name in sys.modules), file=sys.stderr)
sys.exit(code)
"""


def fresh(home: Path, *blocked: str, **extra: str) -> Finished:
    """The agent in a process that has imported nothing, and can't import what is blocked."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=blocked)],
        capture_output=True,
        env=environment(home, PYTHONPATH=str(ROOT), **extra),
        cwd=home,
        timeout=50,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_neither_sdk_nor_exporter_is_imported_unless_somebody_asks(tmp_path: Path) -> None:
    dead = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    disabled = {**dead, "OTEL_SDK_DISABLED": "true"}
    for variables, imported in (({}, False), (disabled, False), (dead, True)):
        done = fresh(tmp_path, **variables)
        assert (done.code, done.out) == (0, "12\n")
        assert f"otel: {imported}" in done.err


def test_an_extra_that_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    endpoint = "http://127.0.0.1:9"
    done = fresh(tmp_path, "opentelemetry.exporter", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert (done.code, done.out) == (0, "12\n")
    (line,) = [line for line in done.err.splitlines() if line.startswith("[trace]")]
    assert "opentelemetry.exporter" in line
    assert 'pip install "cortex-r[otel]"' in line
