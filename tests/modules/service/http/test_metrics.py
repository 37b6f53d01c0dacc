import re
from pathlib import Path

import pytest

from core.values import JsonObject
from modules.service.http.metrics import TOOLS_MAX, Metrics
from modules.service.pool import AgentPool
from modules.service.served.events import ServiceEvent
from modules.service.served.runs import Runs
from tests.modules.service.http.served import agents_of

SAMPLE = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+]+')


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(AgentPool(agents_of(tmp_path, []), lambda: 0.0))


def call(tool: str, *, fails: bool = False) -> ServiceEvent:
    data: JsonObject = {"tool": tool, "refused": False}
    return ServiceEvent(1, "tool.error" if fails else "tool.complete", data)


def test_every_line_is_of_the_format(runs: Runs) -> None:
    metrics = Metrics()
    metrics.hear(call('we"ird\\tool\nname'))
    metrics.answered("BREW", 418)
    for line in metrics.text(runs, 3).splitlines():
        assert line.startswith("# ") or SAMPLE.fullmatch(line), line


def test_names_of_tools_do_not_grow_without_bound(runs: Runs) -> None:
    metrics = Metrics()
    for number in range(TOOLS_MAX + 50):
        metrics.hear(call(f"a.tool_{number}"))
    text = metrics.text(runs, None)
    assert text.count("cortex_tool_calls_total{") == TOOLS_MAX + 1
    assert 'tool="other",outcome="ok"} 50' in text


def test_durations_fall_into_their_buckets(runs: Runs) -> None:
    metrics = Metrics()
    for seconds in (0.1, 0.3, 1_000.0):
        data: JsonObject = {"status": "done", "seconds": seconds, "usage": {}}
        metrics.hear(ServiceEvent(9, "response.done", data))
    lines = metrics.text(runs, None).splitlines()
    for bound, count in (("0.1", 1), ("0.25", 1), ("0.5", 2), ("600.0", 2), ("+Inf", 3)):
        assert f'cortex_run_duration_seconds_bucket{{le="{bound}"}} {count}' in lines
    assert "cortex_run_duration_seconds_sum 1000.4" in lines


def test_use_of_models_is_summed(runs: Runs) -> None:
    metrics = Metrics()
    usage: JsonObject = {"input_tokens": 100, "output_tokens": 20, "cost": 0.5}
    for _ in range(2):
        data: JsonObject = {"status": "done", "seconds": 1, "usage": usage}
        metrics.hear(ServiceEvent(9, "response.done", data))
    lines = metrics.text(runs, None).splitlines()
    assert 'cortex_model_tokens_total{direction="input"} 200' in lines
    assert 'cortex_model_tokens_total{direction="output"} 40' in lines
    assert "cortex_model_cost_dollars_total 1" in lines
