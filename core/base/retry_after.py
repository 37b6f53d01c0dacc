"""How long a service asks to be left alone (RFC 9110, 10.2.3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

PAUSE_SECONDS_MAX = 86_400.0
"""A service that asks for a longer pause is taken to ask for this one."""

DIGITS_MAX = 20
"""A number of more digits is no pause."""

DATE_CHARACTERS_MAX = 64


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause that a response's `headers` ask for, in bounds; None where they ask for none.

    `retry-after` in seconds or as a date, or the finer `retry-after-ms` that OpenAI sends. A date
    counts from the response's own, where it has one, so that clocks need not agree. The names are
    in small letters: who has others gives a mapping that does not tell them apart.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return min(milliseconds / 1000, PAUSE_SECONDS_MAX)
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is None:
        seconds = _seconds_until(value, headers.get("date", ""))
    return None if seconds is None else min(seconds, PAUSE_SECONDS_MAX)


def _number(text: str) -> float | None:
    """A decimal number of few digits, such as OpenAI and Groq send with fractions too."""
    whole, _, fraction = text.strip().partition(".")
    digits = whole + fraction
    if not digits.isascii() or not digits.isdecimal() or len(digits) > DIGITS_MAX:
        return None
    return float(f"{whole or '0'}.{fraction or '0'}")


def _seconds_until(date: str, sent: str) -> float | None:
    """From when the response was sent to a date of HTTP, 0 where it is over."""
    # Hardly ever needed, and at start-up each import counts.
    from datetime import UTC, datetime

    until = _moment(date)
    if until is None:
        return None
    return max((until - (_moment(sent) or datetime.now(UTC))).total_seconds(), 0.0)


def _moment(date: str) -> "datetime | None":
    """A date of HTTP; None where it is none."""
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(date[:DATE_CHARACTERS_MAX])
    except (ValueError, OverflowError):  # the latter for numbers of too many digits
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
