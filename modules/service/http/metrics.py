"""Figures of the service in Prometheus' text format (0.0.4); nothing of what users said is there.

Written by hand: `prometheus-client` would be a dependency for these sixty lines.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from core.version import __version__
from modules.service.served.events import DONE, ServiceEvent
from modules.service.served.runs import Runs

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

TOOLS_MAX: Final = 300
"""So many tools are counted by name; further ones together, as `other`."""

OTHER: Final = "other"

DURATION_BOUNDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds of a run."""

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts what runs and requests do."""

    def __init__(self) -> None:
        self._answers: Counter[Labels] = Counter()
        self._runs: Counter[Labels] = Counter()
        self._calls: Counter[Labels] = Counter()
        self._used: defaultdict[str, float] = defaultdict(float)
        self._durations = [0] * (len(DURATION_BOUNDS) + 1)
        self._seconds = 0.0
        self._tools: set[str] = set()

    def answered(self, method: str, status: int) -> None:
        """Count an answer to a request."""
        method = method if method in _METHODS else OTHER
        self._answers[("method", method), ("status", str(status))] += 1

    def hear(self, event: ServiceEvent) -> None:
        """Count what an event of a run tells."""
        data = event.data
        match event.name:
            case "tool.complete" | "tool.error":
                failed = "refused" if data.get("refused") else "failed"
                outcome = "ok" if event.name == "tool.complete" else failed
                tool = self._tool(str(data.get("tool")))
                self._calls[("tool", tool), ("outcome", outcome)] += 1
            case name if name == DONE:
                self._runs[(("status", str(data.get("status"))),)] += 1
                usage = data.get("usage")
                for name, value in usage.items() if isinstance(usage, dict) else ():
                    self._used[name] += _number(value)
                seconds = _number(data.get("seconds"))
                self._seconds += seconds
                self._durations[bisect_left(DURATION_BOUNDS, seconds)] += 1
            case _:
                pass

    def text(self, runs: Runs, connections: int | None) -> str:
        """All figures as they are now."""
        begun = sum(run.has_begun for run in runs.active)
        tokens: dict[Labels, float] = {
            (("direction", name),): self._used[f"{name}_tokens"] for name in ("input", "output")
        }
        lines: list[str] = []
        for name, kind, told, values in (
            ("build_info", "gauge", "The version.", {(("version", __version__),): 1}),
            ("runs_running", "gauge", "Runs that go on.", begun),
            ("runs_queued", "gauge", "Runs that wait for their turn.", len(runs.active) - begun),
            ("draining", "gauge", "Whether no more runs are taken.", runs.is_draining),
            ("connections", "gauge", "Connections.", connections),
            ("http_requests_total", "counter", "Answered requests.", self._answers),
            ("runs_total", "counter", "Runs that ended, by how.", self._runs),
            ("tool_calls_total", "counter", "Tool calls, by outcome.", self._calls),
            ("model_tokens_total", "counter", "Tokens of models.", tokens),
            ("model_cost_dollars_total", "counter", "Cost.", self._used["cost"]),
        ):
            if values is not None:
                given = values if isinstance(values, Mapping) else {(): values}
                lines += _family(name, kind, told, given)
        lines += self._histogram()
        return "\n".join(lines) + "\n"

    def _tool(self, name: str) -> str:
        if name not in self._tools and len(self._tools) >= TOOLS_MAX:
            return OTHER
        self._tools.add(name)
        return name

    def _histogram(self) -> Iterator[str]:
        name, total = "cortex_run_duration_seconds", 0
        yield f"# HELP {name} Seconds that runs took, waiting included."
        yield f"# TYPE {name} histogram"
        for bound, count in zip((*DURATION_BOUNDS, "+Inf"), self._durations, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:g}"
        yield f"{name}_count {total}"


def _family(name: str, kind: str, told: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP cortex_{name} {told}"
    yield f"# TYPE cortex_{name} {kind}"
    for labels, value in values.items():
        pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        yield f"cortex_{name}{f'{{{pairs}}}' if pairs else ''} {float(value):.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
