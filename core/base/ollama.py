"""Where an Ollama server is: for the agent's models and for the documents' embeddings alike.

The address is read as envconfig/config.go of Ollama reads OLLAMA_HOST, so that all mean the same
server.
"""

import re
from collections.abc import Mapping
from typing import Final

DEFAULT_PORT: Final = 11434
HOST_VARIABLE: Final = "OLLAMA_HOST"

KEY_VARIABLE: Final = "OLLAMA_API_KEY"
"""Ollama's own variable for a server that wants a key, such as https://ollama.com."""

_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}(?:/[\w./~-]*)?")
"""No user, no password, no query: messages show addresses."""


def ollama_address(environ: Mapping[str, str]) -> str:
    """The server's base URL, without a slash at its end: OLLAMA_HOST, else the loopback address.

    OLLAMA_HOST may be a host, `host:port` or a URL; a port that is none is replaced by the usual
    one, and an address that a server listens at on all interfaces means this machine. The path of
    an API behind it, which other programs want there, is left out. What it says may be any text:
    see `checked_address`.
    """
    text = environ.get(HOST_VARIABLE, "").strip().strip("\"'")
    scheme, separator, place = text.partition("://")
    if not separator:
        scheme, place, port = "http", text, DEFAULT_PORT
        if text == "ollama.com":
            scheme, port = "https", 443
    else:
        port = {"http": 80, "https": 443}.get(scheme, DEFAULT_PORT)
    place, _, path = place.partition("/")
    host, given = _host_and_port(place)
    if given.isdecimal() and given.isascii() and len(given) <= 5 and int(given) <= 65535:
        port = int(given)
    path = f"/{path.strip('/')}".removesuffix("/v1").removesuffix("/api").rstrip("/")
    return f"{scheme}://{host}:{port}{path}"


def checked_address(environ: Mapping[str, str]) -> str:
    """The server's base URL, if it can be asked.

    Raises:
        ValueError: it is no address; the message says what is allowed.
    """
    address = ollama_address(environ)
    # What stands before an "@" would be asked as the host, and be shown.
    if _ADDRESS.fullmatch(address) is None or "@" in environ.get(HOST_VARIABLE, ""):
        raise ValueError(
            f"{HOST_VARIABLE} holds no usable address; allowed: a host, host:port, or an http or "
            "https URL, such as 127.0.0.1:11434"
        )
    return address


def full_name(name: str) -> str:
    """A model's name as Ollama lists it: with the tag that it supposes where there is none."""
    last = name.rpartition("/")[2]
    return name if ":" in last else f"{name}:latest"


def _host_and_port(place: str) -> tuple[str, str]:
    """The host as a URL has it, and what stands behind its colon."""
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    elif place.count(":") == 1:
        host, _, port = place.partition(":")
    else:
        host, port = place, ""  # a name, or an IPv6 address without brackets
    match host:
        case "" | "0.0.0.0":  # noqa: S104 - nothing is bound: it is what a server's setting says
            host = "127.0.0.1"
        case "::" | "0:0:0:0:0:0:0:0":
            host = "::1"
        case _:
            pass
    return (f"[{host}]" if ":" in host else host), port
