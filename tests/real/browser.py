"""Chromium, and the programs that visit a page with it in the environment that has Playwright."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command_line import ROOT
from tests.real.parts import PYTHON_PARTS


def chromium() -> str:
    """The browser; skips without one, but never in CI."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        message = "there is no Chromium; on Debian: apt-get install chromium"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


def visited(program: str, *words: str, home: Path, timeout_seconds: float) -> str:
    """What a program of `tests.real` prints, which gets the browser and these words."""
    done = subprocess.run(
        [str(PYTHON_PARTS / "bin" / "python"), "-m", f"tests.real.{program}", chromium(), *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
