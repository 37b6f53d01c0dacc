"""The profile's `web` section on its way to the bundled servers that read the web. Light.

The search server and the documents server are told in one variable what the profile says; of
what the profile leaves out, they have the same defaults (`servers.web.options`).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.documents import is_documents_server, uses_gemini
from config.servers import ServerSpec
from core.base.redaction import MIN_SECRET_CHARACTERS

OPTIONS_VARIABLE: Final = "CORTEX_WEB"
WEBSEARCH_SCRIPT: Final = Path("servers") / "websearch_server.py"

KEY_VARIABLES: Final[Mapping[str, str]] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""Where the keys of search engines stand, of those that need one."""

DEFAULT_ENGINE: Final = "duckduckgo"

HOST_CHARACTERS_MAX: Final = 260
"""A name (RFC 1035, section 2.3.4: 255 octets on the wire) and a port."""

_OLLAMA_HOST: Final = "OLLAMA_HOST"
_GEMINI_KEY: Final = "GEMINI_API_KEY"
_IN_SECONDS: Final = "_seconds"
_HOST: Final = re.compile(
    r"(?:[^\s/@:?#*\\%\[\]]+|\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\])(?::\d{1,5})?|[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*"
)
"""A name, an IPv4 address, or an IPv6 address in brackets, perhaps with a port; or one without."""


def web_json(section: Mapping[str, object]) -> str:
    """The section as the servers read it, alike whoever read the profile (30 or 30.0 seconds).

    Raises:
        TypeError: it holds what JSON doesn't; `config.schema` has the message for it.
    """
    given = {
        key: float(value)
        if key.endswith(_IN_SECONDS) and isinstance(value, int) and not isinstance(value, bool)
        else value
        for key, value in section.items()
    }
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def engine_key(section: Mapping[str, object]) -> str | None:
    """The variable with the key of the section's search engine; None where it needs none."""
    return KEY_VARIABLES.get(str(section.get("search") or DEFAULT_ENGINE))


def web_environment(
    section: Mapping[str, object], environ: Mapping[str, str], *, searches: bool = True
) -> dict[str, str]:
    """What a server that reads the web gets in its environment beside the usual.

    A key goes along only where the section names the service that it is for, and that of a
    search engine only to the server that `searches`.
    """
    found = {OPTIONS_VARIABLE: web_json(section)}
    if host := environ.get(_OLLAMA_HOST):
        found[_OLLAMA_HOST] = host
    for name in _keys_of(section, searches=searches):
        if key := environ.get(name):
            found[name] = key
    return found


def with_web(
    spec: ServerSpec, section: Mapping[str, object], root: Path, environ: Mapping[str, str]
) -> ServerSpec:
    """The spec, which learns of the web if it is that of a bundled server that reads it.

    What its entry sets itself counts more.
    """
    searches = is_websearch_server(spec, root)
    if not searches and not is_documents_server(spec, root):
        return spec
    told = web_environment(section, environ, searches=searches)
    keys = {told[name] for name in _keys_of(section, searches=searches) if name in told}
    secrets = {key for key in keys if len(key) >= MIN_SECRET_CHARACTERS}
    return replace(spec, env={**told, **spec.env}, secrets=spec.secrets | secrets)


def is_websearch_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the search server of this very program."""
    if not spec.bundled or len(spec.command) < 2:
        return False
    return Path(spec.command[1]).resolve() == (root / WEBSEARCH_SCRIPT).resolve()


def is_host(text: str) -> bool:
    """Whether this is a host as it stands in a URL, perhaps with a port: no scheme, path or `*`."""
    return len(text) <= HOST_CHARACTERS_MAX and _HOST.fullmatch(text) is not None


def _keys_of(section: Mapping[str, object], *, searches: bool) -> list[str]:
    """The variables with keys that the section asks for."""
    names = [_GEMINI_KEY] if uses_gemini(section) else []
    of_engine = engine_key(section) if searches else None
    return [*names, of_engine] if of_engine is not None else names
