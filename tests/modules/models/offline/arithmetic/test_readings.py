"""How the offline planner reads what people type: clear phrasings, and those with two readings.

Every answer was worked out apart from the planner. A phrasing with two readings must be declined:
no answer is better than the other one.
"""

import math

import pytest

from tests.modules.models.offline.plans import Bench, history

CLEAR: list[tuple[str, str]] = [
    # sums and products, said in many ways
    ("add 2 + 3", "5"),
    ("add the following numbers: 2, 3 and 4", "9"),
    ("sum of these numbers: 2, 3, 4", "9"),
    ("average of this list: 2, 4", "3"),
    ("2 and 3 added together", "5"),
    ("what do 2 and 3 add up to?", "5"),
    ("the sum of 2 plus 3", "5"),
    ("Find the quotient of 144 divided by 12", "12"),
    ("multiply 4 * 5", "20"),
    ("multiply 4 by itself", "16"),
    ("sum 1 through 100", "5050"),
    ("I'd like to know what 2 plus 3 is", "5"),
    ("solve this: 2+3", "5"),
    ("do the math: 2+3", "5"),
    ("what would be 6 times 7", "42"),
    ("what is the result when you add 2 and 3?", "5"),
    ("what do you get when 3 is subtracted from 10?", "7"),
    ("what do you get when 2 plus 3 is multiplied by 4?", "20"),
    ("remainder when the sum of 10 and 5 is divided by 4", "3"),
    ("multiply 5 by 3, then add 2", "17"),
    ("what number is 37 less than 100", "63"),
    ("From 10, take away 3.", "7"),
    ("what is the remainder when you divide 29 by 6?", "5"),
    ("the sum of 3 and 4 times the sum of 1 and 2", "21"),
    ("the product of 6 and 7 plus 8", "50"),
    ("what is the sum of 4 and 5, multiplied by 3?", "27"),
    ("5 less than 3 times 10", "25"),
    ("square root of the sum of 3 squared and 4 squared", "5"),
    ("sine of the angle 90 degrees", "1"),
    ("100 increased by 10% plus 5", "115"),
    ("increase 100 by 10% then decrease it by 10%", "99"),
    ("what percentage is 5 of 50", "10"),
    ("what is 20 as a percentage of 80", "25"),
    ("what is 5!", "120"),
    ("5! + 3!", "126"),
    ("7 % -3", "-2"),
    ("5 - -3", "8"),
    ("2000 - 1 - 1", "1998"),
    ("-2 squared", "-4"),
    ("what is the result if you add 2 and 3?", "5"),
    ("what is the result when I multiply 4 by 5", "20"),
    ("result if we divide 10 by 4", "2.5"),
    ("what is the result when 10 is divided by 4", "2.5"),
    ("15 per cent of 80", "12"),
    ("20 per cent off 50", "40"),
    ("reciprocal of 4", "0.25"),
    ("what is the inverse of 8?", "0.125"),
    ("1 plus the reciprocal of 4", "1.25"),
    ("sum of the reciprocals of 2, 4 and 5", "0.95"),
    # what "the sum" of the step before is
    ("add 5 and 7, then multiply the sum by 3", "36"),
    ("multiply 5 by 7, then double the product", "70"),
    ("subtract 3 from 10 and square the difference", "49"),
    ("divide 9 by 3, then add 1 to the quotient", "4"),
    ("list the first 5 fibonacci numbers, then the sum", "7"),
    ("ASCII codes of AB, then the average", "65.5"),
    # lists and characters
    ("reciprocals of 2, 4 and 5", "[0.5, 0.25, 0.2]"),
    ("first 10 natural numbers", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"),
    ("sum of the first 100 positive integers", "5050"),
    ("squares of the first 3 counting numbers", "[1, 4, 9]"),
    ("product of the first 5 positive whole numbers", "120"),
    ("first 4 fibonacci terms", "[0, 1, 1, 2]"),
    ("give me 4 fibonacci values", "[0, 1, 1, 2]"),
    ("the first 4 elements of the fibonacci series", "[0, 1, 1, 2]"),
    ("the first 4 numbers in the fibonacci series", "[0, 1, 1, 2]"),
    ("the first 4 terms of fibonacci", "[0, 1, 1, 2]"),
    ("square roots of 16 and 25", "[4.0, 5.0]"),
    ("generate 5 terms of the fibonacci sequence", "[0, 1, 1, 2, 3]"),
    ("fibonacci sequence of length 5", "[0, 1, 1, 2, 3]"),
    ("create a list of the first 5 fibonacci numbers", "[0, 1, 1, 2, 3]"),
    ("What is CAT in ASCII?", "[67, 65, 84]"),
    ("convert the characters of CAT to their ascii values", "[67, 65, 84]"),
    ('ASCII values of "é 😀"', "[233, 32, 128512]"),
    ("Get the ASCII codes of A and return their exponential sum", str(math.exp(65))),
]

TWO_READINGS: list[str] = [
    # where a list, a command or a function ends
    "the sum of 1, 2 and 3 times 2",
    "difference between 10 and 3 times 2",
    "the average of 2 and 4 plus 1",
    "the sum of 2 and 3 to the power of 2",
    "divide 100 by 3 plus 2",
    "multiply 2 by 3 plus 4",
    "remainder of 17 divided by 5 plus 1",
    "sum of square root of 16 and 9",
    "square root of 16 + 9",
    "half of 2 to the power of 3",
    "absolute value of 3 minus 5",
    "add 2 - 3",
    "√16!",
    "multiply 5 by 3, then add 2 and 4",
    "the sum of 3 and 4 is multiplied by 2 plus 1",
    "sum 1 to 10",
    # what an operator in words takes
    "three times 5 more than 2",
    "10 minus 5 less than 20",
    "100 plus 5 increased by 10%",
    "negative three squared",
    "add 20% and 30%",
    "5 % + 3",
    "sin 30 + cos 60 degrees",
    "5!!",
    "what is 5 + 3!",
    "add 2 and 3! subtract 1",
    # which text is meant
    "ascii values of it",
    "ascii codes of a-z",
    "12*7 and the square root of 144; then subtract the two",
    "factorial of 5, then add the three",
    "hello world in ascii",
    "convert 65 to ascii",
]

NO_ARITHMETIC: list[str] = [
    "2026-11-21",
    "21/11/2026 + 3",
    "5e + 3",
    "10:30",
    "add 5 and 7, then",
    "sum of the numbers from 10 to 1",
    "inverse sine of 1",
    "tan(90°)",
    "tangent of -90 degrees",
    "is 5 less than 7?",
    "2 + 2 = 5",
    "do not add 5 and 3",
    "why is 2+2 4",
    "add 5 and 7 and email it to bob",
    "what number plus 5 is 12?",
    "10 km + 5 m",
    "$5 + 3",
    "sum of odd numbers from 1 to 10",
    "add 5 twice",
    "was ist 2 plus 2",
    "add numbers",
    "what do you know",
]


@pytest.mark.parametrize(("request_text", "answer"), CLEAR)
async def test_a_clear_phrasing_is_answered(request_text: str, answer: str) -> None:
    outcome = await Bench().run(request_text)
    assert outcome.answer == answer, outcome.text


@pytest.mark.parametrize("request_text", [*TWO_READINGS, *NO_ARITHMETIC])
async def test_a_phrasing_with_two_readings_or_none_is_declined(request_text: str) -> None:
    outcome = await Bench().run(request_text)
    assert outcome.declined, outcome.answer


@pytest.mark.parametrize(
    ("answers", "number"),
    [
        (["12"], "12"),
        (["The answer is 1,024."], "1024"),
        (["Result: 12"], "12"),
        (["-5"], "-5"),
        (["12", "I found nothing."], "12"),
        (["12", "[1, 2, 3]"], None),
        (["12", "5 apples"], None),
        (["Page 5"], None),
        (["version 1.5"], None),
        (["$5"], None),
        (["~5"], None),
        (["A-5"], None),
        (["2026-11-21"], None),
        (["10:30"], None),
    ],
)
async def test_it_is_the_last_answer_only_if_that_is_one_number(
    answers: list[str], number: str | None
) -> None:
    outcome = await Bench().run("multiply it by 1", history=history(*answers))
    assert outcome.declined == (number is None), outcome.text
    assert number is None or outcome.answer == number


@pytest.mark.parametrize("request_text", ["more than 5", "less than 20", "ascii values of it"])
async def test_a_follow_up_with_two_readings_is_declined(request_text: str) -> None:
    outcome = await Bench().run(request_text, history=history("12"))
    assert outcome.declined, outcome.answer
