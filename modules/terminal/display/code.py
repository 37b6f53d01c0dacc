"""Source code in the terminal's own colours, those that show on light and on dark."""

from typing import Final

from pygments.token import Comment, Keyword, Name, Number, String
from rich.console import Console
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

_ANY_SCREEN: Final = Console()
"""Styles are named in the same way on all of them."""


def coloured(code: str, language: str) -> Text:
    """Printable code with its colours, no character changed; a language nobody knows has none."""
    plain = Text(code)
    if not language or len(code) > CHARACTERS_MAX:
        return plain
    lexer = Syntax("", language[:LANGUAGE_CHARACTERS_MAX].lower(), tab_size=0).lexer
    if lexer is None:
        return plain
    # Not `Syntax.highlight`, whose text is cut at the screen's edge.
    text = Text()
    for kind, piece in lexer.get_tokens(code):
        text.append(piece, _COLOURS.get_style_for_token(kind))
    text = text[: len(code)]  # without the line end that it adds
    # Some languages' own readers may drop what they do not know.
    return text if text.plain == code else plain


def coloured_pieces(code: str, language: str) -> list[list[tuple[str, str]]]:
    """The lines of printable code, each in pieces with their SGR numbers."""
    lines: list[list[tuple[str, str]]] = []
    for line in coloured(code, language).split("\n", allow_blank=True):
        pieces: list[tuple[str, str]] = []
        for segment in line.render(_ANY_SCREEN):
            style = segment.style
            numbers = "" if style is None else _sgr(style)
            pieces.append((segment.text.rstrip("\n"), numbers))
        lines.append(pieces)
    return lines


def _sgr(style: Style) -> str:
    """The numbers of a style that has a colour of its own or none."""
    colour = style.color
    numbers = ["2"] if style.dim else []
    if colour is not None and colour.number is not None:
        numbers.append(str(30 + colour.number))
    return ";".join(numbers)
