"""Images in an answer: viewers load them unasked, and so tell their address to whoever owns it.

Markdown images (CommonMark 0.31, 6.4, inline and by reference) and HTML tags that load something.
One whose address is not known gives way to its text; where it is hard to tell what a viewer would
take for the image, it becomes a link. Links stay: nobody follows them but the user.
"""

import html
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from core.base.text import lazy_pattern

IMAGES_LOOKED_AT: Final = 500
"""Of an answer with more, the first ones lose what makes them load, without a look."""

TEXT_CHARACTERS_MAX: Final = 1_000
"""Longest text of an image; a longer one makes it a link."""

ADDRESS_CHARACTERS_MAX: Final = 8_000

REMOVED: Final = "[image left out: its address comes from nowhere known]"

_LOADING: Final = (
    "(?:img|image|video|audio|source|iframe|embed|object|picture|input|link|svg|use|track)"
)
_DEFINITION = lazy_pattern(
    r"^[ >]{0,12}\[([^\[\]\n]{1,300})\]:[ \t]{0,20}\n?[ \t]{0,20}<?(\S{1,8000})", re.MULTILINE
)
_INLINE = lazy_pattern(
    r"\(\s{0,100}(?:<([^<>\n]{0,8000})>"
    r"|((?!\s)[^\s()]{0,4000}(?:\([^\s()]{0,1000}\)[^\s()]{0,1000}){0,3}))(?=[\s)])"
)
_REST_OF_INLINE = lazy_pattern(r"[^()]{0,2000}(?:\([^()]{0,2000}\)[^()]{0,2000})?\)")
_REFERENCE = lazy_pattern(r"\[([^\[\]\n]{0,300})\]")
_TAG_BEGINS = lazy_pattern(rf"<(?={_LOADING}\b)", re.IGNORECASE)
_TAG = lazy_pattern(r"<(?:\"[^\"]{0,8000}\"|'[^']{0,8000}'|[^<>\"']){0,4000}>")
_LOADED = lazy_pattern(
    r"(?:src|srcset|href|data|poster|background)\s{0,20}=\s{0,20}"
    r"(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))",
    re.IGNORECASE,
)
_ALT = lazy_pattern(r"\balt\s{0,20}=\s{0,20}(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_ESCAPED = lazy_pattern(r"\\([!-/:-@\[-`{-~])")


def without_unknown_images(answer: str, may_load: Callable[[str], bool]) -> str:
    """The answer with the images that may not be loaded replaced by their text and a note."""
    if "![" in answer:
        definitions = _DEFINITION.finditer(answer)
        names = {_label(found[1]): found[2].rstrip(">") for found in definitions}
        replaced = partial(_image_replaced, names=names, may_load=may_load)
        answer = _each_replaced(answer, re.compile(r"!\["), "[", replaced)
    if "<" in answer:
        replaced = partial(_tag_replaced, may_load=may_load)
        answer = _each_replaced(answer, _TAG_BEGINS, "\u2039", replaced)
    return answer


def _each_replaced(
    answer: str, begins: re.Pattern[str], harmless: str, replaced: Callable[[str], str]
) -> str:
    """The answer with each image looked at, the last first: one may stand in another's text."""
    starts = [found.start() for found in begins.finditer(answer)][-IMAGES_LOOKED_AT:]
    if not starts:
        return answer
    tail = ""
    for start, end in reversed([*zip(starts, [*starts[1:], len(answer)], strict=True)]):
        tail = replaced(f"{answer[start:end]}{tail}")
    return f"{begins.sub(harmless, answer[: starts[0]])}{tail}"


def _image_replaced(text: str, names: Mapping[str, str], may_load: Callable[[str], bool]) -> str:
    """A text that begins with a markdown image, without it if it may not be loaded.

    `names` are the addresses that are defined apart.
    """
    close = _closing_bracket(text)
    if close is None or any(char in text[:close] for char in "`<"):
        return text[1:]  # code and tags may hold the bracket that counts
    alt, rest = text[2:close], text[close + 1 : close + 1 + 2 * ADDRESS_CHARACTERS_MAX]
    address, length = _address(alt, rest, names)
    if address is None:
        return text[1:] if "](" in text[: close + 2] else text
    if _is_allowed(html.unescape(_ESCAPED.sub(r"\1", address)), may_load):
        return text
    return f"{_with_note(alt)}{text[close + 1 + length :]}"


def _address(alt: str, rest: str, names: Mapping[str, str]) -> tuple[str | None, int]:
    """Where an image is, and how much of what follows its text says so."""
    if (inline := _INLINE.match(rest)) is not None:
        end = _REST_OF_INLINE.match(rest, inline.end())
        address = inline[1] if inline[1] is not None else inline[2]
        return address, (end or inline).end()
    if (named := _REFERENCE.match(rest)) is not None:
        return names.get(_label(named[1] or alt)), named.end()
    return names.get(_label(alt)), 0


def _tag_replaced(text: str, may_load: Callable[[str], bool]) -> str:
    """A text that begins with a tag of HTML, without it if something may not be loaded."""
    if (found := _TAG.match(text)) is None:
        return f"\u2039{text[1:]}"
    tag = found[0]
    loaded = [next(filter(None, each.groups()), "") for each in _LOADED.finditer(tag)]
    addresses = [part.split() for each in loaded for part in html.unescape(each).split(",")]
    if all(_is_allowed(words[0], may_load) for words in addresses if words):
        return text
    alt = _ALT.search(tag)
    shown = html.unescape(alt[1] or alt[2] or "") if alt is not None else ""
    return f"{_with_note(shown)}{text[found.end() :]}"


def _closing_bracket(text: str) -> int | None:
    """Where the text of an image ends, in what begins with `![`."""
    depth, position = 0, 1
    while position < min(len(text), TEXT_CHARACTERS_MAX):
        if text[position] == "\\":
            position += 1
        elif text[position] == "[":
            depth += 1
        elif text[position] == "]":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None


def _with_note(text: str) -> str:
    return f"{text.strip()} {REMOVED}".strip()


def _label(name: str) -> str:
    """A reference's name as CommonMark compares it (4.7)."""
    return " ".join(name.split()).casefold()


def _is_allowed(address: str, may_load: Callable[[str], bool]) -> bool:
    """An address that leads to no host loads nothing from elsewhere."""
    plain = "".join(char for char in address if char > " ").replace("\\", "/")
    if plain.startswith("//"):
        return may_load(f"https:{plain}")
    try:
        scheme = urlsplit(plain).scheme
    except ValueError:
        return False
    return scheme in ("", "data", "cid") or may_load(plain)
