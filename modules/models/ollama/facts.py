"""What an Ollama server says of its models, and how large a context to ask it for.

Formats are those of Ollama's docs/api.md. They come from a server that nobody vouches for: what has
not the documented form is passed over.

Ollama gives a model a context of 4,096 tokens on a machine without a large GPU, and cuts silently
what does not fit (docs/context-length.mdx of ollama/ollama); a decision prompt alone may be longer.
A request that asks for another size than the last one has the model loaded anew, which takes
seconds: so sizes are few, never shrink, and that of a model in memory is taken where it suffices.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from config.models_file import ModelEntry
from core.base.frozen import frozen
from core.base.text import lazy_pattern, one_line
from core.ports import ModelRequest, ModelTraits
from modules.models.hosted.model import sees_images
from modules.models.http.json_text import count_of

MAX_MODELS_LISTED = 1000
"""More than anybody has installed; the rest of a longer list is not looked at."""

_NAME = lazy_pattern(r"[\w./:@+-]{1,200}", re.ASCII)
"""What a model's name consists of; anything else is none, and is never shown."""

_PARAMETERS = lazy_pattern(
    r"(?<![a-z0-9.])e?(?:([0-9]{1,3})x)?([0-9]{1,4}(?:\.[0-9]{1,3})?)([bm])(?![a-z0-9])",
    re.IGNORECASE,
)
"""`32b`, `1.5b`, `135m`, `8x7b`, and `e4b` as Gemma counts, as a word of a model's name."""

_EMBEDDING_NAME = lazy_pattern(r"embed|minilm|(?<![a-z])bge-|(?<![a-z])e5-", re.IGNORECASE)
_EMBEDDING_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe", "xlm-roberta"})
"""How embedding models are told where the server is too old to list capabilities."""

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

TEMPLATE_TOKENS = 100
"""Roles, and what a template adds."""

_OWN_CONTEXT = lazy_pattern(r"^num_ctx[ \t]+([0-9]{1,9})[ \t]*$", re.MULTILINE)
"""A line of the parameters that a Modelfile sets."""

STATUS_CHARACTERS_MAX = 200

TOKENS_MAX = 100_000_000
"""More is no number of tokens."""

_MAX_PARAMETER_CHARACTERS = 10_000


@frozen
class InstalledModel:
    """One model of Ollama's list.

    `parameters` is as Ollama writes it (`7.6B`), `quantisation` such as `Q4_K_M`; both may be
    empty. `chats`: it writes text, so it is no model for embeddings alone. `is_remote`: it runs
    in Ollama's cloud, and what is asked leaves the machine. `is_loaded`: it is in memory now.
    """

    name: str
    size_bytes: int = 0
    parameters: str = ""
    quantisation: str = ""
    chats: bool = True
    is_remote: bool = False
    is_loaded: bool = False


def installed_models(listing: object, running: object = None) -> tuple[InstalledModel, ...]:
    """The models of an `/api/tags` document, those of an `/api/ps` document (`running`) first.

    Both come from a server that nobody vouches for: what has not the documented form is passed
    over. Otherwise the order is the server's: newest first.
    """
    loaded = {name for item in _models(running) if (name := _name_of(item))}
    found: dict[str, InstalledModel] = {}
    for item in _models(listing):
        name = _name_of(item)
        if name and name not in found:
            found[name] = _installed(name, item, is_loaded=name in loaded)
    return tuple(sorted(found.values(), key=lambda model: not model.is_loaded))


def is_listing(document: object) -> bool:
    """Whether it is what `/api/tags` answers: Go writes an empty list as `null` at times."""
    return isinstance(document, dict) and "models" in document


def billions_of_parameters(text: str) -> float:
    """How many billions a model's name or size says it has (`qwen3:32b` 32.0); 0.0 if none.

    Of a name, the tag counts before the rest; of a mixture of experts (`8x7b`), the product.
    """
    name, _, tag = text.partition(":")
    for part in (tag, name):
        if (found := _PARAMETERS.search(part)) is not None:
            experts, size, unit = found.groups()
            billions = float(size) * int(experts or 1)
            return billions if unit.lower() == "b" else billions / 1000
    return 0.0


def chat_models(installed: Iterable[InstalledModel]) -> list[InstalledModel]:
    """Those that write text, on this server itself."""
    return [model for model in installed if model.chats and not model.is_remote]


def _installed(name: str, item: Mapping[str, object], *, is_loaded: bool) -> InstalledModel:
    details = _mapping(item.get("details"))
    return InstalledModel(
        name,
        count_of(item.get("size")) or 0,
        _word(details.get("parameter_size")),
        _word(details.get("quantization_level")),
        chats=_chats(name, item, details),
        is_remote=bool(item.get("remote_host") or item.get("remote_model")),
        is_loaded=is_loaded,
    )


def _chats(name: str, item: Mapping[str, object], details: Mapping[str, object]) -> bool:
    capabilities = item.get("capabilities")  # of older servers, only /api/show has them
    if isinstance(capabilities, list):
        return "completion" in cast("list[object]", capabilities)
    return details.get("family") not in _EMBEDDING_FAMILIES and _EMBEDDING_NAME.search(name) is None


def _models(document: object) -> list[Mapping[str, object]]:
    items = _mapping(document).get("models")
    if not isinstance(items, list):
        return []
    return [_mapping(item) for item in cast("list[object]", items)[:MAX_MODELS_LISTED]]


def _name_of(item: Mapping[str, object]) -> str:
    return _word(item.get("name") or item.get("model"))


def _word(value: object) -> str:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


@frozen
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


@dataclass(slots=True)
class Learned:
    """What was learned of a model while it was used.

    `facts` are None until its server was asked; `context_tokens` is what was asked for last, or
    what it was loaded with, 0 where neither is known.
    """

    facts: OllamaFacts | None = None
    context_tokens: int = 0


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
    for item in _models(running):
        if name in (item.get("name"), item.get("model")):
            return _tokens(item.get("context_length"))
    return None


@frozen
class PullProgress:
    """How far a download is: bytes of one part of the model where they are known."""

    status: str
    digest: str = ""
    total_bytes: int | None = None
    completed_bytes: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether this is the last report, of a model that is installed now."""
        return self.status == "success"


def pull_progress(report: Mapping[str, object]) -> PullProgress:
    """What a line of `/api/pull` says."""
    status, digest = report.get("status"), report.get("digest")
    return PullProgress(
        one_line(status, STATUS_CHARACTERS_MAX) if isinstance(status, str) else "",
        digest[:STATUS_CHARACTERS_MAX] if isinstance(digest, str) else "",
        count_of(report.get("total")),
        count_of(report.get("completed")),
    )


def ollama_traits(entry: ModelEntry, facts: OllamaFacts) -> ModelTraits:
    """What an entry's model can do, by its name where its server does not say.

    `strength` is in billions of parameters, as far as the name or the server tells.
    """
    model = entry.model or ""
    said = (entry.images, facts.can("vision"))
    return ModelTraits(
        images=next((sees for sees in said if sees is not None), sees_images(model)),
        context_tokens=context_limit(facts, entry.context_tokens),
        strength=billions_of_parameters(model) or billions_of_parameters(facts.parameters),
        takes_seed=True,
    )


def context_limit(facts: OllamaFacts, given_tokens: int | None) -> int | None:
    """The longest context that will be asked for; None where nobody knows one.

    `given_tokens`, from the entry, is taken as it is.
    """
    own = facts.context_tokens
    if given_tokens is not None:
        return min(given_tokens, own or given_tokens)
    if own is None or facts.is_remote:
        return own
    return min(own, max(CONTEXT_TOKENS_MAX, facts.own_context_tokens or 0))


def context_size(
    request: ModelRequest,
    reply_tokens: int,
    facts: OllamaFacts,
    given_tokens: int | None,
    before: int,
) -> int | None:
    """`num_ctx` for a request; None leaves it to the server, as for a model elsewhere.

    `before` is `Learned.context_tokens`.
    """
    if facts.is_remote:
        return None
    most = context_limit(facts, given_tokens) or CONTEXT_TOKENS_MAX
    if given_tokens is not None:
        return most
    prompt = len(request.prompt.encode("utf-8", "replace")) // BYTES_PER_TOKEN
    prompt += IMAGE_TOKENS * len(request.images) + TEMPLATE_TOKENS
    needed = max(prompt + reply_tokens, facts.own_context_tokens or 0)
    if needed <= before:
        return before
    size = CONTEXT_TOKENS_MIN
    while size < min(needed, most):
        size *= 2
    return min(size, most)


def _tokens(value: object) -> int | None:
    tokens = count_of(value)
    return tokens if tokens is not None and 0 < tokens <= TOKENS_MAX else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
