"""Starts and ends spans under ids that were made before, and takes measurements."""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    INVALID_SPAN,
    INVALID_SPAN_ID,
    INVALID_TRACE_ID,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from core.base.clock import Clock
from core.base.redaction import Redactor
from core.base.text import one_line
from core.run.execution import ExecutionContext
from core.turn import Usage
from core.version import __version__
from modules.terminal.answer import Room, plain_json
from modules.trace.otel import names

NAME_CHARACTERS: Final = 200
"""How much of a name stands in a span: of a tool, a model, a role."""

CONTENT_CHARACTERS: Final = 20_000
"""How much of a prompt, a reply, arguments or a result a span holds."""

_MEASURED: Final = (names.OPERATION, names.PROVIDER, names.MODEL, names.AGENT_NAME, names.TOOL)
"""The attributes of spans that measurements have too: few values each."""


class PreparedIds(RandomIdGenerator):
    """Gives the span that is started next in this thread the ids that were prepared for it."""

    def __init__(self) -> None:
        """Prepare none; random ones are given then."""
        self._next = threading.local()

    def prepare(self, trace_id: str, span_id: str) -> None:
        """Hexadecimal ids, or empty texts for random ones."""
        self._next.trace_id = int(trace_id or "0", 16)
        self._next.span_id = int(span_id or "0", 16)

    def generate_trace_id(self) -> int:
        """The id of a new trace."""
        return getattr(self._next, "trace_id", INVALID_TRACE_ID) or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """The id of a new span, each prepared one once."""
        span_id: int = getattr(self._next, "span_id", INVALID_SPAN_ID)
        self._next.span_id = INVALID_SPAN_ID
        return span_id or super().generate_span_id()


class Contents:
    """Makes text for spans of what was asked, called and answered: without secrets, and bounded."""

    def __init__(self, redactor: Redactor) -> None:
        """Nothing leaves before `redactor` has gone over it."""
        self._redactor = redactor

    def text(self, text: str) -> str:
        """A text."""
        return _sendable(self._redactor.text(Room(CONTENT_CHARACTERS).text(text)))

    def json(self, value: object) -> str:
        """A value, as JSON."""
        plain = self._redactor.json(plain_json(value, room=Room(CONTENT_CHARACTERS)))
        return _sendable(json.dumps(plain, ensure_ascii=False))

    def message(self, role: str, text: str) -> str:
        """A message in the form that the conventions give them."""
        part = {"type": "text", "content": self.text(text)}
        return json.dumps([{"role": role, "parts": [part]}], ensure_ascii=False)


@dataclass
class Timed:
    """A span that is open, since when, and which of its attributes measurements have too."""

    span: Span
    began: float
    measured: dict[str, AttributeValue]


class Recording:
    """The spans and measurements of all runs of a process."""

    def __init__(
        self,
        traces: TracerProvider,
        metrics: MeterProvider,
        ids: PreparedIds,
        clock: Clock = time.perf_counter,
    ) -> None:
        """`traces` asks `ids` for the ids of spans; `clock` gives seconds."""
        self._tracer = traces.get_tracer(names.SCOPE, __version__, schema_url=names.SCHEMA_URL)
        self._ids = ids
        self._clock = clock
        meter = metrics.get_meter(names.SCOPE, __version__, names.SCHEMA_URL)
        self._tokens = _histogram(meter, names.TOKEN_USAGE)
        self._durations = _histogram(meter, names.DURATION)
        self._first_chunks = _histogram(meter, names.TIME_TO_FIRST_CHUNK)
        self._spent = _counter(meter, names.SPENT)

    def start(
        self,
        operation: str,
        name: str,
        attributes: Mapping[str, AttributeValue],
        within: Context,
        span_id: str = "",
        trace_id: str = "",
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Timed:
        """Start a span, whose name is that of its operation and what it is done to."""
        told = {names.OPERATION: operation, **attributes}
        self._ids.prepare(trace_id, span_id)
        span = self._tracer.start_span(f"{operation} {name}".rstrip(), within, kind, told)
        measured = {key: told[key] for key in _MEASURED if key in told}
        return Timed(span, self._clock(), measured)

    def end(self, timed: Timed, error: str | None = None) -> None:
        """End a span, and measure it; `error` says what kind of one it ended in."""
        measured = timed.measured
        if error is not None:
            measured = {**measured, names.ERROR_TYPE: error}
            timed.span.set_attribute(names.ERROR_TYPE, error)
            timed.span.set_status(Status(StatusCode.ERROR))
        self._durations.record(self._clock() - timed.began, measured)
        timed.span.end()

    def used(
        self, measured: Mapping[str, AttributeValue], usage: Usage, first_chunk: float | None
    ) -> None:
        """Measure what a model's reply took."""
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if tokens:
                self._tokens.record(tokens, {**measured, names.TOKEN_TYPE: kind})
        if first_chunk is not None:
            self._first_chunks.record(first_chunk, measured)
        if usage.cost:
            self._spent.add(usage.cost, measured)


def _sendable(text: str) -> str:
    """Text that can be said in UTF-8: one lone surrogate would cost all that is sent with it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def within(span: Span) -> Context:
    """The context of what happens inside a span."""
    return set_span_in_context(span, Context())


def caller_of(work: ExecutionContext | None) -> Context:
    """The context of a run: its caller's span, where one told of it."""
    if work is None or not work.parent_id:
        return within(INVALID_SPAN)
    flags = TraceFlags(TraceFlags.SAMPLED if work.is_sampled else TraceFlags.DEFAULT)
    state = TraceState.from_header([work.tracestate] if work.tracestate else [])
    ids = int(work.trace_id, 16), int(work.parent_id, 16)
    return within(NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=flags,
                                               trace_state=state)))  # fmt: skip


def model_attributes(model: str) -> dict[str, AttributeValue]:
    """Provider and model, by our name for both (`openai:gpt-6-luna`)."""
    backend, _, name = one_line(model, NAME_CHARACTERS).partition(":")
    return {
        names.PROVIDER: names.PROVIDERS.get(backend, backend),
        names.MODEL: name or backend,
    }


def usage_attributes(usage: Usage) -> dict[str, AttributeValue]:
    """What a reply took, as far as that is known."""
    told: Sequence[tuple[str, AttributeValue]] = (
        (names.INPUT_TOKENS, usage.input_tokens),
        (names.OUTPUT_TOKENS, usage.output_tokens),
        (names.CACHED_TOKENS, usage.cached_tokens),
        (names.COST, usage.cost),
    )
    return {name: value for name, value in told if value}


def _histogram(meter: Meter, about: names.MetricName) -> Histogram:
    bounds = about.buckets
    return meter.create_histogram(
        about.name, about.unit, about.description, explicit_bucket_boundaries_advisory=bounds
    )


def _counter(meter: Meter, about: names.MetricName) -> Counter:
    return meter.create_counter(about.name, about.unit, about.description)
