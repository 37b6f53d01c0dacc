"""How much of a file is read, and for how long."""

import time
from collections.abc import Callable

from core.base.frozen import frozen

MEBIBYTE = 1024 * 1024

HANDING_IN_SECONDS = 15.0
"""Kept back from the time of a file, so that what was read until then can be handed in."""


@frozen
class Limits:
    """Bounds for one file.

    After `seconds` of the processor, or `waiting` times as long by the clock (others use the
    machine too), its reading is ended from outside; each scanned page grants `seconds_a_scan` more,
    up to `seconds_in_all`. `pictures` inside a document are described, for at most
    `picture_seconds`, each scaled down to `picture_pixels`; one above `picture_pixels_max` is not
    even decoded. `unpacked_bytes` is what a packed format (docx, epub) may hold.
    """

    file_bytes: int = 100 * MEBIBYTE
    unpacked_bytes: int = 500 * MEBIBYTE
    markdown_chars: int = 20_000_000
    seconds: float = 120.0
    seconds_a_scan: float = 5.0
    seconds_in_all: float = 600.0
    waiting: float = 3.0
    pages: int = 5_000
    rows: int = 50_000
    columns: int = 200
    cell_chars: int = 2_000
    pictures: int = 20
    picture_seconds: float = 30.0
    picture_pixels: int = 4_000_000
    picture_pixels_max: int = 64_000_000


def no_more(scans: int) -> None:
    """Grant no time for scans; for those that nobody ends from outside."""


class Clock:
    """How long the reading of one file may still go on."""

    def __init__(
        self,
        limits: Limits,
        announce_scans: Callable[[int], None] = no_more,
        now: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
    ) -> None:
        """The time runs from here; `announce_scans` tells whoever would end the reading.

        `now` is the clock, `used` what this process had of the processor, both in seconds.
        """
        self._limits = limits
        self._announce_scans = announce_scans
        self._now, self._begun = now, now()
        self._used, self._used_before = used, used()
        self._seconds = limits.seconds

    def left(self) -> float:
        """Seconds until the reader has to hand in what it has; below 0 when it is late."""
        seconds = self._seconds - min(HANDING_IN_SECONDS, self._limits.seconds / 4)
        by_processor = seconds - (self._used() - self._used_before)
        by_clock = seconds * self._limits.waiting - (self._now() - self._begun)
        return min(by_processor, by_clock)

    def grant_scans(self, count: int) -> None:
        """Allow more time, for pages that have to be read from their picture."""
        self._seconds = seconds_with_scans(self._limits, count)
        self._announce_scans(count)


def seconds_with_scans(limits: Limits, scans: int) -> float:
    """The processor's time for a file with so many scanned pages."""
    wanted = limits.seconds + scans * limits.seconds_a_scan
    return min(wanted, max(limits.seconds, limits.seconds_in_all))
