"""Source code in the terminal's own colours, those that show on light and on dark."""

from typing import Final

from pygments.token import Comment, Keyword, Name, Number, String
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

CHARACTERS_MAX: Final = 20_000
"""Longer code stays plain: patterns of some languages are slow."""

LANGUAGE_CHARACTERS_MAX: Final = 40

_COLOURS: Final = ANSISyntaxTheme(
    {
        Comment: Style(dim=True, italic=True),
        Keyword: Style(color="magenta"),
        Name.Builtin: Style(color="cyan"),
        Name.Class: Style(color="cyan"),
        Name.Function: Style(color="cyan"),
        Name.Tag: Style(color="magenta"),
        Number: Style(color="cyan"),
        String: Style(color="green"),
    }
)


def coloured(code: str, language: str) -> Text:
    """Printable code with its colours; a language that nobody knows has none."""
    if not language or len(code) > CHARACTERS_MAX:
        return Text(code)
    text = Syntax("", language[:LANGUAGE_CHARACTERS_MAX], theme=_COLOURS).highlight(code)
    text.rstrip()
    return text
