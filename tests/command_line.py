"""Runs `agent.py` as a user would: a process of its own, its own home, a bare environment."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.forked_agent import FORK_LANG, ROOT, RUN_TIMEOUT_SECONDS, forked_agent

INDIA = "Find the ASCII values of characters in INDIA and sum their exponentials"


NO_MODEL_SERVER = {"OLLAMA_HOST": "127.0.0.1:1", "LLAMA_SERVER_URL": "http://127.0.0.1:1"}
"""No model that a developer's own machine runs is to answer a test."""


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    code: int
    out: str
    err: str


def environment(home: Path, **extra: str) -> dict[str, str]:
    """The least that a run needs, with state under `home`; no model key."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CORTEX_HOME": str(home),
        "LANG": FORK_LANG,
        **NO_MODEL_SERVER,
        **extra,
    }


def agent(
    home: Path,
    *arguments: str,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    stdout: int | None = None,
) -> Finished:
    """Run `agent.py ARGUMENTS` to its end, in a fork of a process that has imported it.

    What Python itself makes of the environment at its start is the fork's own: an `env` with
    another locale gets a fresh process. `stdout` is what it writes to, if that is not to be read.
    """
    environ = env or environment(home)
    if environ.get("LANG") != FORK_LANG:
        assert stdout is None
        return fresh_agent(home, *arguments, stdin=stdin, env=environ)
    code, out, err = forked_agent().run(arguments, stdin, environ, home, stdout)
    return Finished(code, out.decode(), err.decode())


def fresh_agent(
    home: Path, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> Finished:
    """The same with `python agent.py ARGUMENTS`, as users start it, all imports included."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "agent.py"), *arguments],
        input=stdin,
        capture_output=True,
        env=env or environment(home),
        cwd=home,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def unread(home: Path, *arguments: str) -> Finished:
    """Run it with a stdout that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return agent(home, *arguments, stdout=writer)
    finally:
        os.close(writer)


def script(folder: Path, replies: Sequence[object], name: str = "script.json") -> str:
    """Write a scripted model's replies; gives the `--model` value that names them."""
    path = folder / name
    path.write_text(json.dumps(list(replies)), encoding="utf-8")
    return f"scripted:{path}"


def plan(body: str) -> str:
    """A `solve()` around indented lines."""
    return "async def solve():\n" + "".join(f"    {line}\n" for line in body.splitlines())


def session_files(home: Path) -> list[Path]:
    """The session files of a home, oldest first."""
    return sorted((home / "memory").rglob("session-*.json"))


def write_profile(folder: Path, *servers: str, strategy: str = "") -> Path:
    """A profile with the given `mcp_servers` entries, each YAML text of one mapping."""
    entries = "".join(
        "  - " + "\n    ".join(entry.strip().splitlines()) + "\n" for entry in servers
    )
    text = "agent: {name: Test, id: cortex_r_002}\n"
    text += f"strategy: {{{strategy}}}\n" if strategy else ""
    text += f"mcp_servers:\n{entries}" if entries else ""
    path = folder / "profile.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def without_servers(folder: Path, answer: str = "12") -> list[str]:
    """Options for a run that needs no server, and so no second: a script gives the answer."""
    replies = [plan(f'return "FINAL_ANSWER: {answer}"')]
    return ["--profile", str(write_profile(folder)), "--model", script(folder, replies)]


SUMS = ROOT / "tests" / "fixtures" / "servers" / "sums_server.py"
"""Some tools of the bundled math server, started in a tenth of its time."""

SUMS_SERVER = f"id: math\nscript: {SUMS}\ndescription: arithmetic, such as add and divide"
"""It as a profile entry, in the place of the bundled one."""
