"""Writing markdown, and what is common to the markdown of all formats."""

import re
from collections.abc import Iterable, Sequence

from core.base.text import without_hidden

_FENCE = re.compile(r"`{3,}")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`]+")
_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})-\n(?=[a-zß-ÿ]{2})")
_EXPONENT_START = re.compile(r"[+\-\u2212\u2013]?\w")
_ONE_EXPONENT = re.compile(r"[+\-\u2212\u2013]?\w+")
_ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th", "er", "re", "e", "ème"})
_BLANK_LINES = re.compile(r"\n{3,}")

TITLE_CHARS_MAX = 200

_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSEEN = re.compile("[\u180b-\u180f\u2800\ufe00-\ufe0f\ue000-\uf8ff\U000e1000-\U0010ffff]")
"""What pages hide text in beyond what is hidden everywhere: variation selectors (Unicode 16, 23.4),
the empty braille pattern, private use."""

_JOINERS = re.compile(
    "(?<![\u0600-\U0001faff])[\u200c\u200d]+|[\u200c\u200d]+(?![\u0600-\U0001faff])"
)
"""Where no script needs them: Persian and those of India do, and emoji; Latin does not."""


def cleaned(text: str) -> str:
    """The text with single line feeds, and without control characters and lone surrogates.

    Neither can be stored or shown; each becomes a blank.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNREADABLE.sub(" ", text)


def seen(text: str) -> str:
    """The text cleaned, and without characters that nobody sees but a model reads.

    Source: Boucher and Anderson, Trojan Source, USENIX Security 2023.
    """
    text = cleaned(text)
    if text.isascii():
        return text
    text = _UNSEEN.sub("", without_hidden(text))
    return _JOINERS.sub("", text) if "\u200c" in text or "\u200d" in text else text


def heading(level: int, text: str) -> str:
    """A heading of level 1 to 6; empty for an empty text."""
    words = unwrapped(text)
    return f"{'#' * min(max(level, 1), 6)} {words}" if words else ""


def without_hyphens(text: str) -> str:
    """The text with words in one piece that were divided at the end of a line."""
    return _HYPHEN.sub("", text)


def raised(before: str, superscript: str) -> str:
    """What a superscript is in plain text after `before`: `48` after `2` is `^48`.

    As it is where it is no exponent: an ordinal's end, a mark of a note, nothing before it.
    """
    words = superscript.strip()
    base = before[-1:]
    is_exponent = (base.isalnum() or base == ")") and _EXPONENT_START.match(words) is not None
    if not is_exponent or (base.isdigit() and words.lower() in _ORDINAL_ENDS):
        return superscript
    return f"^{words}" if _ONE_EXPONENT.fullmatch(words) else f"^({words})"


def lowered(markdown: str, levels: int) -> str:
    """The text with its headings so many levels deeper; level 6 is the last."""
    lines: list[str] = []
    fence_mark = ""
    for line in markdown.split("\n"):
        opened = _FENCE.match(line)
        if fence_mark:
            is_closed = opened is not None and opened[0].startswith(fence_mark)
            fence_mark = "" if is_closed else fence_mark
        elif opened is not None:
            fence_mark = opened[0]
        elif found := _HEADING.match(line):
            line = heading(line.index(" ") + levels, found[1])
        lines.append(line)
    return "\n".join(lines)


def unwrapped(text: str) -> str:
    """The text in one line, with one blank between its words."""
    return " ".join(text.split())


def fence(code: str, language: str = "") -> str:
    """Code between fences that are longer than any inside it."""
    longest = max((len(found) for found in _FENCE.findall(code)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{code.rstrip()}\n{mark}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head; short rows are filled up. Empty without a row."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], _row(["---"] * width), *lines[1:]])


def _row(cells: Sequence[str]) -> str:
    shown = [unwrapped(cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(shown)} |"


def blocks(parts: Iterable[str]) -> str:
    """Parts with an empty line between; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def tidied(text: str) -> str:
    """The text without blanks at the ends of lines and with one empty line in a row at most."""
    lines = (line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def with_pages(pages: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """The pages as one text, and the offsets at which they begin; an empty page keeps its place."""
    starts: list[int] = []
    offset = 0
    for page in pages:
        starts.append(offset)
        offset += len(page) + 2
    return "\n\n".join(pages), tuple(starts)


def first_heading(markdown: str) -> str:
    """The text of the first heading; empty without one."""
    found = _HEADING.search(markdown)
    return as_title(_EMPHASIS.sub("", found[1])) if found else ""


def as_title(text: str) -> str:
    """A title from anywhere: one line, not endless."""
    return unwrapped(cleaned(text))[:TITLE_CHARS_MAX]
