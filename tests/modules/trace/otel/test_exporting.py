"""What is sent to a collector, which variables say so, and what a bad collector costs."""

import asyncio
import os

import pytest

from core.base.redaction import Redactor
from core.events import RunFinished, RunStarted, ToolCallStarted
from core.turn import RunOutcome
from modules.trace.otel.exporting import telemetry_of
from tests.modules.trace.otel.kept import AGENT
from tests.modules.trace.otel.receiver import Received, attributes, receiving

STARTED = RunStarted("notes", "what is said", "offline", "a" * 32, "b" * 16)
DONE = RunFinished(RunOutcome("done", "3", ""))
BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


async def told(redactor: Redactor | None = None, *, runs: int = 1) -> list[str]:
    """Send runs by this process's variables; what the user is told."""
    said: list[str] = []
    telemetry = telemetry_of(AGENT, os.environ, redactor or Redactor({}), said.append)
    listener = telemetry.listener()
    async with asyncio.timeout(5):
        for _ in range(runs):
            for event in (STARTED, ToolCallStarted(1, "math.add", {"a": 1}), DONE):
                await listener(event)
        await telemetry.close()
    return said


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> object:
    with receiving() as received:
        monkeypatch.setenv(BASE, received.endpoint)
        yield received


async def test_spans_and_metrics_arrive_when_the_process_ends(
    collector: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab")
    assert await told() == []
    call, run = collector.spans
    assert (call.name, run.name) == ("execute_tool math.add", "invoke_agent Cortex-R")
    assert (run.trace_id.hex(), run.span_id.hex()) == ("a" * 32, "b" * 16)
    assert call.parent_span_id == run.span_id
    assert "gen_ai.input.messages" not in attributes(run)
    assert {metric.name for metric in collector.metrics} == {"gen_ai.client.operation.duration"}
    assert collector.resource["service.name"] == "cortex-r"
    assert collector.resource["deployment.environment.name"] == "lab"


async def test_the_service_may_have_another_name_and_contents_are_asked_for(
    collector: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "helper")
    monkeypatch.setenv("CORTEX_OTEL_CONTENT", "1")
    await told()
    assert collector.resource["service.name"] == "helper"
    assert "what is said" in str(attributes(collector.spans[-1])["gen_ai.input.messages"])


@pytest.mark.parametrize(
    ("variables", "spans", "metrics"),
    [
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True, True),
        ({"OTEL_METRICS_EXPORTER": "none"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False, True),
    ],
)
async def test_each_signal_can_be_left_out(
    collector: Received,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    spans: bool,
    metrics: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert await told() == []
    assert (bool(collector.spans), bool(collector.metrics)) == (spans, metrics)


async def test_an_endpoint_of_one_signal_asks_for_that_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with receiving() as received:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{received.endpoint}/v1/traces")
        assert await told() == [], "metrics, which nobody asked for, are sent nowhere else"
    assert received.spans
    assert not received.metrics


async def test_what_is_not_known_here_is_said(
    collector: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "console")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    first, second = await told()
    assert first == "OTEL_METRICS_EXPORTER=console is not known here; set otlp or none"
    assert second.startswith("OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken here")
    assert collector.spans
    assert not collector.metrics


async def test_what_authenticates_us_is_a_secret_from_then_on(
    collector: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20cGstbGYtMTI6c2stbGY")
    redactor = Redactor({})
    await told(redactor)
    assert collector.headers[0]["authorization"] == "Basic cGstbGYtMTI6c2stbGY"
    assert "cGstbGYtMTI6c2stbGY" not in redactor.text("sent Basic cGstbGYtMTI6c2stbGY")


async def test_a_collector_that_is_down_costs_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BASE, "http://127.0.0.1:9")
    assert await told(runs=3) == [
        "spans or metrics did not reach the OpenTelemetry collector at http://127.0.0.1:9: "
        "[Errno 111] Connection refused"
    ]


async def test_a_collector_that_fails_costs_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(500) as received:
        monkeypatch.setenv(BASE, received.endpoint)
        (line,) = await told(runs=3)
    assert "500, reason: Internal Server Error" in line
    assert received.headers, "it was asked"


async def test_a_collector_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(hangs=True) as received:
        monkeypatch.setenv(BASE, received.endpoint)
        (line,) = await told()
        assert not received.gate.is_set(), "it hangs still"
    assert line.endswith("it took nothing within 0.4 s")
