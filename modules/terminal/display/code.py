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
    return [pieces_of(line) for line in coloured(code, language).split("\n", allow_blank=True)]


def pieces_of(line: Text) -> list[tuple[str, str]]:
    """A styled line in pieces with their SGR numbers."""
    return [
        (segment.text.rstrip("\n"), "" if segment.style is None else _sgr(segment.style))
        for segment in line.render(_ANY_SCREEN)
    ]


def _sgr(style: Style) -> str:
    """The numbers of a style that has a colour of its own or none."""
    shown = {"1": style.bold, "2": style.dim, "4": style.underline, "9": style.strike}
    numbers = [number for number, is_so in shown.items() if is_so]
    if style.color is not None and style.color.number is not None:
        numbers.append(str(30 + style.color.number))
    return ";".join(numbers)
