"""A small collector on loopback: takes spans and metrics as OTLP over HTTP, and keeps them."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

WAIT_SECONDS = 10.0


@dataclass
class Received:
    """What came, and how requests are answered: with `status`, and not before `gate` is open."""

    status: int = 200
    gate: threading.Event = field(default_factory=threading.Event)
    endpoint: str = ""
    spans: list[Span] = field(default_factory=list[Span])
    metrics: list[Metric] = field(default_factory=list[Metric])
    resource: dict[str, str] = field(default_factory=dict[str, str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    raw: bytes = b""

    def named(self, beginning: str) -> list[Span]:
        """The spans whose names begin so, in the order in which they ended."""
        return [span for span in self.spans if span.name.startswith(beginning)]

    def take(self, path: str, body: bytes) -> None:
        """Keep what a request holds."""
        self.raw += body
        if path.endswith("/v1/traces"):
            traces = ExportTraceServiceRequest.FromString(body)
            for group in traces.resource_spans:
                about = group.resource.attributes
                self.resource |= {each.key: each.value.string_value for each in about}
                for scope in group.scope_spans:
                    self.spans.extend(scope.spans)
        else:
            metrics = ExportMetricsServiceRequest.FromString(body)
            for of_resource in metrics.resource_metrics:
                for of_scope in of_resource.scope_metrics:
                    self.metrics.extend(of_scope.metrics)


def attributes(span: Span) -> dict[str, str | int | float | bool]:
    """A span's attributes as plain values."""
    found: dict[str, str | int | float | bool] = {}
    for each in span.attributes:
        kind = each.value.WhichOneof("value")
        assert kind is not None
        found[each.key] = getattr(each.value, kind)
    return found


@contextmanager
def receiving(status: int = 200, *, hangs: bool = False) -> Generator[Received]:
    """Listen on loopback while inside; one that hangs answers nobody before the end."""
    received = Received(status)
    if not hangs:
        received.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.headers.append({key.lower(): text for key, text in self.headers.items()})
            received.gate.wait(WAIT_SECONDS)
            if received.status == 200:
                received.take(self.path, body)
            self.send_response(received.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield received
    finally:
        received.gate.set()
        server.shutdown()
        thread.join(WAIT_SECONDS)
        server.server_close()
