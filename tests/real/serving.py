"""A service for the page."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.command_line import ROOT, environment, plan, script, write_profile

END_SECONDS = 30
SERVERS = ROOT / "tests" / "fixtures" / "servers"
GATE = f"id: gate\nscript: {SERVERS / 'gated_server.py'}\nargs: [GATES]"
"""The gated server, as an entry of a profile."""

PLANS, CALLS = 5, 199
"""A plan makes 200 calls at most; each is told when it begins and when it ends."""


def calls(tool: str, arguments: str = "") -> str:
    """A plan that answers with what a tool gives."""
    return plan(f"given = await tools.{tool}({arguments})\nreturn f'FINAL_ANSWER: {{given}}'")


@contextmanager
def serving(
    home: Path, replies: Sequence[object], *servers: str, words: Sequence[str] = (), **env: str
) -> Generator[str]:
    """Where a service with a script for a model listens."""
    entries = [each.replace("GATES", str(home / "gates")) for each in servers]
    profile = write_profile(home, *entries, strategy=f"max_steps: {PLANS}")
    limits = f"sandbox: {{tool_calls: {CALLS}, tool_calls_at_once: 20}}\n"
    profile.write_text(profile.read_text(encoding="utf-8") + limits, encoding="utf-8")
    ends = ["--port", "0", "--json", "--drain-seconds", "1"]
    model = ["--profile", str(profile), "--model", script(home, replies)]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "agent.py"), "serve", *ends, *words, *model],
        env=environment(home, **env),
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as service:
        assert service.stdout is not None
        try:
            yield str(json.loads(service.stdout.readline())["url"])
        finally:
            service.terminate()
            service.wait(END_SECONDS)
