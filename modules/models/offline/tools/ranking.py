"""Which tool a request speaks of: its words against the tools' names and descriptions.

Words are weighted by how few of the tools on offer use them (inverse document frequency, Spärck
Jones 1972), names count twice. Stemming is light: plural and verb endings only.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final

from core.base.frozen import frozen
from core.provenance.effects import reads
from core.tools.ranking import STOP_WORDS, WORD, stems
from core.tools.spec import ToolSpec

__all__ = ["CALL_WORDS", "STOP_WORDS", "ToolIndex", "Vocabulary", "terms"]

NAME_WEIGHT: Final = 2.0
"""How much more a word of the tool's name says than one of its description."""

CALL_WORDS: Final = frozenset({"call", "use", "run", "invoke", "execute", "tool", "function"})
"""Words around a tool that is called by its name."""


def terms(text: str) -> frozenset[str]:
    """The stems of the words in `text` (also of `snake_case` and `camelCase`), no stop words."""
    return frozenset(stems(text))


@frozen
class Vocabulary:
    """The words that speak for one tool; `other` are those outside of its name.

    A tool that may change something wants its words as it spells them (`spelled`): "files" is not
    the `file` of `delete_file`, and "deleted" asks for nothing.
    """

    tool: ToolSpec
    name: frozenset[str]
    other: frozenset[str]
    spelled: frozenset[str]
    only_reads: bool

    def knows(self, word: str) -> bool:
        """Whether the word (as typed) belongs to the tool."""
        alike = bool(terms(word) & (self.name | self.other))
        return alike and (self.only_reads or self.spells(word))

    def spells(self, word: str) -> bool:
        """Whether the tool itself writes the word in this way."""
        return _spelled(word) <= self.spelled


class ToolIndex:
    """The vocabularies of the tools on offer, and how telling each word is."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self.vocabularies = tuple(_vocabulary(tool) for tool in tools)
        self._uses = Counter(term for v in self.vocabularies for term in v.name | v.other)

    def weight(self, term: str) -> float:
        """How telling a word is: above 0, higher the fewer tools use it."""
        return math.log(1 + (len(self.vocabularies) + 1) / (self._uses[term] + 0.5))

    def score(self, vocabulary: Vocabulary, matched: Iterable[str]) -> float:
        """The weight of the matched words, less where much of the tool's name is not said."""
        said = set(matched)
        named = sum(self.weight(term) for term in said & vocabulary.name)
        whole = sum(self.weight(term) for term in vocabulary.name)
        other = sum(self.weight(term) for term in said - vocabulary.name)
        return (NAME_WEIGHT * named + other) * (1 + named / whole if whole else 1)


def _vocabulary(tool: ToolSpec) -> Vocabulary:
    name = terms(tool.name)
    described = " ".join([tool.description, *(parameter.name for parameter in tool.parameters)])
    return Vocabulary(
        tool,
        name,
        terms(described) - name,
        _spelled(f"{tool.name} {described}"),
        tool.read_only or reads(_first_word(tool.name)),
    )


def _first_word(name: str) -> str:
    found = WORD.search(name)
    return "" if found is None else found[0].lower()


def _spelled(text: str) -> frozenset[str]:
    return frozenset(match[0].lower() for match in WORD.finditer(text))
