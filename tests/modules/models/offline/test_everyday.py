"""Everyday requests of the offline planner; `tests/modules/sandbox` runs the same plans."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from core.turn import Exchange, TextInput
from modules.models.offline.history import NO_ANSWER, NOTHING_BEFORE
from tests.modules.models.offline.everyday_cases import CASES
from tests.modules.models.offline.plans import INTEGER, MATH_TOOLS, TEXT, Bench, plain

FILES = (
    plain("fs", "read_text_file", "Read a file", {"path": TEXT, "head": INTEGER}, ["path"]),
    plain("fs", "list_directory", "List a folder", {"path": TEXT}, ["path"], read_only=True),
)
ASKED = (
    Exchange("add 5 and 7", "12"),
    Exchange("again", "12"),
    Exchange("upper case hello", "HELLO"),
)


@pytest.mark.parametrize(("request_text", "answer"), CASES)
async def test_an_everyday_request_is_answered_without_a_tool(
    request_text: str, answer: str
) -> None:
    outcome = await Bench().run(request_text)
    assert (outcome.answer, outcome.called) == (answer, []), outcome.text


def given(text: str) -> tuple[TextInput, ...]:
    return (TextInput("stdin", text),)


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("how many lines does this have?", "3"),
        ("How many lines are there?", "3"),
        ("count the lines in this file", "3"),
        ("how many words are in it", "4"),
        ("how many characters does the text have?", "8"),
        ("how many times does the letter b appear in these", "2"),
        ("make this uppercase", "A B\nB\nC"),
    ],
)
async def test_a_text_that_came_with_the_request_is_what_this_means(
    request_text: str, answer: str
) -> None:
    outcome = await Bench().run(request_text, texts=given("a b\nb\nc\n"))
    assert (outcome.answer, outcome.called) == (answer, []), outcome.text


async def test_numbers_that_came_with_the_request_are_counted_with() -> None:
    numbers = given("1\n2.5\n-3\n")
    assert (await Bench().run("add these numbers", texts=numbers)).answer == "0.5"
    assert (await Bench().run("what is the largest of these?", texts=numbers)).answer == "2.5"
    assert (await Bench().run("how many lines does this have", texts=numbers)).answer == "3"


async def test_a_text_beside_a_request_that_speaks_of_something_else_changes_nothing() -> None:
    text = given("a b\n")
    assert (await Bench().run("add 5 and 7", texts=text)).answer == "12"
    assert (await Bench().run("how many words are in 'x y z'", texts=text)).answer == "3"
    assert (await Bench().run("write a poem about this", texts=text)).declined


@pytest.mark.parametrize(
    "request_text",
    [
        "how old is the mill?",
        "what is water?",
        "is the house prime real estate?",
        "round up the usual suspects",
        "split the difference",
        "5 miles to London",
        "3 kg to km",
        "sort out the mess",
        "fibonacci of 99999999",
        "is 123456789123456789 prime",
        "what day is 2026-13-45",
        "how many letters did Ines write?",
        "How many lines does /tmp/shopping.txt have?",
        "how many characters does report.pdf have",
        "how many words are in the Bible?",
        "how many words are there in English?",
        "reverse the decision",
        "upper case it",
    ],
)
async def test_what_only_looks_like_an_everyday_request_is_no_such(request_text: str) -> None:
    assert (await Bench().run(request_text)).declined


@pytest.mark.parametrize(
    "request_text",
    [
        "how many letters are in strawberry? How many days are between 2026-03-01 and 2026-04-16?",
        "count the words in 'to be or not' and the days from 2026-01-01 to 2026-01-31",
        "how many words are in 'a b' and the letters in 'x y'",
        "how many letters are in sea and how many are in lake",
        "reverse lantern, then take the first three letters",
        "reverse the word harbour. What is the length of lighthouse?",
        "length of hello plus 3",
        "write hello in upper case and lantern in lower case",
        "sort pear, apple and fig, then reverse them",
    ],
)
async def test_a_text_does_not_swallow_the_request_behind_it(request_text: str) -> None:
    assert (await Bench().run(request_text)).declined


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("reverse the word then", "neht"),
        ("how many words are in 'stop now, then add 5 and go'", "7"),
        ("how many words are in 'don't stop now, then go'", "5"),
        ("sort read, write, execute", "execute, read, write"),
    ],
)
async def test_a_word_or_a_text_in_quotes_is_taken_as_it_is(request_text: str, answer: str) -> None:
    assert (await Bench().run(request_text)).answer == answer


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("sort these alphabetically: pear, apple", "apple, pear"),
        ("sort these words alphabetically: pear, apple, fig", "apple, fig, pear"),
        ("sort these numbers: 3, 1, 2", "[1, 2, 3]"),
        ("sort the list: b, a", "a, b"),
        ("order the names: Zoe, Al", "Al, Zoe"),
        ("reverse the following: abc", "cba"),
        ("uppercase this: hello", "HELLO"),
        ("how many vowels are in this: banana", "3"),
        ("count the letters in the word: banana", "6"),
        ("put these in alphabetical order: b, a", ""),
        ("join these with dashes: a, b", ""),
        ("uppercase the names of these: Ann, Bob", ""),
    ],
)
async def test_words_before_a_colon_are_never_taken_for_data(
    request_text: str, answer: str
) -> None:
    assert (await Bench().run(request_text)).answer == answer


def shifted(days: int) -> Callable[[date], str]:
    """What the answer is on a day, if it is that day's date or another `days` later."""

    def answer(today: date) -> str:
        return f"{today + timedelta(days=days):%A, %Y-%m-%d}"

    return answer


def days_since(year: int, month: int, day: int) -> Callable[[date], str]:
    """How many days a date lies in the past."""

    def answer(today: date) -> str:
        return str((today - date(year, month, day)).days)

    return answer


def days_until(year: int, month: int, day: int) -> Callable[[date], str]:
    """How many days a date lies ahead."""

    def answer(today: date) -> str:
        return str((date(year, month, day) - today).days)

    return answer


def this_year(today: date) -> str:
    return str(today.year)


def days_to(month: int, day: int) -> Callable[[date], str]:
    """How many days a day of the year lies ahead."""

    def answer(today: date) -> str:
        ahead = [date(year, month, day) - today for year in (today.year, today.year + 1)]
        return str(min(span.days for span in ahead if span.days >= 0))

    return answer


def age(today: date) -> str:
    """How old someone is who was born on 29 February 2000."""
    return str(today.year - 2000 - ((today.month, today.day) < (2, 29)))


@pytest.mark.parametrize(
    ("request_text", "answer_on"),
    [
        ("what day is it?", shifted(0)),
        ("what is today's date", shifted(0)),
        ("yesterday", shifted(-1)),
        ("what day was yesterday?", shifted(-1)),
        ("yesterday's date", shifted(-1)),
        ("tomorrow", shifted(1)),
        ("what day is tomorrow?", shifted(1)),
        ("what's tomorrow's date", shifted(1)),
        ("what is the date in 2 weeks?", shifted(14)),
        ("3 days from now", shifted(3)),
        ("two weeks from today", shifted(14)),
        ("which date is it 3 days from now", shifted(3)),
        ("what day of the week will it be in a fortnight?", shifted(14)),
        ("3 days ago", shifted(-3)),
        ("a week ago", shifted(-7)),
        ("two fortnights ago", shifted(-28)),
        ("what was the date 3 weeks ago?", shifted(-21)),
        ("what day was it 10 days ago?", shifted(-10)),
        ("which day was it 10 days ago", shifted(-10)),
        ("what year is it?", this_year),
        ("what is the current year", this_year),
        ("how many days until 2030-01-01?", days_until(2030, 1, 1)),
        ("days since 2026-01-01", days_since(2026, 1, 1)),
        ("how many days since 1 May 2026?", days_since(2026, 5, 1)),
        ("days until Christmas", days_to(12, 25)),
        ("how many days are left before Christmas Eve?", days_to(12, 24)),
        ("how many days is it until New Year?", days_to(1, 1)),
        ("days till new year’s day", days_to(1, 1)),
        ("days to New Year's Eve", days_to(12, 31)),
        ("how many days until Halloween", days_to(10, 31)),
        ("how many days are there to Valentine's Day?", days_to(2, 14)),
        ("how old is someone born on 2000-02-29?", age),
        ("how old is a person who was born February 29, 2000", age),
    ],
)
async def test_what_day_it_is_comes_from_the_clock(
    request_text: str, answer_on: Callable[[date], str]
) -> None:
    before = date.today()
    outcome = await Bench().run(request_text)
    assert outcome.called == []
    assert outcome.answer in {answer_on(before), answer_on(date.today())}, outcome.text


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("what was the first thing I asked?", "add 5 and 7"),
        ("what did I ask before?", "upper case hello"),
        ("what was your first answer", "12"),
        ("again", "HELLO"),
        ("use the previous result and add 5", "17"),
    ],
)
async def test_the_session_is_remembered(request_text: str, answer: str) -> None:
    history = ASKED[:2] if "result" in request_text else ASKED
    outcome = await Bench().run(request_text, history=history)
    assert outcome.answer == answer, outcome.text


@pytest.mark.parametrize("asked", ["what was the first thing I asked?", "what did you say before"])
async def test_where_nothing_was_asked_before_that_is_said_and_nothing_is_searched(
    asked: str,
) -> None:
    outcome = await Bench().run(asked, history=())
    assert (outcome.answer, outcome.called) == (NOTHING_BEFORE, [])


async def test_again_after_again_is_the_request_before_both() -> None:
    outcome = await Bench().run("do that again", history=ASKED[:2])
    assert (outcome.answer, outcome.called) == ("12", ["add"])


async def test_requests_without_an_answer_and_long_sessions_are_remembered_too() -> None:
    history = (Exchange("paint the roof", None), *ASKED * 20, Exchange("factorial of 4", None))
    assert (await Bench().run("what was the first thing I asked?", history=history)).answer == (
        "paint the roof"
    )
    assert (await Bench().run("what did you answer first?", history=history)).answer == NO_ANSWER
    assert (await Bench().run("try again", history=history)).answer == "24"


def _contents(path: str) -> str:
    return f"of {path}"


@pytest.mark.parametrize(
    ("request_text", "tool", "path"),
    [
        ("read notes.txt", "read_text_file", "notes.txt"),
        ("show me the file /srv/a b.md", "", ""),
        ('read "/srv/a b.md"', "read_text_file", "/srv/a b.md"),
        ("list the files in reports", "list_directory", "reports"),
        ("what files are in ~/docs?", "list_directory", "~/docs"),
    ],
)
async def test_files_of_a_server_are_read_and_listed(
    request_text: str, tool: str, path: str
) -> None:
    bench = Bench((*MATH_TOOLS, *FILES), {tool.name: _contents for tool in FILES})
    outcome = await bench.run(request_text)
    assert [name for name, _ in outcome.calls] == [tool] * bool(tool)
    assert outcome.answer == (f"of {path}" if tool else "")
