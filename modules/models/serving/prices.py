"""What a model's use costs."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from config.models_file import Price
from core.turn import Usage

TOKENS_PER_PRICE = 1_000_000
"""Prices are for so many tokens."""

MOST_TOKENS = 10**12
"""More than any one request can take; what a service tells beyond is taken for this."""

FREE = Price(input=0.0, output=0.0)
"""The price of scripts, replays and whatever runs on this machine."""


_PROVIDERS: Final = {"gemini": "google"}
"""What genai-prices calls a backend's service, where that is another name."""


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


def _possible(tokens: int) -> int:
    return min(max(tokens, 0), MOST_TOKENS)
