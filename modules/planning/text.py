"""Pieces of a plan's text as they are quoted in messages."""

MAX_LINE_CHARACTERS = 200
"""Longest line of a plan that is quoted."""

MAX_MESSAGE_CHARACTERS = 1000
"""Longest message about a plan; the interpreter's may hold whole values."""


def line_text(source: str, line: int | None) -> str | None:
    """The text of a 1-based line, stripped and shortened; None where there is no such line."""
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return None
    return shorten(lines[line - 1].strip(), MAX_LINE_CHARACTERS)


def shorten(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """`text`, or its beginning with an ellipsis if it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
