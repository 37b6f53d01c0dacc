"""How a server's configuration is shown: what it starts or where it answers, without secrets."""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from config.servers import ServerSpec
from core.base.redaction import names_a_secret

Kind: TypeAlias = Literal["stdio", "http", "per call"]

HIDDEN = "…"
"""Stands where a secret stood."""

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_SETTING = re.compile(r"([\w-]+)=(?=.)")
_AUTHORIZATION = re.compile(r"(authorization:\s*(?:\w+\s+)?|\bbearer\s+)\S+", re.I)


def kind_of(spec: ServerSpec) -> Kind:
    """How it is spoken to: over stdio, over HTTP, or by a process (or session) for each call."""
    if spec.connection == "per_call":
        return "per call"
    return "http" if spec.url is not None else "stdio"


def shown_start(spec: ServerSpec) -> str:
    """The command as one would type it, or the URL."""
    if spec.url is not None:
        return shown_url(spec.url)
    words = shown_command(spec.command)
    return " ".join(word if word == HIDDEN else shlex.quote(word) for word in words)


def shown_command(words: Iterable[str]) -> list[str]:
    """The words of a command; what stands where keys and passwords usually do is hidden."""
    return list(_without_secrets(words))


def shown_url(url: str) -> str:
    """The URL without user, password, query and fragment, any of which may be a secret."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        query = HIDDEN if parts.query else ""
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    except ValueError:  # brackets that make no address
        return HIDDEN


def shown_origin(spec: ServerSpec) -> str:
    """Where its entry stands: the file, as far as it is known."""
    return spec.origin.removeprefix("under mcp_servers ").removeprefix("in ")


def _without_secrets(words: Iterable[str]) -> Iterator[str]:
    is_secret = False
    for word in words:
        if is_secret and not word.startswith("-"):
            is_secret = False
            yield HIDDEN
            continue
        is_secret = _OPTION.fullmatch(word) is not None and names_a_secret(word)
        yield _AUTHORIZATION.sub(rf"\1{HIDDEN}", _without_setting(word))


def _without_setting(word: str) -> str:
    """`NAME=value` without the value, if the name is that of a secret."""
    for setting in _SETTING.finditer(word):
        if names_a_secret(setting[1]):
            return f"{word[: setting.end()]}{HIDDEN}"
    return word
