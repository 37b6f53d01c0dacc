"""Topics by a language model: what it says only places cuts, and none of it is trusted."""

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.chunking.chunker import chunk_document
from servers.rag.chunking.ollama_topics import OllamaTopics
from servers.rag.chunking.topics import WINDOW_WORDS, TopicsUnavailable, chunk_by_topics
from servers.reading.source import Extracted
from tests.servers.rag.chunking.chunk_checks import assert_sound

CATS = "Cats sleep most of the day and hunt at night. " * 8
SHIPS = "Ships of steel replaced those of wood within decades. " * 8
TEXT = Extracted(f"# Notes\n\n{CATS}{SHIPS}\n\n{CATS}")


def test_a_chunk_ends_where_the_model_sees_another_topic() -> None:
    def splitter(part: str) -> str | None:
        return "Ships of\n steel replaced those" if "Cats" in part.split("Ships")[0] else None

    plain = chunk_document(TEXT)
    found = chunk_by_topics(TEXT, splitter)

    assert_sound(TEXT, found.chunks)
    assert found.note == ""
    assert any(chunk.text.startswith("Ships of steel") for chunk in found.chunks)
    assert not any(chunk.text.startswith("Ships of steel") for chunk in plain)
    assert all(chunk.headings == ("Notes",) for chunk in found.chunks)


@pytest.mark.parametrize(
    "reply", ["", "Something that it made up", "# Notes Cats sleep", "Cats " * 999]
)
def test_a_reply_of_no_use_leaves_the_structure(reply: str) -> None:
    assert chunk_by_topics(TEXT, lambda _: reply).chunks == chunk_document(TEXT)


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.sampled_from(("a", "b\n\n", "c.", "|", "#", "-", "中")), max_size=300), st.data()
)
def test_whatever_the_model_says_nothing_is_lost(words: list[str], data: st.DataObject) -> None:
    extracted = Extracted(" ".join(words))

    def splitter(part: str) -> str | None:
        return part[data.draw(st.integers(0, len(part))) :]

    assert_sound(extracted, chunk_by_topics(extracted, splitter).chunks)


def test_the_next_window_begins_with_the_topic_found() -> None:
    asked: list[str] = []

    def splitter(part: str) -> str | None:
        asked.append(part)
        return "Ships" if len(asked) == 1 else None

    chunk_by_topics(Extracted(CATS + SHIPS + "more " * 600), splitter)

    assert asked[0].startswith("Cats")
    assert len(asked[0].split()) == WINDOW_WORDS
    assert asked[1].startswith("Ships")


def test_a_model_that_cannot_be_asked_is_said_in_a_note_and_asked_no_further() -> None:
    asked: list[str] = []

    def splitter(part: str) -> str | None:
        asked.append(part)
        raise TopicsUnavailable("no server there")

    text = Extracted("word " * 5000)
    found = chunk_by_topics(text, splitter)

    assert found.chunks == chunk_document(text)
    assert found.note == "not everywhere split by topic: no server there"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("content", "topic"),
    [
        ("Ships of steel", "Ships of steel"),
        ('<think>hm</think>\n"Ships of steel"', "Ships of steel"),
        ("NOTHING", None),
        ("Nothing.", None),
        ("<think>never ends", None),
        ("", None),
    ],
)
def test_ollama_is_asked_for_the_beginning_of_a_second_topic(
    content: str, topic: str | None
) -> None:
    asked: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.read())
        return httpx2.Response(200, json={"message": {"role": "assistant", "content": content}})

    splitter = OllamaTopics("phi4", "http://127.0.0.1:11434", httpx2.MockTransport(answer))

    assert splitter("the {part}") == topic
    assert b"the {part}" in asked[0]
    splitter.close()


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (httpx2.Response(404, json={"error": "model not found"}), "ollama pull phi4"),
        (httpx2.Response(200, text="<html>"), "not Ollama"),
        (httpx2.Response(200, content=b"x" * 2_000_000), "without end"),
        (httpx2.ConnectError("refused"), "refused"),
    ],
    ids=["no model", "another server", "endless", "no server"],
)
def test_ollama_that_does_not_answer_is_unavailable(
    response: httpx2.Response | httpx2.ConnectError, said: str
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        if isinstance(response, httpx2.ConnectError):
            raise response
        return response

    splitter = OllamaTopics("phi4", "http://127.0.0.1:1", httpx2.MockTransport(answer))

    with pytest.raises(TopicsUnavailable, match=said):
        splitter("text")
    splitter.close()
