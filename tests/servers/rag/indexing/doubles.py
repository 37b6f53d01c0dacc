"""An extractor, an embedder and a folder of documents for tests of the indexer."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from servers.rag.errors import EmbedderUnavailable
from servers.rag.library.options import DocumentOptions
from servers.rag.ports import Vectors
from servers.reading.source import Extracted, ExtractionError

LONG_AGO_NS = 1_600_000_000_000_000_000
SOON_SECONDS = 50.0


class PlainExtractor:
    """Reads text; refuses what begins with `broken`. `meanwhile` happens after each reading."""

    def __init__(self, meanwhile: Callable[[Path], None] | None = None) -> None:
        self.read: list[str] = []
        self.closed = False
        self._meanwhile = meanwhile

    def extract(self, path: Path, within_seconds: float | None = None) -> Extracted:
        text = path.read_text(encoding="utf-8")
        self.read.append(path.name)
        if self._meanwhile is not None:
            self._meanwhile(path)
        if text.startswith("broken"):
            raise ExtractionError("the file is damaged")
        return Extracted(text)

    def close(self) -> None:
        self.closed = True


class LetterEmbedder:
    """Vectors of how often letters occur; `down` makes it fail, two events hold it up."""

    name = "letters"
    dimension = 32

    def __init__(self, fingerprint: str = "letters-1") -> None:
        self.fingerprint = fingerprint
        self.embedded: list[str] = []
        self.down = False
        self.gate = threading.Event()
        self.gate.set()
        self.starting = threading.Event()
        self.starting.set()

    def start(self) -> None:
        assert self.starting.wait(SOON_SECONDS)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        assert self.gate.wait(SOON_SECONDS)
        if self.down:
            raise EmbedderUnavailable("the embedder is down")
        self.embedded += texts
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            found[row, 0] = 1
            for letter in text.lower():
                found[row, ord(letter) % self.dimension] += 1
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])

    def close(self) -> None:
        self.gate.set()
        self.starting.set()


def write(path: Path, text: str, modified_ns: int = LONG_AGO_NS) -> Path:
    """A file that has not been touched for years, unless another time is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(modified_ns, modified_ns))
    return path


def options(home: Path, **others: object) -> DocumentOptions:
    """`documents/` and `index/` below a folder."""
    folder = home / "documents"
    folder.mkdir(exist_ok=True)
    return DocumentOptions.model_validate(
        {"folders": [folder], "index_folder": home / "index", "watch": False, **others}
    )


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold while another thread works."""
    pause = threading.Event()
    return any(holds() or pause.wait(0.01) for _ in range(int(SOON_SECONDS * 100)))
