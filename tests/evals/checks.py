"""Whether an answer is right: every check of a request, and the first that does not hold."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tests.evals.numbers_in_text import (
    SEARCHED_CHARACTERS,
    Tolerance,
    ends_in_number,
    holds_number,
    holds_numbers,
    holds_sequence,
    holds_time,
    numbers_in,
    times_in,
)
from tests.evals.questions import Question
from tests.evals.workplace import Workplace

CLOCK_MINUTES = 3
"""How far a time that is said to be now may be from the clock."""


def what_is_wrong(
    question: Question, answer: str, workplace: Workplace, now: datetime | None = None
) -> str | None:
    """Why the answer, or what was done, is not right; None if it is.

    `now` is a moment with its zone, by default this one.
    """
    now = now or datetime.now().astimezone()
    for complaints in (
        _in_numbers(question, answer),
        _in_words(question, answer, workplace),
        _in_times(question, answer, now),
        _in_files(question, workplace),
    ):
        if (complaint := next(complaints, None)) is not None:
            return complaint
    return None


def _in_numbers(question: Question, answer: str) -> Iterator[str]:
    tolerance = Tolerance(question.tolerance)
    number = question.number
    if number is not None and not holds_number(answer, question.ask, number, tolerance):
        yield f"the number is not {number}"
    last = question.final_number
    if last is not None and not ends_in_number(answer, last, tolerance):
        yield f"the last number is not {last}"
    if question.numbers and not holds_numbers(answer, question.numbers, tolerance):
        yield f"not all of {list(question.numbers)} are there"
    if question.sequence and not holds_sequence(answer, question.sequence, tolerance):
        yield f"the row {list(question.sequence)} is not there"


def _in_words(question: Question, answer: str, workplace: Workplace) -> Iterator[str]:
    said = answer[:SEARCHED_CHARACTERS].casefold()
    for words in map(workplace.filled, question.contains):
        if words.casefold() not in said:
            yield f"{words!r} is missing"
    if question.any_of and not any(words.casefold() in said for words in question.any_of):
        yield f"none of {list(question.any_of)} is there"
    for words in question.absent:
        if re.search(rf"\b{re.escape(words)}\b", said, re.IGNORECASE):
            yield f"{words!r} should not be there"
    if question.matches is not None and not re.search(question.matches, said, re.IGNORECASE):
        yield f"nothing is like {question.matches!r}"


def _in_times(question: Question, answer: str, now: datetime) -> Iterator[str]:
    if question.clock is not None and not holds_time(answer, question.ask, question.clock):
        yield f"the time is not {question.clock:%H:%M}"
    for zone in question.now_in:
        if not _tells_now(answer, now.astimezone(ZoneInfo(zone))):
            yield f"it is not the time of {zone}"
    if question.weekday_in is not None:
        weekday = f"{now.astimezone(ZoneInfo(question.weekday_in)):%A}"
        if weekday.casefold() not in answer.casefold():
            yield f"it is not {weekday}"
    if question.date_in is not None:
        today = now.astimezone(ZoneInfo(question.date_in))
        if not _tells_date(answer, today):
            yield f"it is not {today:%Y-%m-%d}"


def _tells_now(answer: str, there: datetime) -> bool:
    moments = range(-CLOCK_MINUTES, CLOCK_MINUTES + 1)
    allowed = {(there + timedelta(minutes=m)).strftime("%H:%M") for m in moments}
    return any(f"{told:%H:%M}" in allowed for told in times_in(answer))


def _tells_date(answer: str, today: datetime) -> bool:
    if f"{today:%Y-%m-%d}" in answer:
        return True
    named = f"{today:%b}".casefold() in answer.casefold() or f"{today:%m}" in answer
    days = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", answer)
    return named and today.day in numbers_in(days) and today.year in numbers_in(days)


def _in_files(question: Question, workplace: Workplace) -> Iterator[str]:
    if question.file is not None:
        path = workplace.files / question.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not path.exists():
            yield f"there is no {question.file}"
        if question.file_contains is not None and question.file_contains not in text:
            yield f"{question.file} does not hold {question.file_contains!r}"
        if question.file_lacks is not None and question.file_lacks in text:
            yield f"{question.file} still holds {question.file_lacks!r}"
    if question.no_file is not None and (workplace.files / question.no_file).exists():
        yield f"{question.no_file} is still there"
    if question.git_contains is not None:
        said = workplace.git(*question.git)
        if question.git_contains not in said:
            yield f"git {' '.join(question.git)} does not give {question.git_contains!r}"
