"""The rules of sites that were asked lately, so that robots.txt is not fetched for each page."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from servers.web.fetching.robots import Rules
from servers.web.targets import Target

FRESH_SECONDS = 60 * 60.0
"""RFC 9309, 2.4, allows a day; within a long session a site may change its mind."""

FAULT_SECONDS = 60.0
"""A site that couldn't say anything is asked again sooner."""

SITES_MAX = 256


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a site's robots.txt said; `fault` tells why it could not be read, empty if it could."""

    rules: Rules
    fault: str = ""


@dataclass(slots=True)
class _Site:
    ruling: Ruling | None = None
    until: float = 0.0
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


class RobotsCache:
    """Rulings by origin, the last ones used; each is asked for once, however many wait for it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def ruling(self, target: Target, ask: Callable[[Target], Awaitable[Ruling]]) -> Ruling:
        """The ruling of a target's site, by `ask` if it is not known."""
        site = self._sites.setdefault(target.origin, _Site())
        self._sites.move_to_end(target.origin)
        while len(self._sites) > SITES_MAX:
            self._sites.popitem(last=False)
        async with site.asking:
            if site.ruling is None or site.until <= self._clock():
                site.ruling = await ask(target)
                site.until = self._clock() + (FAULT_SECONDS if site.ruling.fault else FRESH_SECONDS)
            return site.ruling
