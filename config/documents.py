"""The profile's `documents` section on its way to the bundled documents server. Light.

The server is told in one variable, with absolute paths, what the profile says; of what the
profile leaves out, the server has the same defaults (`servers.rag.library.options`).
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from config.servers import ServerSpec
from core.base.redaction import MIN_SECRET_CHARACTERS

OPTIONS_VARIABLE: Final = "CORTEX_DOCUMENTS"
DOCUMENTS_SCRIPT: Final = Path("servers") / "documents_server.py"

DEFAULT_FOLDERS: Final = ("documents",)
DEFAULT_INDEX_FOLDER: Final = "faiss_index"

_OLLAMA_HOST: Final = "OLLAMA_HOST"
_GEMINI_KEY: Final = "GEMINI_API_KEY"
_CHOICES: Final = ("embedder", "captions")
"""Keys of the section that may name a service."""


def documents_json(section: Mapping[str, object], home: Path) -> str:
    """The section as the server reads it; relative folders begin at `home`.

    Raises:
        TypeError: a folder is no text; `config.schema` has the message for it.
    """
    given = dict(section)
    folders = cast("list[object]", given.get("folders") or [*DEFAULT_FOLDERS])
    given["folders"] = [_absolute(folder, home) for folder in folders]
    given["index_folder"] = _absolute(given.get("index_folder") or DEFAULT_INDEX_FOLDER, home)
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def documents_environment(
    section: Mapping[str, object], home: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """What the server gets in its environment beside the usual.

    Where Ollama listens is told always; the key of Gemini only where the section names Gemini.
    """
    found = {OPTIONS_VARIABLE: documents_json(section, home)}
    if host := environ.get(_OLLAMA_HOST):
        found[_OLLAMA_HOST] = host
    if uses_gemini(section) and (key := environ.get(_GEMINI_KEY)):
        found[_GEMINI_KEY] = key
    return found


def with_documents(
    spec: ServerSpec,
    section: Mapping[str, object],
    root: Path,
    home: Path,
    environ: Mapping[str, str],
) -> ServerSpec:
    """The spec, which learns of the documents if it is that of the bundled documents server.

    What its entry sets itself counts more.
    """
    if not is_documents_server(spec, root):
        return spec
    told = documents_environment(section, home, environ)
    key = told.get(_GEMINI_KEY, "")
    secrets = {key} if len(key) >= MIN_SECRET_CHARACTERS else set[str]()
    return replace(spec, env={**told, **spec.env}, secrets=spec.secrets | secrets)


def is_documents_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the documents server of this very program."""
    if not spec.bundled or len(spec.command) < 2:
        return False
    return Path(spec.command[1]).resolve() == (root / DOCUMENTS_SCRIPT).resolve()


def uses_gemini(section: Mapping[str, object]) -> bool:
    """Whether texts or pictures of the documents go to Gemini."""
    return any(str(section.get(key) or "").startswith("gemini") for key in _CHOICES)


def _absolute(folder: object, home: Path) -> str:
    if not isinstance(folder, str):
        raise TypeError("a folder is a path")
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # no such user, or no home at all
        path = Path(folder)
    return str(home / path)
