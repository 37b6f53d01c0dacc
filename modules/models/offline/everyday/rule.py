"""A rule of the tables: how a request is phrased, and the lines of a plan that answers it.

A pattern is a regular expression over the whole bare request (see `asking.bare`), in which slots
such as `<number:n>` stand for values; lines name a slot as `@n@`, and get its value as source text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from core.base.text import lazy_pattern
from modules.models.offline.arithmetic.tokens import NUMBER_WORDS, ORDINALS
from modules.models.offline.plan_source import literal
from modules.models.offline.quotes.asking import asks_more
from modules.models.offline.tools.pieces import list_of, pieces_of

AS_NUMBER: Final = "answer = int(answer) if answer == int(answer) else float(answer)"
"""The last line of a rule whose value is a decimal: it is printed as other numbers are."""

MAX_DIGITS: Final = 12
"""How many digits a number of these requests may have: a plan finds the divisors of such a one."""

MAX_COUNT: Final = 10_000
"""How far a plan counts: days from today, Fibonacci numbers."""

MAX_ITEMS: Final = 200


class Rule(NamedTuple):
    """Phrasings of one request, and the plan's lines for it.

    `words` are such that each phrasing has one of them: a request without them is passed over
    without a look at the patterns, which are compiled when they are first needed.
    """

    words: str
    phrasings: tuple[str, ...]
    lines: str


def rule(words: str, *phrasings: str, lines: str) -> Rule:
    """A rule of a table."""
    return Rule(words, phrasings, lines)


def first_match(rules: Sequence[Rule], text: str) -> tuple[Rule, Mapping[str, str]] | None:
    """The first rule whose phrasing `text` is, with its slots' values as source text."""
    said = frozenset(re.findall(r"[^\W\d_]+", text.lower()))
    for each in rules:
        for phrasing in each.phrasings if not said.isdisjoint(each.words.split()) else ():
            found = re.fullmatch(_pattern(phrasing), text, re.IGNORECASE)
            if found is not None and (values := _values(found)) is not None:
                return each, values
    return None


_SLOT: Final = lazy_pattern(r"<(?P<kind>[a-z]+):(?P<name>[a-z]+)>")


def _pattern(phrasing: str) -> str:
    """The regular expression of a phrasing; " " is any white space, " ?" none too."""
    slots = _SLOT.sub(
        lambda slot: f"(?P<{slot['kind']}_{slot['name']}>{_SLOTS[slot['kind']][0]})", phrasing
    )
    return slots.replace(" ?", r"\s*").replace(" ", r"\s+")


def _values(found: re.Match[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for group, text in found.groupdict().items():
        if text is None:
            continue
        kind, _, name = group.partition("_")
        value = _SLOTS[kind][1](text)
        if value is None:
            return None
        values[name] = value
    return values


_SPELLED: Final = {**NUMBER_WORDS, "a": 1, "an": 1}
_COUNTED: Final = {**_SPELLED, **ORDINALS}


def _decimal(text: str) -> Decimal | None:
    plain = text.replace(",", "").replace("−", "-").lower()
    if plain in _SPELLED:
        return Decimal(_SPELLED[plain])
    return Decimal(plain) if sum(c.isdigit() for c in plain) <= MAX_DIGITS else None


def read_number(text: str) -> str | None:
    """A number of the request as a decimal in source; None if it has too many digits."""
    value = _decimal(text)
    return None if value is None else f'Decimal("{value}")'


def _whole(text: str) -> str | None:
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", text.lower())
    value = Decimal(_COUNTED[plain]) if plain in _COUNTED else _decimal(plain)
    return None if value is None or value % 1 else str(int(value))


def _count(text: str) -> str | None:
    value = _whole(text)
    return value if value is not None and int(value) <= MAX_COUNT else None


def _word(text: str) -> str:
    return literal(_unquoted(text.strip()))


def _text(text: str) -> str | None:
    """A text that is meant literally: in quotes, or neither a file nor a thing that has a text.

    None too where another request may begin in it.
    """
    bare = text.strip()
    quotes = sum(piece.kind == "quoted" for piece in pieces_of(bare))
    if _is_quoted(bare):
        return _word(bare) if quotes < 2 else None
    if _FILE.search(bare) or _THING.match(bare) or quotes or _TELLS.search(bare):
        return None
    is_more = " " in bare and (asks_more(bare) or _MORE.search(bare))
    return None if is_more else _word(bare)


def _phrase(text: str) -> str | None:
    """A text whose words are counted: "English" has more than one."""
    return _text(text) if _is_quoted(text.strip()) or len(text.split()) > 1 else None


def _quoted(text: str) -> str | None:
    return _word(text) if _is_quoted(text.strip()) else None


def _numbers(text: str) -> str | None:
    values = [_decimal(item) for item in re.findall(_DIGITAL, text)]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not 1 < len(known) <= MAX_ITEMS:
        return None
    return "[" + ", ".join(f'Decimal("{value}")' for value in known) + "]"


def _list(text: str) -> str | None:
    if _MORE_OF_LIST.search(text) or _TELLS.search(text):
        return None
    items = [_unquoted(item) for item in _items(text)]
    return literal([*items]) if 1 < len(items) <= MAX_ITEMS else None


def _items(text: str) -> Iterator[str]:
    listed = list_of(text if text.startswith("[") else f"[{_AND.sub(', ', text)}]")
    return (str(item) for item in listed)


def _is_quoted(text: str) -> bool:
    return len(text) > 1 and text[0] + text[-1] in ('""', "''", "“”", "``")


def _unquoted(text: str) -> str:
    return text[1:-1] if _is_quoted(text) else text


_TELLS: Final = lazy_pattern(r"[^\W\d_]:\s")
"""Words before a colon tell what to do with what stands behind it: they are no part of it."""

_FILE: Final = lazy_pattern(r"[/\\~]|\w\.\w")
_THING: Final = lazy_pattern(
    r"(?:an?|the|this|that|these|those|my|our|your|his|her|its|their|each|every|all|any|some)\s+\S"
    r"|(?:it|them|this|that|these|those|everything)$",
    re.IGNORECASE,
)

_MORE: Final = lazy_pattern(
    r"\bhow (?:many|much|often|long)\b|\b(?:plus|minus|times|divided by) [\d(]"
    r"|\b(?:in|to|into) (?:upper|lower|title|capital)",
    re.IGNORECASE,
)
_MORE_OF_LIST: Final = lazy_pattern(r"\bthen\s+\S|[.!?]\s+\S|\b(?:it|them)\b", re.IGNORECASE)
"""A text, or a list, that has such words without quotes around it may go on as another request."""

_AND: Final = lazy_pattern(r"\s*,?\s+and\s+", re.IGNORECASE)

_MONTH_NAMES: Final = (
    "january february march april may june july august september october november december"
)
_MONTHS: Final = _MONTH_NAMES.split()
_MONTH: Final = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_DATE_FORMS: Final = (
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m>{_MONTH})\.?,?\s+(?P<y>\d{{4}})",
    rf"(?P<m>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}})",
)
_DATE_FORM: Final = re.sub(r"\?P<[ymd]>", "?:", "|".join(_DATE_FORMS))


def _day(text: str) -> str | None:
    """A date, as the arguments of `datetime.date`."""
    for form in _DATE_FORMS:
        if (found := re.fullmatch(form, text.strip().lower())) is None:
            continue
        month = found["m"]
        number = int(month) if month.isdigit() else 1 + [m[:3] for m in _MONTHS].index(month[:3])
        try:
            day = date(int(found["y"]), number, int(found["d"]))
        except ValueError:
            return None
        return f"{day.year}, {day.month}, {day.day}"
    return None


_DIGITS: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_SPELLED_FORM: Final = "|".join(sorted({*NUMBER_WORDS, "a", "an"}, key=len, reverse=True))
_DIGITAL: Final = rf"[-−]?(?:{_DIGITS}(?:\.\d+)?|\.\d+)"
_WHOLE: Final = rf"{_DIGITS}(?:st|nd|rd|th)?|{_SPELLED_FORM}|{'|'.join(ORDINALS)}"
NUMBER_FORM: Final = rf"{_DIGITAL}|{_SPELLED_FORM}"
"""How a number is written, in digits or a word."""

_SLOTS: Final[Mapping[str, tuple[str, Callable[[str], str | None]]]] = MappingProxyType(
    {
        "number": (NUMBER_FORM, read_number),
        "whole": (_WHOLE, _whole),
        "count": (_WHOLE, _count),
        "numbers": (r"\[?[-−\d.,;\sand]+\]?", _numbers),
        "digit": (r"\d", _whole),
        "list": (r"\S.*?", _list),
        "letter": (r"\w", _word),
        "text": (r"\S.*?", _text),
        "phrase": (r"\S.*?", _phrase),
        "quoted": (r"\S.*?", _quoted),
        "word": (r"\"[^\"]*\"|“[^”]*”|'[^']*'|`[^`]*`|[\w’'-]+", _word),
        "date": (_DATE_FORM, _day),
    }
)
"""How each kind of slot is written, and what reads it as source text; None if it can't be one."""
