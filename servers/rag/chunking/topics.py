"""Topics found by a language model (`chunking: llm`), as the seed's `semantic_merge` finds them.

The model reads windows of 512 words and tells with which words a second topic begins; the next
window begins there. Its words are only looked up in the text: chunks are still made of the text
itself, follow its structure within each topic, and keep the limits. What can't be used (no such
words, words that stand at the beginning, no answer at all) leaves a window to the structure.

The seed lets the model write out the whole second part; we ask for its beginning and stop it
there, which is all that is used and takes a tenth of the time.

Chunks by structure alone found as much in our measurement, so this is off by default.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TypeAlias

from pydantic import BaseModel

from servers.rag.chunking.chunker import Cut, chunk_document
from servers.rag.embedding.ollama import ollama_service
from servers.rag.errors import RagError
from servers.reading.source import Extracted
from servers.shared.json_service import JsonService

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

REPLY_BYTES_MAX = 1_000_000
REPLY_TOKENS = 60
CONTEXT_TOKENS = 4096
"""512 words in any language, the question, and the reply."""

_NOTHING = "NOTHING"
_PROMPT = """You divide a document by topic. This is a part of it:

<part>
{part}
</part>

Does this part clearly go over from one topic to another? If so, reply only with the first {words}
words of the second topic, copied exactly as they stand there, with no word of your own.
If it has only one topic, reply only with {nothing}."""

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_WRAPPING = "`\"'“”‘’ \t\r\n"


class TopicsUnavailable(RagError):
    """The model that finds topics can't be asked now; structure goes on."""


def chunk_by_topics(extracted: Extracted, splitter: TopicSplitter) -> Cut:
    """The chunks of a document, none of which reaches over a topic's beginning.

    The same guarantees as of `chunk_document`, whatever `splitter` replies.
    """
    topics, note = _topics(extracted.markdown, splitter)
    return Cut(chunk_document(extracted, topics=topics), note)


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


def open_topics(environ: Mapping[str, str], model: str) -> "OllamaTopics":
    """A model of the server that OLLAMA_HOST names, else of this machine's; asks nothing yet.

    Raises:
        OptionsError: OLLAMA_HOST is no address.
    """
    otherwise = "say chunking: structure"
    address = ollama_service(f"Ollama's {model}", model, environ, otherwise, TopicsUnavailable)
    return OllamaTopics(model, JsonService(address, (), reply_bytes_max=REPLY_BYTES_MAX))


class _Message(BaseModel):
    content: str


class _Reply(BaseModel):
    message: _Message


class OllamaTopics:
    """A `TopicSplitter` that asks a model of an Ollama server (`POST /api/chat` of docs/api.md)."""

    def __init__(self, model: str, service: JsonService) -> None:
        self._model = model
        self._service = service

    def __call__(self, text: str) -> str | None:
        """How the second topic of `text` begins, in the model's words; None if there is none.

        Raises:
            TopicsUnavailable: no server, no such model, too slow, or no answer of its API.
        """
        prompt = _PROMPT.format(part=text, words=REPLY_WORDS, nothing=_NOTHING)
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": False,
            "options": {"temperature": 0, "num_ctx": CONTEXT_TOKENS, "num_predict": REPLY_TOKENS},
        }
        reply = self._service.post("/api/chat", body, _Reply).message.content
        said = _THOUGHTS.sub("", reply).strip(_WRAPPING)
        return None if not said or said.upper().startswith(_NOTHING) else said

    def close(self) -> None:
        """End the request that runs, and close the connection; safe to call twice."""
        self._service.close()
