"""Budgets of a run, a conversation, a user and a day: held while a run goes on, kept in a ledger.

What other runs of the user spend meanwhile counts too, in other processes as well: the sums are
read anew before each request to a model and each tool call, and each second.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Final

from config.schema import AgentProfile, BudgetsSection, RunBudget, SharedBudget
from core.base.clock import Clock, local_time
from core.base.frozen import frozen
from core.errors import BudgetScope, BudgetSpent, Measure, SpentBudget, StorageError
from core.run.answer import after_budget
from core.turn import RunOutcome, Usage
from modules.models.serving.budget import Account, dollars
from modules.models.serving.ledger import LEDGER_FILE, NOTHING, Keys, Ledger, Spent, Sums

WRITE_SECONDS: Final = 1.0
"""So often what was spent is kept while nothing else has it kept; a kill costs no more."""

AGAIN_SECONDS: Final = 0.05
"""After so long a run is interrupted again that had not begun when its time was over."""

_FOR_MODELS: Final[Set[Measure]] = {"tokens", "cost", "seconds"}
"""What has to be left for a request to a model; one that has had its last call may be read."""

_FOR_CALLS: Final[Set[Measure]] = {"calls", "seconds"}
"""What has to be left for a tool call: the tokens for its plan have been paid."""

_WHOSE: Final[Mapping[BudgetScope, str]] = {
    "run": "the run's budget",
    "conversation": "this conversation's budget",
    "user": "the user's budget",
    "day": "today's budget",
}
_ELSE: Final[Mapping[BudgetScope, str]] = {
    "conversation": "begin another conversation, or ",
    "day": "wait for tomorrow, or ",
}


@frozen
class Limit:
    """The most that a scope may spend of one measure."""

    scope: BudgetScope
    measure: Measure
    most: float

    @property
    def key(self) -> str:
        """The profile's key for it."""
        return f"budgets.{self.scope}.{self.measure}"

    def left(self, sums: Sums) -> float:
        """What is left of it."""
        return self.most - self.spent(sums)

    def error(self, sums: Sums) -> BudgetSpent | None:
        """The error if nothing is left."""
        if self.left(sums) > 0:
            return None
        told = (
            f"{_WHOSE[self.scope]} is spent: {self.told(sums)}; "
            f"{_ELSE.get(self.scope, '')}allow more with {self.key} in the profile"
        )
        spent = SpentBudget(self.scope, self.measure, self.spent(sums), self.most, self.key)
        return BudgetSpent(told, spent)

    def too_little(self, sums: Sums, wanted: float) -> BudgetSpent:
        """The error of a request that is not sent, as it would take `wanted`."""
        takes = dollars(wanted) if self.measure == "cost" else f"{wanted:,.0f} tokens"
        told = (
            f"{_WHOSE[self.scope]} has too little left for the next request, which takes about "
            f"{takes}: {self.told(sums)} are spent; {_ELSE.get(self.scope, '')}allow more with "
            f"{self.key} in the profile"
        )
        spent = SpentBudget(self.scope, self.measure, self.spent(sums), self.most, self.key)
        return BudgetSpent(told, spent)

    def told(self, sums: Sums) -> str:
        """`1,200 of 10,000 tokens`."""
        return _amount(self.measure, self.spent(sums), self.most)

    def spent(self, sums: Sums) -> float:
        """What is spent of it."""
        spent = sums.get(self.scope, NOTHING)
        match self.measure:
            case "tokens":
                return spent.tokens
            case "cost":
                return spent.cost
            case "calls":
                return spent.calls
            case "seconds":
                return spent.seconds


def limits_of(budgets: BudgetsSection) -> tuple[Limit, ...]:
    """All limits that a profile sets, those first that bound the least."""
    return (
        *_limits("run", budgets.run),
        *_limits("conversation", budgets.conversation),
        *_limits("day", budgets.day),
        *_limits("user", budgets.user),
    )


def _limits(scope: BudgetScope, budget: RunBudget | SharedBudget) -> list[Limit]:
    most: dict[Measure, float | None] = {"calls": budget.calls, "seconds": budget.seconds}
    if isinstance(budget, SharedBudget):
        most = {"tokens": budget.tokens, "cost": budget.cost, **most}
    return [Limit(scope, measure, each) for measure, each in most.items() if each is not None]


class Budgets:
    """One user's budgets, and the ledger of what was spent of them; nothing of it is open yet."""

    def __init__(self, home: Path, clock: Clock = time.time) -> None:
        """The ledger is under `home`; `clock` gives Unix seconds, and so the day."""
        self._ledger = Ledger(home / LEDGER_FILE)
        self._clock = clock

    async def spent(self, profile: AgentProfile, session_id: str | None) -> BudgetSpent | None:
        """Why a request would be refused now; None if it would begin. `session_id` may be new.

        Raises:
            StorageError: what was spent can't be read.
        """
        sums = await asyncio.to_thread(self.sums, profile, session_id)
        return _first_error(limits_of(profile.budgets), sums)

    def sums(self, profile: AgentProfile, session_id: str | None = None) -> Sums:
        """What was spent so far, by the user, today, and in a conversation; blocks for a moment.

        Raises:
            StorageError: it can't be read.
        """
        try:
            return self._ledger.read(self._keys(profile, session_id))
        finally:
            self._ledger.close()

    @asynccontextmanager
    async def begin(
        self, profile: AgentProfile, session_id: str, interrupt: Callable[[], bool]
    ) -> AsyncGenerator["RunAccount"]:
        """Within the `with`, one run, which is ended by `interrupt` when its time is over.

        `interrupt` gives whether there was something to end.

        Raises:
            BudgetSpent: nothing is left to begin with.
            StorageError: what was spent can't be read or written.
        """
        limits = limits_of(profile.budgets)
        is_shared = any(limit.scope != "run" for limit in limits)
        account = RunAccount(
            limits, self._ledger if is_shared else None, lambda: self._keys(profile, session_id)
        )
        try:
            await account.begin()
            watching = asyncio.create_task(account.watch(interrupt))
            try:
                yield account
            finally:
                watching.cancel()
                await asyncio.wait({watching})
                await account.close()
        finally:
            await asyncio.to_thread(self._ledger.close)

    def _keys(self, profile: AgentProfile, session_id: str | None) -> Keys:
        """Whose sums they are now: the day changes at midnight."""
        today = local_time(self._clock())
        keys: dict[BudgetScope, str] = {"user": ""}
        if today is not None:
            keys["day"] = today.date().isoformat()
        if session_id is not None and any(
            limit.scope == "conversation" for limit in limits_of(profile.budgets)
        ):
            # A digest, as the user may have named the session.
            name = f"{profile.agent.id}\n{session_id}".encode()
            keys["conversation"] = blake2b(name, digest_size=16).hexdigest()
        return keys


class RunAccount(Account):
    """What one run spends, held against all budgets.

    Attributes:
        cost_budgets: the profile's keys for those that bound the cost.
        ended_by: why the run was ended in the midst, if it was.
        unkept: why what was spent could not be kept at the end.
    """

    def __init__(
        self,
        limits: tuple[Limit, ...],
        ledger: Ledger | None,
        keys: Callable[[], Keys],
        clock: Clock = time.monotonic,
    ) -> None:
        """Begin to count time. Without `ledger` the run shares its budgets with nobody."""
        self._limits = limits
        self._ledger = ledger
        self._keys = keys
        self._clock = clock
        self._counted_until = clock()
        self._run = self._unwritten = self._being_written = NOTHING
        self._known: Sums = {}
        self._writing = asyncio.Lock()
        self.cost_budgets = tuple(limit.key for limit in limits if limit.measure == "cost")
        self.ended_by: BudgetSpent | StorageError | None = None
        self.unkept: StorageError | None = None

    @property
    def tokens_left(self) -> float:
        """How many tokens may still be read and written; infinite without a limit."""
        return self._left("tokens")

    @property
    def cost_left(self) -> float:
        """How many US dollars may still be spent; infinite without a limit."""
        return self._left("cost")

    @property
    def exhausted(self) -> BudgetSpent | None:
        """The error if nothing is left for a model, as far as was last seen."""
        return self._error(_FOR_MODELS)

    def refusal(self, tokens: int, cost: float) -> BudgetSpent | None:
        """The error if so much more would go beyond what is left, as far as was last seen."""
        more: Mapping[Measure, float] = {"tokens": tokens, "cost": cost}
        sums = self._sums
        for limit in self._limits:
            wanted = more.get(limit.measure, 0.0)
            if wanted and limit.scope in sums and wanted > limit.left(sums):
                return limit.too_little(sums, wanted)
        return None

    def spend(self, usage: Usage) -> None:
        """Count what a request to a model took."""
        self._count(Spent(tokens=usage.tokens, cost=usage.cost))

    async def spend_call(self) -> None:
        """Count a tool call that is about to be sent.

        Raises:
            BudgetSpent: it may not be sent.
            StorageError: it can't be counted.
        """
        if (spent := self._error(_FOR_CALLS)) is not None:
            raise spent
        self._run += Spent(calls=1)  # before others that run at the same time
        is_paid = False
        try:
            is_paid = await self._write(is_call=True)
        finally:
            if not is_paid:
                self._run += Spent(calls=-1)
        if not is_paid and (spent := self._error(_FOR_CALLS)) is not None:
            raise spent

    async def begin(self) -> None:
        """Look whether there is something left of every budget; raises as `check`."""
        await self._write()
        if (spent := self._error(_FOR_MODELS | _FOR_CALLS)) is None:
            return
        told = None if spent.budget is None else replace(spent.budget, is_before=True)
        raise BudgetSpent(str(spent), told)

    async def check(self) -> None:
        """Look at what is spent by now, by others too; of calls, another may have been the last.

        Raises:
            BudgetSpent: nothing is left for a model.
            StorageError: what was spent can't be read or written.
        """
        await self._write()
        if (spent := self.exhausted) is not None:
            raise spent

    async def keep(self) -> None:
        """Keep what was spent, so that it counts whatever happens now.

        Raises:
            StorageError: it can't be written.
        """
        await self._write()

    async def close(self) -> None:
        """Keep the last of it; there is an answer perhaps, so that an error is only noted."""
        try:
            await self._write()
        except StorageError as error:
            self.unkept = error

    async def watch(self, interrupt: Callable[[], bool]) -> None:
        """Keep what is spent, each second, and end the run when its time is over."""
        while self.ended_by is None or not interrupt():
            left = max(self._left("seconds"), 0.0) if self.ended_by is None else AGAIN_SECONDS
            await asyncio.sleep(min(WRITE_SECONDS, left))
            try:
                await self._write()
            except StorageError as error:
                self.ended_by = self.ended_by or error
            self.ended_by = self.ended_by or self._error({"seconds"})

    def settle(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome, which is no interruption by the user where a budget ended the run."""
        error = self.ended_by
        if error is None or outcome.status != "interrupted":
            return outcome
        if isinstance(error, StorageError):
            return replace(outcome, status="failed", message=str(error))
        told = after_budget(outcome.steps, str(error))
        return replace(outcome, status="no_answer", message=told, budget=error.budget)

    @property
    def _sums(self) -> Sums:
        """All that is known to be spent, by scope."""
        more = self._being_written + self._unwritten
        sums: Sums = {scope: each + more for scope, each in self._known.items()}
        return {**sums, "run": self._run}

    def _left(self, measure: Measure) -> float:
        sums = self._sums
        found = (limit.left(sums) for limit in self._limits if limit.measure == measure)
        return min(found, default=inf)

    def _count(self, spent: Spent) -> None:
        self._run += spent
        self._unwritten += spent

    def _error(self, measures: Set[Measure], sums: Sums | None = None) -> BudgetSpent | None:
        limits = tuple(limit for limit in self._limits if limit.measure in measures)
        return _first_error(limits, self._sums if sums is None else sums)

    def _may_call(self, sums: Sums) -> bool:
        return self._error(_FOR_CALLS, sums) is None

    async def _write(self, *, is_call: bool = False) -> bool:
        """Add what is not written yet to the ledger, and read what others have added.

        Gives whether a call was added, too.
        """
        async with self._writing:
            now = self._clock()
            self._count(Spent(seconds=now - self._counted_until))
            self._counted_until = now
            if self._ledger is None:
                self._unwritten = NOTHING
                return is_call
            taken, self._unwritten = self._unwritten, NOTHING
            self._being_written = taken
            may_call = self._may_call if is_call else None
            writing = asyncio.create_task(
                asyncio.to_thread(self._ledger.add, self._keys(), taken, may_call)
            )
            try:
                await asyncio.wait({writing})  # who is cancelled here leaves it to be written
                self._known, is_paid = writing.result()
            except StorageError:
                self._unwritten += taken
                raise
            finally:
                self._being_written = NOTHING
            return is_paid


def _first_error(limits: tuple[Limit, ...], sums: Sums) -> BudgetSpent | None:
    errors = (limit.error(sums) for limit in limits if limit.scope in sums)
    return next((error for error in errors if error is not None), None)


def _amount(measure: Measure, spent: float, most: float) -> str:
    match measure:
        case "tokens":
            return f"{spent:,.0f} of {most:,.0f} tokens"
        case "cost":
            return f"{dollars(spent)} of {dollars(most)}"
        case "calls":
            return f"{spent:,.0f} of {most:,.0f} tool calls"
        case "seconds":
            return f"{spent:,.1f} of {most:,g} s"
