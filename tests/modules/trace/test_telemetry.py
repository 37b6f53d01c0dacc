"""Whether runs go to a collector: by the profile and the variables of OpenTelemetry."""

import pytest

from config.schema import TraceSection
from core.base.redaction import Redactor
from modules.trace.telemetry import open_telemetry
from tests.doubles import profile

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("otel", "environ", "asked"),
    [
        ("auto", {}, False),
        ("auto", ENDPOINT, True),
        ("auto", {"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ("auto", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9"}, True),
        ("auto", {"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ("auto", {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, False),
        ("auto", {"OTEL_SERVICE_NAME": "mine"}, False),
        ("auto", {**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, False),
        (True, {}, True),
        ("on", {"OTEL_SDK_DISABLED": "true"}, False),
        (False, ENDPOINT, False),
    ],
)
def test_who_asks_for_it(otel: object, environ: dict[str, str], asked: bool) -> None:
    assert TraceSection.model_validate({"otel": otel}).is_exported(environ) is asked


def test_nobody_who_does_not_ask_gets_any() -> None:
    said: list[tuple[str, str]] = []

    def say(stage: str, text: str) -> None:
        said.append((stage, text))

    assert open_telemetry(profile(), {}, Redactor({}), say) is None
    assert said == []
