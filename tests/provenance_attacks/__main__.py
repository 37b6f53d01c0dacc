"""Prints the counts; with `agentdojo`, those of AgentDojo's pairs."""

import asyncio
import sys

from tests.provenance_attacks.agentdojo import replay
from tests.provenance_attacks.attacks import ATTACKS
from tests.provenance_attacks.count import count, undefended

if sys.argv[1:] == ["agentdojo"]:
    for one_plan in (False, True):
        how = "all calls of a task in one plan" if one_plan else "each call in a plan of its own"
        sys.stdout.write(f"{asyncio.run(replay(one_plan=one_plan))} ({how})\n")
else:
    harmful = list(asyncio.run(undefended(ATTACKS)).values()).count(True)
    sys.stdout.write(f"{asyncio.run(count())}\n")
    sys.stdout.write(f"do harm where nothing is checked: {harmful} of {len(ATTACKS)}\n")
