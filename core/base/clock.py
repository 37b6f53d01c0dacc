"""A clock, as whoever needs the time is given one; tests bring their own. Moments as text."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Counts seconds: from some moment (`time.monotonic`), or since 1970 (`time.time`)."""


def moment(unix_seconds: float) -> str:
    """A time as this machine's clock shows it, in minutes."""
    when = local_time(unix_seconds)
    if when is None:
        return "at an unknown time"
    return when.isoformat(sep=" ", timespec="minutes")[:16]


def local_time(unix_seconds: float) -> datetime | None:
    """The same as a date; None for what is no time, as a file may hold any number."""
    try:
        return datetime.fromtimestamp(unix_seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
