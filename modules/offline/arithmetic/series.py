"""Values that count something: Fibonacci numbers, fractions, "third power", character codes."""

from typing import Final

from modules.offline.arithmetic.items import ItemReader, is_raised
from modules.offline.arithmetic.numerals import FRACTIONS
from modules.offline.arithmetic.tokens import Kind
from modules.offline.arithmetic.tree import Apply, Node, Number, Text
from modules.offline.arithmetic.vocabulary import CODES, CODES_FILLERS, COUNTED, RESULT
from modules.offline.refusal import Ambiguous, Refusal, quoted

MAX_ROOT: Final = 1_000
"""The highest "nth root" that is read."""

_BEFORE_TEXT: Final = frozenset({"is", "what's", "show", "me", "find", "get", "print", "give"})
"""Words behind which one word is the whole text: "hello world in ASCII" is about two."""

_ENDS_OF_TEXT: Final = ".,?!;:)"


class SeriesReader(ItemReader):
    """Reads what is counted, ordinals, and the character codes of a text."""

    def primary(self) -> Node:
        """A number, or what `noun` reads; an ordinal is no number."""
        if self._at_ordinal():
            return self.noun_after_digits()
        return super().primary()

    def noun_after_digits(self) -> Node:
        """Read "10th power of 2"; any other "10th …" is refused."""
        node = self.nth_value()
        if node is None:
            raise self.misfit()
        return node

    def counted(self, number: Number) -> Node:
        """Read "10 terms of the Fibonacci sequence", "two thirds of 90", or the number itself."""
        parts = FRACTIONS.get(self.peek().text)
        if parts is not None and self.at("of", ahead=1):
            self.position += 2
            whole = self._whole()
            if number.value != 1:
                whole = self.make("multiply", whole, number)
            return self.make("divide", whole, Number(parts))
        if self._counts_fibonacci():
            return self._count(number)
        return number

    def _counts_fibonacci(self) -> bool:
        found = self.find(COUNTED)
        return found is not None and found[1] == "fibonacci"

    def counted_first(self) -> Node | None:
        """Read "first 10 Fibonacci numbers"; None if nothing of the kind is here."""
        if self.at("fibonacci"):
            return self._fibonacci_up_to()
        if not (self.at("first") and self.at_number(ahead=1)):
            return None
        self.take()
        number = self.read_number()
        return None if number is None else self._count(number)

    def _count(self, number: Number) -> Node:
        start = self.position
        what = self.accept_phrase(COUNTED)
        if what is None:
            raise self.misfit('after "first"')
        if not isinstance(number.value, int):
            raise Refusal("it asks for a number of items that is not whole")
        if self.at("sequence", "series") and self.span(start).lower() == "fibonacci":
            self.take()
        self.operations += 1
        if what == "integers":
            return Apply("range", (Number(1), number))
        return Apply("fibonacci", (number,))

    def _fibonacci_up_to(self) -> Node | None:
        """Read "Fibonacci sequence up to 10 terms"."""
        start = self.position
        self.take()
        self.accept("sequence", "series", "numbers")
        if self.accept("up"):
            self.expect("to")
        else:
            self.accept("with", "of", "for")
        self.accept("the")
        self.accept("first")
        by_length = self.accept("length")
        number = self.read_number()
        if number is None or not (by_length or self.accept("terms", "numbers", "elements")):
            self.position = start
            return None
        self.operations += 1
        return Apply("fibonacci", (number,))

    def nth_value(self) -> Node | None:
        """Read "third power of 2", "fourth root of 16", "third of 90"."""
        start = self.position
        number = self.read_ordinal()
        if number is not None:
            if self.accept("power") and self.accept("of"):
                return self.make("power", self.near(), Number(number))
            if 0 < number <= MAX_ROOT and self.accept("root") and self.accept("of"):
                return self.make("power", self.near(), Number(1 / number))
            self.position = start
        parts = FRACTIONS.get(self.peek().text)
        if parts is not None and self.at("of", ahead=1):
            self.position += 2
            return self.make("divide", self._whole(), Number(parts))
        return None

    def _whole(self) -> Node:
        """What a fraction is taken of."""
        node = self.near()
        if is_raised(node):
            self.check_postfix()
        return node

    def codes_value(self) -> Node | None:
        """Read "ASCII values of the characters in INDIA"; None if nothing of the kind is here."""
        if self.accept_phrase(CODES) is None:
            return None
        self.skip_codes_fillers()
        return self.codes_of(self.read_text())

    def skip_codes_fillers(self) -> None:
        """Go past "the characters in the word" to the text itself."""
        while self.peek().text in CODES_FILLERS and self.peek().kind is Kind.WORD:
            self.take()

    def codes_of(self, text: str) -> Node:
        """The character codes of `text`."""
        self.operations += 1
        return Apply("codes", (Text(text),))

    def text_in_codes(self) -> Node | None:
        """Read "INDIA in ASCII"; None if nothing of the kind is here."""
        word = self.peek().kind is Kind.WORD
        whole = self.position == 0 or self.previous.text in _BEFORE_TEXT
        if not (whole if word else self.peek().kind is Kind.QUOTED):
            return None
        if not self.at("in", "to", ahead=1):
            return None
        self.position += 2
        found = self.find(CODES)
        self.position -= 2
        if found is None:
            return None
        text = self.read_text()
        self.position += 1 + found[0]
        return self.codes_of(text)

    def read_text(self) -> str:
        """Quoted text, or one word up to the next space, without the punctuation behind it.

        Raises:
            Refusal: there is none.
            Ambiguous: a word such as "it" may mean itself or what it refers to, "a-z" a range.
        """
        if self.peek().kind is Kind.QUOTED:
            return self.take().text
        first = self.peek()
        refers = self.find(RESULT) is not None
        begin = self.position
        while self.peek().kind is not Kind.END and (self.peek() is first or self.glued()):
            self.take()
        text = self.source[first.start : self.previous.end].rstrip(_ENDS_OF_TEXT)
        while self.previous.start >= first.start + len(text) and self.previous is not first:
            self.position -= 1
        if not text or first.kind is Kind.END:
            raise Refusal("it does not say which text's character codes are meant")
        joined = any(t.kind is Kind.SYMBOL for t in self.tokens[begin : self.position])
        if refers or (joined and len(text) > 1):
            raise Ambiguous(f"{quoted(text)} may be the text itself or not; put it in quotes")
        return text
