"""Everyday questions about numbers, texts and dates: whole phrasings, and the lines of their plans.

Sums are done in decimal, as people do them on paper; half is rounded away from zero, as at school.
For dates, the plan asks the clock.
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

_SPLIT: Final = "(?:split|divide) (?:an? |the )?(?:bill of )?[$€£]?<number:n>(?: bill)?"
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
        "factors factorize factorise factorization factorisation factor",
        "(?:what are |find |list )?(?:the )?prime factors of <whole:n>",
        "factor(?:i[sz]e)? <whole:n>",
        "(?:what is |find )?(?:the )?prime factori[sz]ation of <whole:n>",
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
        "choose combinations",
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
        f"{_SPLIT} {_BETWEEN}",
        f"{_SPLIT} <whole:k> ways",
        lines=f"answer = @n@ / @k@\n{AS_NUMBER}",
    ),
    rule(
        "split divide",
        f"{_SPLIT} {_BETWEEN} {_WITH_TIP}",
        f"{_SPLIT} {_WITH_TIP} {_BETWEEN}",
        f"{_SPLIT} {_WITH_TIP} <whole:k> ways",
        f"{_SPLIT} <whole:k> ways {_WITH_TIP}",
        lines=f"answer = @n@ * (100 + @p@) / 100 / @k@\n{AS_NUMBER}",
    ),
)

_VOWELS: Final = "sum([text.lower().count(vowel) for vowel in 'aeiou'])"

_THE: Final = "(?:(?:the )?(?:word|string|text|phrase|sentence|name):? )?"
_IN: Final = "(?:are |are there )?(?:in|does|has)"


def _cased(name: str, method: str) -> Rule:
    return rule(
        "case uppercase lowercase titlecase capitals capital letters",
        f"(?:write |put |print |spell |convert |turn |change )?{_THE}<text:t> (?:in|to|into) "
        f"(?:all )?(?:{name})",
        f"(?:convert |make )?(?:to )?(?:{name})(?: of)?:? {_THE}<text:t>",
        f"make {_THE}<text:t> (?:{name})",
        lines=f"answer = @t@.{method}()",
    )


TEXTS: Final[tuple[Rule, ...]] = (
    rule(
        "reverse backwards backward",
        "reverse (?:the )?(?:order of )?(?:the )?(?:list|items|numbers|words)(?: of)?:? <list:t>",
        "reverse <numbers:t>",
        lines="answer = ', '.join([str(item) for item in @t@[::-1]])",
    ),
    rule(
        "reverse backwards backward",
        f"reverse {_THE}<text:t>",
        f"(?:(?:write|spell|print|say) )?{_THE}<text:t> (?:backwards?|in reverse|reversed)",
        lines="answer = @t@[::-1]",
    ),
    rule(
        "sort alphabetize alphabetise order",
        "(?:alphabeti[sz]e|sort|order) (?:(?:the )?(?:words|names|list|items) )?(?:of )?<list:t>"
        "(?: (?:alphabetically|in alphabetical order|by name))?",
        lines="answer = ', '.join(sorted(@t@, key=lambda item: item.lower()))",
    ),
    _cased("upper ?-?case|capitals|capital letters", "upper"),
    _cased("lower ?-?case|small letters", "lower"),
    _cased("title ?-?case", "title"),
    rule(
        "lines",
        f"(?:how many|count(?: the)?|(?:the )?number of) lines {_IN} {_THE}<quoted:t>(?: have)?",
        lines="text = @t@\nanswer = text.count('\\n') + (not text.endswith('\\n'))",
    ),
    rule(
        "vowels",
        f"(?:how many|count(?: the)?) vowels {_IN} {_THE}<text:t>(?: have)?",
        lines=f"text = @t@\nanswer = {_VOWELS}",
    ),
    rule(
        "letters",
        f"(?:how many|count(?: the)?|(?:the )?number of) letters {_IN} {_THE}<text:t>(?: have)?",
        lines="answer = len([c for c in @t@ if c.isalpha()])",
    ),
    rule(
        "characters length long chars",
        f"(?:how many|count(?: the)?|(?:the )?number of) (?:characters|chars) {_IN} {_THE}<text:t>"
        "(?: have)?",
        f"(?:what is |what's )?(?:the )?length of {_THE}<text:t>",
        "how long is (?:the )?(?:word|string|text|phrase) <text:t>",
        lines="answer = len(@t@)",
    ),
    rule(
        "words",
        f"(?:how many|count(?: the)?|(?:the )?number of) words {_IN} {_THE}<phrase:t>(?: have)?",
        lines="answer = len(@t@.split())",
    ),
    rule(
        "many times often count",
        "(?:how many|count(?: the)?)(?: letters?)? [\"'“`]?<letter:c>[\"'”`]?(?:['’]?s)? "
        f"(?:are |are there )?in {_THE}<text:t>",
        "how (?:often|many times) (?:does |is )?(?:the )?(?:letter |word )?<word:c> "
        f"(?:appears? |occurs? |used )?in {_THE}<text:t>",
        lines="answer = @t@.lower().count(@c@.lower())",
    ),
)

_TODAY: Final = "today = datetime.date.today()"
_SHOWN: Final = 'answer = day.strftime("%A, ") + day.isoformat()'
_WHAT: Final = "(?:what is |what's |what was |what will be |tell me |which is )?"
_UNIT_DAYS: Final = {"days?": 1, "weeks?": 7, "fortnights?": 14}
_UNTIL: Final = "(?:how many )?days (?:are there |is it |are left )?(?:until|till|to|before)"


def _shifted(unit: str, days: int) -> tuple[Rule, ...]:
    words = "day days week weeks fortnight fortnights"
    day = "(?:the )?(?:date|day)(?: of the week)?"
    which = f"(?:(?:what|which) (?:date|day) (?:is|was|will be) |{_WHAT}(?:{day} )?)"
    span = f"datetime.timedelta(days=@n@ * {days})"
    return (
        rule(
            words,
            f"{_WHAT}{day}(?: is it| will it be)? (?:in )?<count:n> {unit}(?: from (?:now|today))?",
            f"(?:what|which) (?:date|day)(?: of the week)?(?: is it| will it be) (?:in )?<count:n> "
            f"{unit}(?: from (?:now|today))?",
            f"<count:n> {unit} from (?:now|today)",
            lines=f"{_TODAY}\nday = today + {span}\n{_SHOWN}",
        ),
        rule(
            words,
            f"{_WHAT}{day}(?: was it)? <count:n> {unit} ago",
            f"(?:what|which) (?:date|day)(?: was it) <count:n> {unit} ago",
            f"<count:n> {unit} ago",
            lines=f"{_TODAY}\nday = today - {span}\n{_SHOWN}",
        ),
        rule(
            words,
            f"{which}<count:n> {unit} (?:after|from) <date:d>",
            lines=f"day = datetime.date(@d@) + {span}\n{_SHOWN}",
        ),
        rule(
            words,
            f"{which}<count:n> {unit} before <date:d>",
            lines=f"day = datetime.date(@d@) - {span}\n{_SHOWN}",
        ),
    )


_LEAP: Final = """
year = @y@
is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
answer = f"yes, {year} is a leap year" if is_leap else f"no, {year} is not a leap year"
"""
_AGE: Final = """
today, born = datetime.date.today(), datetime.date(@d@)
answer = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
"""
_UNTIL_FEAST: Final = """
today = datetime.date.today()
day = datetime.date(today.year, @md@)
if day < today:
    day = datetime.date(today.year + 1, @md@)
answer = (day - today).days
"""

_FEASTS: Final = {
    "christmas(?: day)?": "12, 25",
    "christmas eve": "12, 24",
    "new year(?:['’]?s(?: day)?)?": "1, 1",
    "new year['’]?s eve": "12, 31",
    "halloween": "10, 31",
    "valentine(?:['’]?s)?(?: day)?": "2, 14",
}

DATES: Final[tuple[Rule, ...]] = (
    rule(
        "time",
        "(?:what(?:'s)? )?(?:the )?(?:current )?time(?: is it)?(?: now| right now)?",
        lines='answer = datetime.datetime.now().strftime("%H:%M")',
    ),
    rule(
        "today date day",
        "(?:what(?: is|'s)? |which )?(?:day|date)(?: of the week)?(?: is it| is)?(?: today| now)?",
        "(?:what(?: is|'s)? )?(?:today['’]?s|the|the current|current) date(?: today)?",
        "what (?:day|date) is (?:it|today)(?: today)?",
        lines=f"day = datetime.date.today()\n{_SHOWN}",
    ),
    rule(
        "year",
        "(?:what(?: is|'s)? |which )(?:the )?(?:current )?year(?: is it| is this)?(?: now)?",
        lines="answer = datetime.date.today().year",
    ),
    rule(
        "tomorrow",
        "(?:what(?: is|'s)? |which )?(?:day|date|the date)? ?(?:is |of )?tomorrow(?:['’]s date)?",
        lines=f"{_TODAY}\nday = today + datetime.timedelta(days=1)\n{_SHOWN}",
    ),
    rule(
        "yesterday",
        "(?:what(?:'s)? |which )?(?:day|date|the date)? ?(?:was |of )?yesterday(?:['’]s date)?",
        lines=f"{_TODAY}\nday = today - datetime.timedelta(days=1)\n{_SHOWN}",
    ),
    rule(
        "day weekday",
        "(?:what |which )?(?:day(?: of the week)?|weekday) (?:is|was|will be|does|did) <date:d>"
        "(?: fall on| fell on)?",
        "(?:what |which )(?:day(?: of the week)?|weekday) (?:is|was|will) it (?:be )?on <date:d>",
        lines='answer = datetime.date(@d@).strftime("%A")',
    ),
    rule(
        "days weeks",
        "(?:(?:how many|the number of|count|count the|the) )?days (?:are there |are |lie )?"
        "(?:between|from) <date:a> (?:and|to|until|till) <date:b>",
        lines="answer = abs((datetime.date(@b@) - datetime.date(@a@)).days)",
    ),
    rule(
        "days",
        f"{_UNTIL} <date:d>",
        lines=f"{_TODAY}\nanswer = (datetime.date(@d@) - today).days",
    ),
    rule(
        "days",
        "(?:how many )?days (?:since|after) <date:d>",
        lines=f"{_TODAY}\nanswer = (today - datetime.date(@d@)).days",
    ),
    *(
        rule("days", f"{_UNTIL} {feast}", lines=_UNTIL_FEAST.replace("@md@", month_day))
        for feast, month_day in _FEASTS.items()
    ),
    rule("leap", "(?:is|was) (?:the year )?<whole:y> (?:a )?leap year", lines=_LEAP),
    rule(
        "old",
        "how old is (?:someone|somebody|a person|one)(?: who was| who is)? born (?:on )?<date:d>",
        lines=_AGE,
    ),
    *(each for unit, days in _UNIT_DAYS.items() for each in _shifted(unit, days)),
)
