"""The links that searches of this process returned: they tell a found page from a typed one."""

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from servers.web.ports import Because, SearchResult

MAX_REMEMBERED_LINKS = 5_000
"""A hundred searches of the largest size; the oldest go first."""

DEFAULT_PORTS = {"http": 80, "https": 443}


class FoundLinks:
    """Remembers links, at most `limit` of them.

    Two ways to write one address are the same link: the case of scheme and host, a default port,
    the last dot of a host, an empty path, percent-encoding and the fragment make no difference.
    """

    def __init__(self, limit: int = MAX_REMEMBERED_LINKS) -> None:
        self._limit = limit
        self._keys: dict[str, None] = {}

    def remember(self, results: Iterable[SearchResult]) -> None:
        """Take the links of a search in; those seen before become the newest again."""
        for each in results:
            key = _key(each.link)
            self._keys.pop(key, None)
            self._keys[key] = None
        while len(self._keys) > self._limit:
            del self._keys[next(iter(self._keys))]

    def because(self, url: str) -> Because:
        """Why a page at `url` is read: a search found it, or else somebody typed it."""
        return "found" if url in self else "typed"

    def __contains__(self, url: str) -> bool:
        """Whether a search returned this address."""
        return _key(url) in self._keys

    def __len__(self) -> int:
        """How many links are remembered."""
        return len(self._keys)


def _key(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url
    scheme = parts.scheme.lower()
    shown_port = "" if port in (None, DEFAULT_PORTS.get(scheme)) else f":{port}"
    rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return f"{scheme}://{(parts.hostname or '').rstrip('.')}{shown_port}{unquote(rest)}"
