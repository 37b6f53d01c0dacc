"""Long counts, for `make soak`: kills by the thousand and a minute of writers.

CI runs a seeded sample of each (the tests beside the modules named here). Here every run draws a
new seed, which `--seed` repeats. `python -m tests.processes.soak [NAME…] [--kills N] [--seed N]`.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.modules.sandbox import kills as sandbox_kills
from tests.modules.session.truncation import cut_at_every_byte
from tests.processes import session_kills, session_readers
from tests.servers.rag.indexing import kills as indexing_kills

KILLS = 2000
SHARING_SECONDS = 60.0
LONG_SESSION = 10_000

Soak = Callable[[Path, int, int], str]
"""Takes an empty folder, a number of kills and a seed; gives what it counted, or fails."""


def _sessions(folder: Path, kills: int, seed: int) -> str:
    counted = session_kills.survive(folder, kills, seed)
    return (
        f"{counted.kills:,} kills of a session's writer, {counted.torn} amid an item; of "
        f"{counted.items:,} items none lost, and each of {counted.sessions} files loads"
    )


def _sharing(folder: Path, kills: int, seed: int) -> str:
    del kills, seed  # they write for a time, and nothing is drawn
    counted = session_readers.share(folder, SHARING_SECONDS)
    told = ", ".join(f"{role} {number:,}" for role, number in counted.items())
    return f"two writers and three readers for {SHARING_SECONDS:g} s, nothing lost: {told}"


def _truncation(folder: Path, kills: int, seed: int) -> str:
    del kills, seed
    cuts = cut_at_every_byte(folder, LONG_SESSION)
    return f"{LONG_SESSION:,} items, cut off at each of the last {cuts:,} bytes: whole items stay"


def _indexing(folder: Path, kills: int, seed: int) -> str:
    indexing_kills.survive(folder, kills, seed)
    return f"{kills} kills of an indexer, each left whole and completed"


def _plans(folder: Path, kills: int, seed: int) -> str:
    del folder
    plans = kills * sandbox_kills.EVERY // 10  # 10,000 unless it is said otherwise
    counted = asyncio.run(sandbox_kills.survive(plans, seed))
    return f"{plans:,} plans, {counted.kills} workers killed, {counted.lost} plans lost with theirs"


SOAKS: dict[str, Soak] = {
    "plans": _plans,
    "sessions": _sessions,
    "sharing": _sharing,
    "truncation": _truncation,
    "indexing": _indexing,
}


def main() -> int:
    """Run the soaks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.processes.soak", description=__doc__)
    # Python checks the default of a list that may be empty as if it were one of the choices.
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[*SOAKS, []], default=[])
    parser.add_argument("--kills", metavar="N", type=int, default=KILLS)
    parser.add_argument("--seed", metavar="N", type=int)
    asked = parser.parse_args()
    seed: int = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    for name in asked.names or SOAKS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            told = SOAKS[name](Path(folder), asked.kills, seed)
        sys.stdout.write(f"{name}: {told} ({time.monotonic() - begin:.0f} s)\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
