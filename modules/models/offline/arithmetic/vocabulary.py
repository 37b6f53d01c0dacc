"""The words that the grammar knows, as tables; phrases of one meaning are separated by `|`."""

from collections.abc import Mapping
from typing import Final, TypeAlias

Phrases: TypeAlias = Mapping[str, list[tuple[tuple[str, ...], str]]]
"""Phrases with what they mean, by their first word; the longest stands first."""


def phrases(table: Mapping[str, str]) -> Phrases:
    """From a table that gives for each meaning its phrases, separated by `|`."""
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for meaning, listed in table.items():
        for phrase in listed.split("|"):
            words = tuple(phrase.split())
            by_first.setdefault(words[0], []).append((words, meaning))
    for entries in by_first.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return by_first


ARTICLES: Final = ("the", "a", "an")
SEVERAL: Final = ("two", "three", "four", "five")
"""Behind "the", so many values that were named before, and hardly a number."""

ADDITIVE: Final = phrases(
    {
        "add": "plus|added to|added with",
        "subtract": "minus|less|take away",
        "more than": "more than",
        "less than": "less than",
        "increased": "increased by|raised by|grown by",
        "decreased": "decreased by|reduced by|diminished by|lowered by",
        "from": "subtracted from|taken from|taken away from|deducted from",
    }
)
ADDITIVE_SYMBOLS: Final[dict[str, str]] = {"+": "add", "-": "subtract"}

MULTIPLICATIVE: Final = phrases(
    {
        "multiply": "times|multiplied by|multiplied with|x",
        "divide": "divided by|over",
        "remainder": "mod|modulo|modulus",
    }
)
MULTIPLICATIVE_SYMBOLS: Final[dict[str, str]] = {
    "*": "multiply",
    "/": "divide",
    "%": "remainder",
}

POWER: Final = phrases(
    {
        "power": "to the power of|to the power|to power|raised to the power of|"
        "raised to the power|raised to power|raised to|power|to the exponent"
    }
)
ORDINAL_POWER: Final = phrases({"power": "to the|raised to the"})

FUNCTIONS: Final = phrases(
    {
        "square root": "square root|sqrt|squareroot|square-root",
        "cube root": "cube root|cubic root|cuberoot|cbrt",
        "factorial": "factorial",
        "sine": "sine|sin",
        "cosine": "cosine|cos",
        "tangent": "tangent|tan",
        "absolute": "absolute value|abs|modulus of",
        "exponential": "exponential|exp",
        "natural log": "natural log|natural logarithm|ln",
        "square": "square",
        "cube": "cube",
        "double": "double|twice",
        "triple": "triple|thrice",
        "half": "half",
        "negate": "negation|opposite",
        "reciprocal": "reciprocal|inverse",
    }
)
PLURAL_FUNCTIONS: Final = phrases(
    {
        "square root": "square roots",
        "cube root": "cube roots",
        "factorial": "factorials",
        "sine": "sines",
        "cosine": "cosines",
        "tangent": "tangents",
        "absolute": "absolute values",
        "exponential": "exponentials|exponential values",
        "square": "squares",
        "cube": "cubes",
        "double": "doubles",
        "reciprocal": "reciprocals",
    }
)

AGGREGATES: Final = phrases(
    {
        "sum": "sum|total|sum total|grand total",
        "product": "product",
        "average": "average|mean|arithmetic mean|average value|mean value|avg",
        "maximum": "maximum|max|largest|greatest|biggest|highest|larger|greater|bigger|"
        "maximum value|largest value|largest number|highest value|highest number|"
        "greatest number|greatest value|biggest number|biggest value",
        "minimum": "minimum|min|smallest|least|lowest|smaller|lesser|lower|minimum value|"
        "smallest value|smallest number|lowest value|lowest number|least value",
        "difference": "difference",
        "quotient": "quotient",
        "ratio": "ratio",
        "remainder": "remainder",
        "gcd": "gcd|hcf|greatest common divisor|greatest common factor|highest common factor",
        "lcm": "lcm|least common multiple|lowest common multiple",
    }
)

CONSTANTS: Final[dict[str, str]] = {
    "pi": "pi",
    "π": "pi",
    "e": "e",
    "tau": "tau",
    "τ": "tau",
}

RESULT: Final = phrases(
    {
        "any": "it|that|this|result|answer|previous answer|previous result|last answer|"
        "last result|that result|that number|that value|this number|this value|this result|"
        "that answer|ans|outcome|previous number|resulting number|previous value|"
        "result of that|what you got|new number|new value",
        "many": "them|those|these|all of them|those values|those numbers|those codes|"
        "these values|these numbers|these codes|values|codes|result list|resulting list|"
        "all those values|that list|this list|resulting values|resulting numbers|these results",
    }
)
"""Words for the value of the step before, or for the last answer of the session."""

CODES: Final = phrases(
    {
        "codes": "ascii values|ascii value|ascii codes|ascii code|ascii numbers|ascii number|"
        "ascii|ascii code points|ascii character codes|character codes|character code|"
        "char codes|char code|unicode values|unicode value|unicode code points|"
        "unicode code point|code points|code point|letter codes"
    }
)
_FILLERS: Final = (
    "the of in for from each all every characters character letters letter chars char word string "
    "text name phrase"
)
CODES_FILLERS: Final = frozenset(_FILLERS.split())
"""Words between "the ASCII values" and the text that is meant."""

VERBS: Final = phrases(
    {
        "add": "add|adding",
        "sum": "sum|total|sum up|total up|add up",
        "subtract": "subtracting|subtract|deduct|take away|remove",
        "take": "take|start with|begin with|start from",
        "multiply": "multiply|multiplying",
        "divide": "divide|dividing",
        "raise": "raise|raising",
        "convert": "convert|turn|change|translate",
        "increase": "increase",
        "decrease": "decrease|reduce",
        "average": "average",
        "double": "double|doubling",
        "triple": "triple|tripling",
        "quadruple": "quadruple",
        "half": "halve|halving",
        "square": "square|squaring",
        "cube": "cube|cubing",
        "negate": "negate",
    }
)
_SUMS: Final = ("add", "subtract")
_PRODUCTS: Final = ("multiply", "divide")
TAILS: Final[dict[str, tuple[str, ...]]] = {
    "add": _SUMS,
    "sum": _SUMS,
    "subtract": _SUMS,
    "quotient": _SUMS,
    "ratio": _SUMS,
    "multiply": _PRODUCTS,
    "product": (*_SUMS, *_PRODUCTS),
    "double": _PRODUCTS,
    "triple": _PRODUCTS,
}
"""Operators that may follow a command or list in words: all readings of it give one value, or
(the product of 2 and 3 plus 4) there is one that people mean."""

NOUN_VERBS: Final = frozenset({"sum", "total", "average", "square", "cube", "double", "triple"})
"""Verbs that are nouns when "of" or a parenthesis follows."""

_TRANSPARENT: Final = (
    "value of|result of|answer to|results of|expression|following|result if|result when|"
    "result if i|result if you|result if we|result when i|result when you|result when we"
)
LEAD_INS: Final = phrases(
    {
        "lead-in": "please|kindly|can you|could you|would you|will you|can i|could i|may i|"
        "i'd like to|i would like to|know|i want you to|"
        "i would like you to|i'd like you to|i need you to|i want to|i need to|i want|i need|"
        "let's|lets|let us|tell me|give me|show me|help me|help me to|do you know|"
        "what is|what's|whats|what are|what does|what do you get when you|"
        "what do you get when|what do you get if|what do i get when|what do i get if|"
        "what do you get if you|what do i get when i|what do i get if i|what do we get if we|"
        "what do we get when we|what happens if you|what happens when you|what do you get from|"
        "what will|what would|what will be|what would be|what do|what about|how about|"
        "how much is|how much are|how much does|"
        "how much do|how many is|how many are|what is the value of|"
        "calculate|compute|evaluate|work out|figure out|solve|find|find out|determine|get|return|"
        "print|output|list|generate|display|report|write down|do|perform|"
        "show|give|produce|what number is|create a list of|make a list of|a list of|list of|"
        "this :|this expression|this problem|this calculation|"
        "math|maths|quick math|simple math|do the math|quick|"
        "hey|hi|hello|ok|okay|so|well|just|also|and|now|then|next|quickly|first of all|"
        "quick question|"
        "me|us|you|there|tell me what|tell me how much|know what|know how much|if i|if you|"
        "which is|which one is|which number is|"
        "if we|when i|when you|"
        "use that to|use it to|use the result to|use the previous result to|use that and|"
        "use the result and|use the previous result and|use the previous answer and|"
        "use the last result and|take that and|take the result and|take the previous result and|"
        "with the result|with the previous result|with that|from that|after that|afterwards|"
        "finally|lastly|"
        f"{_TRANSPARENT}|i wonder|i'm wondering|i wonder what|i'm wondering what|math question"
    }
)
"""Words before a question that do not change what is asked."""

TRANSPARENT: Final = phrases({"lead-in": _TRANSPARENT})
"""Lead-ins that may have an article before them."""

TRAILERS: Final = phrases(
    {
        "trailer": "please|thanks|thank you|thank you very much|many thanks|for me|now|together|"
        "equal to|equal|equals|equals what|equals to what|is|is what|is equal to|"
        "is equal to what|be|come to|make|makes|give|altogether|in total|come out to|work out to|"
        "then|too|if you can|exactly|what do i get|what do you get|what do we get|what is it|"
        "what is the result|what's the result|what is the answer"
    }
)
"""Words behind a question that do not change what is asked."""

COMPARISON_LEADS: Final = phrases(
    {
        "which": "which is|which one is|which number is|which of these is|which of them is|"
        "which value is|what is|what's|which of these numbers is|which expression is|"
        "which of the two is|which one is the|which is the|which of the following is"
    }
)
COMPARATIVES: Final = phrases(
    {
        "largest": "larger|bigger|greater|largest|biggest|greatest|higher|highest|more",
        "smallest": "smaller|less|lower|smallest|lowest|lesser|least",
    }
)

COMBINED: Final = phrases(
    {
        "sum": "added together|added|summed|together|add up to|summed up|combined",
        "product": "multiplied together|multiplied",
    }
)
"""What is done with the values before these words: "2 and 3 added together"."""

LIST_INTRODUCTIONS: Final = phrases(
    {
        "list": "numbers|the numbers|these numbers|following numbers|the following numbers|"
        "the following|following|two numbers|the two numbers|these two numbers|values|the values|"
        "these values|the following values|list|the list|this list|the following list|these|"
        "all of these|all of the following|the list of numbers"
    }
)
"""Words before a list that is spelled out behind them."""

ANGLE_UNITS: Final = {
    "degrees": "degrees",
    "degree": "degrees",
    "deg": "degrees",
    "°": "degrees",
    "radians": "radians",
    "radian": "radians",
    "rad": "radians",
}

COUNTED: Final = phrases(
    {
        "fibonacci": "fibonacci numbers|fibonacci number|fibonacci terms|fibonacci values|"
        "numbers of the fibonacci sequence|numbers in the fibonacci sequence|"
        "terms of the fibonacci sequence|terms in the fibonacci sequence|"
        "numbers of the fibonacci series|numbers in the fibonacci series|"
        "terms of the fibonacci series|terms in the fibonacci series|"
        "elements of the fibonacci sequence|elements of the fibonacci series|"
        "numbers of fibonacci|terms of fibonacci|numbers in fibonacci sequence|"
        "numbers of fibonacci sequence|terms of fibonacci sequence|fibonacci",
        "integers": "natural numbers|positive integers|positive whole numbers|counting numbers",
    }
)
"""What "the first n …" can count."""
