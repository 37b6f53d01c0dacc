"""A place in the token list, and the tables of phrases that are looked up there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from modules.offline.lexer import Kind, Token
from modules.offline.refusal import Refusal, quoted

Meaning = TypeVar("Meaning", covariant=True)


@dataclass(frozen=True, slots=True)
class Phrases(Generic[Meaning]):
    """Phrases of one or more words with what they mean, indexed by their first word."""

    by_first: Mapping[str, tuple[tuple[tuple[str, ...], Meaning], ...]]

    @classmethod
    def of(cls, table: Mapping[Meaning, str]) -> "Phrases[Meaning]":
        """From a table that gives for each meaning its phrases, separated by `|`."""
        index: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
        for meaning, phrases in table.items():
            for phrase in phrases.split("|"):
                words = tuple(phrase.split())
                index.setdefault(words[0], []).append((words, meaning))
        return cls(
            {
                first: tuple(sorted(entries, key=lambda entry: -len(entry[0])))
                for first, entries in index.items()
            }
        )


class Cursor:
    """Reads tokens one after the other and can go back to an earlier position."""

    def __init__(self, source: str, tokens: tuple[Token, ...]) -> None:
        """Start at the first token; `tokens` end with one of kind END."""
        self.source = source
        self.tokens = tokens
        self.position: int = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` places on, the END token past the end."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    @property
    def previous(self) -> Token:
        """The token taken last."""
        return self.tokens[max(self.position - 1, 0)]

    def take(self) -> Token:
        """The token here; goes on by one."""
        token = self.peek()
        self.position += 1
        return token

    def at(self, *texts: str, ahead: int = 0) -> bool:
        """Whether a word or symbol token with one of these texts is here."""
        token = self.peek(ahead)
        return token.kind in (Kind.WORD, Kind.SYMBOL) and token.text in texts

    def accept(self, *texts: str) -> bool:
        """Take the token here if it is one of these words or symbols."""
        if self.at(*texts):
            self.position += 1
            return True
        return False

    def expect(self, *texts: str) -> None:
        """Take one of these words or symbols.

        Raises:
            Refusal: something else is here.
        """
        if not self.accept(*texts):
            raise self.misfit(f"where {quoted(texts[0])} is expected")

    def find(self, phrases: Phrases[Meaning]) -> tuple[int, Meaning] | None:
        """The longest phrase that starts here: its number of tokens and its meaning."""
        token = self.peek()
        if token.kind is not Kind.WORD:
            return None
        for words, meaning in phrases.by_first.get(token.text, ()):
            if all(self.at(word, ahead=n) for n, word in enumerate(words)):
                return len(words), meaning
        return None

    def accept_phrase(self, phrases: Phrases[Meaning]) -> Meaning | None:
        """Take the longest phrase that starts here, if there is one."""
        found = self.find(phrases)
        if found is None:
            return None
        self.position += found[0]
        return found[1]

    def glued(self, ahead: int = 0) -> bool:
        """Whether no space stands between the token here and the one before it."""
        index = self.position + ahead
        return 0 < index < len(self.tokens) and (
            self.tokens[index - 1].end == self.tokens[index].start
        )

    def span(self, start: int) -> str:
        """The source text from token `start` up to the token taken last."""
        if self.position <= start:
            return ""
        return self.source[self.tokens[start].start : self.tokens[self.position - 1].end]

    def misfit(self, where: str = "") -> Refusal:
        """The refusal for the token here, which no rule takes; `where` says what was expected."""
        token = self.peek()
        if token.kind is Kind.END:
            return Refusal(f"the request ends {where or 'too early'}")
        word = self.source[token.start : token.end]
        return Refusal(f"it does not understand {quoted(word)} {where}".rstrip())
