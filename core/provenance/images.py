"""What a viewer of an answer loads unasked, and so tells its address to whoever owns it.

An answer is markdown with HTML in it. markdown-it-py says what of it is an image, HTML or code, and
makes the page that a viewer makes; nh3 reads the attributes of that page as browsers do. What would
load something from an address that is not known gives way to its text and a note. Links stay:
nobody follows them but the user. Code stays as it is.
"""

import html
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import nh3

from core.base.text import lazy_pattern

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

PARTS_MAX: Final = 500
"""Of an answer with more parts to be taken out, no image and no HTML is left."""

REMOVED: Final = "[left out: its address comes from nowhere known]"

_MAY_LOAD = lazy_pattern(r"!\[|<[A-Za-z!?/]")
_HTML_BEGINS = lazy_pattern(r"<(?=[A-Za-z!?/])")
_TAG_NAME = lazy_pattern(r"<(/?)(?!(?:a|img)[\s/>])[a-z][^\s/>]*", re.IGNORECASE)
_NAME = lazy_pattern(r"[a-z][\w:-]*")
_HTML: Final = ("html_block", "html_inline")
_CLOSING: Final = "'\">"
"""What closes a tag that stays open, as what follows the answer may do."""

_SAID: Final = {
    "softbreak": "\n",
    **dict.fromkeys(("text_special", "code_inline", "image", "html_inline"), " "),
}

_LINE_ENDS: Final = str.maketrans("", "", "\t\r\n")
_BETWEEN_ADDRESSES = lazy_pattern(r"[\s,;()='\"]+")
_READ_OTHERWISE = lazy_pattern(
    r"<(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|plaintext|!\[CDATA)",
    re.IGNORECASE,
)
"""In these (HTML 13.2.5) what looks like a tag is none; scripts and styles load, too."""


def without_unknown_images(answer: str, may_load: Callable[[str], bool]) -> str:
    """The answer without what a viewer would load from addresses that may not be loaded."""
    if _MAY_LOAD.search(answer) is None:
        return answer
    cleaned = _cleaned(answer, may_load, "commonmark")
    return _cleaned(cleaned, may_load, "gfm") if "|" in cleaned else cleaned


def _cleaned(answer: str, may_load: Callable[[str], bool], form: str) -> str:
    """The answer without what loads, as one form of markdown has it."""
    notes = _parts_that_load(answer, may_load, form)
    cleaned = answer
    for source, note in notes.items() if len(notes) <= PARTS_MAX else ():
        cleaned = cleaned.replace(source, note)
    if notes and _parts_that_load(cleaned, may_load, form):
        # It stands there otherwise than it is read: behind marks of a quotation, or in two parts.
        cleaned = _harmless(answer)
    return cleaned


def _harmless(answer: str) -> str:
    """The answer without anything that could be an image or a tag."""
    return _HTML_BEGINS.sub("\u2039", answer.replace("![", "["))


def _parts_that_load(answer: str, may_load: Callable[[str], bool], form: str) -> dict[str, str]:
    """The source of each part that loads something from elsewhere, and what takes its place."""
    from markdown_it import MarkdownIt  # 30 ms, for few answers
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_inline.image import image

    parts: dict[str, str] = {}

    def checked_image(state: "StateInline", silent: bool) -> bool:
        start = state.pos
        if not image(state, silent):
            return False
        if not silent and not _is_allowed(str(state.tokens[-1].attrs["src"]), may_load):
            text = state.tokens[-1].content.strip()
            parts[state.src[start : state.pos]] = f"{text} {REMOVED}".strip()
        return True

    parser = MarkdownIt("commonmark").enable(["table"] if form == "gfm" else [])
    parser.inline.ruler.at("image", checked_image)
    parser.disable("text_join")  # so that what is escaped is no text below
    parser.add_render_rule("text_special", RendererHTML.text)
    parser.validateLink = lambda url: True  # others may show what markdown-it would not
    parser.normalizeLink = lambda url: url
    tokens = parser.parse(answer)
    for token in tokens:  # what is text by CommonMark's rules, and a tag to a viewer without them
        text = "".join(_SAID.get(each.type, each.content) for each in token.children or [])
        if "<" in text and _loads(text, may_load):
            parts[text] = _HTML_BEGINS.sub("\u2039", text)
    for source in _html_in(tokens):
        if _loads(source, may_load):
            parts[source.strip()] = f"{nh3.clean(source, tags=set()).strip()} {REMOVED}".strip()
    if not parts and _loads(parser.renderer.render(tokens, parser.options, {}), may_load):
        parts[answer] = _harmless(answer)
    return parts


def _html_in(tokens: "list[Token]") -> Iterator[str]:
    for token in tokens:
        if token.type in _HTML:
            yield token.content
        yield from _html_in([] if token.type == "image" else token.children or [])


def _loads(page: str, may_load: Callable[[str], bool]) -> bool:
    """Whether a page loads something that may not be loaded."""
    if _READ_OTHERWISE.search(page) is not None:
        return True
    found: list[tuple[str, str, str]] = []

    def noted(tag: str, name: str, value: str) -> str:
        found.append((tag, name, value))
        return value

    # Under one name, no tag is dropped for where it stands. An attribute must be named to be seen,
    # and the scheme of its address, too.
    page = _TAG_NAME.sub(r"<\1span", f"{page}{_CLOSING}")
    names = {*_NAME.findall(html.unescape(page).lower())}
    names.update(part for name in [*names] for part in name.split(":"))
    nh3.clean(
        page,
        tags={"a", "img", "span"},
        clean_content_tags=set(),
        attributes={"*": names},
        attribute_filter=noted,
        url_schemes=names | {"http", "https", "ftp", "file", "data"},
        link_rel=None,
    )
    return not all(_is_harmless(*each, may_load) for each in found)


def _is_harmless(tag: str, name: str, value: str, may_load: Callable[[str], bool]) -> bool:
    """Whether an attribute loads nothing but what may be loaded, whatever it is for."""
    if "<" in value:
        return False  # a page in a page
    if name in ("alt", "title") or (tag == "a" and name == "href"):
        return True
    if name == "srcset":
        return all(
            _is_allowed(each.split()[0], may_load) for each in value.split(",") if each.split()
        )
    if (is_image := tag == "img" and name == "src") or _leads_elsewhere(value):
        return _is_allowed(value, may_load, is_image=is_image)
    texts = {value, value.translate(_LINE_ENDS)}  # browsers take them out of an address
    parts = {part for text in texts for part in _BETWEEN_ADDRESSES.split(text)}
    return not any(map(_leads_elsewhere, parts))


def _is_allowed(address: str, may_load: Callable[[str], bool], *, is_image: bool = True) -> bool:
    plain = _plain(address)
    if (is_image and plain[:5].lower() == "data:") or plain[:4].lower() == "cid:":
        return True
    if not _leads_elsewhere(address):
        return True
    return may_load(f"https:{plain}" if plain.startswith("//") else plain)


def _leads_elsewhere(address: str) -> bool:
    """Whether an address is more than a path: with a host, or a scheme of its own."""
    plain = _plain(address)
    try:
        return plain.startswith("//") or urlsplit(plain).scheme != ""
    except ValueError:
        return True


def _plain(address: str) -> str:
    return "".join(char for char in address if char > " ").replace("\\", "/")
