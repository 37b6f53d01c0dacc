"""A rule of the tables: how a request is phrased, and the lines of a plan that answers it.

A pattern is a regular expression over the whole bare request (see `asking.bare`), in which slots
such as `<number:n>` stand for values; lines name a slot as `@n@`, and get its value as source text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from modules.offline.arithmetic.numerals import NUMBER_WORDS, ORDINALS, TEENS, TENS, UNITS
from modules.offline.plan_source import literal
from modules.offline.tools.pieces import list_of

ANSWER: Final = "answer"
"""The name that the last line of every rule gives its value to."""

AS_NUMBER: Final = "answer = int(answer) if answer == int(answer) else float(answer)"
"""The last line of a rule whose value is a decimal: it is printed as other numbers are."""

MAX_DIGITS: Final = 12
"""How many digits a number of these requests may have: a plan finds the divisors of such a one."""

MAX_COUNT: Final = 10_000
"""How far a plan counts: days from today, Fibonacci numbers."""

MAX_ITEMS: Final = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """Phrasings of one request, and the plan's lines for it.

    `words` are such that each phrasing has one of them: a request without them is passed over
    without a look at the patterns, which are compiled when they are first needed.
    """

    words: str
    phrasings: tuple[str, ...]
    lines: str

    def read(self, text: str, words: frozenset[str]) -> Mapping[str, str] | None:
        """The slots' values as source text, where `text` is one of the phrasings."""
        if words.isdisjoint(self.words.split()):
            return None
        for phrasing in self.phrasings:
            found = re.fullmatch(_pattern(phrasing), text, re.IGNORECASE)
            if found is not None and (values := _values(found)) is not None:
                return values
        return None


def rule(words: str, *phrasings: str, lines: str) -> Rule:
    """A rule of a table."""
    return Rule(words, phrasings, lines)


def first_match(rules: Sequence[Rule], text: str) -> tuple[Rule, Mapping[str, str]] | None:
    """The first rule whose phrasing `text` is, with the values of its slots."""
    words = frozenset(re.findall(r"[^\W\d_]+", text.lower()))
    for each in rules:
        if (values := each.read(text, words)) is not None:
            return each, values
    return None


_SLOT: Final = re.compile(r"<(?P<kind>[a-z]+):(?P<name>[a-z]+)>")


def _pattern(phrasing: str) -> str:
    """The regular expression of a phrasing; " " is any white space, " ?" none too."""
    slots = _SLOT.sub(
        lambda slot: f"(?P<{slot['kind']}_{slot['name']}>{_FORMS[slot['kind']]})", phrasing
    )
    return slots.replace(" ?", r"\s*").replace(" ", r"\s+")


def _values(found: re.Match[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for group, text in found.groupdict().items():
        if text is None:
            continue
        kind, _, name = group.partition("_")
        value = _READERS[kind](text)
        if value is None:
            return None
        values[name] = value
    return values


_SPELLED: Final = {**UNITS, **TEENS, **TENS, "a": 1, "an": 1}
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


def _word(text: str) -> str | None:
    return literal(_unquoted(text.strip()))


def _text(text: str) -> str | None:
    """A text that is meant literally: in quotes, or neither a file nor a thing that has a text."""
    bare = text.strip()
    named = _unquoted(bare) == bare and (_FILE.search(bare) or _THING.match(bare))
    return None if named else _word(bare)


def _phrase(text: str) -> str | None:
    """A text whose words are counted: "English" has more than one."""
    bare = text.strip()
    return None if _unquoted(bare) == bare and len(bare.split()) < 2 else _text(bare)


def _quoted(text: str) -> str | None:
    bare = text.strip()
    return None if _unquoted(bare) == bare else _word(bare)


def _numbers(text: str) -> str | None:
    values = [_decimal(item) for item in re.findall(_DIGITAL, text)]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not 1 < len(known) <= MAX_ITEMS:
        return None
    return "[" + ", ".join(f'Decimal("{value}")' for value in known) + "]"


def _list(text: str) -> str | None:
    items = [_unquoted(item) for item in _items(text)]
    return literal([*items]) if 1 < len(items) <= MAX_ITEMS else None


def _day(text: str) -> str | None:
    """A date, as the arguments of `datetime.date`."""
    return next((f"{d.year}, {d.month}, {d.day}" for d in _dates(text.strip().lower())), None)


def _items(text: str) -> Iterator[str]:
    listed = list_of(text if text.startswith("[") else f"[{_AND.sub(', ', text)}]")
    return (str(item) for item in listed)


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] + text[-1] in ('""', "''", "“”", "``")
    return text[1:-1] if quoted else text


_FILE: Final = re.compile(r"[/\\~]|\w\.\w")
_THING: Final = re.compile(
    r"(?:an?|the|this|that|these|those|my|our|your|his|her|its|their|each|every|all|any|some)\s+\S"
    r"|(?:it|them|this|that|these|those|everything)$",
    re.IGNORECASE,
)

_AND: Final = re.compile(r"\s*,?\s+and\s+", re.IGNORECASE)

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


def _dates(text: str) -> Iterator[date]:
    for form in _DATE_FORMS:
        if (found := re.fullmatch(form, text)) is None:
            continue
        month = found["m"]
        number = int(month) if month.isdigit() else 1 + [m[:3] for m in _MONTHS].index(month[:3])
        try:
            yield date(int(found["y"]), number, int(found["d"]))
        except ValueError:
            return


_DIGITS: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_SPELLED_FORM: Final = "|".join(sorted({*NUMBER_WORDS, "a", "an"}, key=len, reverse=True))
_DIGITAL: Final = rf"[-−]?(?:{_DIGITS}(?:\.\d+)?|\.\d+)"
_WHOLE: Final = rf"{_DIGITS}(?:st|nd|rd|th)?|{_SPELLED_FORM}|{'|'.join(ORDINALS)}"
NUMBER_FORM: Final = rf"{_DIGITAL}|{_SPELLED_FORM}"
"""How a number is written, in digits or a word."""

_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "number": NUMBER_FORM,
        "whole": _WHOLE,
        "count": _WHOLE,
        "numbers": r"\[?[-−\d.,;\sand]+\]?",
        "digit": r"\d",
        "list": r"\S.*?",
        "letter": r"\w",
        "text": r"\S.*?",
        "phrase": r"\S.*?",
        "quoted": r"\S.*?",
        "word": r"\"[^\"]*\"|“[^”]*”|'[^']*'|`[^`]*`|[\w’'-]+",
        "date": _DATE_FORM,
    }
)
_READERS: Final[Mapping[str, Callable[[str], str | None]]] = MappingProxyType(
    {
        "number": read_number,
        "whole": _whole,
        "numbers": _numbers,
        "list": _list,
        "count": _count,
        "text": _text,
        "phrase": _phrase,
        "quoted": _quoted,
        "word": _word,
        "letter": _word,
        "digit": _whole,
        "date": _day,
    }
)
