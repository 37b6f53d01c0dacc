"""What one run may use of its models, how many tokens one reply may have, and what they cost."""

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from math import inf
from typing import Final

from config.models_file import Price
from core.base.frozen import frozen
from core.errors import BudgetSpent, ConfigurationError, SpentBudget
from core.ports import (
    ModelRequest,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage

CHARACTERS_PER_TOKEN: Final = 4
"""Of prompts and replies whose tokens nobody has counted."""

EVERY_MODEL_WRITES = 8_192
"""Output tokens that every current model can write. A bound beyond its own limit makes a service
refuse the request, so a reply that nobody else bounds is bounded only below this."""

TOKENS_PER_PRICE = 1_000_000
"""Prices are for so many tokens."""

MOST_TOKENS = 10**12
"""More than any one request can take; what a service tells beyond is taken for this."""

FREE = Price(input=0.0, output=0.0)
"""The price of scripts, replays and whatever runs on this machine."""

_PROVIDERS: Final = {"gemini": "google"}
"""What genai-prices calls a backend's service, where that is another name."""


def output_limit(
    request: ModelRequest, entry_tokens: int | None, thinking_tokens: int = 0
) -> int | None:
    """The least of all that bounds a reply, thinking included; None where nothing does.

    A request says what its text needs, and `thinking_tokens` come on top of that. What may be
    billed is final: `hard_output_tokens`, and the entry's `max_output_tokens` as `entry_tokens`.
    """
    text = request.max_output_tokens
    needed = None if text is None else text + thinking_tokens
    limits = (needed, request.hard_output_tokens, entry_tokens)
    return min((limit for limit in limits if limit is not None), default=None)


@frozen
class RunLimits:
    """What one run may use; None is no limit.

    `max_cost` is in US dollars, `max_tokens` counts tokens read and written.
    """

    max_cost: float | None = None
    max_tokens: int | None = None

    def check_price(
        self, model_name: str, price: Price | None, cost_budgets: Sequence[str] = ()
    ) -> None:
        """Make sure that limits of the cost can be kept with a model.

        `cost_budgets` are the profile's keys for those that go beyond one run.

        Raises:
            ConfigurationError: nobody knows what it costs.
        """
        if price is not None:
            return
        if self.max_cost is not None:
            bound, instead = f"a run may cost {dollars(self.max_cost)} at most", "--max-tokens"
        elif cost_budgets:
            bound = f"the profile bounds the cost ({', '.join(cost_budgets)})"
            instead = cost_budgets[0].removesuffix("cost") + "tokens"
        else:
            return
        raise ConfigurationError(
            f"{bound}, but what {model_name} costs is not known: give its entry in "
            "config/models.json a 'price' (dollars for a million tokens, input and output), or one "
            f"of a service's own models one in 'prices'; or limit tokens instead with {instead}"
        )


NO_LIMITS = RunLimits()


class Account:
    """What goes beyond one run's models: budgets that it shares with others. Here, there are none.

    `cost_budgets` are the profile's keys for those that bound the cost.
    """

    cost_budgets: tuple[str, ...] = ()

    async def check(self) -> None:
        """Look at what is spent by now, by others too.

        Raises:
            BudgetSpent: nothing is left.
            StorageError: what is spent can't be read.
        """

    async def keep(self) -> None:
        """Keep what was spent, so that it counts whatever happens now.

        Raises:
            StorageError: it can't be written.
        """

    def spend(self, usage: Usage) -> None:
        """Count what a request took."""

    @property
    def exhausted(self) -> BudgetSpent | None:
        """The error if nothing is left, as far as was last seen."""
        return None

    def refusal(self, tokens: int, cost: float) -> BudgetSpent | None:
        """The error if so much more would go beyond what is left, as far as was last seen."""
        return None

    @property
    def tokens_left(self) -> float:
        """How many tokens may still be read and written; infinite without a limit."""
        return inf

    @property
    def cost_left(self) -> float:
        """How many US dollars may still be spent; infinite without a limit."""
        return inf


class Budget:
    """What one run has used so far, held against its limits.

    A request is held back when the limits are reached before it, or when its prompt alone is
    estimated to pass them. One that was sent may pass them by what the estimate was wrong: how many
    tokens a prompt has, only its usage tells. So may those that are under way at once.
    """

    def __init__(self, limits: RunLimits = NO_LIMITS, account: Account | None = None) -> None:
        """Nothing is used yet; `account` is of budgets that the run shares with others."""
        self._limits = limits
        self.account = account or Account()
        self.spent = Usage()

    def check_price(self, model_name: str, price: Price | None) -> None:
        """Make sure that all limits of the cost can be kept; raises as that of `RunLimits`."""
        self._limits.check_price(model_name, price, self.account.cost_budgets)

    def spend(self, usage: Usage) -> None:
        """Add what a request took, with its cost."""
        self.spent += usage
        self.account.spend(usage)

    @property
    def exhausted(self) -> BudgetSpent | None:
        """The error of a run that may use no more; None while it may."""
        limit, used = self._limits.max_tokens, self.spent.tokens
        if limit is not None and used >= limit:
            return BudgetSpent(
                f"the run is stopped: it has used {used:,} tokens, and {limit:,} are allowed; "
                "allow more with --max-tokens, or llm.max_tokens in the profile",
                SpentBudget("run", "tokens", used, limit, "llm.max_tokens"),
            )
        most, cost = self._limits.max_cost, self.spent.cost
        if most is not None and cost >= most:
            return BudgetSpent(
                f"the run is stopped: its model has cost {dollars(cost)}, and {dollars(most)} are "
                "allowed; allow more with --max-cost, or llm.max_cost in the profile",
                SpentBudget("run", "cost", cost, most, "llm.max_cost"),
            )
        return self.account.exhausted

    def admit(self, request: ModelRequest, price: Price | None, tokens: int = 0) -> ModelRequest:
        """`request`, with all that is written bounded by what is left; `price` is the model's.

        Its prompt has about so many `tokens`.

        Raises:
            BudgetSpent: nothing is left, or less than reading the prompt takes.
        """
        if (exhausted := self.exhausted or self._refusal(tokens, price)) is not None:
            raise exhausted
        tokens_left = max(self._tokens_left() - tokens, 1)
        room = min(tokens_left, self._tokens_to_buy(price, tokens))
        if request.max_output_tokens is None and room >= EVERY_MODEL_WRITES:
            return request
        hard = min(room, request.hard_output_tokens or inf)
        return replace(request, hard_output_tokens=int(hard)) if hard < inf else request

    def _tokens_left(self) -> float:
        limit = self._limits.max_tokens
        own = inf if limit is None else limit - self.spent.tokens
        return min(own, self.account.tokens_left)

    def _tokens_to_buy(self, price: Price | None, tokens: int) -> float:
        """How many tokens of output the rest of the money buys, the prompt read; at least one."""
        limit = self._limits.max_cost
        own = inf if limit is None else limit - self.spent.cost
        left = min(own, self.account.cost_left)
        if left == inf or price is None or not price.output:
            return inf
        left -= _cost_to_read(tokens, price)
        return max(left / price.output * TOKENS_PER_PRICE, 1)

    def _refusal(self, tokens: int, price: Price | None) -> BudgetSpent | None:
        """The error of a request whose prompt alone would pass a limit; it is not sent."""
        cost = _cost_to_read(tokens, price)
        limit, used = self._limits.max_tokens, self.spent.tokens
        if limit is not None and used + tokens > limit:
            return BudgetSpent(
                f"the run is stopped before its next request, which has about {tokens:,} tokens: "
                f"it has used {used:,} of the {limit:,} that are allowed; allow more with "
                "--max-tokens, or llm.max_tokens in the profile",
                SpentBudget("run", "tokens", used, limit, "llm.max_tokens"),
            )
        most, spent = self._limits.max_cost, self.spent.cost
        if most is not None and spent + cost > most:
            return BudgetSpent(
                f"the run is stopped before its next request, which costs about {dollars(cost)} to "
                f"read: its model has cost {dollars(spent)} of the {dollars(most)} that are "
                "allowed; allow more with --max-cost, or llm.max_cost in the profile",
                SpentBudget("run", "cost", spent, most, "llm.max_cost"),
            )
        return self.account.refusal(tokens, cost)


def _cost_to_read(tokens: int, price: Price | None) -> float:
    """What a prompt costs at least: a service may have it in its cache."""
    if price is None:
        return 0.0
    each = price.input if price.cached_input is None else min(price.cached_input, price.input)
    return tokens * each / TOKENS_PER_PRICE


def dollars(amount: float) -> str:
    """`amount` in US dollars: cents, or as many digits as tell small sums apart."""
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.3g}"


def listed_price(backend: str, model: str) -> Price | None:
    """What a service lists for a model, by the data that genai-prices comes with; None if nothing.

    Takes 0.2 s at first: it imports genai-prices.
    """
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    provider = _PROVIDERS.get(backend, backend)
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    prices: dict[str, object] = vars(found.get_prices(datetime.now(UTC)))

    def dollars(unit: str) -> float | None:
        """Of a price by the length of the prompt, that of the shortest."""
        price = prices.get(unit)
        price = price.base if isinstance(price, TieredPrices) else price
        return float(price) if isinstance(price, Decimal) else None

    read, written = dollars("input_mtok"), dollars("output_mtok")
    if read is None or written is None:
        return None
    return Price(input=read, output=written, cached_input=dollars("cache_read_mtok"))


def priced(usage: Usage, price: Price | None) -> Usage:
    """`usage`, as a service told it, with its cost; a cost that the service told itself holds.

    Figures that can't be are put right, as no budget should grow by a service's mistake. Calls
    without a known price are counted as unpriced.
    """
    usage = replace(
        usage,
        input_tokens=_possible(usage.input_tokens),
        output_tokens=_possible(usage.output_tokens),
        cached_tokens=min(_possible(usage.cached_tokens), _possible(usage.input_tokens)),
        cost=usage.cost if math.isfinite(usage.cost) and usage.cost > 0 else 0.0,
    )
    if usage.cost:
        return usage
    if price is None:
        return replace(usage, unpriced_calls=usage.model_calls)
    cached = price.input if price.cached_input is None else price.cached_input
    dollars = (
        (usage.input_tokens - usage.cached_tokens) * price.input
        + usage.cached_tokens * cached
        + usage.output_tokens * price.output
    )
    return replace(usage, cost=dollars / TOKENS_PER_PRICE, unpriced_calls=0)


async def with_estimates(
    deltas: AsyncGenerator[ReplyDelta, None], request: ModelRequest
) -> AsyncGenerator[ReplyDelta, None]:
    """The deltas of a reply; where its service tells no tokens, they are estimated at its end.

    Four characters are a token, roughly, in English with every current tokenizer. A limit that
    counted nothing would let everything pass.
    """
    written = 0
    async with aclosing(deltas):
        async for delta in deltas:
            match delta:
                case TextDelta(text) | ThinkingDelta(text):
                    written += len(text)
                case NativeToolCall(name, arguments):
                    written += len(name) + len(str(arguments))
                case ReplyEnd(usage) if not usage.tokens:
                    read = -(-len(request.prompt) // CHARACTERS_PER_TOKEN)
                    wrote = -(-written // CHARACTERS_PER_TOKEN)
                    told = replace(usage, input_tokens=read, output_tokens=wrote, estimated_calls=1)
                    yield replace(delta, usage=told)
                    continue
                case ReplyEnd():
                    pass
            yield delta


def _possible(tokens: int) -> int:
    return min(max(tokens, 0), MOST_TOKENS)
