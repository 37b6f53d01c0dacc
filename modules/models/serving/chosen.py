"""One model of a chain, with what its manager must know and its backend need not."""

from dataclasses import dataclass

from config.models_file import CONCURRENT_REQUESTS, REQUEST_TIMEOUT_SECONDS, Price
from core.ports import TextModel


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A backend that was chosen; `price` is None where nobody knows it, which is not free."""

    model: TextModel
    price: Price | None = None
    timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    concurrent_requests: int = CONCURRENT_REQUESTS
