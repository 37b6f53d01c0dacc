"""Topics found by a language model (`chunking: llm`), as the seed's `semantic_merge` finds them.

The model reads windows of 512 words and tells with which words a second topic begins; the next
window begins there. Its words are only looked up in the text: chunks are still made of the text
itself, follow its structure within each topic, and keep the limits. What can't be used (no such
words, words that stand at the beginning, no answer at all) leaves a window to the structure.

Chunks by structure alone found as much in our measurement, so this is off by default.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from servers.rag.chunking.chunker import chunk_document
from servers.rag.errors import RagError
from servers.rag.passages import Chunk
from servers.reading.source import Extracted

TopicSplitter: TypeAlias = Callable[[str], str | None]
"""Reads a part of a document and gives the beginning of its second topic, word by word.

None if there is only one topic. Blocks; bounds its own time.

Raises:
    TopicsUnavailable: the model can't be asked now.
"""

TOPICS_VERSION = "1"
"""Part of the index's fingerprint, beside CHUNKER_VERSION, where topics are used."""

WINDOW_WORDS = 512
WINDOW_CHARACTERS_MAX = 6_000
TOPIC_WORDS_MIN = 30
"""A topic begins at least so far from the one before: fewer words are not one."""

REPLY_WORDS = 12
"""So many words of a reply are looked up: models copy a beginning, and then digress."""

FAILURES_MAX = 2
"""After as many failures in a row the model is not asked about this document any more."""

WINDOWS_MAX = 2_000
"""A model is asked no more often about one document: 60,000 to 1,000,000 words."""

_WORD = re.compile(r"\S+")


class TopicsUnavailable(RagError):
    """The model that finds topics can't be asked now; structure goes on."""


@dataclass(frozen=True, slots=True)
class TopicChunks:
    """Chunks, and one line for the status if topics were not looked for everywhere."""

    chunks: list[Chunk]
    note: str = ""


def chunk_by_topics(extracted: Extracted, splitter: TopicSplitter) -> TopicChunks:
    """The chunks of a document, none of which reaches over a topic's beginning.

    The same guarantees as of `chunk_document`, whatever `splitter` replies.
    """
    topics, note = _topics(extracted.markdown, splitter)
    return TopicChunks(chunk_document(extracted, topics=topics), note)


def _topics(text: str, splitter: TopicSplitter) -> tuple[list[int], str]:
    """Where topics begin, in order, and what went wrong."""
    topics: list[int] = []
    failures, note = 0, ""
    begin = 0
    for _ in range(WINDOWS_MAX):
        words = _window(text, begin)
        if len(words) < 2 * TOPIC_WORDS_MIN:
            return topics, note
        try:
            reply = splitter(text[words[0][0] : words[-1][1]])
            failures = 0
        except TopicsUnavailable as error:
            failures, reply = failures + 1, None
            note = f"not everywhere split by topic: {error}"
            if failures == FAILURES_MAX:
                return topics, note
        found = _second_topic(text, words, reply) if reply else None
        begin = words[-1][1]
        if found is not None:
            topics.append(found)
            begin = found
    return topics, note or "only the beginning was split by topic: the document is very long"


def _window(text: str, begin: int) -> list[tuple[int, int]]:
    """The next words, as offsets."""
    end = begin + WINDOW_CHARACTERS_MAX
    return [word.span() for word in islice(_WORD.finditer(text, begin, end), WINDOW_WORDS)]


def _second_topic(text: str, words: list[tuple[int, int]], reply: str) -> int | None:
    """Where in the window the reply begins, white space aside; None if it is of no use."""
    sought = [word[0] for word in islice(_WORD.finditer(reply), REPLY_WORDS)]
    window = [text[start:end] for start, end in words]
    for number in range(TOPIC_WORDS_MIN, len(window) - len(sought) + 1):
        if window[number : number + len(sought)] == sought:
            return words[number][0]
    return None
