"""What can become an argument, and what a parameter takes.

The pieces of a request are URLs, paths, quotes, numbers, `key=value`; parameters say what they take
by JSON Schemas (2020-12, the common part).
"""

import json
import re
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from core.base.text import lazy_pattern
from core.values import Json, JsonObject

PieceKind: TypeAlias = Literal["word", "number", "quoted", "url", "path", "list", "pair", "mark"]


class Piece(NamedTuple):
    """A piece of the request from `start` to `end`; `value` is what it means as an argument.

    A pair's `name` is the parameter that it names; its value is text as typed.
    """

    kind: PieceKind
    value: Json
    start: int
    end: int
    name: str = ""

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value if isinstance(self.value, str) else str(self.value)


_PIECE: Final = lazy_pattern(
    r"""
    (?P<pair> \b(?P<name>[A-Za-z_]\w*) \s?=\s? (?P<given> "[^"\n]*" | '[^'\n]*' | \[[^\]\n]*\]
        | [^\s,;)"'\[]+ ) )
  | (?P<url> \b https?:// [^\s"'<>]+ )
  | (?P<quoted> "[^"\n]*" | “[^”\n]*” | `[^`\n]*` | (?<!\w)'[^'\n]+'(?!\w) )
  | (?P<list> \[ [^\]\n]* \] )
  | (?P<path> (?<![\w/])
        (?: (?:~|\.{1,2})? / [\w.\-/]* [\w\-] | [\w\-][\w.\-/]* \. [A-Za-z]\w{0,4} ) \b )
  | (?P<number> (?<![\w.]) -? (?: \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d+(?:\.\d+)? | \.\d+ )
        (?:[eE][+-]?\d+)? (?![\w]) )
  | (?P<word> \w+ (?: ['’\-] \w+ )* )
  | (?P<mark> \S )
    """,
    re.VERBOSE,
)


def pieces_of(request: str) -> tuple[Piece, ...]:
    """The pieces in order; linear in the request's length."""
    return tuple(_piece(match) for match in _PIECE.finditer(request))


def number_of(text: str) -> int | float | None:
    """The number that `text` spells, else None."""
    plain = text.replace(",", "")
    for read in (int, float):
        try:
            return read(plain)
        except ValueError:
            continue
    return None


def _piece(match: re.Match[str]) -> Piece:
    (start, end), text = match.span(), match[0]
    match match.lastgroup:
        case "pair":
            given: str = match["given"]
            clean = given if given[0] in "\"'[" else given.rstrip(".?!")
            return Piece("pair", clean.strip("\"'"), start, end, match["name"])
        case "url":
            return Piece("url", text.rstrip(".,;:!?)"), start, end)
        case "quoted":
            return Piece("quoted", text[1:-1], start, end)
        case "list":
            return Piece("list", list_of(text), start, end)
        case "number" if (number := number_of(text)) is not None:
            return Piece("number", number, start, end)
        case "path" | "word" as kind:
            return Piece(kind, text, start, end)
        case _:
            return Piece("mark", text, start, end)


def list_of(text: str) -> list[Json]:
    """The items of a list: JSON, or items separated by commas."""
    try:
        parsed: object = json.loads(text)
    except ValueError:
        parsed = None
    if isinstance(parsed, list):
        return cast("list[Json]", parsed)
    items = (item.strip(" \"'") for item in text.strip("[]").split(","))
    return [item if (number := number_of(item)) is None else number for item in items if item]


def types_of(schema: Json) -> frozenset[str]:
    """The JSON types that the schema allows, null aside; empty if it does not say."""
    if not isinstance(schema, dict):
        return frozenset()
    found: set[str] = set()
    kind = schema.get("type")
    for name in kind if isinstance(kind, list) else [kind]:
        if isinstance(name, str):
            found.add(name)
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else []:
            found |= types_of(option)
    return frozenset(found - {"null"})


def choices_of(schema: JsonObject) -> tuple[Json, ...]:
    """The values that an enum allows; empty if there is no enum."""
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else ()
