"""Values in words: functions, what is done with lists, results of earlier steps."""

from typing import Final

from modules.offline.arithmetic.items import is_raised
from modules.offline.arithmetic.operations import aggregate, apply_function
from modules.offline.arithmetic.series import SeriesReader
from modules.offline.arithmetic.tokens import Kind, number_value
from modules.offline.arithmetic.tree import (
    Apply,
    Constant,
    Node,
    Number,
    OperationName,
    Sequence,
    is_list,
)
from modules.offline.arithmetic.vocabulary import (
    ADDITIVE,
    AGGREGATES,
    ANGLE_UNITS,
    ARTICLES,
    CONSTANTS,
    FUNCTIONS,
    MULTIPLICATIVE,
    PLURAL_FUNCTIONS,
    RESULT,
    TAILS,
    Aggregate,
    Function,
)
from modules.offline.refusal import Ambiguous, Refusal, quoted

_OPERATORS: Final[dict[Aggregate, OperationName]] = {
    "sum": "add",
    "product": "multiply",
    "difference": "subtract",
    "quotient": "divide",
    "ratio": "divide",
}
"""The operation that an aggregate of two numbers is."""


class NounReader(SeriesReader):
    """Reads values in words."""

    without_unit: bool = False
    """Whether an angle of the request is a number without a unit, and no zero."""

    def noun(self) -> Node:
        """The value here.

        Raises:
            Refusal: nothing that the grammar knows starts here.
        """
        self.enter()
        try:
            return self._noun()
        finally:
            self.depth -= 1

    def _noun(self) -> Node:
        if (codes := self.text_in_codes()) is not None:
            return codes
        if self.accept("("):
            return self._parenthesis()
        if self.accept("["):
            return Sequence(tuple(self.until("]")))
        if self.at("√", "∛"):
            return self._root()
        if self.accept(*ARTICLES):
            return self.power(self.behind(self.primary()))
        if self.accept("numbers", "number", "integers", "list", "angle"):
            return self.range_of() or self.primary()
        if self.peek().kind is Kind.WORD:
            return self._word()
        raise self.misfit("where a number is expected")

    def _root(self) -> Node:
        root = self.take()
        node = self.primary()
        if self.at("!"):
            raise Ambiguous(f'"{root.text}…!" can be read in two ways; write parentheses')
        return self.make("square root" if root.text == "√" else "cube root", node)

    def _word(self) -> Node:
        for rule in (
            self._constant,
            self._possessive,
            self.counted_first,
            self.nth_value,
            self.codes_value,
            self._plural,
            self._logarithm,
            self._exponential_sum,
            self._function,
            self._aggregate,
            self._result,
        ):
            if (node := rule()) is not None:
                return node
        if self.at("value", "result", "answer") and self.at("of", "to", ahead=1):
            self.position += 2
            return self.primary()
        raise self.misfit("where a number is expected")

    def _parenthesis(self) -> Node:
        depth, self.list_depth = self.list_depth, 0
        node = self.within("full", self.expression)
        self.list_depth = depth
        self.expect(")")
        return node

    def _constant(self) -> Node | None:
        if (name := CONSTANTS.get(self.peek().text)) is None:
            return None
        self.take()
        return Constant(name)

    def _result(self) -> Node | None:
        found = self.find(RESULT)
        if found is None or self.at("of", ahead=found[0]):
            return None
        if self.at("answer") and self.at("to", ahead=1):
            return None
        self.position += found[0]
        many = found[1]
        node = self.use_running()
        if many == "many" and not is_list(node):
            raise Refusal("it refers to several values, and the step before gives one")
        return node

    def _possessive(self) -> Node | None:
        """Read "their sum", "its square root"."""
        if not self.accept("their", "its"):
            return None
        if (node := self._exponential_sum()) is not None:
            return node
        running = self.use_running()
        function = self.accept_phrase(PLURAL_FUNCTIONS) or self.accept_phrase(FUNCTIONS)
        if function is not None:
            return apply_function(self, function, running)
        name = self.accept_phrase(AGGREGATES)
        if name is None:
            raise self.misfit()
        return aggregate(self, name, [running])

    def operand(self) -> Node:
        """What a function is applied to; the running value where nothing follows it."""
        worded = self.accept("of")
        self.accept("for")
        if self.running is not None and not self.starts_value():
            return self.use_running()
        bracketed = self.at("(")
        node = self.behind(self.primary()) if bracketed and not worded else self.near()
        if self.angle and self.previous.text in ("pi", "π") and self.at("/", "over"):
            self.take()  # "sine of pi over 2" is an idiom for an angle
            return self.make("divide", node, self.unary())
        if not bracketed:
            if is_raised(node):
                self.check_postfix()
            self._check_reach(worded=worded)
        return node

    def _check_reach(self, *, worded: bool) -> None:
        """Refuse `square root of 16 * 4`: it has two readings with two results.

        `worded` functions, which have an "of", may reach over a sum in symbols too.
        """
        if self.previous.text in ANGLE_UNITS:
            return
        symbols = ("*", "/", "+", "-") if worded else ("*", "/")
        words = ("over", "times", "divided") if self.angle else ("over",)
        ahead = 2 if self.at("by", ahead=1) else 1
        doubtful = self.at(*words) or (self.at(*symbols) and not self.glued())
        if doubtful and self.at_number(ahead=ahead):
            raise self._two_readings()

    def _two_readings(self) -> Ambiguous:
        text = quoted(f"{self.span(0)} {self.peek().text}")
        return Ambiguous(f"{text} … can be read in two ways; write parentheses")

    def _function(self) -> Node | None:
        found = self.find(FUNCTIONS)
        if found is None:
            return None
        self.position += found[0]
        if found[1] == "reciprocal" and self.find(FUNCTIONS) is not None:
            raise self.misfit('behind "inverse"')  # the inverse sine is the arc sine
        return self.call(found[1])

    def call(self, function: Function) -> Node:
        """A function's value; its name has been taken."""
        before, self.angle = self.angle, function in ("sine", "cosine", "tangent")
        try:
            operand = self.operand()
        finally:
            self.angle = before
        if function == "absolute" and self.at("minus", "plus"):
            raise self._two_readings()
        if function in ("sine", "cosine", "tangent") and isinstance(operand, Number):
            self.without_unit = self.without_unit or operand.value != 0
        return apply_function(self, function, operand)

    def _logarithm(self) -> Node | None:
        if not self.at("log", "logarithm"):
            return None
        self.take()
        base = number_value(self.take().text) if self._at_base() else None
        if self.accept("base"):
            base = self.read_number() or self._constant()
        elif base is not None:
            base = Number(base)
        operand = self.operand()
        if base is None and self.accept("base"):
            base = self.read_number() or self._constant()
        if base is None:
            raise Ambiguous('"log" has no base; write ln, log10 or "log base 2 of"')
        if isinstance(base, Number) and base.value in (2, 10):
            return self.make("log2" if base.value == 2 else "log10", operand)
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
            nodes = self._listed()
        powers = apply_function(self, "exponential", self._as_list(nodes))
        return aggregate(self, "sum", [powers])

    def _plural(self) -> Node | None:
        """Read "squares of 1, 2 and 3"; a list."""
        function = self.accept_phrase(PLURAL_FUNCTIONS)
        if function is None:
            return None
        if not self.accept("of", "for") and not self.at("(", "["):
            return apply_function(self, function, self.use_running())
        return apply_function(self, function, self._as_list(self.arguments()))

    def _as_list(self, nodes: list[Node]) -> Node:
        return nodes[0] if len(nodes) == 1 and is_list(nodes[0]) else Sequence(tuple(nodes))

    def _aggregate(self) -> Node | None:
        name = self.accept_phrase(AGGREGATES)
        if name is None:
            return None
        if name == "remainder":
            return self._remainder()
        bracketed = self.at("(", "[")
        linked = self.accept("of", "between", "in", "among", "from", "for")
        if not linked and not self.starts_value():
            return self._aggregate_of_running(name)
        nodes = self._ratio() if name == "ratio" else self._listed()
        operator = _OPERATORS.get(name)
        if operator is not None and len(nodes) == 1 and not is_list(nodes[0]):
            return self.spelled_out(operator, nodes[0])
        node = aggregate(self, name, nodes)
        listed = len(nodes) > 1 or self.previous.kind is Kind.NUMBER
        if listed and not bracketed and not self._may_go_on(name):
            raise Ambiguous("the list's end is unclear; write parentheses around it")
        return node

    def _may_go_on(self, name: Aggregate) -> bool:
        """Whether what follows a list in words leaves no doubt about the list's end."""
        if self._at_spaced_symbol():
            return False
        start = self.position
        operator = self.accept_phrase(ADDITIVE) or self.accept_phrase(MULTIPLICATIVE)
        self.accept(*ARTICLES)
        parallel = self.find(AGGREGATES) is not None
        self.position = start
        # "the sum of 1 and 2 times the sum of 3 and 4" multiplies what reads alike.
        return operator in (None, "from", *TAILS.get(name, ())) or parallel

    def _aggregate_of_running(self, name: Aggregate) -> Node:
        """Read "the sum" for the list of the step before, or for a sum that the step before was."""
        running = self.use_running()
        if is_list(running):
            return aggregate(self, name, [running])
        if isinstance(running, Apply) and running.operation == _OPERATORS.get(name):
            return running
        raise Refusal(f"it does not say of what the {name} is taken")

    def spelled_out(self, operation: OperationName, left: Node) -> Node:
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
            self.accept("you", "we", "i")
            self.accept("dividing", "divide")
            left = self.item("is", "by")
            self.accept("is")
            self.accept("divided")
        else:
            self.accept("of", "from", "between")
            self.accept("dividing", "the")
            self.accept("division")
            self.accept("of")
            left = self._dividend()
            self.accept("divided")
        self.expect("by", "and", "/", "%")
        self.accept("dividing")
        self.accept("by")
        right = self.near()
        if not self._may_go_on("remainder"):
            raise self._two_readings()
        return self.make("remainder", left, right)

    def _dividend(self) -> Node:
        self.list_depth += 1
        node = self.unary()
        self.list_depth -= 1
        return node

    def _listed(self) -> list[Node]:
        found = self.range_of()
        return self.arguments() if found is None else [found]

    def _at_spaced_symbol(self) -> bool:
        return self.at("*", "/", "%", "^", "+", "-") and not self.glued()
