"""Prints the counts; with `agentdojo`, those of AgentDojo's pairs."""

import asyncio
import sys
from itertools import product

from tests.provenance_attacks.agentdojo import replay
from tests.provenance_attacks.attacks import ATTACKS
from tests.provenance_attacks.count import count, undefended

if sys.argv[1:] == ["agentdojo"]:
    for one_plan, with_person in product((False, True), repeat=2):
        how = "all calls of a task in one plan" if one_plan else "each call in a plan of its own"
        who = "a person who allows the task's calls" if with_person else "nobody there, --approve"
        found = asyncio.run(replay(one_plan=one_plan, with_person=with_person))
        sys.stdout.write(f"{found} ({how}; {who})\n")
else:
    harmful = list(asyncio.run(undefended(ATTACKS)).values()).count(True)
    sys.stdout.write(f"{asyncio.run(count())}\n")
    sys.stdout.write(f"do harm where nothing is checked: {harmful} of {len(ATTACKS)}\n")
