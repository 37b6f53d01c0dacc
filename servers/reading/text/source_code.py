"""Source code, JSON and notebooks: blocks of code, in which nothing reads as a heading."""

import json
from typing import cast

from servers.reading.context import Reading
from servers.reading.kinds import language_of
from servers.reading.markdown import blocks, cleaned, fence, first_heading
from servers.reading.source import Extracted, Source

LINE_CHARS_READABLE = 400
"""A JSON file with a longer line was written for programs, and is laid out anew."""

JSON_CHARS_MAX = 20_000_000
CELLS_MAX = 5_000


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
