"""Packs atoms into chunks at the least cost, as Knuth and Plass (1981) break paragraphs into lines.

Each chunk costs 1, and more the further it is from full; each cut costs what its seam says. The
best cuts of a text follow from the best cuts of its beginnings, so that one pass finds them.
"""

from collections.abc import Iterator, Sequence
from math import inf

from servers.rag.chunking.atoms import Atom


def pack(atoms: Sequence[Atom], words: int, tokens_max: int) -> Iterator[tuple[Atom, Atom]]:
    """The first and the last atom of each chunk, in order.

    No chunk has more than `tokens_max` tokens; about `words` words are aimed at.
    """
    least, begins = [0.0], [0]
    for end in range(1, len(atoms) + 1):
        best, begin = inf, end
        for first, cost in _chunks_ending(atoms, end, words, tokens_max):
            if least[first] + cost < best:
                best, begin = least[first] + cost, first
        least.append(best)
        begins.append(begin)
    ends = [len(atoms)]
    while ends[-1] > 0:
        ends.append(begins[ends[-1]])
    for end, begin in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
        yield atoms[begin], atoms[end - 1]


def _chunks_ending(
    atoms: Sequence[Atom], end: int, words: int, tokens_max: int
) -> Iterator[tuple[int, float]]:
    """The chunks that end before the atom `end`: the number of their first atom, and the cost."""
    tokens = counted = gap = 0
    for number in range(end - 1, -1, -1):
        atom = atoms[number]
        tokens += atom.tokens + gap
        if tokens > tokens_max:
            return
        counted, gap = counted + atom.words, atom.gap
        full = max(counted / words, tokens / tokens_max)
        yield number, 1 + (1 - full) ** 2 + (atom.cut if number else 0)
