"""Which models an Ollama server lists. Light: stdlib only, nothing is asked here.

Formats are those of Ollama's docs/api.md ("List Local Models", "List Running Models").
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

MAX_MODELS_LISTED = 1000
"""More than anybody has installed; the rest of a longer list is not looked at."""

_NAME = re.compile(r"[\w./:@+-]{1,200}", re.ASCII)
"""What a model's name consists of; anything else is none, and is never shown."""

_PARAMETERS = re.compile(
    r"(?<![a-z0-9.])e?(?:([0-9]{1,3})x)?([0-9]{1,4}(?:\.[0-9]{1,3})?)([bm])(?![a-z0-9])",
    re.IGNORECASE,
)
"""`32b`, `1.5b`, `135m`, `8x7b`, and `e4b` as Gemma counts, as a word of a model's name."""

_EMBEDDING_NAME = re.compile(r"embed|minilm|(?<![a-z])bge-|(?<![a-z])e5-", re.IGNORECASE)
_EMBEDDING_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe", "xlm-roberta"})
"""How embedding models are told where the server is too old to list capabilities."""


@dataclass(frozen=True, slots=True)
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
    size = item.get("size")
    return InstalledModel(
        name,
        size if isinstance(size, int) and 0 <= size < 2**63 else 0,
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


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
