"""Properties of the offline planner's grammar: Python's own arithmetic is the judge."""

import ast
import json
import operator
import time
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.ports import DecisionInputs, ModelRequest, PerceptionInputs
from core.turn import Exchange, PerceptionResult
from modules.models.offline.arithmetic.grammar import MAX_REQUEST_CHARACTERS, parse
from modules.models.offline.arithmetic.tree import Apply, Node, Number
from modules.models.offline.refusal import Refusal
from tests.modules.models.offline.plans import Bench, offline_reply

SYMBOLS: Final = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "power": "**",
}
WORDS: Final = {
    "add": "plus",
    "subtract": "minus",
    "multiply": "times",
    "divide": "divided by",
    "remainder": "modulo",
    "power": "to the power of",
}
_NUMBER_TEXT: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
NUMBER_WORDS: Final = _NUMBER_TEXT.split()
_TENS_TEXT: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS: Final = _TENS_TEXT.split()
OPERATORS: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.Mod: operator.mod,
}

Outcome = int | float | type[Exception]
UNBOUNDED: Final = 10**6


def value(node: Node) -> int | float:
    """The tree's value."""
    return python_value(ast.parse(in_python(node), mode="eval").body)


def in_python(node: Node) -> str:
    """The tree as Python writes it, with a parenthesis around everything."""
    match node:
        case Number(number):
            return f"({number!r})"
        case Apply("negate", (inner,)):
            return f"(-{in_python(inner)})"
        case Apply(operation, (left, right)):
            return f"({in_python(left)} {SYMBOLS[operation]} {in_python(right)})"
        case _:
            raise AssertionError(f"unexpected node {node}")


def python_value(tree: ast.expr) -> int | float:
    """The value of an expression by Python's own parser, with bounds on powers."""
    match tree:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -python_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return python_value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(python_value(left), python_value(right))
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](python_value(left), python_value(right))
        case _:
            raise AssertionError(ast.dump(tree))


def _power(base: int | float, exponent: int | float) -> int | float:
    if abs(base) > UNBOUNDED or abs(exponent) > 20:
        raise MemoryError
    result = base**exponent
    if isinstance(result, complex):
        raise ArithmeticError
    return result


def attempt_ours(request: str) -> Outcome:
    question = parse(request)
    (item,) = question.items
    try:
        return value(item.node)
    except (ArithmeticError, MemoryError) as error:
        return type(error)


def attempt_python(source: str) -> Outcome:
    try:
        return python_value(ast.parse(source, mode="eval").body)
    except (ArithmeticError, MemoryError) as error:
        return type(error)


literals = st.one_of(
    st.integers(0, 99).map(str),
    st.floats(0, 100, allow_nan=False).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["1e2", "2.5e-1", ".5", "1000"]),
)
spaces = st.sampled_from(["", " "])


@st.composite
def in_symbols(draw: st.DrawFn, depth: int = 4) -> str:
    """An expression as Python writes it, with every mix of operators, signs and parentheses."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(literals)
    shape = draw(st.sampled_from(["operator", "operator", "operator", "sign", "parentheses"]))
    if shape == "sign":
        return f"-{draw(in_symbols(depth - 1))}"
    if shape == "parentheses":
        return f"({draw(in_symbols(depth - 1))})"
    sign = draw(st.sampled_from(sorted(SYMBOLS.values())))
    # A percent sign is told from a remainder by its spaces, which are the same on both sides here.
    gap = draw(spaces)
    return f"{draw(in_symbols(depth - 1))}{gap}{sign}{gap}{draw(in_symbols(depth - 1))}"


@st.composite
def in_words_and_symbols(draw: st.DrawFn) -> tuple[str, str]:
    """One chain of operations without parentheses, in words and as Python writes it."""
    words: list[str] = []
    symbols: list[str] = []
    for place in range(draw(st.integers(2, 5))):
        if place:
            name = draw(st.sampled_from(sorted(SYMBOLS)))
            words.append(WORDS[name])
            symbols.append(SYMBOLS[name])
        if draw(st.integers(0, 4)) == 0:
            words.append("minus")
            symbols.append("-")
        number = draw(st.integers(0, len(NUMBER_WORDS) - 1))
        words.append(NUMBER_WORDS[number])
        symbols.append(str(number))
    return " ".join(words), " ".join(symbols)


@given(in_symbols().filter(lambda text: any(sign in text for sign in "+-*/%")))
@example("-2**2")
@example("2**-3**2")
@example("1 % 0")
@settings(max_examples=60, deadline=None)
def test_symbols_mean_what_they_mean_in_python(source: str) -> None:
    ours = _attempt_or_bare(source)
    assert ours is None or ours == attempt_python(source)


@given(in_symbols().filter(lambda text: any(sign in text for sign in "+*/%")))
@settings(max_examples=30, deadline=None)
def test_a_caret_is_a_power(source: str) -> None:
    ours = _attempt_or_bare(source.replace("**", "^"))
    assert ours is None or ours == attempt_python(source)


def _attempt_or_bare(source: str) -> Outcome | None:
    """Our value; None for a mere number such as `-(5)`, which is no calculation."""
    tree = ast.parse(source.replace("^", "**"), mode="eval")
    if not any(isinstance(node, ast.BinOp) for node in ast.walk(tree)) and _is_refused(source):
        return None
    return attempt_ours(source)


def _is_refused(source: str) -> bool:
    try:
        parse(source)
    except Refusal:
        return True
    return False


LEADS: Final = ("", "what is ", "Please calculate ", "how much is ")


@given(in_words_and_symbols(), st.sampled_from(LEADS))
@settings(max_examples=50, deadline=None)
def test_words_mean_what_the_symbols_mean(texts: tuple[str, str], lead: str) -> None:
    words, symbols = texts
    assert attempt_ours(lead + words + "?") == attempt_python(symbols)


@given(st.integers(0, 999_999_999))
@settings(max_examples=80, deadline=None)
def test_number_words_are_read_back(number: int) -> None:
    question = parse(f"{spelled(number)} times 1")
    assert value(question.items[0].node) == number


def spelled(number: int) -> str:
    """The number in English words."""
    for scale, name in ((10**6, "million"), (10**3, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            return f"{spelled(number // scale)} {name}" + (f" {spelled(rest)}" if rest else "")
    if number >= 20:
        tens = TENS[number // 10 - 2]
        return tens + (f"-{spelled(number % 10)}" if number % 10 else "")
    return NUMBER_WORDS[number]


_FRAGMENT_TEXT: Final = (
    "add sum of the and then it 5 2.5 % ^ ! ( ) [ ] , . ? { } = x e pi first their fibonacci "
    "numbers ASCII values INDIA which is larger or square root percent to by from its "
    "multiply divide thumbnail photo.png https://a.b/c call add( a=5 hundred third create "
    "when search for what 😀 10^10^10 1e999 degrees sin log base -"
)
FRAGMENTS: Final = [*_FRAGMENT_TEXT.split(), '"', "'", "`", "\\", "'''", "\n", "\x00", "\u202e"]

fragments = st.lists(
    st.sampled_from(FRAGMENTS),
    max_size=14,
).map(" ".join)


@given(st.one_of(st.text(max_size=200), fragments))
@example("add(\x08")
@settings(max_examples=80, deadline=None)
async def test_no_text_breaks_the_planner_and_every_plan_is_python(text: str) -> None:
    bench = Bench()
    inputs: DecisionInputs = bench.inputs(text, history=(Exchange("?", "12"),))
    reply = await offline_reply(ModelRequest("decision", "", inputs))
    if reply.declined:
        assert len(reply.text.splitlines()) < 6
        assert all(char.isprintable() or char == "\n" for char in reply.text)
    else:
        tree = ast.parse(reply.text)
        assert isinstance(tree.body[-1], ast.AsyncFunctionDef)
        assert tree.body[-1].name == "solve"
    servers = {"math": "arithmetic", "web": "search the web"}
    perceived = await offline_reply(
        ModelRequest("perception", "", PerceptionInputs(text, servers, bench.catalog))
    )
    result = PerceptionResult.model_validate(json.loads(perceived.text))
    assert set(result.selected_servers) <= set(servers)
    assert result.selected_servers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\x00",
        "(" * 1999,
        "-" * 2000,
        "2^" * 999 + "2",
        "1+" * 999 + "1",
        "the " * 499,
        "a " * 999,
        "sum of " * 280,
        "sum of 2 + 3 and " * 115,
        "square root of " * 130 + "16",
        "[1," * 600,
        "numbers from " * 150,
        '"' * 1999,
        "1," * 999,
        "5 million " + "million " * 200,
        "9" * 2000,
        "x" * 200_000,
        "5 + " * 50_000,
    ],
    ids=lambda text: f"{text[:12]!r}*{len(text)}",
)
async def test_odd_and_enormous_requests_are_declined(text: str) -> None:
    started = time.process_time()
    outcome = await Bench().run(text)
    assert outcome.declined
    assert len(outcome.text) < 600
    assert time.process_time() - started < 2  # far above what it takes; it is no loop


def test_a_request_beyond_the_cap_says_so() -> None:
    with pytest.raises(Refusal, match=f"{MAX_REQUEST_CHARACTERS:,}"):
        parse("1 + " * MAX_REQUEST_CHARACTERS)
