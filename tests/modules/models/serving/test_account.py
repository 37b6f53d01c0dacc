"""Budgets that runs share: checked before and while a run goes on, kept for the next."""

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from config.models_file import Price
from config.schema import AgentProfile, BudgetsSection
from core.errors import BudgetSpent, ConfigurationError, SpentBudget, StorageError
from core.ports import ModelReply, ModelRequest
from core.turn import RunOutcome, Usage
from modules.model_manager import ModelManager
from modules.models.scripted import Reply, ScriptedModel
from modules.models.serving.account import Budgets
from modules.models.serving.budget import FREE
from modules.models.serving.ledger import LEDGER_FILE
from modules.models.serving.watched import ChosenModel
from tests.doubles import profile
from tests.modules.models.serving.doubles import Heard

DECISION = ModelRequest("decision", "p")
NOON = datetime(2026, 11, 26, 12).timestamp()
DAY_SECONDS = 24 * 60 * 60
INTERRUPTED = RunOutcome("interrupted", None, "interrupted")


def with_budgets(**scopes: dict[str, float]) -> AgentProfile:
    """A profile with these limits."""
    section = BudgetsSection.model_validate(scopes)
    return profile().model_copy(update={"budgets": section})


def took(tokens: int, cost: float = 0.0) -> ModelReply:
    """A reply that took so much."""
    return ModelReply("x", Usage(1, tokens, 0, cost=cost))


def scripted(*replies: Reply, price: Price | None = FREE) -> ModelManager:
    return ModelManager([ChosenModel(ScriptedModel(replies), price)])


def nothing_to_end() -> bool:
    return True


class User:
    """A user in one process: budgets over a home, at noon or later."""

    def __init__(self, home: Path, limits: AgentProfile) -> None:
        self.now = NOON
        self.limits = limits
        self.budgets = Budgets(home, lambda: self.now)

    async def asks(self, *replies: Reply, session: str = "s", times: int = 1) -> ModelManager:
        """A run that asks a model so often, which has these replies."""
        manager = scripted(*replies)
        async with self.budgets.begin(self.limits, session, nothing_to_end) as account:
            with manager.paying(account), manager.telling(Heard()):
                for _ in range(times):
                    await manager.generate(DECISION)
        return manager

    async def calls(self, times: int, session: str = "s") -> None:
        """A run that sends so many calls."""
        async with self.budgets.begin(self.limits, session, nothing_to_end) as account:
            for _ in range(times):
                await account.spend_call()

    async def refusal(self, session: str = "s") -> SpentBudget:
        """Why a request would be refused, and is, with nothing asked of a model."""
        foretold = await self.budgets.spent(self.limits, session)
        with pytest.raises(BudgetSpent) as caught:
            await self.asks("never", session=session)
        refused = caught.value.budget
        assert foretold is not None
        assert refused is not None
        assert refused.is_before
        assert str(foretold) == str(caught.value)
        return refused


async def test_a_day_whose_tokens_are_used_up_refuses_the_next_run_and_tomorrow_takes_it(
    tmp_path: Path,
) -> None:
    user = User(tmp_path, with_budgets(day={"tokens": 100}))
    assert await user.budgets.spent(user.limits, None) is None
    await user.asks(took(60))
    await user.asks(took(60), session="another")
    assert await user.refusal("a third") == SpentBudget(
        "day", "tokens", 120, 100, "budgets.day.tokens", is_before=True
    )
    restarted = User(tmp_path, user.limits)
    await restarted.refusal()
    restarted.now += DAY_SECONDS
    await restarted.asks(took(10))


async def test_a_conversation_has_its_own_budget_and_profiles_do_not_share_one_of_a_name(
    tmp_path: Path,
) -> None:
    user = User(tmp_path, with_budgets(conversation={"cost": 0.5}))
    await user.asks(took(1, 0.75), session="notes")
    assert (await user.refusal("notes")).scope == "conversation"
    await user.asks("fine", session="other")
    agent = user.limits.agent.model_copy(update={"id": "another_agent"})
    user.limits = user.limits.model_copy(update={"agent": agent})
    await user.asks("fine", session="notes")
    assert b"notes" not in (tmp_path / LEDGER_FILE).read_bytes()


async def test_a_users_budget_counts_all_days_and_every_profile(tmp_path: Path) -> None:
    user = User(tmp_path, with_budgets(user={"tokens": 100}))
    await user.asks(took(50))
    user.now += DAY_SECONDS
    await user.asks(took(50))
    user.now += 400 * DAY_SECONDS
    refused = await user.refusal()
    assert (refused.scope, refused.spent) == ("user", 100)


async def test_a_run_over_midnight_is_counted_on_both_days(tmp_path: Path) -> None:
    user = User(tmp_path, with_budgets(day={"tokens": 100}))
    manager = scripted(took(90), took(20))
    async with user.budgets.begin(user.limits, "s", nothing_to_end) as account:
        with manager.paying(account):
            await manager.generate(DECISION)
            user.now += DAY_SECONDS
            await manager.generate(DECISION)
    today = user.budgets.sums(user.limits)
    assert (today["day"].tokens, today["user"].tokens) == (20, 110)
    user.now -= DAY_SECONDS
    assert user.budgets.sums(user.limits)["day"].tokens == 90


async def test_a_request_is_held_back_when_another_process_has_spent_the_rest(
    tmp_path: Path,
) -> None:
    limits = with_budgets(day={"tokens": 100})
    user, other = User(tmp_path, limits), User(tmp_path, limits)
    manager = scripted(took(10), "never")
    async with user.budgets.begin(limits, "s", nothing_to_end) as account:
        with manager.paying(account), manager.telling(Heard()):
            await manager.generate(DECISION)
            await other.asks(took(95))
            with pytest.raises(BudgetSpent, match=r"today's budget is spent: 105 of 100 tok") as c:
                await manager.generate(DECISION)
    assert c.value.budget == SpentBudget("day", "tokens", 105, 100, "budgets.day.tokens")
    assert manager.leftover == 1


async def test_a_reply_is_bounded_by_what_is_left_for_all(tmp_path: Path) -> None:
    limits = with_budgets(day={"tokens": 100}, conversation={"cost": 0.0001})
    user = User(tmp_path, limits)
    script = ScriptedModel([took(30), took(1)])
    manager = ModelManager([ChosenModel(script, Price(input=0, output=2))])
    async with user.budgets.begin(limits, "s", nothing_to_end) as account:
        with manager.paying(account):
            await manager.generate(DECISION)
            await manager.generate(replace(DECISION, max_output_tokens=500))
    assert [asked.hard_output_tokens for asked in script.requests] == [50, 50]


async def test_calls_are_counted_to_the_last_and_a_model_may_still_read_what_it_gave(
    tmp_path: Path,
) -> None:
    user = User(tmp_path, with_budgets(run={"calls": 4}, day={"calls": 5}))
    with pytest.raises(BudgetSpent, match="the run's budget is spent: 4 of 4 tool calls"):
        await user.calls(5)
    manager = scripted("read it")
    async with user.budgets.begin(user.limits, "s", nothing_to_end) as account:
        with manager.paying(account):
            paid = await asyncio.gather(
                *(account.spend_call() for _ in range(3)), return_exceptions=True
            )
            assert [type(each) for each in paid].count(BudgetSpent) == 2
            await manager.generate(DECISION)
    refused = await user.refusal()
    assert (refused.measure, refused.spent) == ("calls", 5)


async def test_a_run_ends_when_its_time_is_over_and_says_how_much_it_was(tmp_path: Path) -> None:
    limits = with_budgets(run={"seconds": 0.05})
    ended = asyncio.Event()
    ends = iter([False, True])  # at first there is nothing to interrupt yet

    def interrupt() -> bool:
        if is_there := next(ends):
            ended.set()
        return is_there

    async with Budgets(tmp_path).begin(limits, "s", interrupt) as account:
        assert account.settle(INTERRUPTED) is INTERRUPTED, "by the user"
        async with asyncio.timeout(10):
            await ended.wait()
        settled = account.settle(INTERRUPTED)
        assert account.settle(RunOutcome("done", "12", "")).answer == "12"
    assert (settled.status, settled.exit_code) == ("no_answer", 3)
    assert settled.message.startswith("No answer: the run's budget is spent: 0.")
    assert "of 0.05 s; allow more with budgets.run.seconds in the profile." in settled.message
    assert settled.budget is not None
    assert not (tmp_path / LEDGER_FILE).exists(), "the run shares its budget with nobody"


async def test_time_is_kept_and_ends_the_runs_of_a_day(tmp_path: Path) -> None:
    user = User(tmp_path, with_budgets(day={"seconds": 0.2}))
    over = asyncio.Event()

    def interrupt() -> bool:
        over.set()
        return True

    async with user.budgets.begin(user.limits, "s", interrupt), asyncio.timeout(10):
        await over.wait()
    refused = await user.refusal()
    assert refused.measure == "seconds"
    assert refused.spent >= 0.2


async def test_what_was_spent_is_kept_while_a_run_goes_on(tmp_path: Path) -> None:
    limits = with_budgets(day={"tokens": 1000})
    manager = scripted(took(10))
    async with Budgets(tmp_path).begin(limits, "s", nothing_to_end) as account:
        with manager.paying(account):
            await manager.generate(DECISION)
        assert Budgets(tmp_path).sums(limits)["day"].tokens == 10


async def test_without_a_known_price_a_budget_of_cost_is_refused_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    limits = with_budgets(day={"cost": 1})
    manager = scripted("never", price=None)
    async with Budgets(tmp_path).begin(limits, "s", nothing_to_end) as account:
        with (
            pytest.raises(ConfigurationError, match=r"budgets\.day\.cost.*with budgets\.day\.tok"),
            manager.paying(account),
        ):
            raise AssertionError("not paid")
        whole = scripted("fine")
        with whole.paying(account), pytest.raises(ConfigurationError, match="is not known"):
            manager.part(within=whole)
    assert manager.leftover == 1


async def test_a_part_of_a_run_pays_into_the_same_account(tmp_path: Path) -> None:
    limits = with_budgets(day={"tokens": 100})
    whole, role = scripted("never"), scripted(took(100), "never")
    async with Budgets(tmp_path).begin(limits, "s", nothing_to_end) as account:
        with whole.paying(account), whole.telling(Heard()):
            await role.part(within=whole).generate(DECISION)
            with pytest.raises(BudgetSpent):
                await whole.part().generate(DECISION)
    with pytest.raises(BudgetSpent):
        async with Budgets(tmp_path).begin(limits, "s", nothing_to_end):
            raise AssertionError("begun")


@pytest.mark.parametrize("is_begun", [False, True])
async def test_a_ledger_that_cannot_be_read_is_no_budget_without_end(
    tmp_path: Path, is_begun: bool
) -> None:
    limits = with_budgets(day={"tokens": 100})
    file = tmp_path / LEDGER_FILE
    if not is_begun:
        file.write_bytes(b"no database" * 100)
        with pytest.raises(StorageError, match="no budget can be held"):
            async with Budgets(tmp_path).begin(limits, "s", nothing_to_end):
                raise AssertionError("begun")
        with pytest.raises(StorageError):
            await Budgets(tmp_path).spent(limits, "s")
        return
    manager = scripted("never")
    async with Budgets(tmp_path).begin(limits, "s", nothing_to_end) as account:
        _replace_all(tmp_path)
        with manager.paying(account), pytest.raises(StorageError):
            await manager.generate(DECISION)
    assert isinstance(account.unkept, StorageError)
    assert manager.leftover == 1


def _replace_all(home: Path) -> None:
    for each in home.glob(f"{LEDGER_FILE}*"):
        each.unlink()
    (home / LEDGER_FILE).write_bytes(b"no database" * 100)


async def test_a_ledger_that_breaks_while_a_run_goes_on_ends_it_as_failed(tmp_path: Path) -> None:
    limits = with_budgets(day={"seconds": 1000})
    over = asyncio.Event()

    def interrupt() -> bool:
        over.set()
        return True

    async with Budgets(tmp_path).begin(limits, "s", interrupt) as account, asyncio.timeout(10):
        _replace_all(tmp_path)
        await over.wait()
        settled = account.settle(INTERRUPTED)
    assert (settled.status, settled.exit_code) == ("failed", 1)
    assert "no budget can be held" in settled.message


@pytest.mark.parametrize("times", [1, 3])
async def test_a_run_that_is_cancelled_while_it_writes_loses_nothing(
    tmp_path: Path, times: int
) -> None:
    limits = with_budgets(day={"tokens": 1000})
    budgets = Budgets(tmp_path)
    async with budgets.begin(limits, "s", nothing_to_end) as account:
        for _ in range(times):
            account.spend(Usage(1, 7))
            writing = asyncio.create_task(account.keep())
            await asyncio.sleep(0)
            writing.cancel()
            await asyncio.wait({writing})
    assert budgets.sums(limits)["day"].tokens == 7 * times
