"""Long pages whose main text is known, for measuring how long reading takes."""

from collections.abc import Sequence

from tests.evals.reading.content import Kind, MainText, main_text
from tests.evals.reading.sites import Build, divisions, handbook, semantic

PAGES: tuple[tuple[str, Kind, Build], ...] = (
    ("article", "article", semantic),
    ("blog with comments", "blog", divisions),
    ("documentation", "documentation", handbook),
)


def grown(kind: Kind, build: Build, size: int) -> tuple[MainText, str]:
    """A page of about so many bytes: as many texts of the kind in one as that takes."""
    texts = [main_text(kind, "0")]
    while len(html := build(_joined(texts), "reading")) < size:
        texts.append(main_text(kind, str(len(texts))))
    return _joined(texts), html


def _joined(texts: Sequence[MainText]) -> MainText:
    first = texts[0]
    blocks = tuple(block for text in texts for block in text.blocks)
    return MainText(first.kind, first.title, first.author, first.date, blocks)
