"""Everyday questions about dates: weekdays, spans, and what day it is. The plan asks the clock."""

from typing import Final

from modules.models.offline.everyday.rule import Rule, rule

_TODAY: Final = "today = datetime.date.today()"
_SHOWN: Final = 'answer = day.strftime("%A, ") + day.isoformat()'
_WHAT: Final = "(?:what is |what's |what was |what will be |tell me |which is )?"
_UNIT_DAYS: Final = {"days?": 1, "weeks?": 7, "fortnights?": 14}


def _shifted(unit: str, days: int) -> tuple[Rule, ...]:
    words = "day days week weeks fortnight fortnights"
    day = "(?:the )?(?:date|day)(?: of the week)?"
    which = f"(?:(?:what|which) (?:date|day) (?:is|was|will be) |{_WHAT}(?:{day} )?)"
    return (
        rule(
            words,
            f"{_WHAT}{day}(?: is it| will it be)? (?:in )?<count:n> {unit}(?: from (?:now|today))?",
            f"(?:what|which) (?:date|day)(?: of the week)?(?: is it| will it be) (?:in )?<count:n> "
            f"{unit}(?: from (?:now|today))?",
            f"<count:n> {unit} from (?:now|today)",
            lines=f"{_TODAY}\nday = today + datetime.timedelta(days=@n@ * {days})\n{_SHOWN}",
        ),
        rule(
            words,
            f"{_WHAT}{day}(?: was it)? <count:n> {unit} ago",
            f"(?:what|which) (?:date|day)(?: was it) <count:n> {unit} ago",
            f"<count:n> {unit} ago",
            lines=f"{_TODAY}\nday = today - datetime.timedelta(days=@n@ * {days})\n{_SHOWN}",
        ),
        rule(
            words,
            f"{which}<count:n> {unit} (?:after|from) <date:d>",
            lines=f"day = datetime.date(@d@) + datetime.timedelta(days=@n@ * {days})\n{_SHOWN}",
        ),
        rule(
            words,
            f"{which}<count:n> {unit} before <date:d>",
            lines=f"day = datetime.date(@d@) - datetime.timedelta(days=@n@ * {days})\n{_SHOWN}",
        ),
    )


_LEAP: Final = """
year = @y@
is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
answer = f"yes, {year} is a leap year" if is_leap else f"no, {year} is not a leap year"
"""
_BIRTHDAY: Final = """
today, born = datetime.date.today(), datetime.date(@d@)
answer = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
"""
_NEXT: Final = """
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
        "what(?: is|'s) today(?:['’]s date)?",
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
        "(?:how many )?days (?:are there |is it |are left )?(?:until|till|to|before) <date:d>",
        lines=f"{_TODAY}\nanswer = (datetime.date(@d@) - today).days",
    ),
    rule(
        "days",
        "(?:how many )?days (?:since|after) <date:d>",
        lines=f"{_TODAY}\nanswer = (today - datetime.date(@d@)).days",
    ),
    *(
        rule(
            "days",
            f"(?:how many )?days (?:are there |is it |are left )?(?:until|till|to|before) {feast}",
            lines=_NEXT.replace("@md@", month_day),
        )
        for feast, month_day in _FEASTS.items()
    ),
    rule("leap", "(?:is|was) (?:the year )?<whole:y> (?:a )?leap year", lines=_LEAP),
    rule(
        "old age",
        "how old is (?:someone|somebody|a person|one)(?: who was| who is)? born (?:on )?<date:d>",
        lines=_BIRTHDAY,
    ),
    *(each for unit, days in _UNIT_DAYS.items() for each in _shifted(unit, days)),
)
