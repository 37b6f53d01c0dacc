"""How much of ours an addition needs: files whose functions run, and CPU of importing our code."""

import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.benchmarks.table import Row, at_most
from tests.command_line import ROOT, environment

REQUEST = "add 5 and 7"
ROUNDS = 7
FILES_AIM = 100
IMPORTS_MS_AIM = 150


def measure(home: Path) -> list[Row]:
    """The client process alone, warm: its servers' tools are known and all code is compiled."""
    files_run(home)
    files = files_run(home)
    folders = Counter(str(Path(file).parent) for file in files)
    costs = [_report(home, "imports") for _ in range(ROUNDS)]
    own = statistics.median(cost["own"] for cost in costs) * 1000
    ratio = statistics.median(cost["own"] / cost["others"] for cost in costs)
    return [
        Row("files of ours that run", f"{len(files)}", at_most(len(files), FILES_AIM)),
        *(Row(f"  … in {folder}", str(count)) for folder, count in sorted(folders.items())),
        Row("importing ours, CPU", f"{own:.0f} ms", at_most(own, IMPORTS_MS_AIM, " ms")),
        Row("ours / all other imports, CPU", f"{ratio:.2f}"),
    ]


def files_run(home: Path, request: str = REQUEST) -> list[str]:
    """The files of ours whose functions run in the client process, relative to the checkout."""
    return [*_report(home, "files", request)]


def _report(home: Path, what: str, request: str = REQUEST) -> dict[str, float]:
    """What `footprint_program` reports of one run, whose answer must be right."""
    out = home / "figures.json"
    environ = environment(home)
    del environ["LLAMA_SERVER_URL"]  # an address that is named is checked; most people name none
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.footprint_program", what, str(out), request],
        env=environ,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == "12", done.stderr
    found: dict[str, float] = json.loads(out.read_text("utf-8"))
    return found
