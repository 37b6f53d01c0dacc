"""Topics by a language model: what it says only places cuts, and none of it is trusted."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.chunking.chunker import chunk_document
from servers.rag.chunking.topics import (
    WINDOW_WORDS,
    TopicsUnavailable,
    chunk_by_topics,
    open_topics,
)
from servers.reading.source import Extracted
from tests.servers.rag.chunking.chunk_checks import assert_sound
from tests.servers.shared.service_double import Answer, ServiceDouble, service_double

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


@pytest.fixture
def service() -> Iterator[ServiceDouble]:
    with service_double() as double:
        yield double


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
    service: ServiceDouble, content: str, topic: str | None
) -> None:
    service.will_answer(Answer({"message": {"role": "assistant", "content": content}}))
    with closing(open_topics({"OLLAMA_HOST": service.url}, "phi4")) as splitter:
        assert splitter("the {part}") == topic
    assert (service.asked[0].path, service.asked[0].body["model"]) == ("/api/chat", "phi4")
    assert "the {part}" in str(service.asked[0].body["messages"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer({"error": "model not found"}, 404), "model not found; .*ollama pull phi4"),
        (Answer(b"<html>"), "not send"),
        (Answer(b"x" * 2_000_000), "more than 1000000 bytes"),
        (Answer({"error": "busy"}, 503), r"HTTP 503\): busy"),
    ],
    ids=["no model", "another server", "endless", "busy"],
)
def test_ollama_that_does_not_answer_is_unavailable(
    service: ServiceDouble, answer: Answer, said: str
) -> None:
    service.will_answer(answer)
    with (
        closing(open_topics({"OLLAMA_HOST": service.url}, "phi4")) as splitter,
        pytest.raises(TopicsUnavailable, match=said),
    ):
        splitter("text")
    assert len(service.asked) == 1


def test_no_server_is_said_with_how_to_start_it() -> None:
    with (
        closing(open_topics({"OLLAMA_HOST": "127.0.0.1:9"}, "phi4")) as splitter,
        pytest.raises(TopicsUnavailable, match=r"can't be reached .*ollama serve"),
    ):
        splitter("text")
