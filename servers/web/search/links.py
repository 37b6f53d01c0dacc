"""Links that engines return, as addresses that can be asked for."""

from urllib.parse import SplitResult, quote, urlsplit

MAX_LINK_CHARACTERS = 2_048
"""Longer addresses are of no use to a model, and servers refuse many of them."""


def web_link(address: str) -> str | None:
    """An http(s) address on one line, or None if it is none.

    Blanks and characters that can't be seen are percent-encoded. Refused are other schemes, user
    names in front of the host (they make a link look like another), control characters and
    backslashes, which browsers and libraries read differently.
    """
    trimmed = address.strip()
    if len(trimmed) > MAX_LINK_CHARACTERS or any(map(_is_forbidden, trimmed)):
        return None
    encoded = "".join(map(_visible, trimmed))
    parts = split_or_none(encoded)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    if "@" in parts.netloc or "%" in parts.netloc or len(encoded) > MAX_LINK_CHARACTERS:
        return None
    return encoded


def split_or_none(address: str) -> SplitResult | None:
    """The parts of an address; None if its host or port is wrong in itself."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def host_of(address: str) -> str:
    """The host of an address in lower case, without a last dot; empty if it has none."""
    parts = split_or_none(address)
    return (parts.hostname or "").rstrip(".") if parts else ""


def _is_forbidden(character: str) -> bool:
    return character < " " or character in "\\\x7f" or "\ud800" <= character <= "\udfff"


def _visible(character: str) -> str:
    if character != " " and character.isprintable():
        return character
    return quote(character)
