"""What holds of every chunker's result, whatever the text: used by the tests of this folder."""

from collections.abc import Sequence

from servers.rag.chunking.chunker import CHUNK_TOKENS_MAX
from servers.rag.chunking.tokens import TokenCounter
from servers.rag.passages import Chunk
from servers.reading.source import Extracted


def assert_sound(
    extracted: Extracted, chunks: Sequence[Chunk], tokens_max: int = CHUNK_TOKENS_MAX
) -> None:
    """No text lost, in order, without overlap, within the limit, with the right places."""
    text, end, line = extracted.markdown, 0, 1
    counter = TokenCounter(text, tokens_max)
    for chunk in chunks:
        assert end <= chunk.start < chunk.end
        assert not text[end : chunk.start].strip(), "text lost between chunks"
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert counter.count(chunk.start, chunk.end) <= tokens_max
        line += _line_ends(text[end : chunk.start])
        assert chunk.line == line
        assert chunk.page == _page(extracted, chunk.start)
        end, line = chunk.end, line + _line_ends(chunk.text)
    assert not text[end:].strip(), "text lost at the end"


def _line_ends(text: str) -> int:
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _page(extracted: Extracted, offset: int) -> int | None:
    if not extracted.page_starts:
        return None
    return sum(start <= offset for start in extracted.page_starts)
