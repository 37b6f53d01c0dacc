"""What the parts of the web engine are to each other."""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias

from core.base.frozen import frozen

Because: TypeAlias = Literal["typed", "found"]
"""Why a page is read: its address was given, or a search of this process found it."""


@frozen
class Fetched:
    """What a server sent: the last address after redirects, and its answer.

    `media_type` is lower-case without parameters, empty if none was given; `charset` is that of
    the header, or empty. `body` is decompressed, and complete.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes


@frozen
class ReadPage:
    """A page as markdown. `author` and `date` (ISO 8601) are empty where the page names none."""

    url: str
    markdown: str
    title: str = ""
    author: str = ""
    date: str = ""
    notes: tuple[str, ...] = ()


ReadFetched: TypeAlias = Callable[[Fetched], Awaitable[ReadPage]]
"""Makes text of what was fetched; raises PageUnavailable where there is nothing to read."""


@frozen
class SearchResult:
    """One hit; `position` counts from 1."""

    position: int
    title: str
    link: str
    snippet: str


class Fetcher(Protocol):
    """Fetches under guard."""

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        """What the server at a URL answers with success, redirects followed.

        With `form` or `json` it is a POST. `headers` go to the first origin only.

        Raises:
            AddressRefused: the address, or one it redirects to, may not be asked.
            PageUnavailable: no answer, one without success, or one that is too large or too slow.
            RateLimited: the server asks for a pause that is longer than the time left.
        """
        ...
