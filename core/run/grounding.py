"""Whether an answer rests on anything: calls, what came with the request, or computation."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from core.turn import COMPARED_CHARACTERS, Step

TEXT_WORDS: Final = 50
"""A request of more words holds a text to work on; a shorter one only asks."""

RESTING_SHARE: Final = 0.8
"""So many of the words that an answer brings stand in what it rests on."""

SHORT_WORD_CHARACTERS: Final = 3
"""Words up to here stand in any text, so they say nothing while an answer brings longer ones."""

TURNS_MAX: Final = 10
"""So often a plan is gone through for names that get a given value later than it is used."""

INTEGERS_BELOW: Final = 10**100
"""Larger ones are not looked for in a text; Python writes none of many thousand digits."""

COMPARED_WORDS: Final = 100_000
"""So many words are compared of all the texts that an answer may rest on."""

_WORD: Final = re.compile(r"\d[\d,_]*(?:\.\d+)?|[^\W\d_]+")

_NO_COMPUTING: Final = frozenset(
    {
        *("str", "repr", "print", "format", "int", "float", "bool", "list", "tuple", "dict"),
        *("join", "append", "get", "setdefault", "strip"),
    }
)
"""Functions that only show, convert or pick what is there."""

_OF_THE_CLOCK: Final = frozenset({"now", "today", "utcnow"})


def is_grounded(steps: Sequence[Step], answer: str, request: str, texts: Sequence[str]) -> bool:
    """Whether the answer of the last of `steps` rests on more than a model's own knowledge.

    It does where a call succeeded in any step, where the plan computes on values of the `request`
    or of `texts`, or where the answer says what stands in them. `texts` are what the session had
    found before, and what the user has stated. That is told by values and words alone.
    """
    if any(call.ok for step in steps for call in step.result.calls):
        return True
    asked = [*islice(_words(request), COMPARED_WORDS)]
    words, is_text = {*asked}, len(asked) > TEXT_WORDS
    known = chain.from_iterable(map(_words, texts))
    given = {*islice(known, COMPARED_WORDS), *(words if is_text else ())}
    plan = steps[-1].plan.source if steps else ""
    if _computes(plan, words | given):
        return True
    brought = {*islice(_words(answer), COMPARED_WORDS)} - (set() if is_text else words)
    if any(word[0].isdigit() for word in brought - given):
        return False
    telling = {each for each in brought if each[0].isdigit() or _is_long(each)} or brought
    return bool(telling) and len(telling & given) >= RESTING_SHARE * len(telling)


def _is_long(word: str) -> bool:
    return len(word) > SHORT_WORD_CHARACTERS


def _words(text: str) -> Iterator[str]:
    """Words in small letters; numbers in one form, whatever separates their thousands."""
    for found in _WORD.finditer(text):
        word = found[0]
        yield _plain(word) if word[0].isdigit() else word.casefold()


def _plain(number: str) -> str:
    """`1,000.50` as `1000.5`."""
    digits = number.replace(",", "").replace("_", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _computes(source: str, given: set[str]) -> bool:
    """Whether a plan computes on given values, or reads the clock; one of words only does not."""
    if len(source) > COMPARED_CHARACTERS:
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    try:
        return _Computation(tree, given).is_there()
    except RecursionError:
        return False


class _Computation:
    """Follows given values through a plan, whatever the order in which its lines run."""

    def __init__(self, tree: ast.Module, given: set[str]) -> None:
        self._nodes = [*ast.walk(tree)]
        self._given = given
        self._functions = {
            node.name: node.args.args
            for node in self._nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self._names: set[str] = set()

    def is_there(self) -> bool:
        for _ in range(TURNS_MAX):
            before = len(self._names)
            for node in self._nodes:
                self._follow(node)
            if len(self._names) == before:
                break
        return any(map(self._is_operation, self._nodes))

    def _follow(self, node: ast.AST) -> None:
        """Note the names that a given value gets here."""
        match node:
            case ast.Assign(targets, value):
                self._bind(targets, value)
            case ast.AnnAssign(target, _, ast.expr() as value) | ast.NamedExpr(target, value):
                self._bind([target], value)
            case ast.For(target, iterated) | ast.comprehension(target, iterated):
                self._bind([target], iterated)
            case ast.Call(ast.Name(name), arguments) if name in self._functions:
                for parameter, argument in zip(self._functions[name], arguments, strict=False):
                    if self._is_given(argument):
                        self._names.add(parameter.arg)
            case _:
                pass

    def _bind(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        pairs = [(target, value) for target in targets]
        for target, one in pairs:
            if isinstance(target, ast.Tuple | ast.List):
                if isinstance(one, ast.Tuple | ast.List) and len(one.elts) == len(target.elts):
                    pairs.extend(zip(target.elts, one.elts, strict=True))
                else:
                    pairs.extend((part, one) for part in target.elts)
            elif isinstance(target, ast.Name) and self._is_given(one):
                self._names.add(target.id)

    def _is_given(self, node: ast.expr | None) -> bool:
        match node:
            case ast.Constant(value):
                return self._is_given_value(value)
            case ast.Name(name):
                return name in self._names
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                return bool(elements) and all(map(self._is_given, elements))
            case ast.Starred(value) | ast.UnaryOp(_, value) | ast.Subscript(value):
                return self._is_given(value)
            case ast.Call(function, arguments):
                of = function.value if isinstance(function, ast.Attribute) else None
                return self._is_given(of) or any(map(self._is_given, arguments))
            case ast.BinOp(left, _, right):
                return self._is_given(left) or self._is_given(right)
            case _:
                return False

    def _is_given_value(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return False
        if isinstance(value, str):
            words = [*_words(value)]
            return bool(words) and self._given.issuperset(words)
        if isinstance(value, int):
            return abs(value) < INTEGERS_BELOW and str(abs(value)) in self._given
        percent = value * 100
        return any(f"{abs(each):.12g}" in self._given for each in (value, percent))

    def _is_operation(self, node: ast.AST) -> bool:
        """Whether a value is worked out here of a given one; texts put together are none."""
        match node:
            case ast.BinOp(left, _, right):
                return not (_is_text(left) or _is_text(right)) and (
                    self._is_given(left) or self._is_given(right)
                )
            case ast.AugAssign(_, _, value):
                return not _is_text(value) and self._is_given(value)
            case ast.Compare(left, _, rights):
                return self._is_given(left) or any(map(self._is_given, rights))
            case ast.Subscript(ast.expr() as value):
                return self._is_given(value)
            case ast.Call(ast.Attribute(_, name)) if name in _OF_THE_CLOCK:
                return True
            case ast.Call(ast.Attribute(of, name), arguments):
                if name in _NO_COMPUTING:
                    return False
                return self._is_given(of) or any(map(self._is_given, arguments))
            case ast.Call(ast.Name(name), arguments):
                if name in _NO_COMPUTING or name in self._functions:
                    return False
                return any(map(self._is_given, arguments))
            case _:
                return False


def _is_text(node: ast.expr) -> bool:
    """Whether a part of a text stands here as it is written."""
    match node:
        case ast.JoinedStr():
            return True
        case ast.Constant(value):
            return isinstance(value, str)
        case ast.BinOp(left, ast.Add(), right):
            return _is_text(left) or _is_text(right)
        case ast.Call(ast.Name("str")):
            return True
        case _:
            return False
