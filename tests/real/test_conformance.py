"""Our client under the official conformance suite, over Streamable HTTP."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from core.values import JsonObject
from tests.command_line import environment
from tests.real.parts import ROOT, node, package

SUITE = package("conformance") / "dist" / "index.js"
CLIENT = ROOT / "tests" / "real" / "conformance_client.py"
TIMEOUT_SECONDS = 50
"""The suite gives a client 30 s of its own."""

SCENARIOS = {
    "initialize": {"mcp-client-initialization"},
    "tools_call": {"tool-add-numbers"},
    "elicitation-sep1034-client-defaults": {
        f"client-elicitation-sep1034-{kind}-default"
        for kind in ("string", "integer", "number", "enum", "boolean")
    },
    "sse-retry": {
        "client-sse-graceful-reconnect",
        "client-sse-retry-timing",
        "client-sse-last-event-id",
    },
}
"""All scenarios for clients that are not about OAuth, and the checks that each must have made."""


ATTEMPTS = {"sse-retry": 3}
"""This one wants a reconnection within 0.2 s of the time: a busy machine may be late for once."""


@dataclass(frozen=True)
class Verdict:
    """What the suite says of a client: its exit code, its checks by outcome, all that it told."""

    code: int
    checks: dict[str, set[str]]
    told: str


def judge(home: Path, client: str, scenario: str) -> Verdict:
    """Run one scenario of the suite against the client that a shell command starts."""
    options = ("--command", client, "--scenario", scenario, "--verbose")
    done = subprocess.run(
        [node() or "node", str(SUITE), "client", *options],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    checks: dict[str, set[str]] = {}
    for check in cast("list[JsonObject]", json.loads(done.stdout)):
        checks.setdefault(str(check["status"]), set()).add(str(check["id"]))
    return Verdict(done.returncode, checks, done.stdout + done.stderr)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_client_passes_the_scenario(tmp_path: Path, scenario: str) -> None:
    client = f"'{sys.executable}' '{CLIENT}'"
    verdict = judge(tmp_path, client, scenario)
    for _ in range(1, ATTEMPTS.get(scenario, 1)):
        if verdict.code:
            verdict = judge(tmp_path, client, scenario)
    assert verdict.code == 0, verdict.told
    assert "OVERALL: PASSED" in verdict.told
    assert SCENARIOS[scenario] <= verdict.checks["SUCCESS"], verdict.told
    assert not {"FAILURE", "WARNING"} & set(verdict.checks), verdict.told


def test_the_suite_does_fail_a_client_that_does_nothing(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "true", "tools_call")
    assert (verdict.code, verdict.checks) == (1, {"FAILURE": {"tool-add-numbers"}})
