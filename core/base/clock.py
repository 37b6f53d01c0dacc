"""A clock, as whoever needs the time is given one; tests bring their own."""

from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Counts seconds: from some moment (`time.monotonic`), or since 1970 (`time.time`)."""
