"""What the details of a Gemini error say to programs (google.rpc.Status and its `details`).

Follows google/rpc/error_details.proto: ErrorInfo, QuotaFailure and RetryInfo.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.base.retry_after import PAUSE_SECONDS_MAX
from core.values import Json

RENEWED_SOON_SECONDS = 600.0
"""A quota that is renewed later than so is spent, as far as a run is concerned."""

DETAILS_MAX = 20
"""How many details, and violations in one, are looked at."""

_DURATION = re.compile(r"\d{1,9}(?:\.\d{1,9})?s")
"""google.protobuf.Duration as JSON."""


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """`reasons` of ErrorInfo, `quotas` by their ids, and the pause that is asked for."""

    reasons: frozenset[str] = frozenset()
    quotas: frozenset[str] = frozenset()
    retry_after_seconds: float | None = None

    @property
    def is_spent(self) -> bool:
        """Whether trying again in a while is no use: a day's quota, or a long pause."""
        pause = self.retry_after_seconds or 0.0
        return pause > RENEWED_SOON_SECONDS or any("PerDay" in quota for quota in self.quotas)


def error_details(document: Json) -> ErrorDetails:
    """The details of an error as the service sent it; what is of another form is left out."""
    reasons = set[str]()
    quotas = set[str]()
    pause: float | None = None
    for detail in _details(document):
        match detail:
            case {"reason": str() as reason}:
                reasons.add(reason)
            case {"violations": list() as violations}:
                for violation in violations[:DETAILS_MAX]:
                    match violation:
                        case {"quotaId": str() as quota}:
                            quotas.add(quota)
                        case _:
                            continue
            case {"retryDelay": str() as delay} if _DURATION.fullmatch(delay):
                pause = min(float(delay[:-1]), PAUSE_SECONDS_MAX)
            case _:
                continue
    return ErrorDetails(frozenset(reasons), frozenset(quotas), pause)


def _details(document: Json) -> Iterator[Json]:
    """The entries of `error.details`."""
    match document:
        case {"error": {"details": list() as details}}:
            yield from details[:DETAILS_MAX]
        case _:
            return
