"""Fills a tool's arguments from the pieces of a request, where their place is beyond doubt."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from core.base.text import lazy_pattern
from core.tools.spec import Parameter
from core.values import Json, JsonObject
from modules.models.offline.refusal import quoted
from modules.models.offline.tools.pieces import Piece, choices_of, list_of, number_of, types_of
from modules.models.offline.tools.ranking import CALL_WORDS, STOP_WORDS, Vocabulary, terms

_BEFORE_TEXT: Final = frozenset(
    {"the", "a", "an", "of", "to", "in", "at", "from", "with", "my", "me", "us"}
)
"""Words that may stand between a tool's words and its free text."""

SECOND_REQUEST: Final = lazy_pattern(
    r"\bthen\b|\n|[.;!?]\s+\S|(?:\band|,)\s+(?:also\s+|please\s+)?(?:add|answer|append|calculate|"
    r"compare|compute|copy|count|create|delete|describe|download|email|explain|export|extract|"
    r"fetch|find|format|forward|get|give|list|mail|make|multiply|open|post|print|put|read|remove|"
    r"reply|report|return|save|say|send|share|show|sort|store|subtract|sum|summari[sz]e|tell|"
    r"translate|upload|use|write)\b",
    re.IGNORECASE,
)
"""Where a free text may end and another request begin."""

_EXAMPLES: Final = lazy_pattern(r"e\.g\.,?\s*((?:'[^']+'(?:,|\s|or|and)*)+)")
"""Examples in a parameter's description, as in "(e.g. 'Europe/London')"."""

_OPENS_TEXT: Final = frozenset({"for", "about", "on", "regarding", "saying", "called", ":"})
"""Words after which a tool's free text starts."""

_PUNCTUATION: Final = frozenset("""…,.;:!?()<>'"&""")
"""Marks that may stand in a request unread."""

_BETWEEN_VALUES: Final = frozenset({",", "and", "&", "(", ")"})
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_NEGATIONS: Final = frozenset({"no", "not", "without", "non"})
_BOOLEAN: Final = frozenset({"boolean"})
_ARRAY: Final = frozenset({"array"})
_POLITE_END: Final = lazy_pattern(
    r"(?:[\s,.!?;]|\b(?:please|thanks|thank you|for me)\b)++\Z", re.IGNORECASE
)
_URL_NAME: Final = lazy_pattern(r"ur[li]|link|address|href|website|webpage", re.IGNORECASE)
_PATH_NAME: Final = lazy_pattern(r"path|file|folder|dir|directory|document_name", re.IGNORECASE)

_FOLDER_NAME: Final = lazy_pattern(r"repo|dir|folder|root|workspace|cwd", re.IGNORECASE)


class Filling:
    """One tool's arguments, as far as the request gives them.

    `missing` are required parameters without a value, `doubt` says why a value's place is not
    beyond doubt, `unknown` are the words that the tool has no use for, `matched` the tool's own.
    """

    def __init__(self, vocabulary: Vocabulary, request: str, pieces: tuple[Piece, ...]) -> None:
        self.arguments: JsonObject = {}
        self.unknown: list[str] = []
        self.matched: set[str] = set()
        self.doubt = ""
        self._vocabulary = vocabulary
        self._request = request
        self._pieces = pieces
        self._free: list[Piece] = [p for p in pieces if p.kind not in ("word", "mark")]
        self._words: list[Piece] = [p for p in pieces if p.kind == "word"]
        self._taken: list[Piece] = []
        self._text_from: int | None = None
        self._take_pairs()
        self._take_named()
        self._take_flags()
        # What is narrow chooses first; numbers and texts take what is left, in schema order.
        for choose in (self._choice, self._address, self._items):
            self._each_open(choose, optional=True)
        self._each_open(self._number, optional=False)
        self._each_open(self._quote, optional=False)
        self._each_open(self._number_beside_name, optional=True)
        self._each_open(self._other_literal, optional=False)
        self._take_text()
        self.missing = [p.name for p in self._open() if p.required]
        self._check_left_over()
        self._check_order()
        self._match_words()

    @property
    def complete(self) -> bool:
        """Whether the call can be made."""
        return not (self.missing or self.unknown or self.doubt)

    def _open(self) -> list[Parameter]:
        return [p for p in self._vocabulary.tool.parameters if p.name not in self.arguments]

    def _each_open(
        self, choose: Callable[[Parameter], tuple[Piece, Json] | None], *, optional: bool
    ) -> None:
        for parameter in self._open():
            if not (parameter.required or optional):
                continue
            if (found := choose(parameter)) is not None:
                piece, self.arguments[parameter.name] = found
                self._taken.append(piece)
                self._free = [p for p in self._free if p is not piece]
                self._words = [p for p in self._words if p is not piece]

    # -- what is said outright ---------------------------------------------------------------

    def _take_pairs(self) -> None:
        by_name = {p.name.lower(): p for p in self._vocabulary.tool.parameters}
        for piece in [p for p in self._free if p.kind == "pair"]:
            parameter = by_name.get(piece.name.lower())
            value = None if parameter is None else _coerced(piece.text, parameter)
            if parameter is None:
                self.unknown.append(piece.name)
            elif value is None or parameter.name in self.arguments:
                self.doubt = f"{quoted(piece.text)} is no value for '{parameter.name}'"
            else:
                self.arguments[parameter.name] = value
            self._free.remove(piece)

    def _take_named(self) -> None:
        """Values right behind the name of their parameter: `latitude 48.8`, `title: "Milk"`."""
        pieces = [p for p in self._pieces if p.text not in (":", "=")]
        for name, piece in pairwise(pieces):
            fitting = [p for p in self._open() if name.text.lower() == p.name.lower()]
            if name.kind != "word" or piece not in self._free or not fitting:
                continue
            if piece.kind == "quoted" or types_of(fitting[0].schema) & {"number", "integer"}:
                value = _coerced(piece.text, fitting[0])
                if value is not None:
                    self.arguments[fitting[0].name] = value
                    self._free.remove(piece)

    def _take_flags(self) -> None:
        """A boolean parameter whose name the request says is true, or false after "no"."""
        for parameter in self._open():
            if types_of(parameter.schema) != _BOOLEAN:
                continue
            for number, piece in enumerate(self._words):
                if terms(piece.text) and terms(piece.text) == terms(parameter.name):
                    before = self._words[number - 1].text.lower() if number else ""
                    self.arguments[parameter.name] = before not in _NEGATIONS
                    self._words = [
                        p
                        for p in self._words
                        if p is not piece and p.text.lower() not in _NEGATIONS
                    ]
                    break

    # -- one parameter -----------------------------------------------------------------------

    def _choice(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        choices = {str(value).lower(): value for value in choices_of(parameter.schema)}
        pieces = [p for p in (*self._words, *self._free) if p.text.lower() in choices]
        if len({p.text.lower() for p in pieces}) > 1:
            self.doubt = f"several values fit its argument '{parameter.name}'"
            self._words = [p for p in self._words if p not in pieces]
        return (pieces[0], choices[pieces[0].text.lower()]) if len(pieces) == 1 else None

    def _address(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        if "string" not in types_of(parameter.schema) or choices_of(parameter.schema):
            return None
        if _is_url(parameter):
            return self._only("url")
        if _PATH_NAME.search(parameter.name):
            found = self._only("path") or self._only("quoted")
            if found is not None and self._is_place_of_it(found[0], parameter):
                self.doubt = f"{quoted(found[0].text)} may be where it is, not it itself"
            return found
        return None

    def _is_place_of_it(self, piece: Piece, parameter: Parameter) -> bool:
        """Whether "in /tmp" may mean what is in there, for a tool that changes a file."""
        if self._vocabulary.only_reads or _FOLDER_NAME.search(parameter.name):
            return False
        before = self._pieces[max(self._pieces.index(piece) - 1, 0)]
        return before.text.lower() in ("in", "inside", "from", "under", "within")

    def _items(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        if types_of(parameter.schema) != _ARRAY:
            return None
        if (found := self._only("list")) is not None:
            return found
        kind = "number" if types_of(parameter.schema.get("items")) & {"number", "integer"} else None
        pieces = [p for p in self._free if p.kind == (kind or "quoted")]
        if not pieces or not parameter.required:
            return None
        self._free = [p for p in self._free if p not in pieces]
        return pieces[0], [p.value for p in pieces]

    def _number(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        types = types_of(parameter.schema)
        if not types & {"number", "integer"} or choices_of(parameter.schema):
            return None
        piece = next((p for p in self._free if p.kind == "number"), None)
        if piece is None or not _is_number_for(types, piece.value):
            return None
        return piece, piece.value

    def _number_beside_name(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        """Read "5 results" or "results 5" for an optional `max_results`."""
        found = self._number(parameter)
        if found is None:
            return None
        place = self._pieces.index(found[0])
        beside = self._pieces[max(place - 1, 0) : place + 2]
        said = any(terms(p.text) & terms(parameter.name) for p in beside if p.kind == "word")
        return found if said else None

    def _quote(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        if not _takes_text(parameter):
            return None
        piece = next((p for p in self._free if p.kind == "quoted"), None)
        return None if piece is None else (piece, piece.value)

    def _other_literal(self, parameter: Parameter) -> tuple[Piece, Json] | None:
        """A URL or path for a text parameter, if it is all that there is."""
        alone = [p for p in self._open() if p.required and _takes_text(p)] == [parameter]
        fitting = [p for p in self._free if p.kind in ("url", "path")]
        if not alone or len(fitting) != 1 or self._words_unknown_to_tool():
            return None
        return fitting[0], fitting[0].value

    def _only(self, kind: str) -> tuple[Piece, Json] | None:
        pieces = [p for p in self._free if p.kind == kind]
        return (pieces[0], pieces[0].value) if len(pieces) == 1 else None

    # -- free text ---------------------------------------------------------------------------

    def _take_text(self) -> None:
        """The rest of the request for the only required text that is still open."""
        wanted = [p for p in self._open() if p.required and _takes_text(p)]
        if len(wanted) != 1 or _is_url(wanted[0]) or _PATH_NAME.search(wanted[0].name):
            return
        start = self._text_start()
        left = (*self._free, *self._words)
        if start is None or any(
            p.start >= start and p.kind != "mark" and p not in left for p in self._pieces
        ):
            return  # there is no text, or part of it is an argument already
        text = _POLITE_END.sub("", self._request[start:])
        if text:
            self.doubt = self.doubt or _text_doubt(text, wanted[0])
            self.arguments[wanted[0].name] = text
            self._text_from = start
            self._free = [p for p in self._free if p.start < start]

    def _text_start(self) -> int | None:
        """Where the tool's own words end: after "for" or "about", or before the first other."""
        named = False
        for number, piece in enumerate(self._pieces):
            if named and piece.text.lower() in _OPENS_TEXT and number + 1 < len(self._pieces):
                return self._pieces[number + 1].start
            if piece.kind == "mark":
                continue
            word = piece.text.lower()
            known = word in CALL_WORDS or self._vocabulary.knows(word)
            filler = word in (_BEFORE_TEXT if named else STOP_WORDS)
            if piece.kind != "word" or not (known or filler):
                return piece.start
            named = named or bool(terms(piece.text) & self._vocabulary.name)
        return None

    # -- checks ------------------------------------------------------------------------------

    def _is_unknown(self, piece: Piece) -> bool:
        word = piece.text.lower()
        return not (word in STOP_WORDS or word in CALL_WORDS or self._vocabulary.knows(word))

    def _words_unknown_to_tool(self) -> list[str]:
        return [p.text for p in self._words if self._is_unknown(p)]

    def _match_words(self) -> None:
        end = len(self._request) if self._text_from is None else self._text_from
        said = [p for p in self._pieces if p.end <= end and p.kind in ("word", "path", "url")]
        known = self._vocabulary.name | self._vocabulary.other
        for piece in said:
            text = {"word": piece.text, "url": "url"}.get(piece.kind, piece.text.rpartition(".")[2])
            self.matched |= terms(text) & known
        before = [p for p in self._words if p.end <= end]
        self.unknown += [p.text for p in before if self._is_unknown(p)]
        marks = [p for p in self._pieces if p.kind == "mark" and p.end <= end]
        self.unknown += [p.text for p in marks if not self._is_punctuation(p)]

    def _is_punctuation(self, mark: Piece) -> bool:
        """Whether a mark has no meaning of its own; any other (90°, 50%, 5!) must be read."""
        factorial = mark.text == "!" and self._request[: mark.start][-1:] in tuple(")0123456789")
        return mark.text in _PUNCTUATION and not factorial

    def _check_left_over(self) -> None:
        if self._free and not self.doubt:
            text = self._request[self._free[0].start : self._free[0].end]
            self.doubt = f"it is unclear what {quoted(text)} is for"

    def _check_order(self) -> None:
        """Values fill parameters in order only where nothing but commas stands between them."""
        for kind, called in (("number", "number"), ("quoted", "quoted text")):
            places = [n for n, p in enumerate(self._pieces) if p.kind == kind and p in self._taken]
            between = self._pieces[places[0] : places[-1]] if len(places) > 1 else ()
            if any(p.kind != kind and p.text.lower() not in _BETWEEN_VALUES for p in between):
                self.doubt = f"it is unclear which {called} is which"


def _text_doubt(text: str, parameter: Parameter) -> str:
    """Why the rest of a request may not be, as a whole, what the parameter wants; else ""."""
    first, _, rest = text.partition(" ")
    second = SECOND_REQUEST.search(text)
    if second is not None or (rest and first.lower() in (parameter.name.lower(), "please")):
        part = quoted(first if second is None else text[second.start() :])
        return f"it is unclear whether {part} belongs to '{parameter.name}'; put its text in quotes"
    described = parameter.schema.get("description")
    found = _EXAMPLES.search(described) if isinstance(described, str) else None
    examples = re.findall("'([^']+)'", found[1]) if found is not None else []
    for sign in "/:@":
        if examples and sign not in text and all(sign in example for example in examples):
            return f"{quoted(text)} is not written as its examples are, such as '{examples[0]}'"
    return ""


def _coerced(text: str, parameter: Parameter) -> Json:
    """The value that `text` is for the parameter; None if it is none."""
    choices = {str(value).lower(): value for value in choices_of(parameter.schema)}
    if choices:
        return choices.get(text.lower())
    types = types_of(parameter.schema)
    if types & {"number", "integer"} and (number := number_of(text)) is not None:
        return number if _is_number_for(types, number) else None
    if "boolean" in types and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if "array" in types:
        return list_of(text)
    return text if not types or "string" in types else None


def _is_number_for(types: frozenset[str], value: Json) -> bool:
    return isinstance(value, int) or ("number" in types and isinstance(value, float))


def _is_url(parameter: Parameter) -> bool:
    return parameter.schema.get("format") == "uri" or bool(_URL_NAME.search(parameter.name))


def _takes_text(parameter: Parameter) -> bool:
    types = types_of(parameter.schema)
    return (not types or "string" in types) and not choices_of(parameter.schema)
