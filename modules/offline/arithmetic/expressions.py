"""The levels of an expression: sums, products, signs, powers, and what stands behind a value.

The grammar itself is written down in `modules.offline.arithmetic.grammar`.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypeVar

from modules.offline.arithmetic.numerals import NumberReader
from modules.offline.arithmetic.tokens import Kind, Phrases, Token
from modules.offline.arithmetic.tree import Apply, Node, Number, OperationName, Percent, is_list
from modules.offline.arithmetic.vocabulary import (
    ADDITIVE,
    ADDITIVE_SYMBOLS,
    ANGLE_UNITS,
    MULTIPLICATIVE,
    MULTIPLICATIVE_SYMBOLS,
    ORDINAL_POWER,
    POWER,
    Additive,
)
from modules.offline.refusal import Ambiguous, Refusal

MAX_DEPTH: Final = 80
"""How deeply rules may nest; a parenthesis is two of them."""

MAX_OPERATIONS: Final = 100
"""How many operations one request may hold."""

MAX_RULES_TRIED: Final = 20_000
"""Bound on the work of reading one request, backtracking included."""

Result = TypeVar("Result")
Operator = TypeVar("Operator")
Extent: TypeAlias = Literal["full", "near"]
"""How far an operand reaches: "full", or "near": only operators written without spaces."""

POSTFIX_POWERS: Final = {"squared": 2, "²": 2, "cubed": 3, "³": 3}
PASSIVES: Final = frozenset({"added", "subtracted", "taken", "deducted", "multiplied", "divided"})
_BEHIND_PERCENT: Final = frozenset({"of", "off", "times", "multiplied", "*", "/", ")", ",", "?"})


class ExpressionReader(NumberReader):
    """Reads expressions; `noun` (what stands for a value in words) comes from a subclass."""

    extent: Extent = "full"
    angle: bool = False
    in_degrees: bool = False
    """Whether an angle of the request was given in degrees."""
    lists_numbers: bool = False
    """Whether a command has read a list of its own: "add 3 and 4", but not "add 3 to 4"."""
    raising: bool = False
    """Whether a command reads its base, whose power in words is the command's."""
    last_operator: int = -1
    """Where the operator between values that was taken last stands."""
    raised: tuple[int, int] = (-1, -1)
    """Where the power or factorial in words that was taken last begins and ends."""
    depth: int = 0
    operations: int = 0
    rules_tried: int = 0

    def noun(self) -> Node:
        """The value here: a parenthesis, a list or words."""
        raise NotImplementedError

    # -- building ----------------------------------------------------------------------------

    def make(self, operation: OperationName, *arguments: Node) -> Node:
        """A node for an operation on numbers; a percentage among them becomes a fraction.

        Raises:
            Refusal: an argument is a list, or there are too many operations.
            Ambiguous: a percentage is to be added or subtracted.
        """
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise Refusal(f"it has more than {MAX_OPERATIONS} operations")
        if operation in ("add", "subtract") and any(isinstance(n, Percent) for n in arguments):
            raise Ambiguous("it does not say of what the percentage is taken")
        if any(is_list(node) for node in arguments):
            raise Refusal(f"{operation} needs single numbers, and one of its values is a list")
        if operation == "negate" and isinstance(arguments[0], Number):
            return Number(-arguments[0].value)
        return Apply(operation, tuple(self.fraction(node) for node in arguments))

    def fraction(self, node: Node) -> Node:
        """15% as 15 / 100; any other node as it is."""
        if isinstance(node, Percent):
            return Apply("divide", (node.amount, Number(100)))
        return node

    def percent_of(self, amount: Node, whole: Node) -> Node:
        """`amount` percent of `whole`; multiplied first, which keeps whole results whole."""
        return self.make("divide", self.make("multiply", amount, whole), Number(100))

    def within(self, extent: Extent, rule: Callable[[], Result]) -> Result:
        """Apply a rule with another reach of its operands."""
        before, self.extent = self.extent, extent
        try:
            return rule()
        finally:
            self.extent = before

    # -- levels ------------------------------------------------------------------------------

    def expression(self, left: Node | None = None) -> Node:
        """A sum; `left` is a value that has been read already.

        Raises:
            Ambiguous: "10 minus 5 less than 20", "100 plus 5 increased by 10%".
        """
        start = self.position
        left = self.product(left)
        summed = False
        while True:
            compound = start < self.last_operator < self.position
            operator = self._operator(ADDITIVE, ADDITIVE_SYMBOLS)
            if operator is None:
                return self._passive(left)
            if compound and operator in ("more than", "less than", "from"):
                raise Ambiguous("it is unclear where the values begin; write parentheses")
            right = self.product()
            if summed and isinstance(right, Percent):
                raise Ambiguous("it is unclear what the percentage is taken of")
            left = self._additive(operator, left, right)
            summed = True

    def _passive(self, whole: Node) -> Node:
        """Read "is divided by 7" behind a sum: it is about the whole of it."""
        if self.extent == "near" or not (self.at("is") and self.peek(1).text in PASSIVES):
            return whole
        self.take()
        additive = self.accept_phrase(ADDITIVE)
        operator = additive or self.accept_phrase(MULTIPLICATIVE)
        if operator is None:
            raise self.misfit()
        other = self.within("near", self.expression)
        if additive is not None:
            return self._additive(additive, whole, other)
        return self.make("multiply" if operator == "multiply" else "divide", whole, other)

    def _additive(self, operator: Additive, left: Node, right: Node) -> Node:
        of_left = operator in ("add", "subtract", "increased", "decreased")
        if of_left and isinstance(right, Percent) and not isinstance(left, Percent):
            right = self.percent_of(right.amount, left)
        match operator:
            case "add" | "more than" | "increased":
                return self.make("add", left, right)
            case "subtract" | "decreased":
                return self.make("subtract", left, right)
            case "less than" | "from":
                return self.make("subtract", right, left)

    def product(self, left: Node | None = None) -> Node:
        """Factors joined by `*`, `/`, `%`, their words, or nothing (`2pi`, `3(4)`)."""
        left = self.factor() if left is None else left
        if self._implied_product(left):
            left = self.make("multiply", left, self.factor())
        while (operator := self._operator(MULTIPLICATIVE, MULTIPLICATIVE_SYMBOLS)) is not None:
            left = self.make(operator, left, left if self.accept("itself") else self.factor())
        return left

    def factor(self) -> Node:
        """A signed power, or a percentage with what it is taken of."""
        node = self.unary()
        if not self._accept_percent():
            return node
        if self.accept("of"):
            return self.percent_of(node, self.factor())
        if self.accept("off"):
            self.accept("of")
            whole = self.factor()
            return self.make("subtract", whole, self.percent_of(node, whole))
        return Percent(node)

    def unary(self) -> Node:
        """A power with its signs; binds looser than `^`, so -2^2 is -4, as in Python."""
        self.enter()
        try:
            if self.accept("-", "minus"):
                return self.make("negate", self.unary())
            if self.accept("negative"):
                return self._negative()
            if self.accept("+", "positive"):
                return self.unary()
            return self.power(self.behind(self.primary()))
        finally:
            self.depth -= 1

    def _negative(self) -> Node:
        """A value with "negative" before it, which belongs closer to a number than a sign does."""
        number = self.at_number()
        value = self.unary()
        if number and isinstance(value, Apply) and value.operation == "power":
            raise Ambiguous('"negative" may belong to the number or to its power; use a sign')
        return self.make("negate", value)

    def power(self, base: Node) -> Node:
        """`base`, raised if a power follows; right-associative, exponents may have a sign."""
        if self.raising and not self.at("^"):
            return base
        start = self.position
        if self.accept_phrase(ORDINAL_POWER):
            if (exponent := self.read_ordinal()) is not None:
                self.accept("power")
                self.raised = start, self.position
                return self.make("power", base, Number(exponent))
            self.position = start
        if self.accept("^"):
            return self.make("power", base, self.unary())
        if self.accept_phrase(POWER):
            exponent = self.unary()
            self.raised = start, self.position
            return self.make("power", base, exponent)
        return base

    def behind(self, node: Node) -> Node:
        """What stands behind a value: `!`, squared, cubed, degrees."""
        while True:
            if self._at_factorial():
                self.take()
                if self.at("!") and self.glued():
                    raise Ambiguous('"!!" may be a factorial of a factorial or a double factorial')
                node = self.make("factorial", node)
            elif self.at(*POSTFIX_POWERS):
                node = self.make("power", node, Number(POSTFIX_POWERS[self.take().text]))
            elif self.angle and self.peek().text in ANGLE_UNITS:
                if ANGLE_UNITS[self.take().text] == "degrees":
                    self.in_degrees = True
                    node = self.make("radians", node)
            else:
                return node
            if self.previous.kind is Kind.WORD:
                self.raised = self.position - 1, self.position

    def primary(self) -> Node:
        """A number, or what `noun` reads."""
        if self.at("a") and self.peek(1).text not in ("hundred", "thousand", "million", "dozen"):
            return self.noun()
        number = None if self._at_ordinal() else self.read_number()
        return self.noun() if number is None else self.counted(number)

    def counted(self, number: Number) -> Node:
        """A number with the noun that it counts, if one follows; for a subclass."""
        return number

    # -- looking ahead -----------------------------------------------------------------------

    def at_operator(self) -> bool:
        """Whether an operator of sum or product follows, whatever the extent."""
        here = self.position, self.last_operator
        found = self.within(
            "full",
            lambda: (
                self._operator(ADDITIVE, ADDITIVE_SYMBOLS) is not None
                or self._operator(MULTIPLICATIVE, MULTIPLICATIVE_SYMBOLS) is not None
            ),
        )
        self.position, self.last_operator = here
        return found

    def _operator(self, words: Phrases[Operator], symbols: dict[str, Operator]) -> Operator | None:
        token = self.peek()
        if token.kind is Kind.SYMBOL and token.text in symbols:
            near = self.glued() and self.glued(1)
            if (self.extent == "near" and not near) or self._is_percent(token):
                return None
            if self.list_depth and token.text in "+-" and not self.glued() and self.glued(1):
                raise Ambiguous(f'"{token.text}" in a list may be a sign; write commas')
            self.last_operator = self.position
            self.take()
            return symbols[token.text]
        if token.text == "x" and not self._is_times_sign():
            return None
        if self.extent == "near" and token.text != "x":
            return None
        start = self.position
        found = self.accept_phrase(words)
        if found is not None:
            self.last_operator = start
        return found

    def _is_times_sign(self) -> bool:
        """Whether "x" stands for times: as close to its left as to its right ("2x + 3" is not)."""
        near = self.glued() and self.glued(1)
        apart = self.extent == "full" and not self.glued() and not self.glued(1)
        return (near or apart) and not self.at("+", "-", "*", "/", "^", "=", ahead=1)

    def _is_percent(self, token: Token) -> bool:
        """Whether `%` is a percent sign: not between operands as a remainder's sign is."""
        if token.text != "%":
            return False
        behind = self.peek(1)
        return (
            behind.kind is Kind.END
            or behind.text in _BEHIND_PERCENT
            or (self.glued() and not self.glued(1))
            or (behind.text in ("+", "-") and not self.glued(2))
        )

    def _accept_percent(self) -> bool:
        if self._is_percent(self.peek()):
            self.take()
            return True
        if self.at("per") and self.at("cent", ahead=1):
            self.position += 2
            return True
        return self.accept("percent", "percentage", "pct")

    def _at_factorial(self) -> bool:
        if self.at("!"):
            return self.glued()
        return self.at("factorial") and not self.at("of", "(", ahead=1)

    def _at_ordinal(self) -> bool:
        here = self.position
        found = self.peek().kind is Kind.NUMBER and self.read_ordinal() is not None
        self.position = here
        return found

    def _implied_product(self, left: Node) -> bool:
        if not (isinstance(left, Number) and self.previous.kind is Kind.NUMBER):
            return False
        return self.at("pi", "π") or (self.at("(") and self.glued())

    def enter(self) -> None:
        """Count one more level and one more rule; the caller takes the level back.

        Raises:
            Refusal: the request nests too deeply or takes too long to read.
        """
        self.rules_tried += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refusal("it nests too deeply")
        if self.rules_tried > MAX_RULES_TRIED:
            raise Refusal("its structure is too involved")
