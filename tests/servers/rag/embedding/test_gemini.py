"""The Gemini embedder against a server on loopback that speaks batchEmbedContents."""

from collections.abc import Iterator

import pytest

from servers.rag.embedding.gemini import open_gemini
from servers.rag.embedding.remote import RemoteEmbedder
from servers.rag.errors import EmbedderUnavailable
from tests.servers.shared.service_double import Answer, ServiceDouble, service_double

KEY = "AIza-not-a-key"
AT_ONCE = (0.0, 0.0, 0.0)


@pytest.fixture
def service() -> Iterator[ServiceDouble]:
    with service_double() as double:
        yield double


def opened(service: ServiceDouble, model: str = "gemini-embedding-001") -> RemoteEmbedder:
    return service.is_left_by(open_gemini(model, {"GEMINI_API_KEY": KEY}, service.url, AT_ONCE))


def vectors(count: int) -> Answer:
    return Answer({"embeddings": [{"values": [0.5, 0.0] * 384} for _ in range(count)]})


def test_each_text_is_a_request_with_its_task_and_the_key_stands_in_a_header(
    service: ServiceDouble,
) -> None:
    embedder = opened(service)
    service.will_answer(vectors(2), vectors(1))
    assert embedder.embed_passages(["a lamp", "a pump"]).shape == (2, 768)
    assert float((embedder.embed_query("what pumps?") ** 2).sum()) == pytest.approx(1)
    first, second = service.asked
    assert first.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert first.headers["x-goog-api-key"] == KEY
    assert first.body["requests"] == [
        {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": text}]},
            "outputDimensionality": 768,
            "taskType": "RETRIEVAL_DOCUMENT",
        }
        for text in ("a lamp", "a pump")
    ]
    assert "RETRIEVAL_QUERY" in str(second.body)


def test_a_model_without_task_types_is_told_the_task_in_the_text(service: ServiceDouble) -> None:
    embedder = opened(service, "models/gemini-embedding-2")
    service.will_answer(vectors(1))
    embedder.embed_query("what pumps?")
    assert "task: search result | query: what pumps?" in str(service.asked[0].body)
    assert "taskType" not in str(service.asked[0].body)


def test_an_exhausted_quota_is_waited_for_and_a_wrong_key_is_not(service: ServiceDouble) -> None:
    embedder = opened(service)
    exhausted = {"error": {"code": 429, "message": "Quota exceeded", "status": "EXHAUSTED"}}
    service.will_answer(Answer(exhausted, 429), vectors(1))
    assert embedder.embed_query("x").shape == (1, 768)
    service.will_answer(Answer({"error": {"message": f"key {KEY} not valid"}}, 403))
    with pytest.raises(EmbedderUnavailable, match="put a valid key into GEMINI_API_KEY") as caught:
        embedder.embed_query("y")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["", "  ", "two words", "clé\u00e9"])
def test_without_a_key_it_says_where_one_belongs(key: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="needs a key in GEMINI_API_KEY"):
        open_gemini("gemini-embedding-001", {"GEMINI_API_KEY": key})
