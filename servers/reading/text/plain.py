"""Text that is one already: markdown, reStructuredText, plain, source code, JSON, notebooks.

Its lines stay where they are. Code is put between fences, in which nothing reads as a heading.
"""

import json
import re
from typing import cast

from servers.reading.context import Reading
from servers.reading.kinds import language_of
from servers.reading.markdown import as_title, blocks, cleaned, fence, first_heading
from servers.reading.source import Extracted, Source

SHORT_ADORNMENT = 4
"""docutils takes a line of so many signs for one under a title, even under a longer one."""

LINE_CHARS_READABLE = 400
"""A JSON file with a longer line was written for programs, and is laid out anew."""

JSON_CHARS_MAX = 20_000_000
CELLS_MAX = 5_000

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


def read_source(source: Source, reading: Reading) -> Extracted:
    """Code between fences."""
    del reading
    text = cleaned(source.text)
    if not text.strip():
        return Extracted("", source.name)
    return Extracted(fence(text, language_of(source.name)), source.name, first_line=0)


def read_json(source: Source, reading: Reading) -> Extracted:
    """JSON between fences; in one line, it is laid out in many. Broken JSON is kept as it is."""
    text = cleaned(source.text)
    if not text.strip():
        return Extracted("")
    if max(map(len, text.split("\n"))) > LINE_CHARS_READABLE and len(text) <= JSON_CHARS_MAX:
        value = _value_of(text)
        if value is not None:
            text = json.dumps(value, ensure_ascii=False, indent=1)
        elif source.suffix == ".json":
            reading.note("it is no valid JSON, and kept as it is")
    return Extracted(fence(cleaned(text), "json"), source.name, first_line=0)


def read_notebook(source: Source, reading: Reading) -> Extracted:
    """A Jupyter notebook: its text as it is, its code between fences, no output.

    Source: nbformat 4, cells.
    """
    notebook = _value_of(source.text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return read_json(source, reading)
    language = "python"
    parts: list[str] = []
    for cell in cast(list[object], cells)[:CELLS_MAX]:
        if not isinstance(cell, dict):
            continue
        fields = cast(dict[str, object], cell)
        text = cleaned(_text_of(fields.get("source")))
        if text.strip():
            is_code = fields.get("cell_type") == "code"
            parts.append(fence(text, language) if is_code else text)
    markdown = blocks(parts)
    return Extracted(markdown, first_heading(markdown) or source.name)


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


def _value_of(text: str) -> dict[str, object] | list[object] | None:
    """The object or list; None for anything else, or text that is no JSON."""
    try:
        value = cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return cast(dict[str, object], value)
    return cast(list[object], value) if isinstance(value, list) else None


def _text_of(source: object) -> str:
    if isinstance(source, list):
        return "".join(str(line) for line in cast(list[object], source))
    return source if isinstance(source, str) else ""
