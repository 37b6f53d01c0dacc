"""Values in words: functions, what is counted, fractions, character codes, earlier results."""

from typing import Final

from modules.models.offline.arithmetic import vocabulary as words
from modules.models.offline.arithmetic.lists import ListReader, is_raised
from modules.models.offline.arithmetic.tokens import FRACTIONS, NUMBER_WANTED, Kind, number_value
from modules.models.offline.arithmetic.tree import (
    Apply,
    Constant,
    Node,
    Number,
    Sequence,
    Text,
    aggregate,
    apply_function,
    is_list,
)
from modules.models.offline.refusal import Ambiguous, Refusal, quoted

MAX_ROOT: Final = 1_000
"""The highest "nth root" that is read."""

_TRIGONOMETRIC: Final = ("sine", "cosine", "tangent")
_BEFORE_TEXT: Final = frozenset({"is", "what's", "show", "me", "find", "get", "print", "give"})
"""Words behind which one word is the whole text: "hello world in ASCII" is about two."""

_ENDS_OF_TEXT: Final = ".,?!;:)"


class ValueReader(ListReader):
    """Reads values in words."""

    without_unit: bool = False
    """Whether an angle of the request is a number without a unit, and no zero."""

    def primary(self) -> Node:
        """A number with what it counts, or a value in words; an ordinal is no number."""
        if self.peek().kind is Kind.NUMBER and self.look_ahead(self.read_ordinal) is not None:
            if (node := self._nth_value()) is not None:
                return node
            raise self.misfit()
        if self.at("a") and self.peek(1).text not in ("hundred", "thousand", "million", "dozen"):
            return self.nested(self._noun)
        number = self.read_number()
        return self.nested(self._noun) if number is None else self._counted(number)

    def _noun(self) -> Node:
        if (codes := self._text_in_codes()) is not None:
            return codes
        if self.accept("("):
            return self._parenthesis()
        if self.accept("["):
            return Sequence(tuple(self.until("]")))
        if self.at("√", "∛"):
            return self._root()
        if self.accept(*words.ARTICLES):
            return self._behind_article()
        if self.accept("numbers", "number", "integers", "list", "angle"):
            found = self.range_of()
            return self.primary() if found is None else found[0]
        for rule in (
            self._constant,
            self._possessive,
            self._counted_first,
            self._nth_value,
            self._codes,
            self._plural,
            self._logarithm,
            self._exponential_sum,
            self._function,
            self.aggregated,
            self._result,
        ):
            if self.at_word() and (node := rule()) is not None:
                return node
        if self.at("value", "result", "answer") and self.at("of", "to", ahead=1):
            self.position += 2
            return self.primary()
        raise self.misfit(NUMBER_WANTED)

    def _behind_article(self) -> Node:
        if self.previous.text == "the" and self.at_word(*words.SEVERAL):
            raise Ambiguous(f'"the {self.peek().text}" may be a number, or so many results')
        return self.power(self.behind(self.primary()))

    def _parenthesis(self) -> Node:
        depth, self.list_depth = self.list_depth, 0
        node = self.within("full", self.expression)
        self.list_depth = depth
        self.expect(")")
        return node

    def _root(self) -> Node:
        root = self.take()
        node = self.primary()
        if self.at("!"):
            raise Ambiguous(f'"{root.text}…!" can be read in two ways; write parentheses')
        return self.make("square root" if root.text == "√" else "cube root", node)

    def _constant(self) -> Node | None:
        name = words.CONSTANTS.get(self.peek().text)
        if name is None:
            return None
        self.take()
        return Constant(name)

    # -- the value of the step before --------------------------------------------------------

    def _result(self) -> Node | None:
        found = self.find(words.RESULT)
        if found is None or self.at("of", ahead=found[0]):
            return None
        if self.at("answer") and self.at("to", ahead=1):
            return None
        self.position += found[0]
        node = self.use_running()
        if found[1] == "many" and not is_list(node):
            raise Refusal("it refers to several values, and the step before gives one")
        return node

    def _possessive(self) -> Node | None:
        """Read "their sum", "its square root"."""
        if not self.accept("their", "its"):
            return None
        if (node := self._exponential_sum()) is not None:
            return node
        running = self.use_running()
        function = self.accept_phrase(words.PLURAL_FUNCTIONS, words.FUNCTIONS)
        if function is not None:
            return apply_function(self.make, function, running)
        name = self.accept_phrase(words.AGGREGATES)
        if name is None:
            raise self.misfit()
        return aggregate(self.make, name, [running])

    # -- functions ---------------------------------------------------------------------------

    def _function(self) -> Node | None:
        """Read "square root of 16", "sin(30°)"; None if no function is named here."""
        function = self.accept_phrase(words.FUNCTIONS)
        if function is None:
            return None
        if function == "reciprocal" and self.at_phrase(words.FUNCTIONS):
            raise self.misfit('behind "inverse"')  # the inverse sine is the arc sine
        before, self.angle = self.angle, function in _TRIGONOMETRIC
        try:
            operand = self.operand()
        finally:
            self.angle = before
        if function == "absolute" and self.at("minus", "plus"):
            raise self.two_readings()
        if function in _TRIGONOMETRIC and isinstance(operand, Number):
            self.without_unit = self.without_unit or operand.value != 0
        return apply_function(self.make, function, operand)

    def operand(self) -> Node:
        """What a function is applied to; the running value where nothing follows it."""
        worded = self.accept("of")
        self.accept("for")
        if self.running is not None and not self.starts_value():
            return self.use_running()
        bracketed = self.at("(")
        node = self.behind(self.primary()) if bracketed and not worded else self.near()
        if self.angle and self.previous.text in ("pi", "π") and self.accept("/", "over"):
            return self.make("divide", node, self.unary())  # "sine of pi over 2" is an idiom
        if not bracketed:
            if is_raised(node):
                self.check_postfix()
            self._check_reach(worded=worded)
        return node

    def _check_reach(self, *, worded: bool) -> None:
        """Refuse `square root of 16 * 4`: it has two readings with two results.

        `worded` functions, which have an "of", may reach over a sum in symbols too.
        """
        if self.previous.text in words.ANGLE_UNITS:
            return
        symbols = ("*", "/", "+", "-") if worded else ("*", "/")
        phrases = ("over", "times", "divided") if self.angle else ("over",)
        ahead = 2 if self.at("by", ahead=1) else 1
        doubtful = self.at(*phrases) or (self.at(*symbols) and not self.glued())
        if doubtful and self.at_number(ahead=ahead):
            raise self.two_readings()

    def _logarithm(self) -> Node | None:
        if not self.accept("log", "logarithm"):
            return None
        base: Node | None = Number(number_value(self.take().text)) if self._at_base() else None
        if self.accept("base"):
            base = self.read_number() or self._constant()
        operand = self.operand()
        if base is None and self.accept("base"):
            base = self.read_number() or self._constant()
        match base:
            case None:
                raise Ambiguous('"log" has no base; write ln, log10 or "log base 2 of"')
            case Number(2 | 10):
                return self.make(f"log{int(base.value)}", operand)
            case _:
                return self.make("log base", operand, base)

    def _at_base(self) -> bool:
        return (
            self.peek().text in ("2", "10")
            and self.glued()
            and (self.at("(", "of", ahead=1) or self.peek(1).kind is Kind.NUMBER)
        )

    def _exponential_sum(self) -> Node | None:
        if not (self.at("exponential") and self.at("sum", ahead=1)):
            return None
        self.position += 2
        if not self.accept("of", "for") and not self.starts_value():
            nodes = [self.use_running()]
        else:
            nodes = self.listed()
        powers = apply_function(self.make, "exponential", _as_list(nodes))
        return aggregate(self.make, "sum", [powers])

    def _plural(self) -> Node | None:
        """Read "squares of 1, 2 and 3"; a list."""
        function = self.accept_phrase(words.PLURAL_FUNCTIONS)
        if function is None:
            return None
        if not self.accept("of", "for") and not self.at("(", "["):
            return apply_function(self.make, function, self.use_running())
        return apply_function(self.make, function, _as_list(self.arguments()))

    # -- what is counted, and parts ----------------------------------------------------------

    def _counted(self, number: Number) -> Node:
        """Read "10 terms of the Fibonacci sequence", "two thirds of 90", or the number itself."""
        if (parts := self._parts()) is not None:
            whole = self._whole()
            if number.value != 1:
                whole = self.make("multiply", whole, number)
            return self.make("divide", whole, Number(parts))
        found = self.find(words.COUNTED)
        return number if found is None or found[1] != "fibonacci" else self._series(number)

    def _parts(self) -> int | None:
        """How many parts "third of", "halves of" names; None if it is not here."""
        parts = FRACTIONS.get(self.peek().text)
        if parts is None or not self.at("of", ahead=1):
            return None
        self.position += 2
        return parts

    def _counted_first(self) -> Node | None:
        """Read "first 10 Fibonacci numbers"; None if nothing of the kind is here."""
        if self.at("fibonacci"):
            return self.attempt(self._fibonacci_up_to)
        if not (self.at("first") and self.at_number(ahead=1)):
            return None
        self.take()
        number = self.read_number()
        return None if number is None else self._series(number)

    def _series(self, number: Number) -> Node:
        start = self.position
        what = self.accept_phrase(words.COUNTED)
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
        self.skip(("fibonacci",), ("sequence", "series", "numbers"))
        if self.accept("up"):
            self.expect("to")
        else:
            self.accept("with", "of", "for")
        self.skip(("the",), ("first",))
        by_length = self.accept("length")
        number = self.read_number()
        if number is None or not (by_length or self.accept("terms", "numbers", "elements")):
            return None
        self.operations += 1
        return Apply("fibonacci", (number,))

    def _nth_value(self) -> Node | None:
        """Read "third power of 2", "fourth root of 16", "third of 90"."""
        exponent = self.attempt(self._nth_exponent)
        if exponent is not None:
            return self.make("power", self.near(), Number(exponent))
        parts = self._parts()
        return None if parts is None else self.make("divide", self._whole(), Number(parts))

    def _nth_exponent(self) -> float | None:
        number = self.read_ordinal()
        if number is None:
            return None
        if self.accept("power") and self.accept("of"):
            return number
        is_root = 0 < number <= MAX_ROOT and self.accept("root") and self.accept("of")
        return 1 / number if is_root else None

    def _whole(self) -> Node:
        """What a fraction is taken of."""
        node = self.near()
        if is_raised(node):
            self.check_postfix()
        return node

    # -- character codes ---------------------------------------------------------------------

    def _codes(self) -> Node | None:
        """Read "ASCII values of the characters in INDIA"; None if nothing of the kind is here."""
        if self.accept_phrase(words.CODES) is None:
            return None
        self.skip_codes_fillers()
        return self.codes_of(self.read_text())

    def skip_codes_fillers(self) -> None:
        """Go past "the characters in the word" to the text itself."""
        while self.at_word(*words.CODES_FILLERS):
            self.take()

    def codes_of(self, text: str) -> Node:
        """The character codes of `text`."""
        self.operations += 1
        return Apply("codes", (Text(text),))

    def _text_in_codes(self) -> Node | None:
        """Read "INDIA in ASCII"; None if nothing of the kind is here."""
        whole = self.position == 0 or self.previous.text in _BEFORE_TEXT
        if not (whole if self.at_word() else self.peek().kind is Kind.QUOTED):
            return None
        behind = self.look_ahead(self._codes_behind) if self.at("in", "to", ahead=1) else None
        if behind is None:
            return None
        text = self.read_text()
        self.position += 1 + behind[0]
        return self.codes_of(text)

    def _codes_behind(self) -> tuple[int, str] | None:
        self.position += 2
        return self.find(words.CODES)

    def read_text(self) -> str:
        """Quoted text, or one word up to the next space, without the punctuation behind it.

        Raises:
            Refusal: there is none.
            Ambiguous: a word such as "it" may mean itself or what it refers to, "a-z" a range.
        """
        if self.peek().kind is Kind.QUOTED:
            return self.take().text
        first = self.peek()
        refers = self.at_phrase(words.RESULT)
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


def _as_list(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 and is_list(nodes[0]) else Sequence(tuple(nodes))
