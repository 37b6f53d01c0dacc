"""Everyday questions about numbers: primes, medians, rounding, tips, combinations.

Sums are done in decimal, as people do them on paper; half is rounded away from zero, as at school.
"""

from typing import Final

from modules.models.offline.everyday.rule import AS_NUMBER, Rule, rule

_FIBONACCI: Final = """
answer, after = 0, 1
for _ in range(@n@):
    answer, after = after, answer + after
"""

_PRIME: Final = """
divisor = next_divisor(@n@)
if @n@ < 2:
    answer = "no, @n@ is not prime: primes begin with 2"
elif divisor == @n@:
    answer = "yes, @n@ is prime"
else:
    answer = f"no, @n@ = {divisor} × {@n@ // divisor}"
"""

_DIVISOR: Final = """
def next_divisor(number):
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return divisor
        divisor += 1 + divisor % 2
    return number
"""

_FACTORS: Final = """
factors, rest = [], @n@
while rest > 1:
    divisor = next_divisor(rest)
    factors.append(str(divisor))
    rest = rest // divisor
answer = " × ".join(factors) or "@n@"
"""

_ROUND: Final = f"""
step = @step@
answer = (@n@ / step).quantize(Decimal(1), rounding=decimal.ROUND_HALF_UP) * step
{AS_NUMBER}
"""

_PLACES: Final = f"""
answer = @n@.quantize(Decimal(1).scaleb(-@places@), rounding=decimal.ROUND_HALF_UP)
{AS_NUMBER}
"""

_SPLIT: Final = "(?:split|divide) (?:an? |the )?(?:bill of )?[$€£]?<number:n>"
_BETWEEN: Final = "(?:between|among|by) <whole:k>(?: people| persons| friends| of us)?"
_WITH_TIP: Final = "(?:with|and|plus) (?:an? )?<number:p> ?(?:%|percent) tip"
_NOUN: Final = "(?:the )?(?:numbers? |values? |list )?(?:of )?"

NUMBERS: Final[tuple[Rule, ...]] = (
    rule(
        "prime",
        "is (?:the number )?<whole:n> (?:a )?prime(?: number)?",
        "(?:check|tell me|test) (?:if|whether) <whole:n> is (?:a )?prime(?: number)?",
        lines=_DIVISOR + _PRIME,
    ),
    rule(
        "factors factorize factorise factorization factor",
        "(?:what are |find |list )?(?:the )?prime factors of <whole:n>",
        "factor(?:i[sz]e)? <whole:n>",
        "prime factori[sz]ation of <whole:n>",
        lines=_DIVISOR + _FACTORS,
    ),
    rule(
        "fibonacci",
        "(?:what is |what's )?(?:the )?<count:n> fibonacci(?: number)?",
        "fibonacci(?: number)?(?: of)? ?\\(? ?<count:n> ?\\)?",
        lines=_FIBONACCI,
    ),
    rule(
        "median",
        f"(?:the )?median {_NOUN}<numbers:n>",
        lines=f"answer = statistics.median(@n@)\n{AS_NUMBER}",
    ),
    rule(
        "mode frequent common",
        f"(?:what is |what's |find )?(?:the )?(?:mode|most (?:frequent|common)) {_NOUN}<numbers:n>",
        lines=f"answer = statistics.mode(@n@)\n{AS_NUMBER}",
    ),
    rule(
        "round",
        "round <number:n>(?: off)?(?: to (?:the nearest )?(?:a )?(?:whole number|integer|one))?",
        lines=_ROUND.replace("@step@", "Decimal(1)"),
    ),
    rule(
        "round",
        "round <number:n>(?: off)? to <digit:places> (?:decimals?|(?:decimal )?(?:places?|digits?))"
        "(?: (?:after|behind) the (?:decimal )?point)?",
        lines=_PLACES,
    ),
    rule(
        "round",
        "round <number:n>(?: off)? to (?:the )?nearest (?:multiple of )?<number:step>",
        lines=_ROUND,
    ),
    *(
        rule(
            "round",
            f"round <number:n>(?: off)? to (?:the )?nearest {word}",
            lines=_ROUND.replace("@step@", f'Decimal("{step}")'),
        )
        for word, step in {
            "tenth": "0.1",
            "(?:hundredth|cent|penny)": "0.01",
            "thousandth": "0.001",
            "(?:ten|tens)": "10",
            "hundred": "100",
            "thousand": "1000",
            "million": "1000000",
        }.items()
    ),
    rule(
        "sort order",
        "(?:sort|order) (?:the )?(?:numbers? |list |values )?(?:of )?<numbers:n>"
        "(?: in ascending order| ascending| from (?:smallest|lowest) to (?:largest|highest))?",
        lines="answer = sorted([int(n) if n == int(n) else float(n) for n in @n@])",
    ),
    rule(
        "sort order",
        "(?:sort|order) (?:the )?(?:numbers? |list |values )?(?:of )?<numbers:n>"
        "(?: in descending order| descending| from (?:largest|highest) to (?:smallest|lowest))",
        lines="answer = sorted([int(n) if n == int(n) else float(n) for n in @n@], reverse=True)",
    ),
    rule(
        "choose combinations ncr",
        "<count:n> choose <count:k>",
        "(?:how many )?combinations of <count:k> (?:out of|from) <count:n>",
        lines="answer = math.comb(@n@, @k@)",
    ),
    rule(
        "tip",
        "(?:an? )?<number:p> ?(?:%|percent) tip (?:on|for|of) (?:an? )?[$€£]?<number:n>(?: bill)?",
        "(?:an? )?tip of <number:p> ?(?:%|percent) (?:on|for) (?:an? )?[$€£]?<number:n>(?: bill)?",
        "tip (?:on|for) (?:an? )?[$€£]?<number:n>(?: bill)? (?:at|of) <number:p> ?(?:%|percent)",
        lines=f"answer = @n@ * @p@ / 100\n{AS_NUMBER}",
    ),
    rule(
        "tip",
        "(?:what is |how much is )?[$€£]?<number:n> (?:with|plus|and|including) (?:an? )?"
        "<number:p> ?(?:%|percent) tip",
        lines=f"answer = @n@ * (100 + @p@) / 100\n{AS_NUMBER}",
    ),
    rule(
        "split divide",
        f"{_SPLIT}(?: bill)? {_BETWEEN}",
        f"{_SPLIT}(?: bill)? <whole:k> ways",
        lines=f"answer = @n@ / @k@\n{AS_NUMBER}",
    ),
    rule(
        "split divide",
        f"{_SPLIT}(?: bill)? {_BETWEEN} {_WITH_TIP}",
        f"{_SPLIT}(?: bill)? {_WITH_TIP} {_BETWEEN}",
        f"{_SPLIT}(?: bill)? {_WITH_TIP} <whole:k> ways",
        f"{_SPLIT}(?: bill)? <whole:k> ways {_WITH_TIP}",
        lines=f"answer = @n@ * (100 + @p@) / 100 / @k@\n{AS_NUMBER}",
    ),
)
