"""What one run may use of its models: tokens, and money."""

from dataclasses import dataclass, replace

from config.models_file import Price
from core.errors import BudgetSpent, ConfigurationError
from core.ports import ModelRequest
from core.turn import Usage
from modules.models.serving.pricing import TOKENS_PER_PRICE

EVERY_MODEL_WRITES = 8_192
"""Output tokens that every current model can write. A bound beyond its own limit makes a service
refuse the request, so a reply that nobody else bounds is bounded only below this."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may use; None is no limit.

    `max_cost` is in US dollars, `max_tokens` counts tokens read and written.
    """

    max_cost: float | None = None
    max_tokens: int | None = None

    def check_price(self, model_name: str, price: Price | None) -> None:
        """Make sure that `max_cost` can be kept with a model.

        Raises:
            ConfigurationError: nobody knows what it costs.
        """
        if self.max_cost is not None and price is None:
            raise ConfigurationError(
                f"a run may cost {dollars(self.max_cost)} at most, but what {model_name} costs is "
                "not known: give its entry in config/models.json a 'price' (dollars for a million "
                "tokens, input and output), or one of a service's own models one in 'prices'; or "
                "limit tokens instead with --max-tokens"
            )


NO_LIMITS = RunLimits()


class Budget:
    """What one run has used so far, held against its limits.

    A request is held back when the limits are reached before it. One that was sent may pass them:
    how many tokens its prompt has, only its usage tells, and models that think get room for it on
    top of the reply's. So may those that are under way at once.
    """

    def __init__(self, limits: RunLimits = NO_LIMITS) -> None:
        """Nothing is used yet."""
        self._limits = limits
        self.spent = Usage()

    def spend(self, usage: Usage) -> None:
        """Add what a request took, with its cost."""
        self.spent += usage

    def admit(self, request: ModelRequest, price: Price | None) -> ModelRequest:
        """`request`, with its reply bounded by what is left; `price` is that of the model.

        Raises:
            BudgetSpent: nothing is left.
        """
        room = min(self._tokens_left(), self._tokens_to_buy(price))
        wanted = request.max_output_tokens or EVERY_MODEL_WRITES
        return replace(request, max_output_tokens=int(room)) if room < wanted else request

    def _tokens_left(self) -> float:
        limit, used = self._limits.max_tokens, self.spent.tokens
        if limit is None:
            return float("inf")
        if used >= limit:
            raise BudgetSpent(
                f"the run is stopped: it has used {used:,} tokens, and {limit:,} are allowed; "
                "allow more with --max-tokens, or llm.max_tokens in the profile"
            )
        return limit - used

    def _tokens_to_buy(self, price: Price | None) -> float:
        """How many tokens of output the rest of the money buys; at least one."""
        limit, used = self._limits.max_cost, self.spent.cost
        if limit is None:
            return float("inf")
        if used >= limit:
            raise BudgetSpent(
                f"the run is stopped: its model has cost {dollars(used)}, and {dollars(limit)} are "
                "allowed; allow more with --max-cost, or llm.max_cost in the profile"
            )
        if price is None or not price.output:
            return float("inf")
        return max((limit - used) / price.output * TOKENS_PER_PRICE, 1)


def dollars(amount: float) -> str:
    """`amount` in US dollars: cents, or as many digits as tell small sums apart."""
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.3g}"
