"""Where Ollama listens, as `OLLAMA_HOST` says. Light: the child that reads files uses it too."""

from collections.abc import Mapping
from urllib.parse import urlsplit

HOST_VARIABLE = "OLLAMA_HOST"
DEFAULT_PORT = 11434


def ollama_base_url(environ: Mapping[str, str]) -> str:
    """The server's base URL without a slash at its end, as Ollama itself reads OLLAMA_HOST.

    A host, `host:port` or a URL; the address that means all interfaces is this machine.

    Raises:
        ValueError: it is no address; the message says what is allowed.
    """
    given = environ.get(HOST_VARIABLE, "").strip().strip("\"'") or "127.0.0.1"
    url = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ValueError(
            f"{HOST_VARIABLE} holds no usable address; allowed: a host, host:port, or an http or "
            "https URL"
        )
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(parts.hostname, parts.hostname)  # noqa: S104 - nothing is bound: it is what a server's setting says
    if port is None:
        port = {"http": 80, "https": 443}[parts.scheme] if "://" in given else DEFAULT_PORT
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"
