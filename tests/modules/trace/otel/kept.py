"""Telemetry whose spans and metrics stay in memory."""

import logging
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.sdk.metrics.export import (
    HistogramDataPoint,
    InMemoryMetricReader,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import Event, ReadableSpan, Span
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from config.schema import AgentSection
from modules.trace.otel import names
from modules.trace.otel.exporting import Telemetry
from modules.trace.otel.recording import Contents

AGENT = AgentSection(name="Cortex-R", id="cortex")


class Counting(SimpleSpanProcessor):
    """Counts the spans that were started, and exports those that ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.started = 0
        super().__init__(self.exporter)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.started += 1
        super().on_start(span, parent_context)


class Grumbles(logging.Handler):
    """What the SDK complains of as to spans, such as one that ends twice."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@dataclass
class Kept:
    """Telemetry, and what has come of it."""

    contents: Contents | None = None
    processor: Counting = field(default_factory=Counting)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    grumbles: Grumbles = field(default_factory=Grumbles)

    def __post_init__(self) -> None:
        """Open it."""
        self.telemetry = Telemetry(AGENT, [self.processor], [self.reader], self.contents)
        logging.getLogger("opentelemetry.sdk.trace").addHandler(self.grumbles)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that ended, in the order of their ends."""
        return list(self.processor.exporter.get_finished_spans())

    @property
    def open_spans(self) -> int:
        """How many were started and have not ended."""
        return self.processor.started - len(self.spans)

    def named(self, beginning: str) -> list[ReadableSpan]:
        """Those whose names begin so."""
        return [span for span in self.spans if span.name.startswith(beginning)]

    @property
    def parts(self) -> list[ReadableSpan]:
        """The runs of subtasks."""
        return [span for span in self.spans if names.SUBTASK in (span.attributes or {})]

    def points(self, metric: str) -> list[tuple[dict[str, object], float]]:
        """Attributes and sums of a metric."""
        data = self.reader.get_metrics_data()
        found: list[tuple[dict[str, object], float]] = []
        for of_resource in data.resource_metrics if data is not None else ():
            for of_scope in of_resource.scope_metrics:
                for each in of_scope.metrics:
                    for point in each.data.data_points if each.name == metric else ():
                        assert isinstance(point, HistogramDataPoint | NumberDataPoint)
                        value = point.sum if isinstance(point, HistogramDataPoint) else point.value
                        found.append((dict(point.attributes or {}), value))
        return found


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Trace id and span id in hexadecimal."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def parent_id(span: ReadableSpan) -> str:
    """The span id of what it lies in; "" for a root."""
    return "" if span.parent is None else f"{span.parent.span_id:016x}"


def told_of(span: ReadableSpan | Event) -> dict[str, object]:
    """The attributes of a span, or of an event in one."""
    return dict(span.attributes or {})
