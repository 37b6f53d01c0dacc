"""Budgets of a user whose conversations run at the same time, in one agent."""

import asyncio
from pathlib import Path

from config.schema import BudgetsSection
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from core.errors import SpentBudget
from modules.models.serving.account import Budgets
from modules.models.serving.ledger import LEDGER_FILE
from modules.service.agents import Agent, AgentSetting
from tests.command_line import plan, script
from tests.doubles import profile
from tests.modules.talks import nobody


def agent_of(user: Path, model: str, **budgets: dict[str, float]) -> Agent:
    """The agent of a user whose state lies in a folder, without servers."""
    limits = BudgetsSection.model_validate(budgets)
    return Agent(
        AgentSetting(
            places=Places(ROOT, user),
            shared=Places(ROOT, user.parent),
            profile=profile().model_copy(update={"budgets": limits}),
            profile_file=user / "profiles.yaml",
            environ={},
            redactor=Redactor({}),
            model=model,
        )
    )


def replies(folder: Path, tokens: int, count: int) -> str:
    text = plan('return "FINAL_ANSWER: 12"')
    one = {"text": text, "usage": {"input_tokens": tokens}}
    return script(folder, [one] * count)


async def test_conversations_at_once_share_the_day_of_their_user_and_no_other_users(
    tmp_path: Path,
) -> None:
    ann, ben = tmp_path / "ann", tmp_path / "ben"
    model = replies(tmp_path, 6_000, 4)
    async with agent_of(ann, model, day={"tokens": 10_000}) as agent:
        talks = [agent.conversation() for _ in range(2)]
        outcomes = await asyncio.gather(*(talk.ask("hm?", nobody) for talk in talks))
        assert [outcome.answer for outcome in outcomes] == ["12", "12"]
        refused = await talks[0].ask("hm?", nobody)
        spent = await Budgets(ann).spent(agent.setting.profile, talks[0].session_id)
        for talk in talks:
            await talk.aclose()
    assert (refused.status, refused.exit_code, refused.steps) == ("no_answer", 3, ())
    assert refused.budget == SpentBudget(
        "day", "tokens", 12_000, 10_000, "budgets.day.tokens", is_before=True
    )
    assert spent is not None
    async with agent_of(ben, model, day={"tokens": 10_000}) as agent:
        talk = agent.conversation()
        assert (await talk.ask("hm?", nobody)).answer == "12"
        await talk.aclose()
    assert (ben / LEDGER_FILE).stat().st_mode & 0o777 == 0o600
