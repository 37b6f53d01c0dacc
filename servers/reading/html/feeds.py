"""Feeds as lists of their entries: RSS 2.0 and 1.0, Atom (RFC 4287)."""

import re
from email.utils import parsedate_to_datetime

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - its one name for a node

from core.base.text import shorten
from servers.reading.context import Reading
from servers.reading.html.hidden import drop_hidden
from servers.reading.html.tree import absolute, document_of, strip_surroundings
from servers.reading.markdown import as_title, blocks, cleaned, seen, unwrapped
from servers.reading.source import Extracted, Source
from servers.reading.text.plain import read_text

ENTRIES_MAX = 100
SUMMARY_CHARS_MAX = 600

_DECLARED = re.compile(r"^\s*<\?xml[^>]*\?>")


def read_feed(source: Source, reading: Reading) -> Extracted:
    """The entries of a feed with title, link, day and summary; its text if it is damaged."""
    root = _root_of(source.text)
    if root is None:
        return read_text(source, reading)
    channel = next((each for each in root.iter() if _name(each) == "channel"), root)
    entries = [each for each in root.iter() if _name(each) in ("item", "entry")]
    if len(entries) > ENTRIES_MAX:
        reading.note(f"only the first {ENTRIES_MAX} of {len(entries)} entries are shown")
    title = as_title(_text(channel, "title"))
    markdown = blocks(
        [
            f"# {title}" if title else "",
            _plain(_text(channel, "description", "subtitle")),
            *(_entry(each, source.url) for each in entries[:ENTRIES_MAX]),
        ]
    )
    return Extracted(seen(markdown), seen(title))


def _root_of(text: str) -> _Element | None:
    """The root of XML, mended as far as that goes; nothing that it names is loaded."""
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
    )
    try:
        return etree.fromstring(_DECLARED.sub("", cleaned(text)).encode(), parser)
    except (ValueError, SyntaxError):  # lxml's own error of syntax is one of Python's
        return None


def _entry(entry: _Element, url: str) -> str:
    title = unwrapped(_plain(_text(entry, "title"))) or "(no title)"
    link = absolute(_link(entry), url)
    day = _day(_text(entry, "published", "pubDate", "date", "updated"))
    summary = _plain(_text(entry, "summary", "description", "content", "encoded"))
    head = f"## [{title}]({link})" if link else f"## {title}"
    return blocks([head, day, shorten(summary, SUMMARY_CHARS_MAX)])


def _name(node: _Element) -> str:
    """The name of an element without its namespace; empty for comments."""
    return str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else ""


def _text(node: _Element, *names: str) -> str:
    """The text of the first child that bears one of the names, in the order of the names."""
    for name in names:
        for child in node:
            if _name(child) == name and (text := "".join(child.itertext()).strip()):
                return text
    return ""


def _link(entry: _Element) -> str:
    links = [child for child in entry if _name(child) == "link"]
    for child in links:
        if child.get("href") and child.get("rel") in (None, "alternate"):
            return child.get("href") or ""
    return next((child.text.strip() for child in links if child.text and child.text.strip()), "")


def _plain(text: str) -> str:
    """The words of a piece of HTML, as most summaries are."""
    if "<" not in text:
        return unwrapped(text)
    tree = document_of(f"<div>{text}</div>")
    if tree is None:
        return ""
    drop_hidden(tree)
    strip_surroundings(tree)
    return unwrapped(tree.text_content())


def _day(text: str) -> str:
    """An ISO date, of the two ways in which feeds write one; what is neither stays out."""
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return text[:10]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
