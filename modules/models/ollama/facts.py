"""What Ollama knows of a model (`/api/show`), and how large a context to ask it for.

Ollama gives a model a context of 4,096 tokens on a machine without a large GPU, and cuts silently
what does not fit (docs/context-length.mdx of ollama/ollama); a decision prompt alone may be longer.
A request that asks for another size than the last one has the model loaded anew, which takes
seconds: so sizes are few, never shrink, and that of a model in memory is taken where it suffices.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from core.ports import ModelRequest

CONTEXT_TOKENS_MIN = 8_192
"""The smallest context that is asked for; each larger one has twice as many tokens."""

CONTEXT_TOKENS_MAX = 32_768
"""The largest, unless an entry's `context_tokens` says more: its memory is taken at once, and on
a machine without a GPU so long a prompt takes minutes."""

REPLY_TOKENS = 4_096
THOUGHTFUL_REPLY_TOKENS = 8_192
"""Room for a reply, without and with thinking, where no limit is set."""

BYTES_PER_TOKEN = 3
"""Of UTF-8: English and code have about 3.5 and more, Chinese and Japanese about 3."""

IMAGE_TOKENS = 2_048
"""More than a picture takes in most models (256 in Gemma, up to some thousand in Qwen-VL)."""

_OWN_CONTEXT = re.compile(r"^num_ctx[ \t]+([0-9]{1,9})[ \t]*$", re.MULTILINE)
"""A line of the parameters that a Modelfile sets."""

_TOKENS_MAX = 100_000_000
_MAX_PARAMETER_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class OllamaFacts:
    """A model as its server describes it; what an old server does not say is None or empty.

    `context_tokens` is the longest context that it was made for, `own_context_tokens` the one
    that its Modelfile asks for. `is_remote`: it runs in Ollama's cloud, always with all of it.
    """

    capabilities: frozenset[str] | None = None
    context_tokens: int | None = None
    own_context_tokens: int | None = None
    parameters: str = ""
    is_remote: bool = False

    def can(self, capability: str) -> bool | None:
        """Whether it has a capability (`vision`, `thinking`, …); None where nobody says."""
        return None if self.capabilities is None else capability in self.capabilities


def model_facts(document: Mapping[str, object]) -> OllamaFacts:
    """What an `/api/show` document says; parts that have not the documented form say nothing."""
    capabilities = document.get("capabilities")
    info, details = _mapping(document.get("model_info")), _mapping(document.get("details"))
    parameters = document.get("parameters")
    own = (
        _OWN_CONTEXT.search(parameters[:_MAX_PARAMETER_CHARACTERS])
        if isinstance(parameters, str)
        else None
    )
    size = details.get("parameter_size")
    return OllamaFacts(
        frozenset(item for item in cast("list[object]", capabilities) if isinstance(item, str))
        if isinstance(capabilities, list)
        else None,
        _tokens(info.get(f"{info.get('general.architecture')}.context_length")),
        _tokens(int(own[1])) if own is not None else None,
        size[:20] if isinstance(size, str) else "",
        is_remote=bool(document.get("remote_host") or document.get("remote_model")),
    )


def loaded_context(running: Mapping[str, object], name: str) -> int | None:
    """The context with which an `/api/ps` document has the model in memory; None if it is not."""
    models = running.get("models")
    for item in cast("list[object]", models) if isinstance(models, list) else []:
        fields = _mapping(item)
        if name in (fields.get("name"), fields.get("model")):
            return _tokens(fields.get("context_length"))
    return None


class ContextWindow:
    """Says how large a context to ask for; never less than before, so that a model stays loaded."""

    def __init__(self, given_tokens: int | None = None) -> None:
        """`given_tokens`, from the entry, is taken as it is."""
        self._given = given_tokens
        self._largest = 0

    def limit(self, facts: OllamaFacts) -> int | None:
        """The longest context that will be asked for; None where nobody knows one."""
        own = facts.context_tokens
        if self._given is not None:
            return min(self._given, own or self._given)
        if own is None or facts.is_remote:
            return own
        return min(own, max(CONTEXT_TOKENS_MAX, facts.own_context_tokens or 0))

    def note_loaded(self, tokens: int | None) -> None:
        """The model is in memory with this context, and stays so where it suffices."""
        self._largest = max(self._largest, tokens or 0)

    def size_for(self, request: ModelRequest, reply_tokens: int, facts: OllamaFacts) -> int | None:
        """`num_ctx` for a request; None leaves it to the server, as for a model elsewhere."""
        if facts.is_remote:
            return None
        most = self._most(facts)
        if self._given is not None:
            return most
        needed = max(prompt_tokens(request) + reply_tokens, facts.own_context_tokens or 0)
        if needed > self._largest:
            size = CONTEXT_TOKENS_MIN
            while size < min(needed, most):
                size *= 2
            self._largest = min(size, most)
        return self._largest

    def _most(self, facts: OllamaFacts) -> int:
        return self.limit(facts) or CONTEXT_TOKENS_MAX


def prompt_tokens(request: ModelRequest) -> int:
    """About how many tokens a request has, rather too many than too few."""
    text = len(request.prompt.encode("utf-8", "replace")) // BYTES_PER_TOKEN
    return text + IMAGE_TOKENS * len(request.images) + 100  # roles, and what a template adds


def _tokens(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _TOKENS_MAX:
        return value
    return None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
