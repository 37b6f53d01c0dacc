"""What a bundled server logs: without secrets, and within a call with the trace of the call."""

import logging

from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span

from core.base.redaction import Redactor
from servers.shared.bootstrap import LogFormatter


def test_a_record_names_the_trace_of_the_call_that_is_worked_on() -> None:
    formatter = LogFormatter("box server: %(message)s", Redactor({"API_TOKEN": "0123456789"}))
    record = logging.makeLogRecord({"msg": "failed with 0123456789"})
    plain = "box server: failed with [redacted API_TOKEN]"
    assert formatter.format(record) == plain
    with use_span(NonRecordingSpan(SpanContext(0xA1, 0xB2, is_remote=True))):
        assert formatter.format(record) == f"trace {'0' * 30}a1 {plain}"
