"""Our index of vectors over Milvus Lite: the contract that the one in memory keeps, too."""

import json
import os
import subprocess

import pytest

from tests.real.milvus_contract import OWN_CHECKS
from tests.real.parts import PYTHON_PARTS, ROOT
from tests.servers.rag.vectors.contract import CHECKS

RUN_TIMEOUT_SECONDS = 120
"""It takes about ten; importing pymilvus is the larger part."""


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """What each check raised, from one run of all."""
    if not list(PYTHON_PARTS.glob("lib/python*/site-packages/milvus_lite")):
        message = "milvus-lite is not installed; 'make test-real' does that"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    folder = tmp_path_factory.mktemp("milvus")
    done = subprocess.run(
        [str(PYTHON_PARTS / "bin" / "python"), "-m", "tests.real.milvus_contract", str(folder)],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["check"]: result["failure"] for result in results}


@pytest.mark.timeout(RUN_TIMEOUT_SECONDS + 10)
@pytest.mark.parametrize("check", [*CHECKS, *OWN_CHECKS])
def test_milvus_lite_keeps_the_contract(failures: dict[str, str | None], check: str) -> None:
    assert failures[check] is None, failures[check]
