"""Prints the counts."""

import asyncio
import sys

from tests.provenance_attacks.attacks import ATTACKS
from tests.provenance_attacks.count import count, undefended

harmful = list(asyncio.run(undefended(ATTACKS)).values()).count(True)
sys.stdout.write(f"{asyncio.run(count())}\n")
sys.stdout.write(f"do harm where nothing is checked: {harmful} of {len(ATTACKS)}\n")
