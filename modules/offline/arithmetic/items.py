"""The items of a list, how far each of them reaches, and where the list ends."""

from modules.offline.arithmetic.expressions import ExpressionReader
from modules.offline.arithmetic.numerals import FRACTIONS
from modules.offline.arithmetic.tokens import Kind, Token
from modules.offline.arithmetic.tree import Apply, Node, is_list
from modules.offline.arithmetic.vocabulary import (
    AGGREGATES,
    ANGLE_UNITS,
    ARTICLES,
    CODES,
    CONSTANTS,
    COUNTED,
    FUNCTIONS,
    LEAD_INS,
    LIST_INTRODUCTIONS,
    NOUN_VERBS,
    PLURAL_FUNCTIONS,
    RESULT,
    VERBS,
    Verb,
)
from modules.offline.refusal import Ambiguous, Refusal, quoted


def is_raised(node: Node) -> bool:
    """Whether the node is a power or factorial."""
    return isinstance(node, Apply) and node.operation in ("power", "factorial")


class ItemReader(ExpressionReader):
    """Reads lists; knows the value of the step before (`running`)."""

    running: Node | None = None
    used_running: bool = False

    def use_running(self) -> Node:
        """The value of the step before.

        Raises:
            Refusal: there is none.
        """
        if self.running is None:
            raise Refusal("it refers to an earlier result, and there is no number to refer to")
        self.used_running = True
        return self.running

    def near(self) -> Node:
        """An operand that reaches as far as its operators are written without spaces."""
        return self.within("near", self.expression)

    def items(self, *delimiters: str) -> list[Node]:
        """Values separated by commas, "and", or (numbers in digits) spaces; at least one.

        A list inside a list ends after its first "and". `delimiters` are words that may end it.

        Raises:
            Ambiguous: "the sum of 5 and 7 and the product of 2 and 3".
        """
        self._introduction()
        self.list_depth += 1
        worded = self._at_worded_function()
        nodes = [self.item(*delimiters)]
        linked = False
        while not (linked and self.list_depth > 1):
            start = self.position
            separator = self._separator()
            if separator is None or self.at_step() or not self.starts_value():
                self.position = start
                break
            if linked and separator == "and" and not self.at_number():
                raise Ambiguous('it has more than one "and", and could be one list or two')
            if worded and self.at_number():
                raise Ambiguous(f"it is unclear whether {quoted(worded)} is of one number or more")
            worded = self._at_worded_function()
            nodes.append(self.item(*delimiters))
            linked = separator == "and"
        self.list_depth -= 1
        if len(nodes) > 1 and not is_raised(nodes[0]):
            self.check_postfix()
        return nodes

    def _introduction(self) -> None:
        """Take "the following numbers:" where the numbers do follow."""
        start = self.position
        if self.accept_phrase(LIST_INTRODUCTIONS) is None:
            return
        self.accept(":")
        if not (self.at_number() or self.at("[", "-")):
            self.position = start

    def _at_worded_function(self) -> str:
        """The words of a function with "of" that stands here, such as "square root of"."""
        start = self.position
        self.accept(*ARTICLES)
        named = self.accept_phrase(FUNCTIONS) is not None and self.accept("of")
        words = self.span(start) if named and not self.at("(") else ""
        self.position = start
        return words

    def check_postfix(self) -> None:
        """Refuse "factorial of 3 squared": the power may mean the last number or the whole."""
        start, end = self.raised
        if end == self.position and self.previous.text not in ANGLE_UNITS:
            raise Ambiguous(f"{quoted(self.span(start))} may mean the last number or the whole")

    def item(self, *delimiters: str) -> Node:
        """One operand of a list or command.

        It reaches as far as its operators have no spaces, or up to the next separator or one of
        the `delimiters`.
        """
        start = self.position
        node = self.near()
        if is_list(node) or not self.at_operator():
            return node
        end, self.position = self.position, start
        whole = self.within("full", self.expression)
        if self.at(*delimiters) or self._another_follows():
            return whole
        self.position = end
        return node

    def _another_follows(self) -> bool:
        start = self.position
        found = self._separator() is not None and not self.at_step() and self.starts_value()
        self.position = start
        return found

    def _separator(self) -> str | None:
        if self.accept(","):
            return "and" if self.accept("and", "&") else ","
        if self.accept("and", "&", "with"):
            return "and"
        if self.peek().kind is self.previous.kind is Kind.NUMBER and not self.glued():
            return " "
        return None

    def arguments(self) -> list[Node]:
        """The items of a list in words, or of `max(3, 5)`."""
        if self.at("(") and self.glued():
            self.take()
            return self.until(")")
        return self.items()

    def until(self, closing: str) -> list[Node]:
        """Values separated by commas, up to the closing bracket, which is taken."""
        depth, self.list_depth = self.list_depth, 1
        nodes = [self.within("full", self.expression)]
        while self.accept(",", ";"):
            nodes.append(self.within("full", self.expression))
        self.list_depth = depth
        self.expect(closing)
        return nodes

    def range_of(self) -> Node | None:
        """Read "the numbers from 1 to 10", "1 to 10"; None if no range is here."""
        start = self.position
        while self.accept("the", "all", "numbers", "integers", "whole", "natural", "from"):
            pass
        first = self.read_number()
        if first is not None and self.accept("to", "through", "thru"):
            last = self.read_number()
            if last is not None and isinstance(first.value, int) and isinstance(last.value, int):
                if first.value > last.value:
                    raise Refusal(f"{quoted(self.span(start))} counts down")
                self.operations += 1
                return Apply("range", (first, last))
        self.position = start
        return None

    def starts_value(self) -> bool:
        """Whether a value starts here."""
        token = self.peek()
        if token.kind is Kind.SYMBOL:
            return token.text in ("(", "[", "-", "+", "√", "∛")
        return self.at_number() or (token.kind is Kind.WORD and self._word_starts_value(token))

    def _word_starts_value(self, token: Token) -> bool:
        tables = (FUNCTIONS, PLURAL_FUNCTIONS, AGGREGATES, CODES, RESULT, COUNTED)
        return (
            token.text in ARTICLES
            or token.text in CONSTANTS
            or token.text in FRACTIONS
            or token.text in ("their", "its", "first", "numbers", "log", "logarithm", "negative")
            or token.text in ("minus", "integers")
            or any(self.find(table) is not None for table in tables)
        )

    def at_step(self) -> bool:
        """Whether a new step of the request starts here: a verb, "then", "find"."""
        if self.find(LEAD_INS) is not None:
            return True
        return self.find_verb() is not None

    def find_verb(self) -> tuple[int, Verb] | None:
        """The verb here with its number of words; None also for "square root", "sum of"."""
        found = self.find(VERBS)
        if found is None:
            return None
        nouns = [noun[0] for noun in map(self.find, (FUNCTIONS, PLURAL_FUNCTIONS)) if noun]
        called = self.peek().text in NOUN_VERBS and self.at("of", "(", ahead=found[0])
        return None if called or max(nouns, default=0) > found[0] else found
