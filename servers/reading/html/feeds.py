"""Feeds as lists of their entries: RSS 2.0 and 1.0, Atom (RFC 4287)."""

import importlib
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Protocol, cast

from servers.reading.html.hidden import drop_hidden
from servers.reading.html.links import absolute
from servers.reading.html.page import PageText
from servers.reading.html.tree import document_of, strip_surroundings
from servers.reading.markdown import as_title, blocks, one_line
from servers.reading.process.page_messages import Told
from servers.reading.unseen import readable, seen

ENTRIES_MAX = 100
SUMMARY_CHARS_MAX = 600

_ROOT = re.compile(
    r"(?>\s+|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+<(?:\w+:)?(?:rss|feed|RDF)\b",
    re.DOTALL,
)
"""The root after whatever may stand before it; atomic, or comments could keep it busy for ever."""

_DECLARED = re.compile(r"^\s*<\?xml[^>]*\?>")


class _Node(Protocol):
    tag: object
    text: str | None

    def __iter__(self) -> Iterator["_Node"]: ...

    def iter(self) -> Iterator["_Node"]: ...

    def get(self, key: str) -> str | None: ...

    def itertext(self) -> Iterator[str]: ...


class _Parser(Protocol): ...


class _Etree(Protocol):
    def XMLParser(
        self,
        *,
        encoding: str,
        resolve_entities: bool,
        no_network: bool,
        load_dtd: bool,
        huge_tree: bool,
        recover: bool,
    ) -> _Parser: ...

    def fromstring(self, text: bytes, parser: _Parser) -> _Node | None: ...


def is_feed(text: str) -> bool:
    """Whether text begins as a feed does."""
    return _ROOT.match(text[:4000]) is not None


def read_feed(text: str, url: str) -> PageText | None:
    """The entries of a feed with title, link, day and summary; None if it is damaged."""
    library = cast(_Etree, importlib.import_module("lxml.etree"))
    parser = library.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
    )
    try:
        root = library.fromstring(_DECLARED.sub("", readable(text)).encode(), parser)
    except (ValueError, SyntaxError):  # lxml's own error of syntax is one of Python's
        return None
    if root is None:
        return None
    channel = next((each for each in root.iter() if _name(each) == "channel"), root)
    entries = [each for each in root.iter() if _name(each) in ("item", "entry")]
    title = as_title(_text(channel, "title"))
    shown = [_entry(each, url) for each in entries[:ENTRIES_MAX]]
    left_out = len(entries) - len(shown)
    notes = (
        (f"only the first {ENTRIES_MAX} of {len(entries)} entries are shown",) if left_out else ()
    )
    markdown = blocks(
        [f"# {title}" if title else "", _plain(_text(channel, "description", "subtitle")), *shown]
    )
    return PageText(seen(markdown), Told(seen(title)), notes)


def _entry(entry: _Node, url: str) -> str:
    title = one_line(_plain(_text(entry, "title"))) or "(no title)"
    link = absolute(_link(entry), url)
    day = _day(_text(entry, "published", "pubDate", "date", "updated"))
    summary = _plain(_text(entry, "summary", "description", "content", "encoded"))
    head = f"## [{title}]({link})" if link else f"## {title}"
    return blocks([head, day, _shortened(summary)])


def _name(node: _Node) -> str:
    """The name of an element without its namespace; empty for comments."""
    return str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else ""


def _text(node: _Node, *names: str) -> str:
    """The text of the first child that bears one of the names, in the order of the names."""
    for name in names:
        for child in node:
            if _name(child) == name and (text := "".join(child.itertext()).strip()):
                return text
    return ""


def _link(entry: _Node) -> str:
    links = [child for child in entry if _name(child) == "link"]
    for child in links:
        if child.get("href") and child.get("rel") in (None, "alternate"):
            return child.get("href") or ""
    return next((child.text.strip() for child in links if child.text and child.text.strip()), "")


def _plain(text: str) -> str:
    """The words of a piece of HTML, as most summaries are."""
    if "<" not in text:
        return one_line(text)
    tree = document_of(f"<div>{text}</div>")
    if tree is None:
        return ""
    drop_hidden(tree)
    strip_surroundings(tree)
    return one_line(tree.text_content())


def _shortened(text: str) -> str:
    if len(text) <= SUMMARY_CHARS_MAX:
        return text
    return text[:SUMMARY_CHARS_MAX].rpartition(" ")[0] + " …"


def _day(text: str) -> str:
    """An ISO date, of the two ways in which feeds write one; what is neither stays out."""
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return text[:10]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
