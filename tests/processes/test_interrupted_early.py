"""Ctrl-C while the program is still being loaded, at any module that it imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT, environment, write_profile

AT_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == os.environ["INTERRUPTED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""
"""Presses Ctrl-C when a module is looked for; Python reads it before the program."""

TIMEOUT_SECONDS = 30


def interrupted_at(module: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(AT_IMPORT)
    return subprocess.run(
        [sys.executable, str(ROOT / "agent.py"), *words, "--profile", str(write_profile(tmp_path))],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env={**environment(tmp_path), "INTERRUPTED_AT": module, "PYTHONPATH": os.fspath(hook)},
    )


@pytest.mark.parametrize(
    "module",
    [
        "modules.app",
        "pydantic_core._pydantic_core",  # in it, an exception becomes another that nobody meets
        "config.schema",
        "yaml",
        "modules.cli.interaction",
        "modules.conversation",
        "core.loop",
    ],
)
def test_it_ends_a_request_with_a_word_and_nothing_else(module: str, tmp_path: Path) -> None:
    done = interrupted_at(module, tmp_path, "add 5 and 7")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("module", ["modules.app", "modules.cli.config"])
def test_it_ends_a_command_likewise(module: str, tmp_path: Path) -> None:
    done = interrupted_at(module, tmp_path, "config", "show")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_who_wants_json_gets_it(tmp_path: Path) -> None:
    done = interrupted_at("modules.conversation", tmp_path, "--json", "add 5 and 7")
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    result = json.loads(done.stdout)
    assert (result["status"], result["exit_code"]) == ("interrupted", 130)
