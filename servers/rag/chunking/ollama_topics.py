"""Asks a model of an Ollama server where a second topic begins (`POST /api/chat` of docs/api.md).

The seed lets the model write out the whole second part; we ask for its beginning and stop it
there, which is all that is used and takes a tenth of the time.
"""

import re
from collections.abc import Mapping

from pydantic import BaseModel

from servers.rag.chunking.topics import REPLY_WORDS, TopicsUnavailable
from servers.rag.embedding.ollama import ollama_service
from servers.shared.json_service import JsonService

DEFAULT_MODEL = "phi4"
"""As in the seed, which uses Microsoft's Phi."""

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


def open_topics(environ: Mapping[str, str], model: str = DEFAULT_MODEL) -> "OllamaTopics":
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
    """A `TopicSplitter`; connects when first called."""

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
