"""The Ollama embedder against a server on loopback that speaks docs/api.md of ollama/ollama."""

from collections.abc import Iterator
from threading import Thread

import numpy as np
import pytest

from servers.rag.embedding.ollama import open_ollama
from servers.rag.embedding.remote import RemoteEmbedder, prompts_for
from servers.rag.errors import EmbedderUnavailable, OptionsError
from tests.servers.shared.service_double import Answer, ServiceDouble, service_double

TAGS = Answer({"models": [{"name": "nomic-embed-text:latest", "digest": "0a109f422b47e3a3"}]})
SHOWN = Answer({"model_info": {"nomic-bert.embedding_length": 3}, "capabilities": ["embedding"]})
AT_ONCE = (0.0, 0.0, 0.0)
BUSY = Answer({"error": "server busy"}, 503)


@pytest.fixture
def service() -> Iterator[ServiceDouble]:
    with service_double() as double:
        yield double


def opened(service: ServiceDouble, model: str = "nomic-embed-text") -> RemoteEmbedder:
    service.will_answer(TAGS, SHOWN)
    return asking(service, model)


def asking(
    service: ServiceDouble, model: str, waits_seconds: tuple[float, ...] = AT_ONCE
) -> RemoteEmbedder:
    return service.is_left_by(open_ollama(model, {"OLLAMA_HOST": service.url}, waits_seconds))


def vectors(*rows: list[float]) -> Answer:
    return Answer({"model": "nomic-embed-text", "embeddings": rows})


def test_passages_and_queries_carry_their_prefix_and_come_back_with_length_one(
    service: ServiceDouble,
) -> None:
    embedder = opened(service)
    service.will_answer(vectors([3, 0, 4], [0, 2, 0]), vectors([0, 0, 9]))
    passages = embedder.embed_passages(["a lamp", "a pump"])
    query = embedder.embed_query("what pumps?")
    np.testing.assert_allclose(passages, [[0.6, 0, 0.8], [0, 1, 0]], rtol=1e-6)
    np.testing.assert_allclose(query, [[0, 0, 1]])
    assert passages.dtype == np.float32
    asked = [request for request in service.asked if request.path == "/api/embed"]
    assert asked[0].body == {
        "model": "nomic-embed-text",
        "input": ["search_document: a lamp", "search_document: a pump"],
        "truncate": True,
    }
    assert asked[1].body["input"] == ["search_query: what pumps?"]
    assert "authorization" not in asked[0].headers


def test_dimension_and_weights_are_asked_for_when_it_is_opened(service: ServiceDouble) -> None:
    embedder = opened(service)
    assert (embedder.name, embedder.dimension) == ("ollama:nomic-embed-text", 3)
    assert "0a109f422b47" in embedder.fingerprint
    other = Answer({"models": [{"name": "nomic-embed-text:latest", "digest": "feed"}]})
    service.will_answer(other, SHOWN)
    pulled = asking(service, "nomic-embed-text")
    assert pulled.fingerprint != embedder.fingerprint


def test_a_server_that_does_not_say_the_dimension_is_tried(service: ServiceDouble) -> None:
    service.will_answer(Answer({"models": None}), Answer({}), vectors([1, 2]))
    assert asking(service, "mine").dimension == 2


def test_what_may_pass_is_tried_again_three_times_and_no_more(service: ServiceDouble) -> None:
    embedder = opened(service)
    service.will_answer(BUSY, Answer({"error": "slow down"}, 429), BUSY, vectors([1, 0, 0]))
    assert embedder.embed_query("x").shape == (1, 3)
    before = len(service.asked)
    service.will_answer(BUSY, BUSY, BUSY, BUSY, vectors([1, 0, 0]))
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 503\): server busy"):
        embedder.embed_query("y")
    assert len(service.asked) - before == 4


def test_a_model_that_is_missing_is_not_asked_for_again_but_how_to_get_it_is_said(
    service: ServiceDouble,
) -> None:
    service.will_answer(TAGS, Answer({"error": "model 'gone' not found"}, 404))
    with pytest.raises(
        EmbedderUnavailable, match="not found; get the model with: ollama pull gone"
    ):
        asking(service, "gone")
    assert len(service.asked) == 2


def test_a_pause_that_is_too_long_is_left_for_later(service: ServiceDouble) -> None:
    embedder = opened(service)
    service.will_answer(Answer({}, 429, {"retry-after": "3600"}))
    with pytest.raises(EmbedderUnavailable, match="HTTP 429"):
        embedder.embed_query("x")


@pytest.mark.parametrize(
    "answer",
    [
        vectors([1, 2]),
        vectors(),
        vectors([1, 0, 0], [0, 1, 0]),
        vectors([0, 0, 0]),
        Answer(b'{"embeddings": [[1, NaN, 0]]}'),
        Answer(b'{"embeddings": [[1, 1e999, 0]]}'),
        Answer({"embeddings": "none"}),
        Answer(b"<html>"),
        Answer(b"", 302, {"location": "http://example.org"}),
    ],
)
def test_what_is_no_such_vector_is_refused(service: ServiceDouble, answer: Answer) -> None:
    embedder = opened(service)
    service.will_answer(answer)
    with pytest.raises(EmbedderUnavailable, match="embedder ollama:nomic-embed-text at 127"):
        embedder.embed_query("x")


def test_long_blank_and_broken_texts_are_sent_as_a_service_takes_them(
    service: ServiceDouble,
) -> None:
    embedder = opened(service)
    service.will_answer(vectors([1, 0, 0], [1, 0, 0], [1, 0, 0]))
    embedder.embed_passages(["x" * 1_000_000, " \n", "a\ud800b"])
    sent = service.asked[-1].body["input"]
    prefix = "search_document: "
    assert sent == [prefix + "x" * 8_000, prefix + "(empty)", prefix + "a?b"]


def test_many_texts_go_in_batches_and_none_in_no_request(service: ServiceDouble) -> None:
    embedder = opened(service)
    service.will_answer(vectors(*[[1.0, 0, 0]] * 16), vectors([0, 1, 0]))
    assert embedder.embed_passages(["x"] * 17)[16].tolist() == [0, 1, 0]
    assert embedder.embed_passages([]).shape == (0, 3)
    assert len(service.asked) == 4


@pytest.mark.parametrize("answers", [True, False])
def test_closing_ends_the_wait_for_an_answer_or_for_the_next_try(
    service: ServiceDouble, answers: bool
) -> None:
    service.will_answer(TAGS, SHOWN, BUSY)
    embedder = asking(service, "nomic-embed-text", (50.0,))
    service.arrived.clear()
    if not answers:
        service.may_answer.clear()
    closing = Thread(target=lambda: (service.arrived.wait(10), embedder.close()))
    closing.start()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        embedder.embed_query("x")
    assert service.answered == (3 if answers else 2)
    closing.join(10)


def test_a_server_that_is_not_there_is_said_to_be_started() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"can't be reached .*ollama serve"):
        open_ollama("nomic-embed-text", {"OLLAMA_HOST": "127.0.0.1:1"}, AT_ONCE)


@pytest.mark.parametrize("given", ["file:///etc", "a b", "http://me:secret@box"])
def test_what_is_no_address_is_refused_without_being_shown(given: str) -> None:
    with pytest.raises(OptionsError, match="OLLAMA_HOST holds no usable address") as caught:
        open_ollama("nomic-embed-text", {"OLLAMA_HOST": given})
    assert given not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "passage", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("library/mxbai-embed-large", "", "Represent this"),
        ("snowflake-arctic-embed2:568m", "", "query: "),
        ("snowflake-arctic-embed:22m", "", "Represent this"),
        ("jeffh/intfloat-multilingual-e5-large", "passage: ", "query: "),
        ("embeddinggemma:300m", "title: none | text: ", "task: search result | query: "),
        ("qwen3-embedding:0.6b", "", "Instruct: "),
        ("bge-m3", "", ""),
        ("all-minilm", "", ""),
    ],
)
def test_a_family_of_models_gets_the_prefixes_that_it_was_trained_with(
    model: str, passage: str, query: str
) -> None:
    prompts = prompts_for(model)
    assert prompts.passage == passage
    assert prompts.query.startswith(query)
    assert bool(prompts.query) == bool(query)
