"""Markdown laid out for a terminal: words whole, tables within its width, sources numbered.

Models and pages write it, so nothing of it is trusted: no HTML, no control characters (entities
make some), no address that hides behind a link's text, and no text that keeps the parser busy.
Colours are the terminal's own, those alone that show on light and on dark.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode
from rich.console import Console
from rich.style import Style
from rich.text import Text

from core.base.frozen import frozen
from modules.terminal.display.code import coloured
from modules.terminal.screen import COLUMN_GAP, TAB_COLUMNS
from modules.terminal.streams import printable

CHARACTERS_MAX: Final = 40_000
"""A longer text is no answer to be laid out; the parser may take 1 s for as much."""

CELLS_MAX: Final = 20_000
"""Lines times the bars of the longest row: a short text can make millions of cells."""

NODES_MAX: Final = 30_000

DRAFT_CHARACTERS_MAX: Final = 4_000
"""So much of a block that is still being written is laid out each time, from its end."""

DRAFT_LINES_MAX: Final = 300
"""So many lines of a text that is still being written are kept: more than a screen has."""

_COLUMNS_MIN: Final = 8
"""Lists and quotes within each other leave so many columns at least."""

_RULE_COLUMNS: Final = 40

_STYLES: Final[Mapping[str, Style]] = {
    "strong": Style(bold=True),
    "em": Style(italic=True),
    "s": Style(strike=True),
    "code_inline": Style(color="cyan"),
}
_LINK: Final = Style(underline=True)
_MARK: Final = Style(color="cyan")
_FAINT: Final = Style(dim=True)
_HEADING: Final = Style(bold=True)
_TITLE: Final = Style(bold=True, underline=True)

_SAFE_ADDRESS: Final = re.compile(r"(https?://|mailto:)[\x21-\x7e]+", re.IGNORECASE)
_SOURCE_MARK: Final = re.compile(r"\[Source: ([^\]\n]{1,300})\]")
_SOURCES: Final = re.compile(r"\n\nSources: ([^\n]{1,4000})\s*\Z")


class NotLaidOut(Exception):
    """The text is shown as it is: it would take too long, or is nested too deeply."""


@frozen
class Layout:
    """For whom it is laid out: how wide, and whether links can be told from text (OSC 8).

    With links, sources that are files below `folders` become some, too.
    """

    columns: int
    has_links: bool
    folders: Sequence[Path] = ()


def laid_out(markdown: str, layout: Layout, label: str = "") -> Text:
    """The markdown as styled lines of at most so many columns.

    Lines of code are never broken, however long: who copies them from the terminal gets them as
    they were written. A `label` stands before the first word where all is one paragraph, else on
    its own line.

    Raises:
        NotLaidOut: it is too large for that.
    """
    body, sources = _with_numbers(markdown)
    page = _Page(layout)
    try:
        lines = page.labelled(_blocks(body), label)
    except RecursionError as error:
        raise NotLaidOut from error
    if sources:
        lines += [Text(), Text("Sources", _HEADING), *page.sources(sources)]
    return Text("\n").join(lines)


class Draft:
    """Markdown that is still being written, laid out anew each time that more of it is there.

    Each block but the last is laid out once, and of a long last one only the end.
    """

    def __init__(self, layout: Layout, label: str = "") -> None:
        self._page = _Page(layout)
        self._layout = layout
        self._label = label
        self._settled = ""
        self._lines: list[Text] = []

    def lines(self, markdown: str) -> list[Text]:
        """The end of it as lines that all fit the columns, those of code too."""
        body, _ = _with_numbers(markdown)
        if not body.startswith(self._settled):
            self._settled, self._lines = "", []
        unsettled = _end_of_block(body[len(self._settled) :])
        try:
            blocks = _blocks(unsettled)
            if len(blocks) > 1 and (place := blocks[-1].map) is not None:
                self._lines = self._added(blocks[:-1], is_all=False)[-DRAFT_LINES_MAX:]
                source = unsettled.splitlines(keepends=True)[place[0] :]
                self._settled = body[: len(body) - len("".join(source))]
                blocks = blocks[-1:]
            lines = self._added(blocks, is_all=True)
        except (NotLaidOut, RecursionError):
            lines = [*self._lines, *_wrapped(Text(unsettled), self._layout.columns)]
        columns = self._layout.columns
        return [part for line in lines for part in _fitted(line, columns)][-DRAFT_LINES_MAX:]

    def _added(self, blocks: Sequence[SyntaxTreeNode], *, is_all: bool) -> list[Text]:
        """What is laid out already, and these blocks below it."""
        if is_all and not self._settled:
            return self._page.labelled(blocks, self._label)
        before = (
            [*self._lines, Text()] if self._settled else [Text(self._label)] * bool(self._label)
        )
        return [*before, *self._page.blocks(blocks, self._layout.columns)]


def _end_of_block(markdown: str) -> str:
    """As much as may be laid out each time: behind the first line of code, its last lines."""
    if len(markdown) <= DRAFT_CHARACTERS_MAX:
        return markdown
    end = markdown[-DRAFT_CHARACTERS_MAX:]
    first = markdown.partition("\n")[0]
    is_code = first.lstrip().startswith(("```", "~~~"))
    return "\n".join((*([first] if is_code else []), end.partition("\n")[2] or end))


def _fitted(line: Text, columns: int) -> list[Text]:
    return [line] if line.cell_len <= columns else _wrapped(line, columns)


def _blocks(markdown: str) -> list[SyntaxTreeNode]:
    """The outermost blocks.

    Raises:
        NotLaidOut: it is too large.
        RecursionError: it is nested too deeply.
    """
    bars = max((line.count("|") for line in markdown.splitlines()), default=0)
    if len(markdown) > CHARACTERS_MAX or bars * markdown.count("\n") > CELLS_MAX:
        raise NotLaidOut
    root = SyntaxTreeNode(_parser().parse(markdown))
    if sum(1 for _ in root.walk()) > NODES_MAX:
        raise NotLaidOut
    return root.children


def _with_numbers(markdown: str) -> tuple[str, Sequence[str]]:
    """The text with a number for each mark of a source, and the sources by their numbers.

    Marks look as document tools write them, and the last line as `core.run.answer` adds it.
    """
    sources: dict[str, int] = {}

    def number(source: str) -> int:
        return sources.setdefault(source.strip(), len(sources) + 1)

    if found := _SOURCES.search(markdown):
        for source in found[1].split("; "):
            number(source)
        markdown = markdown[: found.start()]
    markdown = _with_marks_behind(markdown)
    body = _SOURCE_MARK.sub(lambda mark: f"[{number(_source(mark))}]", markdown)
    return body, [*sources]


def _source(mark: re.Match[str]) -> str:
    return mark[1].partition(", ID:")[0].strip()


def _with_marks_behind(markdown: str) -> str:
    """The text with the marks that end it, each on a line, behind its last word, none twice."""
    lines = markdown.rstrip().split("\n")
    sources: dict[str, None] = {}
    for line in reversed(lines[1:]):
        if line.strip():
            if (mark := _SOURCE_MARK.fullmatch(line.strip())) is None:
                break
            sources = {_source(mark): None} | sources
        lines.pop()
    if not sources:
        return markdown
    gap = "\n\n" if lines[-1].lstrip().startswith(("|", "```", "~~~")) else " "
    return "\n".join(lines) + gap + " ".join(f"[Source: {source}]" for source in sources)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("emphasis", "product", _product)
    return parser


def _product(state: StateInline, silent: bool) -> bool:
    """Keep asterisks between letters or digits: `2*3*4` is a product, and emphasises no 3."""
    end = state.pos
    while end < state.posMax and state.src[end] == "*":
        end += 1
    inside = 0 < state.pos < end < state.posMax
    if not (inside and state.src[state.pos - 1].isalnum() and state.src[end].isalnum()):
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


class _Page:
    """Blocks into lines."""

    def __init__(self, layout: Layout) -> None:
        self._columns = layout.columns
        self._has_links = layout.has_links
        self._folders = layout.folders

    def labelled(self, nodes: Sequence[SyntaxTreeNode], label: str) -> list[Text]:
        """The lines of blocks behind a label, or below it."""
        columns = self._columns
        if label and len(nodes) == 1 and nodes[0].type == "paragraph":
            return _wrapped(Text(f"{label} ").append_text(self.inline(nodes[0])), columns)
        return [*([Text(label)] if label else []), *self.blocks(nodes, columns)]

    def blocks(self, nodes: Iterable[SyntaxTreeNode], columns: int, gap: int = 1) -> list[Text]:
        """The lines of blocks, `gap` empty lines between two of them."""
        lines: list[Text] = []
        for node in nodes:
            block = self._block(node, max(columns, _COLUMNS_MIN))
            lines += [Text()] * (gap if lines and block else 0) + block
        return lines

    def _block(self, node: SyntaxTreeNode, columns: int) -> list[Text]:
        match node.type:
            case "heading":
                style = _TITLE if node.tag == "h1" else _HEADING
                return [_styled(line, style) for line in _wrapped(self.inline(node), columns)]
            case "bullet_list" | "ordered_list":
                return self._list(node, columns)
            case "blockquote":
                inner = self.blocks(node.children, columns - 2)
                return [_behind("│ ", _FAINT, line) for line in inner]
            case "fence" | "code_block":
                return _hanging("  ", _code_lines(node))
            case "hr":
                return [Text("─" * min(columns, _RULE_COLUMNS), _FAINT)]
            case "table":
                return self._table(node, columns)
            case _:
                return _wrapped(self.inline(node), columns)

    def _list(self, node: SyntaxTreeNode, columns: int) -> list[Text]:
        first, items = int(node.attrs.get("start", 1)), node.children
        is_numbered = node.type == "ordered_list"
        width = len(str(first + len(items) - 1)) + 2 if is_numbered else 2
        is_tight = all(block.hidden for item in items for block in item.children[:1])
        lines: list[Text] = []
        for number, item in enumerate(items, first):
            mark = f"{number}. ".rjust(width) if is_numbered else "• "
            inner = self.blocks(item.children, columns - width, 0 if is_tight else 1) or [Text()]
            lines += [Text()] * bool(lines and not is_tight)
            lines += _hanging(mark, inner)
        return lines

    def _table(self, node: SyntaxTreeNode, columns: int) -> list[Text]:
        """Columns where every word fits its own; else a row is a list of its cells."""
        rows = [
            [self.inline(cell) for cell in row.children]
            for part in node.children
            for row in part.children
        ]
        head, *body = rows
        is_right = ["right" in str(cell.attrs.get("style")) for cell in _head_cells(node)]
        least = [max(_longest_word(row[n]) for row in rows) for n in range(len(head))]
        most = [max(row[n].cell_len for row in rows) for n in range(len(head))]
        widths = _shared(least, most, columns - COLUMN_GAP * (len(head) - 1))
        if widths is None:
            return self._records(head, body, columns)
        lines = [*_row([_styled(cell, _HEADING) for cell in head], widths, is_right)]
        lines.append(Text((" " * COLUMN_GAP).join("─" * width for width in widths), _FAINT))
        wraps = any(most[n] > width for n, width in enumerate(widths))
        for number, row in enumerate(body):
            lines += [Text()] * bool(wraps and number)
            lines += _row(row, widths, is_right)
        return lines

    def _records(
        self, head: Sequence[Text], body: Sequence[Sequence[Text]], columns: int
    ) -> list[Text]:
        lines: list[Text] = []
        for row in body:
            lines += [Text()] * bool(lines)
            for title, cell in zip(head, row, strict=True):
                name = _styled(title, _HEADING).append(": ") if title.plain else Text()
                lines += _hanging("", _wrapped(name.append_text(cell), columns - 2), "  ")
        return lines

    def sources(self, sources: Sequence[str]) -> list[Text]:
        """Sources by their numbers, addresses and files as links; each stays in one piece."""
        lines: list[Text] = []
        for number, source in enumerate(sources, 1):
            shown = printable(source)
            text = Text(shown, Style(link=self._target(source)))
            lines.append(_behind(f"[{number}] ", _MARK, text))
        return lines

    def _target(self, source: str) -> str | None:
        """Where the link of a source leads; a file has to be there, below one of the folders."""
        if not self._has_links:
            return None
        if _SAFE_ADDRESS.fullmatch(source):
            return source
        with suppress(OSError, ValueError):
            for folder in map(Path.resolve, self._folders):
                file = (folder / source).resolve()
                if file.is_relative_to(folder) and file.is_file():
                    return file.as_uri()
        return None

    def inline(self, node: SyntaxTreeNode) -> Text:
        """The words of a block, styled."""
        text = Text()
        self._append(node.children, Style(), text)
        text.highlight_regex(r"(?<!\w)\[\d{1,3}\](?!\w)", _MARK)
        return text

    def _append(self, nodes: Iterable[SyntaxTreeNode], style: Style, text: Text) -> None:
        for node in nodes:
            match node.type:
                case "softbreak" | "hardbreak":  # people and planners mean the lines they write
                    text.append("\n")
                case "link":
                    self._append_link(node, style, text)
                case "image":
                    name = _plain(node.children) or "picture"
                    text.append(f"[{name}: {_address(node, 'src')}]", style + _FAINT)
                case _ if node.children:
                    self._append(node.children, style + _STYLES.get(node.type, Style()), text)
                case _:
                    shown = printable(node.content).replace("\t", " ")
                    text.append(shown, style + _STYLES.get(node.type, Style()))

    def _append_link(self, node: SyntaxTreeNode, style: Style, text: Text) -> None:
        """The words, and where they lead: the host, for who could follow it, else all of it."""
        address, words = _address(node, "href"), _plain(node.children)
        is_link = self._has_links and _SAFE_ADDRESS.fullmatch(address) is not None
        target = Style(link=address) if is_link else Style()
        self._append(node.children, style + _LINK + target, text)
        shown = _host(address) if is_link else address
        if shown and shown != words and not words.startswith(address):
            text.append(f" ({shown})", style + _FAINT)


def _head_cells(table: SyntaxTreeNode) -> Sequence[SyntaxTreeNode]:
    return table.children[0].children[0].children


def _address(node: SyntaxTreeNode, name: str) -> str:
    return printable(str(node.attrs.get(name, "")))


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or address
    except ValueError:
        return address


def _plain(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "".join(printable(node.content) or _plain(node.children) for node in nodes)


def _styled(text: Text, style: Style) -> Text:
    text = text.copy()
    text.stylize_before(style)
    return text


def _code_lines(node: SyntaxTreeNode) -> list[Text]:
    """Code as it is written, tabs as spaces; the terminal breaks what is too long for it."""
    code = coloured(printable(node.content.rstrip("\n")), node.info.partition(" ")[0])
    code.expand_tabs(TAB_COLUMNS)
    return [*code.split("\n", allow_blank=True)]


def _wrapped(text: Text, columns: int) -> list[Text]:
    """Lines broken at words; a word that is longer than a line goes on in the next."""
    # Any Console does: it gives the tabs and the width that are given here.
    screen = Console(width=columns)
    lines = text.wrap(screen, columns, overflow="fold", tab_size=TAB_COLUMNS)
    for line in lines:
        line.rstrip()
    return [*cast("Iterable[Text]", lines)]


def _hanging(mark: str, lines: Sequence[Text], indent: str | None = None) -> list[Text]:
    """Lines behind a mark, those after the first indented as far."""
    rest = " " * len(mark) if indent is None else indent
    return [
        _behind(rest if number else mark, _MARK, line) if line.plain or not number else Text()
        for number, line in enumerate(lines)
    ]


def _behind(mark: str, style: Style, line: Text) -> Text:
    return Text().append(mark, style).append_text(line)


def _longest_word(text: Text) -> int:
    return max((Text(word).cell_len for word in text.plain.split()), default=1)


def _shared(least: Sequence[int], most: Sequence[int], columns: int) -> Sequence[int] | None:
    """Widths for columns that need `least` and would like `most`; None where they don't fit."""
    if sum(least) > columns:
        return None
    widths = [*least]
    spare = columns - sum(least)
    wanting = sorted(range(len(widths)), key=lambda n: most[n] - least[n])
    for place, n in enumerate(wanting):  # those that want least get it, the rest share the rest
        gained = min(most[n] - least[n], spare // (len(wanting) - place))
        widths[n] += gained
        spare -= gained
    return widths


def _row(cells: Sequence[Text], widths: Sequence[int], is_right: Sequence[bool]) -> list[Text]:
    wrapped = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines: list[Text] = []
    for number in range(max(map(len, wrapped), default=0)):
        line = Text()
        for n, cell in enumerate(wrapped):
            shown = cell[number] if number < len(cell) else Text()
            room = " " * (widths[n] - shown.cell_len)
            line.append(" " * COLUMN_GAP if n else "")
            line.append_text(Text(room) + shown if is_right[n] else shown + Text(room))
        line.rstrip()
        lines.append(line)
    return lines
