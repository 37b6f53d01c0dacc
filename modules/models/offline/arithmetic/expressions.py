"""The levels of an expression: sums, products, signs, powers, and what stands behind a value.

The grammar itself is written down in `modules.models.offline.arithmetic.grammar`.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypeVar

from modules.models.offline.arithmetic import vocabulary as words
from modules.models.offline.arithmetic.tokens import Kind, NumberReader, Token
from modules.models.offline.arithmetic.tree import Apply, Node, Number, Percent, is_list
from modules.models.offline.refusal import Ambiguous, Refusal

MAX_DEPTH: Final = 80
"""How deeply rules may nest; a parenthesis is two of them."""

MAX_OPERATIONS: Final = 100
"""How many operations one request may hold."""

MAX_RULES_TRIED: Final = 20_000
"""Bound on the work of reading one request, backtracking included."""

Result = TypeVar("Result")
Extent: TypeAlias = Literal["full", "near"]
"""How far an operand reaches: "full", or "near": only operators written without spaces."""

_POSTFIX_POWERS: Final = {"squared": 2, "²": 2, "cubed": 3, "³": 3}
_PASSIVES: Final = frozenset({"added", "subtracted", "taken", "deducted", "multiplied", "divided"})
_BEHIND_PERCENT: Final = frozenset({"of", "off", "times", "multiplied", "*", "/", ")", ",", "?"})


class ExpressionReader(NumberReader):
    """Reads expressions; `primary` (a number, or what stands for one) comes from a subclass."""

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

    def primary(self) -> Node:
        """The value here: a number, a parenthesis, a list or words."""
        raise NotImplementedError

    # -- building ----------------------------------------------------------------------------

    def make(self, operation: str, *arguments: Node) -> Node:
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

    def part_of(self, amount: Node, whole: Node) -> Node:
        """A percentage as that part of `whole`; any other node as it is.

        It is multiplied first, which keeps whole results whole.
        """
        if not isinstance(amount, Percent):
            return amount
        return self.make("divide", self.make("multiply", amount.amount, whole), Number(100))

    def within(self, extent: Extent, rule: Callable[[], Result]) -> Result:
        """Apply a rule with another reach of its operands."""
        before, self.extent = self.extent, extent
        try:
            return rule()
        finally:
            self.extent = before

    def near(self) -> Node:
        """An operand that reaches as far as its operators are written without spaces."""
        return self.within("near", self.expression)

    def nested(self, rule: Callable[[], Result]) -> Result:
        """Apply a rule one level further in.

        Raises:
            Refusal: the request nests too deeply or takes too long to read.
        """
        self.rules_tried += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refusal("it nests too deeply")
        if self.rules_tried > MAX_RULES_TRIED:
            raise Refusal("its structure is too involved")
        try:
            return rule()
        finally:
            self.depth -= 1

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
            operator = self._operator(words.ADDITIVE, words.ADDITIVE_SYMBOLS)
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
        if self.extent == "near" or not (self.at("is") and self.peek(1).text in _PASSIVES):
            return whole
        self.take()
        operator = self.accept_phrase(words.ADDITIVE, words.MULTIPLICATIVE)
        if operator is None:
            raise self.misfit()
        other = self.near()
        if operator in ("multiply", "divide"):
            return self.make(operator, whole, other)
        return self._additive(operator, whole, other)

    def _additive(self, operator: str, left: Node, right: Node) -> Node:
        if operator in ("less than", "from"):
            return self.make("subtract", right, left)
        if operator != "more than" and not isinstance(left, Percent):
            right = self.part_of(right, left)
        adds = operator in ("add", "more than", "increased")
        return self.make("add" if adds else "subtract", left, right)

    def product(self, left: Node | None = None) -> Node:
        """Factors joined by `*`, `/`, `%`, their words, or nothing (`2pi`, `3(4)`)."""
        left = self.factor() if left is None else left
        if self._implied_product(left):
            left = self.make("multiply", left, self.factor())
        while operator := self._operator(words.MULTIPLICATIVE, words.MULTIPLICATIVE_SYMBOLS):
            left = self.make(operator, left, left if self.accept("itself") else self.factor())
        return left

    def factor(self) -> Node:
        """A signed power, or a percentage with what it is taken of."""
        node = self.unary()
        if not self._accept_percent():
            return node
        percent = Percent(node)
        if self.accept("of"):
            return self.part_of(percent, self.factor())
        if self.accept("off"):
            self.accept("of")
            whole = self.factor()
            return self.make("subtract", whole, self.part_of(percent, whole))
        return percent

    def unary(self) -> Node:
        """A power with its signs; binds looser than `^`, so -2^2 is -4, as in Python."""
        return self.nested(self._unary)

    def _unary(self) -> Node:
        if self.accept("-", "minus"):
            return self.make("negate", self.unary())
        if self.accept("negative"):
            return self._negative()
        if self.accept("+", "positive"):
            return self.unary()
        return self.power(self.behind(self.primary()))

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
        if self.accept_phrase(words.ORDINAL_POWER):
            if (exponent := self.read_ordinal()) is not None:
                self.accept("power")
                self.raised = start, self.position
                return self.make("power", base, Number(exponent))
            self.position = start
        if self.accept("^"):
            return self.make("power", base, self.unary())
        if self.accept_phrase(words.POWER):
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
            elif self.at(*_POSTFIX_POWERS):
                node = self.make("power", node, Number(_POSTFIX_POWERS[self.take().text]))
            elif self.angle and self.peek().text in words.ANGLE_UNITS:
                if words.ANGLE_UNITS[self.take().text] == "degrees":
                    self.in_degrees = True
                    node = self.make("radians", node)
            else:
                return node
            if self.previous.kind is Kind.WORD:
                self.raised = self.position - 1, self.position

    # -- looking ahead -----------------------------------------------------------------------

    def at_operator(self) -> bool:
        """Whether an operator of sum or product follows, whatever the extent."""
        before = self.last_operator
        found = self.within("full", lambda: self.look_ahead(self._any_operator))
        self.last_operator = before
        return found is not None

    def _any_operator(self) -> str | None:
        return self._operator(words.ADDITIVE, words.ADDITIVE_SYMBOLS) or self._operator(
            words.MULTIPLICATIVE, words.MULTIPLICATIVE_SYMBOLS
        )

    def _operator(self, phrases: words.Phrases, symbols: dict[str, str]) -> str | None:
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
        fits = self._is_times_sign() if token.text == "x" else self.extent == "full"
        if not fits:
            return None
        start = self.position
        found = self.accept_phrase(phrases)
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

    def _implied_product(self, left: Node) -> bool:
        if not (isinstance(left, Number) and self.previous.kind is Kind.NUMBER):
            return False
        return self.at("pi", "π") or (self.at("(") and self.glued())
