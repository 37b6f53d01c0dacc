"""Asks a model of an Ollama server where a second topic begins (`POST /api/chat` of docs/api.md).

The seed lets the model write out the whole second part; we ask for its beginning and stop it
there, which is all that is used and takes a tenth of the time.
"""

import re
import time
from collections.abc import Mapping

import httpx2
from pydantic import BaseModel, ValidationError

from servers.rag.chunking.topics import REPLY_WORDS, TopicsUnavailable
from servers.rag.embedding.ollama import ollama_address

DEFAULT_MODEL = "phi4"
"""As in the seed, which uses Microsoft's Phi."""

CONNECT_TIMEOUT_SECONDS = 5.0
REPLY_TIMEOUT_SECONDS = 120.0
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
    """A model of the server that OLLAMA_HOST names, else of this machine's.

    Raises:
        OptionsError: OLLAMA_HOST is no address.
    """
    return OllamaTopics(model, ollama_address(environ))


class _Message(BaseModel):
    content: str


class _Reply(BaseModel):
    message: _Message


class OllamaTopics:
    """A `TopicSplitter`; connects when first called."""

    def __init__(
        self, model: str, base_url: str, transport: httpx2.BaseTransport | None = None
    ) -> None:
        """The model `model` of the server at `base_url`, reached through `transport`."""
        self._model = model
        self._client = httpx2.Client(
            base_url=base_url,
            transport=transport,
            timeout=httpx2.Timeout(REPLY_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS),
        )

    def __call__(self, text: str) -> str | None:
        """How the second topic of `text` begins, in the model's words; None if there is none.

        Raises:
            TopicsUnavailable: no server, no such model, too slow, or no answer of its API.
        """
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": self._prompt(text)}],
            "stream": False,
            "options": {"temperature": 0, "num_ctx": CONTEXT_TOKENS, "num_predict": REPLY_TOKENS},
        }
        try:
            reply = _Reply.model_validate_json(self._answer(body)).message.content
        except httpx2.HTTPError as error:
            raise TopicsUnavailable(f"Ollama at {self._client.base_url}: {error!r}") from None
        except ValidationError:
            raise TopicsUnavailable(
                f"what answers at {self._client.base_url} is not Ollama's chat"
            ) from None
        said = _THOUGHTS.sub("", reply).strip(_WRAPPING)
        return None if not said or said.upper().startswith(_NOTHING) else said

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._client.close()

    def _prompt(self, text: str) -> str:
        return _PROMPT.format(part=text, words=REPLY_WORDS, nothing=_NOTHING)

    def _answer(self, body: Mapping[str, object]) -> bytes:
        """The body of the answer; what is too long or takes too long is given up."""
        deadline = time.monotonic() + REPLY_TIMEOUT_SECONDS
        answer = bytearray()
        with self._client.stream("POST", "/api/chat", json=body) as response:
            if not response.is_success:
                raise TopicsUnavailable(
                    f"Ollama at {self._client.base_url} has no answer of model {self._model} "
                    f"(HTTP {response.status_code}); see that `ollama pull {self._model}` was run"
                )
            for part in response.iter_bytes():
                answer += part
                if len(answer) > REPLY_BYTES_MAX or time.monotonic() > deadline:
                    raise TopicsUnavailable(f"Ollama's model {self._model} answers without end")
        return bytes(answer)
