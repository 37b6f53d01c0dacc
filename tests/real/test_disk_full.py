"""A disk that is full while documents are indexed: what was written stands, and the rest comes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT
from tests.namespaces import NAMESPACES, may_mount
from tests.real.fill_index import FILES

TIMEOUT_SECONDS = 50


def test_a_full_disk_costs_no_document_that_was_written_and_more_room_brings_the_others(
    tmp_path: Path,
) -> None:
    if not may_mount():
        pytest.skip("this system gives no namespace in which a disk may be mounted")
    done = subprocess.run(
        [*NAMESPACES, sys.executable, "-m", "tests.real.fill_index", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert "no space is left" in seen["told"]
    assert 0 < seen["kept"] < FILES
    assert seen["found"] > 0
    assert seen["whole"] == FILES
    assert seen["last"] == [f"{FILES - 1}.txt"]
