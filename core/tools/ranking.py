"""Which tools fit a request best, by its words.

Okapi BM25 (Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3", 1994) over
each tool's name, server, title, description, parameter names and their descriptions. A word counts
by the part it stands in before its frequency is dampened (Robertson, Zaragoza and Taylor, "Simple
BM25 Extension to Multiple Weighted Fields", 2004). Stemming is light: plural and verb endings only.
Numbers count in names, and letters with digits (`s3`, `base64`) as one word too. A tool whose name
is searched for stands first.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from core.tools.json_schema import as_object
from core.tools.spec import ToolSpec

SATURATION: Final = 1.5
"""BM25's k1: how soon more of the same word stops to count."""

LENGTH_PENALTY: Final = 0.3
"""BM25's b: how much a long description dampens each of its words, 0 not at all, 1 in full."""

NAME_WEIGHT: Final = 2.0
"""What a word counts in the tool's or the server's name; in the description it counts 1."""

PARAMETER_WEIGHT: Final = 0.3
"""What a word counts in the name or the description of a parameter."""

REQUEST_CHARACTERS_MAX: Final = 4_000
"""How much of a request is read; an observation may stand behind it."""

DESCRIPTION_CHARACTERS_MAX: Final = 1_500
"""How much of a tool's description is read."""

PARAMETERS_MAX: Final = 30
"""How many parameters of a tool are read."""

PARAMETER_CHARACTERS_MAX: Final = 150
"""How much of a parameter's description is read."""

_STOP_TEXT: Final = (
    "a am an and are as at be been by can could exactly for from get give hello help here "
    "hey hi i i'd in into is it its just let let's me my need now of ok okay on or our out please "
    "show so tell thank thanks that the their them there these this those to up us want was we "
    "were what what's will with would you your about out via using kindly"
)
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
"""Words that say nothing about which tool is meant, nor how it is to be used.

No words like "all", "if" and "or": a tool that does not know them must not be called.
"""

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
"""A word, also of `snake_case` and `camelCase`."""

_PART: Final = re.compile(rf"{WORD.pattern}|\d+")
"""A word or a number; `s3` is one of each."""

_NAME: Final = re.compile(r"[\w.\-/]+")
"""What may be the name of a tool, or of a tool of a server."""

_JOINT: Final = re.compile(r"[_\d]|\w[.\-/]\w|[a-z][A-Z]")
"""What no word of a sentence has, and names of tools often have."""

_SYLLABLE: Final = re.compile(r"(?<![^\W_])[^\W\d_](?=\d)|(?<=\d)[^\W\d_](?![^\W_])")
"""A letter that is a word only with the digits that it touches."""

NUMBER_DIGITS_MAX: Final = 20
"""A longer number is no part of a name."""

PASSING_MATCH: Final = 1.1
"""A score below this share of what the rarest word counts, once in a description, says nothing."""

_ENDINGS: Final = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "e")
_SHORTEST_STEM: Final = 3


def stem(word: str) -> str:
    """The word without its ending, where at least three letters stay."""
    lower = word.lower()
    for ending in _ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) >= _SHORTEST_STEM:
            cut = lower[: -len(ending)]
            return f"{cut}y" if ending == "ies" else cut
    return lower


def stems(text: str) -> Iterator[str]:
    """The stems of the words in `text`, in order, no stop words."""
    return filter(None, map(_stem_if_telling, WORD.findall(text)))


class ToolIndex:
    """The words of a list of tools, made once and asked often.

    For each stem it holds the tools that have it, with the weight that the stem has there.
    """

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        """Read the tools."""
        self._tools = tuple(tools)
        self._holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._lengths: list[float] = []
        self._by_name: dict[str, list[int]] = defaultdict(list)
        stem_of = cache(_stem_if_telling)
        for position, tool in enumerate(self._tools):
            for name in (tool.name, tool.qualified_name):
                self._by_name[_bare(name)].append(position)
            weights = _weighted_words(tool, stem_of)
            self._lengths.append(sum(weights.values()))
            for word, weight in weights.items():
                self._holders[word].append((position, weight))
        self._mean_length = sum(self._lengths) / max(len(self._lengths), 1)

    def scores(self, request: str) -> dict[str, float]:
        """The BM25 sum of each tool that shares a word with the request, by qualified name."""
        return {
            self._tools[position].qualified_name: score
            for position, score in self._sums(request).items()
        }

    def search(self, words: str, limit: int) -> list[ToolSpec]:
        """The tools that share a word with `words`, the best first, equal ones as they stood.

        Before them those whose names stand there, however these are written.
        """
        sums = self._sums(words)
        ranked = sorted(sums, key=lambda position: (-sums[position], position))
        return [self._tools[p] for p in dict.fromkeys((*self._named(words), *ranked))][:limit]

    def is_near(self, request: str) -> bool:
        """Whether some tool shares more with the request than one word of its description."""
        return bool(self.near(request, 1))

    def near(self, request: str, limit: int, share: float = PASSING_MATCH) -> list[ToolSpec]:
        """The tools that do, the best first; `share` says what else is passing."""
        sums = self._sums(request)
        least = share * _telling(len(self._tools), 1)
        near = [position for position in sums if sums[position] >= least]
        return [self._tools[p] for p in sorted(near, key=lambda p: (-sums[p], p))[:limit]]

    def _named(self, words: str) -> Iterator[int]:
        text = words[:REQUEST_CHARACTERS_MAX]
        for name in (text, *filter(_JOINT.search, _NAME.findall(text))):
            yield from self._by_name.get(_bare(name), ())

    def _sums(self, request: str) -> dict[int, float]:
        """Scores above 0, by the tools' positions; a word that comes twice counts once."""
        sums: dict[int, float] = defaultdict(float)
        read = request[:REQUEST_CHARACTERS_MAX]
        for word in dict.fromkeys((*stems(_SYLLABLE.sub(" ", read)), *_numbered(read, bare=True))):
            for position, part in self._parts(self._holders.get(word, ())):
                sums[position] += part
        return sums

    def _parts(self, held: Sequence[tuple[int, float]]) -> Iterator[tuple[int, float]]:
        """What a word adds to the sum of each tool that has it."""
        telling = _telling(len(self._tools), len(held))
        for position, weight in held:
            relative = self._lengths[position] / self._mean_length
            length = 1 - LENGTH_PENALTY + LENGTH_PENALTY * relative
            yield position, telling * weight * (SATURATION + 1) / (weight + SATURATION * length)


def _telling(tools: int, holders: int) -> float:
    """What a word says about which tool is meant, if `holders` of all tools have it."""
    return math.log(1 + (tools - holders + 0.5) / (holders + 0.5))


def _stem_if_telling(word: str) -> str:
    """The stem of a word; nothing of a stop word."""
    lower = word.lower()
    return "" if lower in STOP_WORDS else stem(lower)


def _bare(name: str) -> str:
    """A name without what parts are joined by: `get_ledger`, `getLedger` and `Get ledger` alike."""
    return re.sub(r"[\W_]+", "", name).lower()


def _numbered(text: str, *, bare: bool) -> Iterator[str]:
    """Letters with the digits that they touch (`s3`, `v2`, `64bit`), and with `bare` numbers."""
    if not re.search(r"\d", text):
        return
    before = letters = ""
    end = -1
    for found in _PART.finditer(text):
        part, touches = found[0].lower(), found.start() == end
        if touches and part.isdigit() != before.isdigit():
            yield f"{before[-NUMBER_DIGITS_MAX:]}{part[:NUMBER_DIGITS_MAX]}"
            if len(before) < len(letters) <= NUMBER_DIGITS_MAX:  # `OAuth2` is `oauth2`
                yield f"{letters}{part[:NUMBER_DIGITS_MAX]}"
        is_alone = not touches and not text[found.end() : found.end() + 1].isalpha()
        if bare and part.isdigit() and (is_alone or 1 < len(part) <= NUMBER_DIGITS_MAX):
            yield part
        goes_on = touches and not part.isdigit()
        letters = (letters if goes_on else "") + part if not part.isdigit() else ""
        before, end = part, found.end()


def _weighted_words(tool: ToolSpec, stem_of: Callable[[str], str]) -> dict[str, float]:
    """The stems of all that a tool says of itself, with the weight of the parts they stand in."""
    weights: dict[str, float] = defaultdict(float)
    for text, weight in _texts(tool):
        for word in WORD.findall(text):
            weights[stem_of(word)] += weight
        for word in _numbered(text, bare=weight == NAME_WEIGHT):
            weights[word] += weight
    weights.pop("", None)
    return weights


def _texts(tool: ToolSpec) -> Iterator[tuple[str, float]]:
    """The parts of what a tool says, each with the weight of its words."""
    yield f"{tool.name} {tool.server}", NAME_WEIGHT
    yield tool.description[:DESCRIPTION_CHARACTERS_MAX], 1.0
    properties = as_object(tool.input_schema.get("properties"))
    if len(properties) < 2:  # perhaps a wrapper
        properties = as_object(tool.arguments_schema.get("properties"))
    parts: list[str] = []
    for name, schema in list(properties.items())[:PARAMETERS_MAX]:
        described = as_object(schema).get("description")
        parts += [name, described[:PARAMETER_CHARACTERS_MAX] if isinstance(described, str) else ""]
    yield " ".join(parts), PARAMETER_WEIGHT
