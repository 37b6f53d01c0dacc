"""Ranked chunks to passages: neighbours of a hit become one text, and no text is shown twice.

Only chunks that are good enough to be shown themselves are joined to their neighbours. More text
around each hit would cost the reader words, and push the next hit out of what is read.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from core.base.frozen import frozen
from servers.rag.passages import Passage, StoredChunk

SHINGLE_WORDS = 3

OVERLAP_MIN = 0.9
"""Share of triples in common (Jaccard) from which two texts are the same."""

OVERLAP_MIN_ALIKE = 0.8
"""The same for texts whose vectors point the same way."""

COSINE_ALIKE = 0.97

_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
"""Kana and ideographs stand alone: there is no space between words."""

_DIGIT = re.compile(r"\d")

PASSAGE_WORDS_MAX = 400
"""Two or three chunks; more are separate passages."""

_COUNTED = re.compile("[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\\s\u3040-\u30ff\u3400-\u9fff]+")
"""A word; or two characters of Chinese or Japanese, which are about one."""


@frozen
class Hit:
    """A chunk with its place in the ranking's terms."""

    stored: StoredChunk
    score: float
    cosine: float | None


@frozen
class Selection:
    """What is shown; `repeated_in` names files that hold a shown text again."""

    passages: tuple[Passage, ...]
    repeated_in: tuple[str, ...]


@frozen
class Fingerprint:
    """What of a text is compared."""

    words: tuple[str, ...]
    shingles: frozenset[tuple[str, ...]]
    numbers: frozenset[str]


@dataclass(slots=True)
class _Group:
    """Neighbouring hits, in the order of the document; `best` is the one that came first."""

    best: Hit
    hits: list[Hit]

    def touches(self, hit: Hit) -> bool:
        """Whether `hit` stands right before or after, under the same heading."""
        one, other = self.best.stored, hit.stored
        first, last = self.hits[0].stored.ordinal, self.hits[-1].stored.ordinal
        return (
            one.file == other.file
            and one.chunk.headings == other.chunk.headings
            and other.ordinal in (first - 1, last + 1)
        )

    @property
    def words(self) -> int:
        """The words of all."""
        return sum(count_words(hit.stored.chunk.text) for hit in self.hits)


@dataclass(slots=True)
class _Shown:
    """What was taken up so far."""

    groups: list[_Group] = field(default_factory=list["_Group"])
    seen: list[tuple[int, Fingerprint]] = field(default_factory=list[tuple[int, Fingerprint]])
    repeated_in: dict[str, None] = field(default_factory=dict[str, None])


def select(
    hits: Iterable[Hit], top_k: int, cosine_between: Callable[[int, int], float | None]
) -> Selection:
    """The best `top_k` passages; reads no more of `hits` (best first) than it needs."""
    shown = _Shown()
    for hit in hits:
        if _is_repeated(hit, shown, cosine_between):
            continue
        if not _joined(hit, shown.groups):
            if len(shown.groups) == top_k:
                break
            shown.groups.append(_Group(hit, [hit]))
    passages = tuple(_passage(group) for group in shown.groups)
    others = {*shown.repeated_in} - {passage.file for passage in passages}
    return Selection(passages, tuple(name for name in shown.repeated_in if name in others))


def count_words(text: str) -> int:
    """About how many words a text has, in any script."""
    return len(_COUNTED.findall(text))


def _is_repeated(
    hit: Hit, shown: _Shown, cosine_between: Callable[[int, int], float | None]
) -> bool:
    """Whether something shown says the same; if not, it is remembered as shown."""
    this = fingerprint(hit.stored.chunk.text)
    for chunk_id, other in shown.seen:
        if says_the_same(this, other, cosine_between(hit.stored.chunk_id, chunk_id)):
            shown.repeated_in[hit.stored.file] = None
            return True
    shown.seen.append((hit.stored.chunk_id, this))
    return False


def _joined(hit: Hit, groups: list[_Group]) -> bool:
    """Join a hit to its neighbours, and those to each other across it, as far as they fit."""
    touching = [group for group in groups if group.touches(hit)]
    length = count_words(hit.stored.chunk.text)
    for together in (touching, touching[:1], touching[1:2]):
        if together and length + sum(group.words for group in together) <= PASSAGE_WORDS_MAX:
            kept = together[0]
            kept.hits = sorted(
                [hit, *(each for group in together for each in group.hits)],
                key=lambda each: each.stored.ordinal,
            )
            for group in together[1:]:
                groups.remove(group)
            return True
    return False


def _passage(group: _Group) -> Passage:
    first = group.hits[0].stored.chunk
    return Passage(
        file=group.best.stored.file,
        chunk_id=group.best.stored.chunk_id,
        text=_text([hit.stored for hit in group.hits]),
        score=group.best.score,
        cosine=group.best.cosine,
        line=first.line,
        page=first.page,
        headings=first.headings,
    )


def _text(neighbours: Sequence[StoredChunk]) -> str:
    """Their texts as one, without what two of them share."""
    parts: list[str] = []
    end = neighbours[0].chunk.start
    for stored in neighbours:
        chunk = stored.chunk
        if parts and chunk.start > end:
            parts.append("\n\n")
        parts.append(chunk.text[max(0, end - chunk.start) :])
        end = max(end, chunk.end)
    return "".join(parts)


def fingerprint(text: str) -> Fingerprint:
    """The words of a text without regard to case, marks and spacing."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = tuple(_WORD.findall(plain)) or tuple(plain.split())
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return Fingerprint(
        words,
        frozenset(words[place : place + SHINGLE_WORDS] for place in range(last)),
        frozenset(word for word in words if _DIGIT.search(word)),
    )


def says_the_same(one: Fingerprint, other: Fingerprint, cosine: float | None) -> bool:
    """Whether showing both would show one text twice; `cosine` is that between them, if known.

    An old copy of a file, a page's footer, a mail quoted again: overlap of word triples (shingles,
    Broder 1997), and agreement on every number, since two quarterly reports differ in nothing else.
    """
    if one.words == other.words:
        return True
    if one.numbers != other.numbers:
        return False
    common = len(one.shingles & other.shingles)
    overlap = common / (len(one.shingles) + len(other.shingles) - common)
    alike = cosine is not None and cosine >= COSINE_ALIKE
    return overlap >= (OVERLAP_MIN_ALIKE if alike else OVERLAP_MIN)
