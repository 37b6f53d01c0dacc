"""Text to token ids as BERT's uncased models want them (Devlin et al. 2018, WordPiece of Wu 2016).

Clean the text, set Chinese characters apart, strip accents, lower case, split at white space and
punctuation, then take the longest known piece again and again. Gives the same ids as Hugging Face's
`tokenizers` (0.23) for its `bert-base-uncased`, save for two things that are meant: `[SEP]` and its
like are plain text when they stand in a text, for files are not trusted, and some 500 rare
characters that newer Unicode tables know and older ones don't.
"""

import gzip
import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from servers.rag.errors import EmbedderUnavailable

VOCABULARY_FILE = Path(__file__).parent / "bert" / "vocabulary.txt.gz"
"""The vocabulary of BERT's uncased models; see `bert/SOURCE.md` beside it."""

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""Of the text inside, as Google published it."""

VOCABULARY_BYTES = 231_508

TOKENIZER_VERSION = 1
"""Goes up with every change of what ids a text gets: vectors change with them."""

UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"
CONTINUATION = "##"

WORD_CHARACTERS_MAX = 100
"""A longer word is unknown, as in BERT."""

TEXT_CHARACTERS_MAX = 65_536
"""What follows is not looked at: 256 tokens are some 1,500 characters."""

RUN_CHARACTERS_MAX = 4_096
"""How much of characters without white space between them (Chinese, base64) is looked at."""

CACHED_RUN_CHARACTERS_MAX = 40
CACHED_RUNS = 16_384
"""Words are few and come again: looking them up is ten times as fast as splitting them."""

KNOWN_CHARACTERS_MAX = 20_000
"""How many characters a table keeps; the others are worked out each time."""

_RUN = re.compile("[^\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Up to the next white space, as Unicode has it; other control characters don't part words."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for what could not be decoded, so it says nothing."""

_CONTROL = frozenset({"Cc", "Cf", "Co", "Cs"})
"""What is left out. Unassigned characters stay: they are newer than some Unicode table."""

_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""Blocks of ideographs, which have no white space between words; bounds as in `tokenizers`."""


class _Characters(dict[int, str]):
    """What becomes of each character, for `str.translate`; worked out when first met."""

    def __init__(self, replacement: Callable[[str], str]) -> None:
        super().__init__()
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        """Work one out, and keep it while there is room."""
        found = self._replacement(chr(code))
        if len(self) < KNOWN_CHARACTERS_MAX:
            self[code] = found
        return found


def _cleaned(character: str) -> str:
    """Nothing of a control character, and an ideograph set apart."""
    if character == _REPLACEMENT or unicodedata.category(character) in _CONTROL:
        return ""
    if any(first <= ord(character) <= last for first, last in _CHINESE):
        return f" {character} "
    return character


def _folded(character: str) -> str:
    """Of a decomposed text: nothing of an accent, lower case, punctuation set apart."""
    if unicodedata.category(character) == "Mn":
        return ""
    return f" {character} " if _is_punctuation(character) else character.lower()


class WordPiece:
    """A tokenizer over one vocabulary; may be used by several threads at once."""

    def __init__(self, vocabulary: Mapping[str, int], tokens_max: int) -> None:
        """`vocabulary` gives each piece its id; a text gets at most `tokens_max` tokens.

        Raises:
            KeyError: the vocabulary lacks a special token.
        """
        self._unknown = vocabulary[UNKNOWN]
        self._begin, self._end = vocabulary[BEGIN], vocabulary[END]
        self._first = {p: i for p, i in vocabulary.items() if not p.startswith(CONTINUATION)}
        self._further = {
            p.removeprefix(CONTINUATION): i
            for p, i in vocabulary.items()
            if p.startswith(CONTINUATION)
        }
        self._longest = max(map(len, vocabulary))
        self._room = tokens_max - 2
        self._cleaned, self._folded = _Characters(_cleaned), _Characters(_folded)
        self._cached_run = lru_cache(CACHED_RUNS)(self._run)

    def ids(self, text: str) -> list[int]:
        """The ids of a text between those of begin and end; its end is cut off if it is long."""
        found = [self._begin]
        for run in _RUN.finditer(text[:TEXT_CHARACTERS_MAX]):
            found += self._run_ids(run[0])
            if len(found) > self._room:
                del found[self._room + 1 :]
                break
        found.append(self._end)
        return found

    def _run_ids(self, run: str) -> tuple[int, ...]:
        if len(run) <= CACHED_RUN_CHARACTERS_MAX:
            return self._cached_run(run)
        return self._run(run[:RUN_CHARACTERS_MAX])

    def _run(self, run: str) -> tuple[int, ...]:
        """The ids of characters without white space between them."""
        decomposed = unicodedata.normalize("NFD", run.translate(self._cleaned))
        words = decomposed.translate(self._folded).split()
        return tuple(piece for word in words for piece in self._pieces(word))

    def _pieces(self, word: str) -> list[int]:
        """The longest known beginning, then that of the rest; all unknown if any of it is."""
        if len(word) > WORD_CHARACTERS_MAX:
            return [self._unknown]
        pieces: list[int] = []
        known, start = self._first, 0
        while start < len(word):
            match = self._longest_piece(known, word, start)
            if match is None:
                return [self._unknown]
            piece, start = match
            pieces.append(piece)
            known = self._further
        return pieces

    def _longest_piece(
        self, known: Mapping[str, int], word: str, start: int
    ) -> tuple[int, int] | None:
        """The id of the longest piece at `start`, and where it ends."""
        for end in range(min(len(word), start + self._longest), start, -1):
            if (piece := known.get(word[start:end])) is not None:
                return piece, end
        return None


def _is_punctuation(character: str) -> bool:
    """Unicode's punctuation, and what of ASCII is no letter, digit or space (`$`, `^`)."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character)[0] == "P"


@cache
def vocabulary() -> Mapping[str, int]:
    """The id of each piece, read once; raises as `read_vocabulary`."""
    return read_vocabulary()


def read_vocabulary(file: Path = VOCABULARY_FILE) -> dict[str, int]:
    """The id of each piece.

    Raises:
        EmbedderUnavailable: the file is missing, or holds another vocabulary.
    """
    try:
        with gzip.open(file) as packed:
            text = packed.read(VOCABULARY_BYTES + 1)
    except (OSError, EOFError) as error:
        raise EmbedderUnavailable(
            f"the vocabulary {file} can't be read ({type(error).__name__}); install Cortex-R anew"
        ) from None
    if hashlib.sha256(text).hexdigest() != VOCABULARY_SHA256:
        raise EmbedderUnavailable(
            f"the vocabulary {file} is not the one that belongs to the weights; install Cortex-R "
            "anew"
        )
    pieces = text.decode("utf-8").removesuffix("\n").split("\n")
    return {piece: number for number, piece in enumerate(pieces)}
