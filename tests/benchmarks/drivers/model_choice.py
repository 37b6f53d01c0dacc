"""How long choosing a model takes in a fresh process, with the imports that are needed for it.

The arguments are the value of `--model` and CORTEX_HOME.
"""

import os
import sys
import time
from pathlib import Path

from config.schema import LlmSection
from config.settings import ROOT, Places
from modules.model_manager import choose_model
from tests.benchmarks.drivers.turns import say


def main() -> None:
    """Choose once, and say which and how long it took."""
    flag, home = sys.argv[1:]
    started = time.perf_counter()
    chosen = choose_model(flag, LlmSection(), Places(ROOT, Path(home)), os.environ)
    say({"seconds": time.perf_counter() - started, "model": chosen.name})


if __name__ == "__main__":
    main()
