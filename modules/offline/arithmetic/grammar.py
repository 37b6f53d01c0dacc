r"""The grammar of requests, and the reader of its upper half: steps, commands, questions.

A request is read as a whole: a word that no rule takes makes the request something else than
arithmetic. In EBNF, with `value` for any value and {x} for repetition, [x] for an option:

    request     = { lead-in } , ( comparison | share | combined | step , { link , step } ) ,
                  { trailer } ;
    link        = [ "," | ";" | "." | ":" ] , [ "and" | "then" | lead-in ] ;    (* not empty *)
    step        = ( command , [ tail ] ) | continued | sum ;
    comparison  = "which is" , comparative , [ ":" | "," ] , sum , { ( "or" | "," | "and" ) , sum }
                ;
    share       = "what percent of" , sum , "is" , sum | "what percent is" , sum , "of" , sum
                | number , ( "is what" | "as a" ) , "percent of" , sum ;
    combined    = items , ( "added together" | "multiplied together" | … ) ;
    command     = ( "add" | "sum" | "multiply" | "average" ) , items , [ ( "to" | "by" ) , other ]
                | ( "add" | "multiply" ) , sum ;       (* whose operators say what the verb says *)
                | ( "subtract" | "take" ) , item , [ [ "away" ] , "from" , near ]
                | "from" , item , ( "subtract" | "take" ) , item
                | ( "divide" | "increase" | "decrease" ) , [ item ] , "by" , other
                | "raise" , item , [ "to" , near ]
                | ( "double" | "halve" | "square" | … ) , [ near ]
                | "convert" , text , ( "to" | "into" ) , codes ;
    other       = near | "itself" ;
    tail        = operator , sum ;             (* only where all readings agree, else refused *)
    continued   = ( operator | power | postfix ) …    (* "times 3": the running value goes first *)

    sum         = terms , [ "is" , ( "added to" | "multiplied by" | … ) , near ] ;
    terms       = product , { ( "+" | "-" | "plus" | "minus" | "less than" | … ) , product } ;
    product     = factor , { ( "*" | "/" | "%" | "times" | "divided by" | "mod" | … ) , factor } ;
    factor      = unary , [ percent , [ ( "of" | "off" ) , factor ] ] ;
    unary       = { "-" | "+" | "minus" | "negative" } , power ;
    power       = behind , [ ( "^" | "**" | "to the power of" | "to the" ordinal ) , unary ] ;
    behind      = primary , { "!" | "factorial" | "squared" | "cubed" | "²" | "³" | "degrees" } ;
    primary     = number | "(" , sum , ")" | "[" , sum , { "," , sum } , "]" | "√" primary
                | constant | function , [ "of" ] , near | aggregate , [ "of" ] , items
                | plural , "of" , items | codes , "of" , text | text , ( "in" | "to" ) , codes
                | "first" , number , "Fibonacci numbers"
                | ordinal , ( "power" | "root" ) , "of" , near | fraction , "of" , near
                | ( "its" | "their" ) , ( function | aggregate ) | "it" | "the result" | … ;
    items       = [ "the following numbers:" | … ] ,
                  ( item , { ( "," | "and" | ", and" ) , item } | number , "to" , number ) ;
    near        = sum ;  (* only with operators that are written without spaces *)

"^" is right-associative and binds tighter than a sign before it, as in Python; `%` between
operands is Python's remainder. A function in words takes the nearest value; a list in words ends
at the first operator in words (of which `TAILS` has those that leave no doubt about that); a list
inside a list ends after its first "and".
"""

from typing import Final

from modules.offline.arithmetic.commands import CommandReader
from modules.offline.arithmetic.numerals import NUMBER_WORDS
from modules.offline.arithmetic.operations import aggregate
from modules.offline.arithmetic.tokens import Kind, tokenize
from modules.offline.arithmetic.tree import (
    Comparison,
    Labelled,
    Node,
    Number,
    Percent,
    Question,
    Values,
    is_list,
)
from modules.offline.arithmetic.vocabulary import (
    ADDITIVE,
    AGGREGATES,
    COMBINED,
    COMPARATIVES,
    COMPARISON_LEADS,
    CONSTANTS,
    FUNCTIONS,
    LEAD_INS,
    MULTIPLICATIVE,
    POWER,
    TRAILERS,
    TRANSPARENT,
    VERBS,
)
from modules.offline.refusal import Ambiguous, Refusal, quoted

MAX_REQUEST_CHARACTERS: Final = 2_000
"""How long a request the grammar reads; arithmetic that people type is far shorter."""


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


class RequestReader(CommandReader):
    """Reads one whole request."""

    def __init__(self, request: str) -> None:
        """Cut the request into tokens and start at the first."""
        super().__init__(request, tokenize(request))
        self.answers: list[Labelled] = []

    def read(self) -> Question:
        """The request's question.

        Raises:
            Refusal: some of it is not understood.
        """
        question = self._comparison() or self._share() or self._combined()
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
        return Values(tuple(self.answers))

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
        done = self.command() or self._continued(first)
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

    def _lead_ins(self) -> None:
        while True:
            found = self.find(LEAD_INS)
            if self.at("first") and self.peek(1).text in VERBS.by_first:
                found = (1, "lead-in")
            if found is None:
                if not (self.at("the") and self._lead_in_behind()):
                    return
                self.take()
                continue
            self.position += found[0]
            self.accept(":", ",")

    def _lead_in_behind(self) -> bool:
        self.position += 1
        found = self.find(TRANSPARENT) is not None
        self.position -= 1
        return found

    def _trailers(self) -> None:
        while self.accept_phrase(TRAILERS) or self._accept_final_mark():
            pass

    def _accept_final_mark(self) -> bool:
        """Take punctuation that nothing but trailers can follow."""
        if not self.at("?", ".", "!", "="):
            return False
        behind = self.peek(1)
        ends = behind.kind is Kind.END or behind.text in ("?", ".", "!", "=")
        if ends or (self.at("=") and behind.text == "what"):
            self.take()
            self.accept("what")
            return True
        start = self.position
        self.take()
        if self.accept_phrase(TRAILERS) and self.peek().kind in (Kind.END, Kind.SYMBOL):
            return True
        self.position = start
        return False

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
        ends = self.peek().kind is Kind.END or self.at_step() or self.find(TRAILERS) is not None
        *rest, before = self.tokens[: marks[0]]
        worded = any(t.kind is Kind.WORD and t.text not in CONSTANTS for t in rest)
        on_number = before.kind is Kind.NUMBER or before.text in (")", *NUMBER_WORDS)
        if ends and on_number and worded and self._names_operation(len(rest)):
            raise Ambiguous('the "!" at the end may be a factorial or emphasis')

    def _names_operation(self, end: int) -> bool:
        """Whether one of the first `end` tokens is an operation, in symbols or words."""
        self.position = 0
        while self.position < end:
            tables = (VERBS, ADDITIVE, MULTIPLICATIVE, AGGREGATES, FUNCTIONS)
            symbol = self.at("+", "-", "*", "/", "^", "%")
            if symbol or any(self.find(table) is not None for table in tables):
                return True
            self.position += 1
        return False

    def _continued(self, first: bool) -> Node | None:
        """Read "times 3", "squared": an operation whose first operand is the running value."""
        token = self.peek()
        symbol = not first and token.text in ("+", "*", "/", "^", "-") and not self.glued(1)
        worded = any(self.find(table) is not None for table in (ADDITIVE, MULTIPLICATIVE, POWER))
        worded = worded and not self.at("than", ahead=1)
        postfix = token.text in ("squared", "cubed")
        if self.running is None or not (symbol or worded or postfix):
            return None
        return self.expression(self.power(self.behind(self.use_running())))

    def _comparison(self) -> Question | None:
        start = self.position
        while self.accept("please", "so", "and", "tell", "me", "ok"):
            pass
        if self.accept_phrase(COMPARISON_LEADS) is None:
            self.position = start
            return None
        self.accept("the")
        largest = self.accept_phrase(COMPARATIVES)
        if largest is None or self.at("of", "number", "value", "common"):
            self.position = start
            return None
        self.accept(",", ":")
        self.accept("between", "of")
        items = [self._compared()]
        while True:
            stop = self.accept(",")
            if not (self.accept("or", "and") or (stop and self.peek().kind is not Kind.END)):
                break
            items.append(self._compared())
        if len(items) < 2:
            raise Refusal("it compares fewer than two values")
        return Comparison(tuple(items), largest == "largest")

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
        if not any(token.text in COMBINED.by_first for token in self.tokens):
            return None
        start = self.position
        self._lead_ins()
        if self.at_number():
            begin, nodes = self.position, self.items()
            name = self.accept_phrase(COMBINED)
            if name is not None and len(nodes) > 1:
                return Values((Labelled(self.span(begin), aggregate(self, name, nodes)),))
        self.position = start
        return None

    def _share(self) -> Question | None:
        """Read "what percent of 80 is 20", "20 is what percent of 80", "20 as a percent of 80"."""
        start = self.position
        self._lead_ins()
        self.accept("what")
        if self.accept("percent", "percentage", "%"):
            part = self.expression() if self.accept("is") else None
        elif (part := self._part()) is None:
            self.position = start
            return None
        self.expect("of")
        whole = self.expression()
        if part is None:
            self.expect("is")
            part = self.expression()
        share = self.make("divide", self.make("multiply", part, Number(100)), whole)
        return Values((Labelled(self.span(start), share),))

    def _part(self) -> Node | None:
        start = self.position
        number = self.read_number()
        asked = (self.accept("is") and self.accept("what")) or self.accept("as")
        if number is not None and asked:
            self.accept("a")
            if self.accept("percent", "percentage", "%"):
                return number
        self.position = start
        return None
