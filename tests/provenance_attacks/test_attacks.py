"""Hostile pages against the real loop: what is marked as stopped is, honest tasks go through."""

from tests.provenance_attacks.attacks import ATTACKS
from tests.provenance_attacks.count import count, undefended
from tests.provenance_attacks.honest import HONEST

SAMPLED = 5
"""Every so many attacks are played without the rule."""


async def test_attacks_are_stopped_and_honest_tasks_are_not() -> None:
    counted = await count()
    assert counted.hindered == {}
    # Those that can't be stopped do their harm here, so the others could have done theirs.
    assert counted.attacks == {case.name: not case.is_stopped for case in ATTACKS}


async def test_without_the_rule_they_do_their_harm() -> None:
    sample = ATTACKS[::SAMPLED]  # `python -m tests.provenance_attacks` plays them all
    assert await undefended(sample) == {case.name: True for case in sample}


def test_there_are_as_many_cases_as_were_promised_and_no_name_twice() -> None:
    assert min(len(ATTACKS), len(HONEST)) >= 40
    for cases in (ATTACKS, HONEST):
        assert len({case.name for case in cases}) == len(cases)
