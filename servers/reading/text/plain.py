"""Text that is one already: markdown, reStructuredText, plain. Its lines stay where they are."""

import re

from servers.reading.context import Reading
from servers.reading.markdown import as_title, cleaned, first_heading
from servers.reading.source import Extracted, Source

SHORT_ADORNMENT = 4
"""docutils takes a line of so many signs for one under a title, even under a longer one."""

_FRONT_TITLE = re.compile(
    r"\A---\n(?:.*\n){0,40}?title:[ \t]*[\"']?(.+?)[\"']?[ \t]*\n", re.IGNORECASE
)
_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#<>])\1{1,}\s*$")
_CODE_DIRECTIVE = re.compile(
    r"(\s*)\.\. (?:code|code-block|sourcecode|highlight)::[ \t]*([\w+#-]*)"
)


def read_markdown(source: Source, reading: Reading) -> Extracted:
    """Markdown as it is; the title is that of its front matter, else its first heading."""
    del reading
    text = cleaned(source.text)
    front = _FRONT_TITLE.match(text)
    return Extracted(text, as_title(front[1]) if front else first_heading(text))


def read_text(source: Source, reading: Reading) -> Extracted:
    """Plain text as it is."""
    del reading
    return Extracted(cleaned(source.text))


def read_rst(source: Source, reading: Reading) -> Extracted:
    """reStructuredText: headings as `#` and code between fences, line for line.

    Source: docutils, reStructuredText Markup Specification, sections and literal blocks. Levels
    are counted by the order in which adornments first come.
    """
    del reading
    lines = cleaned(source.text).split("\n")
    _mark_headings(lines)
    _mark_code(lines)
    text = "\n".join(lines)
    return Extracted(text, first_heading(text))


def _mark_headings(lines: list[str]) -> None:
    """Put `#` before titles, and empty the lines above and below them."""
    styles: list[tuple[str, bool]] = []
    for index in range(1, len(lines)):
        above, title, below = lines[index - 2] if index > 1 else "", lines[index - 1], lines[index]
        if not _is_title(title, below):
            continue
        has_overline = bool(_ADORNMENT.match(above)) and above[0] == below[0]
        style = (below[0], has_overline)
        if style not in styles:
            styles.append(style)
        lines[index - 1] = f"{'#' * min(styles.index(style) + 1, 6)} {title.strip()}"
        lines[index] = ""
        if has_overline:
            lines[index - 2] = ""


def _is_title(title: str, below: str) -> bool:
    words = title.strip()
    return (
        bool(words)
        and not words.startswith("..")
        and _ADORNMENT.match(below) is not None
        and _ADORNMENT.match(title) is None
        and len(below.rstrip()) >= min(len(words), SHORT_ADORNMENT)
    )


def _mark_code(lines: list[str]) -> None:
    """Put fences in the place of code directives, and of the empty line after each block."""
    index = 0
    while index < len(lines):
        found = _CODE_DIRECTIVE.match(lines[index])
        if found and (end := _end_of_block(lines, index, len(found[1]))) > index + 1:
            lines[index] = f"```{found[2]}"
            inside = [line for line in lines[index + 1 : end] if line.strip()]
            depth = min(len(line) - len(line.lstrip()) for line in inside)
            for each in range(index + 1, end):
                lines[each] = lines[each][depth:]
            _close(lines, end)
            index = end
        index += 1


def _end_of_block(lines: list[str], begin: int, margin: int) -> int:
    """The line after the last one that is indented deeper than the directive."""
    end = begin + 1
    for index in range(begin + 1, len(lines)):
        line = lines[index]
        if line.strip() and len(line) - len(line.lstrip()) <= margin:
            break
        if line.strip():
            end = index + 1
    return end


def _close(lines: list[str], end: int) -> None:
    if end < len(lines):
        lines[end] = "```" if not lines[end].strip() else f"```\n{lines[end]}"
    else:
        lines.append("```")
