"""The grammar of requests, and the reader of its upper half: whole questions, steps, commands.

A request is read as a whole: a word that no rule takes makes the request something else than
arithmetic. The levels, from the top; {x} is repetition, [x] an option:

    request  = {lead-in} (comparison | share | combined | step {link step}) {trailer}
    step     = command [tail] | continued | sum      "add 5 and 7", "times 3", "2 + 3"
    command  = verb with items or operands
    sum      = product {additive product} ["is multiplied by" near]
    product  = factor {multiplicative factor}        `%` between operands is Python's remainder
    factor   = unary [percent [("of" | "off") factor]]
    unary    = {sign} power                          -2^2 is -4, as in Python
    power    = behind ["^" unary]                    or in words; right-associative
    behind   = primary {"!" | "squared" | "degrees" | …}
    primary  = number | "(" sum ")" | function ["of"] near | aggregate ["of"] items | "it" | …
    items    = item {separator item} | number "to" number
    near     = sum, of which only operators count that are written without spaces

A function in words takes the nearest value; a list in words ends at the first operator in words
(of which `TAILS` has those that leave no doubt about that); a list inside a list ends after its
first "and".

Why no parser generator: lark 1.3.1 was tried with most of these rules. LALR(1) has 50 shift/reduce
conflicts in them and settles each in silence, where this reader looks further ahead or refuses.
Import and building take 0.17 s of CPU (0.08 s with a saved parser of 259 kB); Earley takes 0.06 s
and then 7 to 14 ms a request, and gives all readings, not which of them people mean. This reader
takes 0.2 to 0.4 ms.
"""

from typing import Final

from modules.models.offline.arithmetic import vocabulary as words
from modules.models.offline.arithmetic.tokens import NUMBER_WORDS, Kind
from modules.models.offline.arithmetic.tree import (
    Labelled,
    Node,
    Number,
    Percent,
    Question,
    aggregate,
    apply_function,
    is_list,
)
from modules.models.offline.arithmetic.values import ValueReader
from modules.models.offline.refusal import Ambiguous, Refusal, quoted

_FINAL_MARKS: Final = ("?", ".", "!", "=")
_PERCENT: Final = ("percent", "percentage", "%")
_OPERATIONS: Final = (
    words.VERBS,
    words.ADDITIVE,
    words.MULTIPLICATIVE,
    words.AGGREGATES,
    words.FUNCTIONS,
)

MAX_REQUEST_CHARACTERS: Final = 2_000
"""How long a request the grammar reads; arithmetic that people type is far shorter."""


def may_hold_address(request: str) -> bool:
    """Whether there may be an address in it, which is full of what looks like arithmetic."""
    return any(mark in request for mark in "./:")


def parse(request: str, previous: int | float | None = None) -> Question:
    """What the request asks; `previous` is the number that "it" means at its start.

    Raises:
        Refusal: some of it is not understood, or it can be read in two ways.
    """
    if len(request) > MAX_REQUEST_CHARACTERS:
        raise Refusal(
            f"the request has {len(request):,} characters, and it reads at most "
            f"{MAX_REQUEST_CHARACTERS:,}"
        )
    if not request.strip():
        raise Refusal("the request has no words")
    reader = RequestReader(request)
    reader.running = None if previous is None else Number(previous)
    return reader.read()


class RequestReader(ValueReader):
    """Reads one whole request."""

    def __init__(self, request: str) -> None:
        super().__init__(request)
        self.answers: list[Labelled] = []

    def read(self) -> Question:
        """The request's question.

        Raises:
            Refusal: some of it is not understood.
        """
        question = (
            self.attempt(self._comparison)
            or self.attempt(self._share)
            or self.attempt(self._combined)
        )
        if question is not None:
            self._trailers()
            self._expect_end()
            return question
        self._step(first=True, noun_after_and=False)
        while self._link():
            pass
        self._expect_end()
        self._check_exclamation()
        for answer in self.answers:
            if isinstance(answer.node, Number | Percent):
                raise Refusal(f"{quoted(answer.label)} is no calculation")
        if self.in_degrees and self.without_unit:
            raise Ambiguous("one angle is in degrees, and another one does not say")
        return Question(tuple(self.answers))

    # -- steps -------------------------------------------------------------------------------

    def _link(self) -> bool:
        """One more step, if the request goes on."""
        self._trailers()
        if self.peek().kind is Kind.END:
            return False
        start = self.position
        stop = self.accept(",", ";", ".", ":", "?")
        joined = self.accept("and")
        then = self.at("then", "next", "now", "after", "finally", "use", "afterwards")
        if not (stop or joined or self.at_step()):
            raise self.misfit()
        self._trailers()
        if self.peek().kind is Kind.END and not (joined or (stop and then)):
            return False
        if self.position == start and not self.at_step():
            raise self.misfit()
        self._step(first=False, noun_after_and=joined and not then)
        return True

    def _step(self, *, first: bool, noun_after_and: bool) -> None:
        """Read a step and put its value in the place of the one it uses, or beside the others."""
        before = self.position
        self._lead_ins()
        start, self.used_running, self.lists_numbers = self.position, False, False
        done = self._command() or self._continued(first)
        node = done or self.expression()
        node = self.fraction(node) if not isinstance(node, Percent) else node
        answer = Labelled(self.span(start), node)
        if self.answers and self.lists_numbers and not self.used_running:
            raise Ambiguous(f"{quoted(answer.label)} may use the result before it or not")
        # "5 factorial and its square root" asks for both, "…, then its square root" for the last.
        keep_both = noun_after_and and done is None and start == before
        if self.used_running and self.answers and not keep_both:
            self.answers.pop()
        self.answers.append(answer)
        self.running = node

    def _continued(self, first: bool) -> Node | None:
        """Read "times 3", "squared": an operation whose first operand is the running value."""
        text = self.peek().text
        symbol = not first and text in ("+", "*", "/", "^", "-") and not self.glued(1)
        worded = self.at_phrase(words.ADDITIVE, words.MULTIPLICATIVE, words.POWER)
        worded = worded and not self.at("than", ahead=1)
        if self.running is None or not (symbol or worded or text in ("squared", "cubed")):
            return None
        return self.expression(self.power(self.behind(self.use_running())))

    # -- commands ----------------------------------------------------------------------------

    def _command(self) -> Node | None:
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

    # -- what does not change the question ---------------------------------------------------

    def _lead_ins(self) -> None:
        while True:
            if self.accept_phrase(words.LEAD_INS) or self.attempt(self._first_of_all):
                self.accept(":", ",")
            elif self.at("the") and self.look_ahead(self._transparent_behind):
                self.take()
            else:
                return

    def _first_of_all(self) -> bool | None:
        return (self.accept("first") and self.peek().text in words.VERBS) or None

    def _transparent_behind(self) -> bool:
        self.position += 1
        return self.at_phrase(words.TRANSPARENT)

    def _trailers(self) -> None:
        while self.accept_phrase(words.TRAILERS) or self.attempt(self._final_mark):
            pass

    def _final_mark(self) -> bool | None:
        """Punctuation that nothing but trailers can follow."""
        if not self.accept(*_FINAL_MARKS):
            return None
        ends = self.peek().kind is Kind.END or self.peek().text in _FINAL_MARKS
        if ends or (self.previous.text == "=" and self.peek().text == "what"):
            self.accept("what")
            return True
        trailed = self.accept_phrase(words.TRAILERS) is not None
        return (trailed and self.peek().kind in (Kind.END, Kind.SYMBOL)) or None

    def _expect_end(self) -> None:
        if self.peek().kind is not Kind.END:
            raise self.misfit()

    def _check_exclamation(self) -> None:
        """Refuse "add 5 and 7!", where the mark may be a factorial or mere emphasis.

        In "what is 5!" and "2 + 3!" it is a factorial: without it the first would ask nothing,
        and symbols alone are no sentence.
        """
        marks = [n for n, token in enumerate(self.tokens) if token.text == "!"]
        if len(marks) != 1 or marks[0] == 0:
            return
        self.position = marks[0] + 1
        ends = self.peek().kind is Kind.END or self.at_step() or self.at_phrase(words.TRAILERS)
        *rest, before = self.tokens[: marks[0]]
        worded = any(t.kind is Kind.WORD and t.text not in words.CONSTANTS for t in rest)
        on_number = before.kind is Kind.NUMBER or before.text in (")", *NUMBER_WORDS)
        if ends and on_number and worded and self._names_operation(len(rest)):
            raise Ambiguous('the "!" at the end may be a factorial or emphasis')

    def _names_operation(self, end: int) -> bool:
        """Whether one of the first `end` tokens is an operation, in symbols or words."""
        for place in range(end):
            self.position = place
            if self.at("+", "-", "*", "/", "^", "%") or self.at_phrase(*_OPERATIONS):
                return True
        return False

    # -- questions that are a whole request --------------------------------------------------

    def _comparison(self) -> Question | None:
        """Read "which is larger, 2^10 or 10^3?"."""
        while self.accept("please", "so", "and", "tell", "me", "ok"):
            pass
        if self.accept_phrase(words.COMPARISON_LEADS) is None:
            return None
        self.accept("the")
        largest = self.accept_phrase(words.COMPARATIVES)
        if largest is None or self.at("of", "number", "value", "common"):
            return None
        self.skip((",", ":"), ("between", "of"))
        items = [self._compared()]
        while True:
            stop = self.accept(",")
            if not (self.accept("or", "and") or (stop and self.peek().kind is not Kind.END)):
                break
            items.append(self._compared())
        if len(items) < 2:
            raise Refusal("it compares fewer than two values")
        return Question(tuple(items), "largest" if largest == "largest" else "smallest")

    def _compared(self) -> Labelled:
        start = self.position
        self.list_depth += 1
        node = self.expression()
        self.list_depth -= 1
        if is_list(node) or isinstance(node, Percent):
            raise Refusal(f"{quoted(self.span(start))} is no single number")
        return Labelled(self.span(start), node)

    def _combined(self) -> Question | None:
        """Read "2 and 3 added together", "what do 2 and 3 add up to"."""
        if not any(token.text in words.COMBINED for token in self.tokens):
            return None
        self._lead_ins()
        if not self.at_number():
            return None
        begin, nodes = self.position, self.items()
        name = self.accept_phrase(words.COMBINED)
        if name is None or len(nodes) < 2:
            return None
        return Question((Labelled(self.span(begin), aggregate(self.make, name, nodes)),))

    def _share(self) -> Question | None:
        """Read "what percent of 80 is 20", "20 is what percent of 80", "20 as a percent of 80"."""
        start = self.position
        self._lead_ins()
        self.accept("what")
        if self.accept(*_PERCENT):
            part = self.expression() if self.accept("is") else None
        elif (part := self.attempt(self._part)) is None:
            return None
        self.expect("of")
        whole = self.expression()
        if part is None:
            self.expect("is")
            part = self.expression()
        share = self.make("divide", self.make("multiply", part, Number(100)), whole)
        return Question((Labelled(self.span(start), share),))

    def _part(self) -> Node | None:
        number = self.read_number()
        asked = (self.accept("is") and self.accept("what")) or self.accept("as")
        if number is None or not asked:
            return None
        self.accept("a")
        return number if self.accept(*_PERCENT) else None
