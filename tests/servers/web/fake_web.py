"""A web in memory, for servers whose tools ask one."""

from dataclasses import dataclass, field

from servers.web.errors import WebError
from servers.web.ports import SearchResult

HITS = (
    SearchResult(1, "Grey heron", "https://grey.example/", "Ardea cinerea."),
    SearchResult(2, "Marshes", "https://marsh.example/birds?id=7", ""),
)


@dataclass
class FakeWeb:
    """Answers what it is given, and keeps what it was asked."""

    broken: WebError | None = None
    asked: list[object] = field(default_factory=list[object])
    closed: bool = False

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        self._note(query, max_results)
        return list(HITS[:max_results])

    async def page(self, url: str, offset: int, characters: int) -> str:
        self._note(url, offset, characters)
        return f"The text.\n\n[Source: {url}]"

    async def source(self, url: str, offset: int, characters: int) -> str:
        self._note("source", url, offset, characters)
        return "<p>The text."

    async def aclose(self) -> None:
        self.closed = True

    def _note(self, *asked: object) -> None:
        self.asked.append(asked)
        if self.broken is not None:
            raise self.broken
