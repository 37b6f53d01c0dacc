"""What a run counts on and doesn't have: its working folder, and room for what it writes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT, environment, write_profile

TIMEOUT_SECONDS = 50
AGENT = shlex.join([sys.executable, str(ROOT / "agent.py")])


def in_shell(script: str, home: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        cwd=home,
        env=environment(home, **extra),
    )


class TestDeletedFolder:
    @staticmethod
    def run(home: Path, words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        profile = write_profile(home)
        gone = "mkdir gone && cd gone && rmdir ../gone"
        return in_shell(f"{gone} && {AGENT} {words} --profile {profile}", home, **extra)

    @pytest.mark.parametrize("words", ["'uppercase one'", "config show", "mcp list"])
    def test_it_is_said_and_done_without(self, words: str, tmp_path: Path) -> None:
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        done = self.run(tmp_path, words, TMPDIR=str(temporary))
        assert done.returncode == 0, done.stderr
        said = "the working folder was deleted; the run goes on in an empty one"
        assert done.stderr.count(said) == 1
        assert [*temporary.iterdir()] == [], "the empty one is gone with the run"

    def test_a_home_that_starts_from_it_is_not_made_elsewhere(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, "'uppercase one'", CORTEX_HOME="state")
        assert (done.returncode, done.stdout) == (2, "")
        assert "CORTEX_HOME=state is a path from there" in done.stderr


class TestBoundOnFiles:
    """`ulimit -f`: in units of 512 bytes, and where a file is longer, the rest is not written."""

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    @pytest.mark.parametrize("words", ["schema", "--json 'uppercase one'"])
    def test_output_that_is_cut_is_no_success(
        self, words: str, unbuffered: str, tmp_path: Path
    ) -> None:
        more = f"--profile {write_profile(tmp_path)}" if "json" in words else ""
        script = f"ulimit -f 1; exec {AGENT} {words} {more} > out"
        done = in_shell(script, tmp_path, PYTHONUNBUFFERED=unbuffered)
        assert (tmp_path / "out").stat().st_size == 512
        assert done.returncode == 1, done.stderr
        assert "the answer can't be written to stdout: File too large" in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_plan_runs_without_the_wall_that_has_no_room(self, tmp_path: Path) -> None:
        script = f"ulimit -f 1; exec {AGENT} --json 'uppercase one' --profile {{}} | cat"
        done = in_shell(script.format(write_profile(tmp_path)), tmp_path)
        assert "Traceback" not in done.stderr
        assert json.loads(done.stdout)["answer"] == "ONE"
