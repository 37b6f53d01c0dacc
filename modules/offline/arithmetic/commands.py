"""Commands: "add 5 and 7", "divide it by 2", and what may follow them."""

from modules.offline.arithmetic import vocabulary as words
from modules.offline.arithmetic.tokens import Kind
from modules.offline.arithmetic.tree import Node, Percent, aggregate, apply_function, is_list
from modules.offline.arithmetic.values import ValueReader
from modules.offline.refusal import Ambiguous, Refusal, quoted


class CommandReader(ValueReader):
    """Reads commands."""

    def command(self) -> Node | None:
        """A command with what follows it; None if no verb is here."""
        if self.at("from") and self.running is None:
            return self._from()
        found = self.find_verb()
        if found is None:
            return None
        length, verb = found
        self.position += length
        self.accept(":")
        node = self._commanded(verb)
        self.accept("together", "up")
        if not self.at_operator():
            return node
        return self._tail(verb, node)

    def _tail(self, verb: str, node: Node) -> Node:
        symbols = {**words.ADDITIVE_SYMBOLS, **words.MULTIPLICATIVE_SYMBOLS}
        operator = self.look_ahead(
            lambda: self.accept_phrase(words.ADDITIVE, words.MULTIPLICATIVE)
        ) or symbols.get(self.peek().text)
        if operator not in words.TAILS.get(verb, ()):
            raise Ambiguous(
                f"it is unclear what {quoted(self.peek().text)} applies to; write parentheses, or "
                '", then …"'
            )
        return self.expression(node)

    def _commanded(self, verb: str) -> Node:
        match verb:
            case "add" | "sum":
                return self._add(verb)
            case "average":
                return aggregate(self.make, "average", self.items())
            case "subtract" | "take":
                return self._subtract(verb)
            case "multiply":
                return self._multiply()
            case "divide" | "increase" | "decrease":
                return self._by(verb)
            case "raise":
                return self._raise()
            case "convert":
                return self._convert()
            case _:
                return apply_function(self.make, verb, self.operand())

    def _add(self, verb: str) -> Node:
        self.accept("together", "up")
        nodes = self._items_or_range("to")
        self.lists_numbers = len(nodes) > 1 and not self.at("to", "onto")
        if self.accept("to", "onto"):
            if verb == "sum":
                raise Ambiguous('"to" may join two numbers or a range; say "the numbers 1 to 10"')
            nodes.append(self._other(nodes[-1]))
        if isinstance(nodes[0], Percent) and len(nodes) == 2:
            return self.make("add", nodes[1], self.part_of(nodes[0], nodes[1]))
        if len(nodes) == 1 and not is_list(nodes[0]) and verb == "add" and not self.used_running:
            if self.running is None and self.at_operator():
                return self.spelled_out("add", nodes[0])
            nodes.insert(0, self._running_for(verb))
        return aggregate(self.make, "sum", nodes)

    def _items_or_range(self, *delimiters: str) -> list[Node]:
        worded = self.at("numbers", "integers", "all") or self.at("numbers", "integers", ahead=1)
        through = self.at("through", "thru", ahead=1)
        found = self.range_of() if worded or through else None
        return found or self.items(*delimiters)

    def _other(self, first: Node) -> Node:
        """The second operand of a command; "itself" is the first."""
        return first if self.accept("itself") else self.near()

    def _running_for(self, verb: str) -> Node:
        if self.running is None:
            rest = self.source[self.peek().start :].strip()
            what = f", and {quoted(rest)} is none" if rest else ""
            raise Refusal(f"{quoted(verb)} needs a second number{what}")
        return self.use_running()

    def _subtract(self, verb: str) -> Node:
        """Read "take 9 away from 20"; "take the square root of …" is a plain value."""
        start = self.position
        amount = self.item("from", "away") if verb == "take" else self.item("from")
        if self.accept("away"):
            self.expect("from")
        elif not self.accept("from"):
            if verb == "take":
                self.position = start
                return self.expression()
            if self.running is None:
                self.expect("from")
            return self.make("subtract", self.use_running(), amount)
        return self._less(amount, self.near())

    def _from(self) -> Node:
        """Read "from 20 subtract 5"."""
        self.take()
        whole = self.item()
        self.accept(",")
        found = self.find_verb()
        if found is None or found[1] not in ("subtract", "take"):
            raise self.misfit()
        self.position += found[0]
        self.accept("away")
        return self._less(self.item(), whole)

    def _less(self, amount: Node, whole: Node) -> Node:
        return self.make("subtract", whole, self.part_of(amount, whole))

    def _multiply(self) -> Node:
        if self.accept("by"):
            return self.make("multiply", self._running_for("multiply by"), self.near())
        self.accept("together")
        nodes = self._items_or_range("by")
        self.lists_numbers = len(nodes) > 1 and not self.at("by", "times")
        if self.accept("by", "times"):
            nodes.append(self._other(nodes[-1]))
        if len(nodes) == 1 and not is_list(nodes[0]):
            return self.spelled_out("multiply", nodes[0])
        return aggregate(self.make, "product", nodes)

    def _by(self, verb: str) -> Node:
        """Read "divide … by …", "increase … by …"; the running value where no item is given."""
        whole = self._running_for(f"{verb} … by") if self.at("by") else self.item("by")
        self.expect("by")
        if verb == "divide":
            return self.make("divide", whole, self._other(whole))
        amount = self.part_of(self.within("near", self.factor), whole)
        return self.make("add" if verb == "increase" else "subtract", whole, amount)

    def _raise(self) -> Node:
        if self.at("to"):
            return self.power(self._running_for("raise"))
        self.raising = True
        base = self.near()
        self.raising = False
        node = self.power(base)
        if node is base:
            self.expect("to")
            node = self.make("power", base, self.near())
        return node

    def _convert(self) -> Node:
        self.skip_codes_fillers()
        if self.peek().kind is Kind.NUMBER:
            raise Refusal("a number may be text or a code itself; put it in quotes")
        text = self.read_text()
        self.expect("to", "into")
        self.accept("its", "the", "their")
        if self.accept_phrase(words.CODES) is None:
            raise self.misfit()
        return self.codes_of(text)
