"""Sessions as documents of the engine: a chunk for each exchange.

The text of a document is its exchanges one after another, each below a line of its own that says
all else of it. Where an exchange begins is told by offsets (`page_starts`), so that nothing in an
answer can be taken for such a line.
"""

import json
from itertools import pairwise
from pathlib import Path

from core.base.files import FileTooLarge
from core.base.memory.exchanges import DatedExchange, read_session
from core.base.memory.indexed import PastExchange, chunk_headings, chunk_text
from servers.rag.chunking.chunker import Cut
from servers.rag.passages import Chunk
from servers.reading.source import Extracted, ExtractionError

OWN_TOOLS = frozenset({"search_memory", "recall", "remember", "forget"})

RECIPE = "exchanges 2"
"""Changes with what is made of a session: all are then read again."""


class SessionExtractor:
    """Reads the session in a file; the engine's `Extractor`."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the sessions."""
        self._folder = folder

    def extract(self, path: Path, within_seconds: float | None = None) -> Extracted:
        """The exchanges of a session; of a damaged file those that can be read.

        Raises:
            ExtractionError: it can't be read at all.
        """
        try:
            session = read_session(path)
        except (OSError, FileTooLarge) as error:
            raise ExtractionError(f"can't be read: {error}") from error
        session_id = session.session_id
        if session_id.rpartition("/")[2] != path.stem:  # a copy, or one that was renamed by hand
            session_id = path.relative_to(self._folder).with_suffix("").as_posix()
        parts: list[str] = []
        starts: list[int] = []
        length = 0
        for exchange in session.exchanges:
            if not exchange.request.strip() or _only_recalls(exchange):
                continue
            past = PastExchange(session_id, session.title, exchange)
            parts.append(f"{json.dumps(chunk_headings(past))}\n{chunk_text(exchange)}\n")
            starts.append(length)
            length += len(parts[-1])
        return Extracted("".join(parts), session.title, tuple(starts))

    def close(self) -> None:
        """Nothing is to be ended."""


def _only_recalls(exchange: DatedExchange) -> bool:
    """Whether an exchange repeats what is remembered, and would be found in its place."""
    return bool(exchange.tools) and OWN_TOOLS.issuperset(exchange.tools)


def cut_by_exchange(extracted: Extracted) -> Cut:
    """A chunk for each exchange of what `SessionExtractor` gave."""
    text = extracted.markdown
    chunks: list[Chunk] = []
    ends = (*extracted.page_starts, len(text))
    for number, (first, past) in enumerate(pairwise(ends), 1):
        start, end = text.index("\n", first) + 1, past - 1
        headings = tuple(json.loads(text[first:start]))
        chunks.append(Chunk(text[start:end], start, end, 1, number, headings))
    return Cut(chunks)
