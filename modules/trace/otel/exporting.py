"""Sends spans and metrics to a collector, by OTLP over HTTP: set up from the variables OTEL_*.

A collector that is down or slow must cost nobody anything: what is exported waits in a bounded
queue, a thread of its own sends it, and the end of the process waits for it half a second at most.
No provider is made the global one: spans of libraries are none of ours.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import (
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.util.re import parse_env_headers

from config.schema import AgentSection
from core.base.causes import causes
from core.base.redaction import Redactor
from core.base.text import one_line
from core.version import __version__
from modules.trace.otel import names
from modules.trace.otel.listener import TraceListener
from modules.trace.otel.recording import Contents, PreparedIds, Recording

Say: TypeAlias = Callable[[str], None]
"""Tells the user something."""

Signal: TypeAlias = Literal["TRACES", "METRICS"]

CLOSE_SECONDS: Final = 0.4
"""So long the end of the process waits for what is not sent yet; with what is around it, 0.5 s."""

REASON_CHARACTERS: Final = 300

_ENDPOINTS: Final = (
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_PROTOCOL: Final = "http/protobuf"
_SIGNALS: Final[tuple[Signal, ...]] = ("TRACES", "METRICS")


class Exporter(Protocol):
    """What sends one signal to a collector, and tries again where it is not taken."""

    def shutdown(self) -> None:
        """Try no more."""
        ...


class Telemetry:
    """Where the spans and metrics of a process go; has a listener for each conversation."""

    def __init__(
        self,
        agent: AgentSection,
        processors: Sequence[SpanProcessor],
        readers: Sequence[MetricReader],
        contents: Contents | None = None,
        say: Say = lambda _: None,
        address: str = "",
        exporters: Sequence[Exporter] = (),
    ) -> None:
        """Hand spans to `processors` and metrics to `readers`, for a collector at `address`.

        `say` is told once what went wrong, behind the run that shows it or by `close`. `exporters`
        try no more then for a collector that did not take all in time.
        """
        resource, ids = _resource(), PreparedIds()
        self._traces = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
        for processor in processors:
            self._traces.add_span_processor(processor)
        self._metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._recording = Recording(self._traces, self._metrics, ids)
        self._agent = agent
        self._contents = contents
        self._say = say
        self._address = address
        self._exporters = exporters
        self._listeners: list[TraceListener] = []
        self._troubles = _Troubles()
        self._has_told = self._is_closed = False

    def listener(self) -> TraceListener:
        """A listener for the events of one more conversation."""
        told = self._recording, self._agent, self._contents, self._tell_loss
        self._listeners.append(made := TraceListener(*told))
        return made

    def leave(self, listener: object) -> None:
        """Forget the listener of a conversation that is over, and end what is open in it."""
        for each in [*self._listeners]:
            if each is listener:
                each.close()
                self._listeners.remove(each)

    async def close(self) -> None:
        """End all spans and send what is left, for `CLOSE_SECONDS` at most; safe to call twice."""
        if self._is_closed:
            return
        self._is_closed = True
        for listener in self._listeners:
            listener.close()
        shutdowns = self._traces.shutdown, self._metrics.shutdown
        ending = [threading.Thread(target=shutdown, daemon=True) for shutdown in shutdowns]
        for thread in ending:
            thread.start()
        await asyncio.to_thread(_join, ending)
        self._tell_loss()
        if any(thread.is_alive() for thread in ending):
            if not self._has_told:
                slow = f"it took nothing within {CLOSE_SECONDS:g} s"
                self._tell(self._troubles.passing or slow)
            for exporter in self._exporters:
                exporter.shutdown()

    def _tell_loss(self) -> None:
        if self._troubles.loss is not None and not self._has_told:
            self._tell(self._troubles.loss)

    def _tell(self, reason: str) -> None:
        self._has_told = True
        told = one_line(reason, REASON_CHARACTERS)
        where = f"the OpenTelemetry collector {self._address}".rstrip()
        self._say(f"spans or metrics did not reach {where}: {told}")


class _Troubles(logging.Handler):
    """Keeps what OpenTelemetry complains of, from any thread, in place of all its log lines.

    Attributes:
        loss: the first error, by which something was lost.
        passing: the last warning of something that may pass.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.loss: str | None = None
        self.passing: str | None = None
        logger = logging.getLogger("opentelemetry")
        logger.handlers, logger.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record's message, or the system's word for the error that it is about."""
        behind = [c for arg in record.args or () if isinstance(arg, Exception) for c in causes(arg)]
        by_system = (str(c) for c in behind if isinstance(c, OSError) and c.errno is not None)
        told = next(by_system, None) or record.getMessage()
        if record.levelno < logging.ERROR:
            self.passing = told
        elif self.loss is None:
            self.loss = self.passing or told


def telemetry_of(
    agent: AgentSection, environ: Mapping[str, str], redactor: Redactor, say: Say
) -> Telemetry:
    """What the variables OTEL_* describe; the SDK reads most of them by itself.

    Raises:
        ValueError: one of them has a value that can't be used.
    """
    redactor.learn(_header_values(environ))
    for told in _unknown(environ):
        say(told)
    is_asked = any(_is_asked(environ, signal) for signal in _SIGNALS)
    processors: list[SpanProcessor] = []
    readers: list[MetricReader] = []
    exporters: list[Exporter] = []
    if _is_wanted(environ, "TRACES", is_asked=is_asked):
        processors.append(BatchSpanProcessor(spans := OTLPSpanExporter()))
        exporters.append(spans)
    if _is_wanted(environ, "METRICS", is_asked=is_asked):
        readers.append(PeriodicExportingMetricReader(metrics := OTLPMetricExporter()))
        exporters.append(metrics)
    has_content = environ.get("CORTEX_OTEL_CONTENT", "").strip() == "1"
    contents = Contents(redactor) if has_content else None
    address = next(filter(None, map(environ.get, _ENDPOINTS)), "http://localhost:4318")
    return Telemetry(agent, processors, readers, contents, say, f"at {address}", exporters)


def _is_asked(environ: Mapping[str, str], signal: Signal) -> bool:
    """Whether a variable asks for a signal, so that the other is not meant where none does."""
    endpoint = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environ.get(_ENDPOINTS[0])
    return bool(endpoint) or bool(_exporters(environ, signal) - {"none"})


def _is_wanted(environ: Mapping[str, str], signal: Signal, *, is_asked: bool) -> bool:
    """Whether a signal is exported: where it is asked for, or nothing is but by the profile."""
    exporters = _exporters(environ, signal)
    if exporters and "otlp" not in exporters:
        return False
    return _is_asked(environ, signal) or not is_asked


def _exporters(environ: Mapping[str, str], signal: Signal) -> set[str]:
    named = environ.get(f"OTEL_{signal}_EXPORTER", "").lower().split(",")
    return {name for each in named if (name := each.strip())}


def _unknown(environ: Mapping[str, str]) -> Iterator[str]:
    """What variables ask for that there is not."""
    for signal in _SIGNALS:
        if odd := ", ".join(sorted(_exporters(environ, signal) - {"otlp", "none"})):
            yield f"OTEL_{signal}_EXPORTER={odd} is not known here; set otlp or none"
    for variable in ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"):
        if (protocol := environ.get(variable, "").strip()) not in ("", _PROTOCOL):
            yield (
                f"{variable}={protocol} is not spoken here; runs are sent as {_PROTOCOL}, "
                "for which most collectors listen on port 4318"
            )


def _header_values(environ: Mapping[str, str]) -> Iterator[str]:
    """What authenticates us to a collector."""
    for middle in ("", "TRACES_", "METRICS_"):
        headers = environ.get(f"OTEL_EXPORTER_OTLP_{middle}HEADERS", "")
        for value in parse_env_headers(headers, liberal=True).values():
            yield value
            yield value.rpartition(" ")[2]  # behind "Basic" or "Bearer"


def _resource() -> Resource:
    """What the process is to others; variables go before what we call it."""
    ours = {SERVICE_NAME: names.SCOPE, SERVICE_VERSION: __version__}
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})


def _join(threads: Sequence[threading.Thread]) -> None:
    deadline = time.monotonic() + CLOSE_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
