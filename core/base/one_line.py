"""Text of others as one line of a message."""


def one_line(text: str) -> str:
    """Text on one line, without what would move a terminal's cursor."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
