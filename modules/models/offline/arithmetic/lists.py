"""Lists: how far each of their items reaches, where they end, and the one value made of them."""

from typing import Final

from modules.models.offline.arithmetic import vocabulary as words
from modules.models.offline.arithmetic.expressions import ExpressionReader
from modules.models.offline.arithmetic.tokens import FRACTIONS, Kind
from modules.models.offline.arithmetic.tree import PAIRS, Apply, Node, aggregate, is_list
from modules.models.offline.refusal import Ambiguous, Refusal, quoted

_OPERATORS: Final = {"sum": "add", "product": "multiply", **PAIRS}
"""The operation that an aggregate of two numbers is."""

_VALUE_WORDS: Final = frozenset(
    {*words.ARTICLES, *words.CONSTANTS, *FRACTIONS}
    | {"their", "its", "first", "numbers", "integers", "log", "logarithm", "negative", "minus"}
)
_VALUE_PHRASES: Final = (
    words.FUNCTIONS,
    words.PLURAL_FUNCTIONS,
    words.AGGREGATES,
    words.CODES,
    words.RESULT,
    words.COUNTED,
)


def is_raised(node: Node) -> bool:
    """Whether the node is a power or factorial."""
    return isinstance(node, Apply) and node.operation in ("power", "factorial")


class ListReader(ExpressionReader):
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

    # -- items -------------------------------------------------------------------------------

    def items(self, *delimiters: str) -> list[Node]:
        """Values separated by commas, "and", or (numbers in digits) spaces; at least one.

        A list inside a list ends after its first "and". `delimiters` are words that may end it.

        Raises:
            Ambiguous: "the sum of 5 and 7 and the product of 2 and 3".
        """
        self.attempt(self._introduction)
        self.list_depth += 1
        worded = self.look_ahead(self._worded_function)
        nodes = [self.item(*delimiters)]
        linked = False
        while not (linked and self.list_depth > 1):
            separator = self.attempt(self._separator_before_value)
            if separator is None:
                break
            if linked and separator == "and" and not self.at_number():
                raise Ambiguous('it has more than one "and", and could be one list or two')
            if worded and self.at_number():
                raise Ambiguous(f"it is unclear whether {quoted(worded)} is of one number or more")
            worded = self.look_ahead(self._worded_function)
            nodes.append(self.item(*delimiters))
            linked = separator == "and"
        self.list_depth -= 1
        if len(nodes) > 1 and not is_raised(nodes[0]):
            self.check_postfix()
        return nodes

    def _introduction(self) -> str | None:
        """Take "the following numbers:" where the numbers do follow."""
        found = self.accept_phrase(words.LIST_INTRODUCTIONS)
        self.accept(":")
        return found if self.at_number() or self.at("[", "-") else None

    def _worded_function(self) -> str:
        """The words of a function with "of" that stands here, such as "square root of"."""
        start = self.position
        self.accept(*words.ARTICLES)
        named = self.accept_phrase(words.FUNCTIONS) is not None and self.accept("of")
        return self.span(start) if named and not self.at("(") else ""

    def check_postfix(self) -> None:
        """Refuse "factorial of 3 squared": the power may mean the last number or the whole."""
        start, end = self.raised
        if end == self.position and self.previous.text not in words.ANGLE_UNITS:
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
        if self.at(*delimiters) or self.look_ahead(self._separator_before_value) is not None:
            return whole
        self.position = end
        return node

    def _separator_before_value(self) -> str | None:
        separator = self._separator()
        return None if separator is None or self.at_step() or not self.starts_value() else separator

    def _separator(self) -> str | None:
        if self.accept(","):
            return "and" if self.accept("and", "&") else ","
        if self.accept("and", "&", "with"):
            return "and"
        if self.peek().kind is self.previous.kind is Kind.NUMBER and not self.glued():
            return " "
        return None

    def until(self, closing: str) -> list[Node]:
        """Values separated by commas, up to the closing bracket, which is taken."""
        depth, self.list_depth = self.list_depth, 1
        nodes = [self.within("full", self.expression)]
        while self.accept(",", ";"):
            nodes.append(self.within("full", self.expression))
        self.list_depth = depth
        self.expect(closing)
        return nodes

    def listed(self) -> list[Node]:
        """A range, the items of a list in words, or those of `max(3, 5)`."""
        return self.range_of() or self.arguments()

    def arguments(self) -> list[Node]:
        """The items of a list in words, or of `max(3, 5)`."""
        return self.until(")") if self.glued() and self.accept("(") else self.items()

    def range_of(self) -> list[Node] | None:
        """Read "the numbers from 1 to 10", "1 to 10"; None if no range is here."""
        return self.attempt(self._range)

    def _range(self) -> list[Node] | None:
        start = self.position
        while self.accept("the", "all", "numbers", "integers", "whole", "natural", "from"):
            pass
        first = self.read_number()
        last = self.read_number() if first and self.accept("to", "through", "thru") else None
        if not (first and last and isinstance(first.value, int) and isinstance(last.value, int)):
            return None
        if first.value > last.value:
            raise Refusal(f"{quoted(self.span(start))} counts down")
        self.operations += 1
        return [Apply("range", (first, last))]

    def starts_value(self) -> bool:
        """Whether a value starts here."""
        if self.at_word() and (self.at(*_VALUE_WORDS) or self.at_phrase(*_VALUE_PHRASES)):
            return True
        return self.at_number() or self.at("(", "[", "-", "+", "√", "∛")

    def at_step(self) -> bool:
        """Whether a new step of the request starts here: a verb, "then", "find"."""
        return self.at_phrase(words.LEAD_INS) or self.find_verb() is not None

    def find_verb(self) -> tuple[int, str] | None:
        """The verb here with its number of words; None also for "square root", "sum of"."""
        found = self.find(words.VERBS)
        if found is None:
            return None
        functions = map(self.find, (words.FUNCTIONS, words.PLURAL_FUNCTIONS))
        longest = max((function[0] for function in functions if function), default=0)
        called = self.peek().text in words.NOUN_VERBS and self.at("of", "(", ahead=found[0])
        return None if called or longest > found[0] else found

    # -- one value of a list -----------------------------------------------------------------

    def aggregated(self) -> Node | None:
        """Read "the sum of 1, 2 and 3"; None if nothing of the kind is here."""
        name = self.accept_phrase(words.AGGREGATES)
        if name is None:
            return None
        if name == "remainder":
            return self._remainder()
        bracketed = self.at("(", "[")
        linked = self.accept("of", "between", "in", "among", "from", "for")
        if not linked and not self.starts_value():
            return self._aggregate_of_running(name)
        nodes = self._ratio() if name == "ratio" else self.listed()
        operator = _OPERATORS.get(name)
        if operator is not None and len(nodes) == 1 and not is_list(nodes[0]):
            return self.spelled_out(operator, nodes[0])
        node = aggregate(self.make, name, nodes)
        listed = len(nodes) > 1 or self.previous.kind is Kind.NUMBER
        if listed and not bracketed and not self._may_go_on(name):
            raise Ambiguous("the list's end is unclear; write parentheses around it")
        return node

    def _may_go_on(self, name: str) -> bool:
        """Whether what follows a list in words leaves no doubt about the list's end."""
        if self.at("*", "/", "%", "^", "+", "-") and not self.glued():
            return False
        start = self.position
        operator = self.accept_phrase(words.ADDITIVE, words.MULTIPLICATIVE)
        self.accept(*words.ARTICLES)
        parallel = self.at_phrase(words.AGGREGATES)
        self.position = start
        # "the sum of 1 and 2 times the sum of 3 and 4" multiplies what reads alike.
        return operator in (None, "from", *words.TAILS.get(name, ())) or parallel

    def _aggregate_of_running(self, name: str) -> Node:
        """Read "the sum" for the list of the step before, or for a sum that the step before was."""
        running = self.use_running()
        if is_list(running):
            return aggregate(self.make, name, [running])
        if isinstance(running, Apply) and running.operation == _OPERATORS.get(name):
            return running
        raise Refusal(f"it does not say of what the {name} is taken")

    def spelled_out(self, operation: str, left: Node) -> Node:
        """Read "add 2 + 3", "the sum of 2 plus 3": the operator says again what the noun says.

        Raises:
            Refusal: no operator follows.
            Ambiguous: the operators say something else.
        """
        if not self.at_operator():
            raise Refusal(f"{operation} needs a second number (write a space after each comma)")
        node = self.within("full", lambda: self.expression(left))
        if isinstance(node, Apply) and node.operation == operation:
            return node
        raise Ambiguous(f"the request says {operation}, and its operators say otherwise")

    def _ratio(self) -> list[Node]:
        nodes = self.items("to")
        return [*nodes, self.near()] if self.accept("to") else nodes

    def _remainder(self) -> Node:
        """Read "remainder when 17 is divided by 5", "remainder of 17 and 5"."""
        if self.accept("when", "if", "after"):
            self.skip(("you", "we", "i"), ("dividing", "divide"))
            left = self.item("is", "by")
            self.skip(("is",), ("divided",))
        else:
            self.skip(("of", "from", "between"), ("dividing", "the"), ("division",), ("of",))
            self.list_depth += 1
            left = self.unary()
            self.list_depth -= 1
            self.accept("divided")
        self.expect("by", "and", "/", "%")
        self.skip(("dividing",), ("by",))
        right = self.near()
        if not self._may_go_on("remainder"):
            raise self.two_readings()
        return self.make("remainder", left, right)

    def two_readings(self) -> Ambiguous:
        """The refusal of what stands here, which may belong to the last value or to the whole."""
        text = quoted(f"{self.span(0)} {self.peek().text}")
        return Ambiguous(f"{text} … can be read in two ways; write parentheses")
