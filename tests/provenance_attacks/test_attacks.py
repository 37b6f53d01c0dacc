"""Hostile pages against the real loop: what is marked as stopped is, honest tasks go through."""

import ast
import asyncio
from dataclasses import replace

from modules.sandbox import Sandbox
from tests.provenance_attacks.attacks import ATTACKS
from tests.provenance_attacks.cases import Case, play
from tests.provenance_attacks.count import TIMEOUT_SECONDS, count, undefended
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


async def test_a_value_from_memory_is_refused_as_one_in_the_plan() -> None:
    """Each value of a second plan is put into memory by the first, before anything was read."""
    attacks = [case for case in ATTACKS if len(case.plans) == 2]
    assert len(attacks) > 50
    async with asyncio.timeout(TIMEOUT_SECONDS), Sandbox() as sandbox:
        for case in attacks:
            direct, kept = await play(case, sandbox), await play(by_memory(case), sandbox)
            assert (kept.refusals, kept.sent) == (direct.refusals, direct.sent), case.name
            assert kept.outcome.answer == direct.outcome.answer, case.name


def by_memory(case: Case) -> Case:
    """The attack with all texts of its second plan taken from memory."""
    first, second = case.plans
    keeping = _Keeping()
    body = ast.unparse(keeping.visit(ast.parse(second)))
    puts = [f"memory['{n}'] = {text!r}" for n, text in enumerate(keeping.texts)]
    return replace(case, plans=("\n".join((*puts, first)), body))


class _Keeping(ast.NodeTransformer):
    """Puts `memory['0']` and so on in the place of texts, but for verdicts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Part of no call here."""
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """One text."""
        if not isinstance(node.value, str) or "FINAL_ANSWER" in node.value:
            return node
        self.texts.append(node.value)
        return ast.parse(f"memory['{len(self.texts) - 1}']", mode="eval").body


def test_there_are_as_many_cases_as_were_promised_and_no_name_twice() -> None:
    assert min(len(ATTACKS), len(HONEST)) >= 40
    for cases in (ATTACKS, HONEST):
        assert len({case.name for case in cases}) == len(cases)
