"""A tree of HTML as markdown, with links, nested lists, tables and code; all of it.

What markitdown does for files, in a fifth of its time: pages are waited for, and its import alone
takes a second. Link targets are taken as they are: `links.make_absolute` comes first.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from servers.reading.html.tree import HEADINGS, Element
from servers.reading.markdown import blocks, fence, table, unwrapped

DEPTH_MAX = 100
"""Of elements; what lies deeper is taken as plain text."""

_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html",
    "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul", *HEADINGS,
})  # fmt: skip
_SILENT = frozenset({"head", "script", "style", "template", "noscript", "title", "link", "meta"})
_STRONG = frozenset({"strong", "b"})
_EMPHASIS = frozenset({"em", "i"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_SPACE = re.compile(r"[ \t\r\f\v\n\u00a0]+")
_AROUND_BREAK = re.compile(r" *\x1e *")
_LANGUAGE = re.compile(
    r"(?:^|[\s_-])(?:language|lang|highlight-source|highlight|brush:)[-_ ]([\w+#]+)"
)
_NO_LANGUAGE = frozenset({"text", "none", "default", "source", "plaintext"})
_MARKS = re.compile(r"#{1,6} |- ")
_BREAK = "\x1e"
"""Record separator: a line's end that is meant, while others are blanks."""


@dataclass(slots=True)
class _Flow:
    """Blocks that are finished, and the words of the one that is not."""

    done: list[str] = field(default_factory=list[str])
    words: list[str] = field(default_factory=list[str])

    def add(self, text: str | None) -> None:
        if text:
            self.words.append(text)

    def end(self) -> None:
        text = squeezed("".join(self.words))
        self.words.clear()
        if text:
            self.done.append(text)

    def block(self, text: str) -> None:
        self.end()
        if text.strip():
            self.done.append(text)


def markdown_of(part: Element) -> str:
    """The markdown of a part of a page."""
    return blocks(_blocks_in(part, 0))


def squeezed(text: str) -> str:
    """Words with one blank between, and the line ends that are meant."""
    lines = _AROUND_BREAK.sub(_BREAK, _SPACE.sub(" ", text)).strip(f" {_BREAK}")
    return lines.replace(_BREAK, "\n")


def _blocks_in(each: Element, depth: int) -> list[str]:
    flow = _Flow()
    flow.add(each.text)
    for child in each:
        if isinstance(child.tag, str) and child.tag not in _SILENT:
            _take(child, flow, depth + 1)
        flow.add(child.tail)
    flow.end()
    return flow.done


def _take(child: Element, flow: _Flow, depth: int) -> None:
    tag = str(child.tag)
    if depth > DEPTH_MAX:
        flow.add(child.text_content())
    elif tag not in _BLOCKS and not _holds_blocks(child):
        flow.add(_inline(child, depth))
    elif tag in HEADINGS:
        words = unwrapped(_inline_all(child, depth))
        flow.block(f"{'#' * int(tag[1])} {words}" if words else "")
    else:
        flow.end()
        flow.done += _block(child, tag, depth)


def _block(child: Element, tag: str, depth: int) -> list[str]:
    match tag:
        case "pre":
            return (
                [fence(_code_text(child), _language(child))] if child.text_content().strip() else []
            )
        case "ul" | "ol":
            return [_listed(child, depth)]
        case "table":
            return _tabled(child, depth)
        case "blockquote":
            quoted = blocks(_blocks_in(child, depth))
            return (
                ["\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))] if quoted else []
            )
        case "a":
            return _linked_blocks(child, depth)
        case "hr":
            return []
        case _:
            return _blocks_in(child, depth)


def _linked_blocks(link: Element, depth: int) -> list[str]:
    """A card that is a link as a whole: its first block, mostly a heading, leads there."""
    inside = _blocks_in(link, depth)
    target = link.get("href")
    if inside and target and "\n" not in inside[0] and "](" not in inside[0]:
        marks = _MARKS.match(inside[0])
        begin = marks.end() if marks else 0
        inside[0] = f"{inside[0][:begin]}[{inside[0][begin:]}]({target})"
    return inside


def _inline_all(each: Element, depth: int) -> str:
    words = [each.text or ""]
    for child in each:
        if isinstance(child.tag, str) and child.tag not in _SILENT:
            words.append(_inline(child, depth + 1))
        words.append(child.tail or "")
    return "".join(words)


def _inline(each: Element, depth: int) -> str:
    """An element in a line, with the blanks at its ends outside of its marks."""
    if each.tag == "br":
        return _BREAK
    if depth > DEPTH_MAX:
        return each.text_content()
    if each.tag in _CODE:
        return _in_marks(each.text_content(), "`" if "`" not in each.text_content() else "``")
    text = _inline_all(each, depth)
    if each.tag in _STRONG:
        return _in_marks(text, "**")
    if each.tag in _EMPHASIS:
        return _in_marks(text, "*")
    if each.tag == "a" and (target := each.get("href")):
        words = unwrapped(text.replace(_BREAK, " "))
        if not words:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{before}[{words}]({target}){after}"
    return f"{text} " if each.tag in _BLOCKS else text


def _in_marks(text: str, mark: str) -> str:
    words = text.strip(f" \t\n{_BREAK}")
    if not words or "**" in words or _BREAK in words:
        return text
    begin = text.index(words)
    return f"{text[:begin]}{mark}{words}{mark}{text[begin + len(words) :]}"


def _holds_blocks(each: Element) -> bool:
    return len(list(each)) > 0 and any(inner.tag in _BLOCKS for inner in each.iter())


def _code_text(pre: Element) -> str:
    for each in pre.iter("br"):
        each.tail = f"\n{each.tail or ''}"
    return pre.text_content().strip("\n")


def _language(pre: Element) -> str:
    """The language of code, by the class of it, of what is in it or around it."""
    inner = next(pre.iter("code"), None)
    parent = pre.getparent()
    above = None if parent is None else parent.getparent()
    for each in (pre, inner, parent, above):
        found = _LANGUAGE.search((each.get("class") or "") if each is not None else "")
        if found and found[1].lower() not in _NO_LANGUAGE:
            return found[1].lower()
    return ""


def _listed(listing: Element, depth: int) -> str:
    """A list; what is under an item is indented, lists without an empty line."""
    number = _number(listing.get("start")) if listing.tag == "ol" else None
    lines: list[str] = []
    for item in listing:
        if not isinstance(item.tag, str):
            continue
        inside = _blocks_in(item, depth + 1) if item.tag == "li" else [_listed_stray(item, depth)]
        inside = [each for each in inside if each]
        if not inside:
            continue
        mark = "-" if number is None else f"{number}."
        number = None if number is None else number + 1
        text = _joined(inside)
        lines.append(f"{mark} " + text.replace("\n", "\n" + " " * (len(mark) + 1)))
    return re.sub(r"(?m)^ +$", "", "\n".join(lines))


def _listed_stray(item: Element, depth: int) -> str:
    """What stands in a list without being an item; browsers show it."""
    flow = _Flow()
    _take(item, flow, depth + 1)
    flow.end()
    return blocks(flow.done)


def _joined(inside: list[str]) -> str:
    text = inside[0]
    for each in inside[1:]:
        text += ("\n" if each.startswith(("- ", "1. ")) else "\n\n") + each
    return text


def _number(start: str | None) -> int:
    return int(start) if start and start.strip().isdecimal() else 1


def _tabled(each: Element, depth: int) -> list[str]:
    """A table of data as one; one that arranges the page as what is in it."""
    rows = [row for row in each.iter("tr") if _table_of(row) is each]
    cells = [[cell for cell in row if cell.tag in ("td", "th")] for row in rows]
    captions = [unwrapped(found.text_content()) for found in each.iter("caption")]
    if _is_layout(each, cells):
        return [block for row in cells for cell in row for block in _blocks_in(cell, depth + 1)]
    shown = [list(_row(row, depth)) for row in cells if row]
    return [*captions, table([row for row in shown if any(row)])]


def _row(cells: Iterable[Element], depth: int) -> Iterable[str]:
    for cell in cells:
        yield unwrapped(" ".join(_blocks_in(cell, depth + 1)))
        span = _number(cell.get("colspan"))
        yield from [""] * (min(span, 20) - 1)


def _table_of(row: Element) -> Element | None:
    return next(iter(row.iterancestors("table")), None)


def _is_layout(each: Element, cells: list[list[Element]]) -> bool:
    if each.get("role") == "presentation" or max(map(len, cells), default=0) <= 1:
        return True
    nested = next((True for inner in each.iter("table") if inner is not each), False)
    return nested or any(cell.xpath(".//h1|.//h2|.//pre|./p[4]") for row in cells for cell in row)
