"""A web in memory, for servers whose tools ask one."""

from servers.web.client import WebClient
from servers.web.errors import WebError
from servers.web.options import WebOptions
from servers.web.ports import SearchResult

HITS = (
    SearchResult(1, "Grey heron", "https://grey.example/", "Ardea cinerea."),
    SearchResult(2, "Marshes", "https://marsh.example/birds?id=7", ""),
)


class FakeWeb(WebClient):
    """Answers what it is given, and keeps what it was asked."""

    def __init__(self, broken: WebError | None = None) -> None:
        super().__init__(WebOptions(), {})
        self.broken = broken
        self.asked: list[object] = []
        self.closed = False

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        self._note(query, max_results)
        return list(HITS[:max_results])

    async def page(self, url: str, offset: int, characters: int, *, raw: bool = False) -> str:
        self._note(url, offset, characters, *(["raw"] if raw else []))
        return "<p>The text." if raw else f"The text.\n\n[Source: {url}]"

    async def aclose(self) -> None:
        self.closed = True

    def _note(self, *asked: object) -> None:
        self.asked.append(asked)
        if self.broken is not None:
            raise self.broken
