"""What showing a run costs while a model streams 100 tokens a second, against `--quiet`."""

import json
import sys
from pathlib import Path
from statistics import median

from tests.at_terminal import AtTerminal
from tests.benchmarks.table import Row, at_most, quartiles
from tests.command_line import ROOT, plan, write_profile

ROUNDS = 5
SECONDS = 6.0
WORDS = 600
"""100 a second."""

SHARE_AIM = 5.0
"""Per cent of a core."""

LINES = "\n".join(f"number_{n} = sum(range({n})) + {n} # adds up" for n in range(WORDS // 8))
TEXTS = {
    "an answer": plan(f'return "FINAL_ANSWER: {"words of an answer " * (WORDS // 4)}"'),
    "a plan": plan(f"{LINES}\nreturn 'FINAL_ANSWER: done'"),
}


def measure(home: Path) -> list[Row]:
    """The CPU time of a run that is shown and of one that is not, in turn."""
    rows: list[Row] = []
    for name, text in TEXTS.items():
        script = home / "script.json"
        script.write_text(json.dumps([{"text": text, "seconds": SECONDS}]))
        options = ["--profile", str(write_profile(home)), "--model", f"scripted:{script}", "go"]
        _cpu(home, options)
        shares: list[float] = []
        for _ in range(ROUNDS):
            quiet, shown = _cpu(home, ["--quiet", *options]), _cpu(home, options)
            shares.append((shown - quiet) / SECONDS * 100)
        low, _, high = quartiles(shares)
        told = f"{median(shares):.1f} % of a core ({low:.1f} … {high:.1f})"
        rows.append(Row(f"display while {name} streams", told, at_most(median(shares), SHARE_AIM)))
    return rows


def _cpu(home: Path, options: list[str]) -> float:
    return AtTerminal([sys.executable, str(ROOT / "agent.py"), *options], home).end()
