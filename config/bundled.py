"""What the profile says of documents and of the web, on its way to the bundled servers.

Each is told in one variable, with absolute paths; of what the profile leaves out, the servers have
the same defaults (`servers.rag.library.options`, `servers.web.options`).
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.schema import AgentProfile, DocumentsSection, WebSection
from config.servers import ServerSpec
from core.base.redaction import MIN_SECRET_CHARACTERS

DOCUMENTS_VARIABLE: Final = "CORTEX_DOCUMENTS"
WEB_VARIABLE: Final = "CORTEX_WEB"
DOCUMENTS_SCRIPT: Final = Path("servers") / "documents_server.py"
WEBSEARCH_SCRIPT: Final = Path("servers") / "websearch_server.py"

KEY_VARIABLES: Final[Mapping[str, str]] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""Where the keys of search engines stand, of those that need one."""

_OLLAMA_HOST: Final = "OLLAMA_HOST"
_GEMINI_KEY: Final = "GEMINI_API_KEY"


def documents_environment(
    section: DocumentsSection, home: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """What the documents server gets in its environment beside the usual.

    Relative folders begin at `home`. Where Ollama listens is told always; the key of Gemini only
    where the section names Gemini.
    """
    given = section.model_dump(mode="json", exclude_unset=True)
    given["folders"] = [_absolute(folder, home) for folder in section.folders]
    given["index_folder"] = _absolute(section.index_folder, home)
    keys = [_GEMINI_KEY] if uses_gemini(section) else []
    return {DOCUMENTS_VARIABLE: _json(given), **_found([_OLLAMA_HOST, *keys], environ)}


def web_environment(
    section: WebSection, environ: Mapping[str, str], *, searches: bool = True
) -> dict[str, str]:
    """What a server that reads the web gets in its environment beside the usual.

    A key goes along only where the section names the service that it is for, and that of a
    search engine only to the server that `searches`.
    """
    given = section.model_dump(mode="json", exclude_unset=True)
    keys = _web_keys(section, searches=searches)
    return {WEB_VARIABLE: _json(given), **_found([_OLLAMA_HOST, *keys], environ)}


def with_sections(
    spec: ServerSpec, profile: AgentProfile, root: Path, home: Path, environ: Mapping[str, str]
) -> ServerSpec:
    """The spec, which learns of documents and web if it is that of a bundled server with a use.

    What its entry sets itself counts more.
    """
    told: dict[str, str] = {}
    keys: list[str] = []
    if is_documents_server(spec, root):
        told |= documents_environment(profile.documents, home, environ)
        keys += [_GEMINI_KEY] if uses_gemini(profile.documents) else []
    searches = _starts(spec, root / WEBSEARCH_SCRIPT)
    if told or searches:
        told |= web_environment(profile.web, environ, searches=searches)
        keys += _web_keys(profile.web, searches=searches)
    if not told:
        return spec
    secrets = {told[key] for key in keys if len(told.get(key, "")) >= MIN_SECRET_CHARACTERS}
    return replace(spec, env={**told, **spec.env}, secrets=spec.secrets | secrets)


def is_documents_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the documents server of this very program."""
    return _starts(spec, root / DOCUMENTS_SCRIPT)


def uses_gemini(section: DocumentsSection) -> bool:
    """Whether texts or pictures of the documents go to Gemini."""
    return section.embedder.startswith("gemini") or section.captions.startswith("gemini")


def _web_keys(section: WebSection, *, searches: bool) -> list[str]:
    """The variables with keys that the section asks for."""
    names = [_GEMINI_KEY] if section.captions.startswith("gemini") else []
    engine = KEY_VARIABLES.get(section.search) if searches else None
    return [*names, engine] if engine is not None else names


def _starts(spec: ServerSpec, script: Path) -> bool:
    """Whether it is a server of ours that runs this script."""
    if not spec.bundled or len(spec.command) < 2:
        return False
    return Path(spec.command[1]).resolve() == script.resolve()


def _found(names: list[str], environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name in names if (value := environ.get(name))}


def _json(given: Mapping[str, object]) -> str:
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def _absolute(folder: str, home: Path) -> str:
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # no such user, or no home at all
        path = Path(folder)
    return str(home / path)
