"""Whether an answer rests on anything: calls, computation, or what was said and found before."""

import pytest

from core.run.grounding import is_grounded
from core.turn import (
    FinalAnswer,
    FurtherProcessing,
    PerceptionResult,
    Plan,
    PlanFailed,
    PlanFailure,
    Step,
    ToolCall,
)

READ = ToolCall("documents.search", {"query": "plot"}, ok=True, result="14 days", seconds=0.1)
FAILED = ToolCall("documents.search", {"query": "plot"}, ok=False, result="down", seconds=0.1)


def steps(source: str, *calls: ToolCall) -> tuple[Step, ...]:
    """One plan that ended in an answer."""
    result = FinalAnswer("", calls)
    return (Step(1, 1, PerceptionResult(), Plan(source), result, 0.0),)


def solve(body: str) -> str:
    return "async def solve():\n" + "".join(f"    {line}\n" for line in body.splitlines())


def rests(request: str, body: str, answer: str = "an answer of its own words", *texts: str) -> bool:
    return is_grounded(steps(solve(body)), answer, request, texts)


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        ("what is 17*23?", 'return f"FINAL_ANSWER: {17 * 23}"'),
        ("what is 17*23?", 'a = 17\nb = 23\nreturn f"FINAL_ANSWER: {a * b}"'),
        ("what is 17*23?", 'a, b = 17, 23\nreturn f"FINAL_ANSWER: {a * b}"'),
        ("25% of 1,250.50", 'return f"FINAL_ANSWER: {0.25 * 1250.5}"'),
        ("reverse hello", 'return "FINAL_ANSWER: " + "hello"[::-1]'),
        ("how many r in strawberry", "return f\"FINAL_ANSWER: {'strawberry'.count('r')}\""),
        ("sort: pear, apple", 'return ", ".join(sorted(["pear", "apple"]))'),
        ("factorial of 6", "def f(n):\n    return n * f(n - 1) if n else 1\nreturn str(f(6))"),
        ("is 17 odd?", 'if 17 % 2:\n    return "FINAL_ANSWER: yes"\nreturn "FINAL_ANSWER: no"'),
        ("sum 3, 4", "total = 0\nfor n in [3, 4]:\n    total += n\nreturn str(total)"),
        ("what day is it?", "import datetime\nreturn str(datetime.date.today())"),
    ],
)
def test_a_plan_that_computes_on_the_requests_own_values_is_grounded(
    request_: str, body: str
) -> None:
    assert rests(request_, body)


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        ("notice for a plot?", 'return "FINAL_ANSWER: 14 days"'),
        ("notice for a plot?", 'days = 14\nreturn f"FINAL_ANSWER: {days} days"'),
        ("notice for a plot?", 'return f"FINAL_ANSWER: {10 + 4} days"'),
        ("how old was Ada?", 'return f"FINAL_ANSWER: {1852 - 1815}"'),
        ("capital of France?", "d = {'France': 'Paris'}\nreturn d['France']"),
        ("capital of France?", "d = {'France': 'Paris'}\nreturn d.get('France')"),
        ("capital of France?", 'return "The capital of " + "France" + " is Paris"'),
        ("say hello to Ann", 'name = "Ann"\nreturn f"FINAL_ANSWER: Good day {name}!"'),
        ("say hello to Ann", 'name = "Ann"\nreturn "Good day {}!".format(name)'),
    ],
)
def test_a_plan_that_only_writes_down_what_the_model_knows_is_not(request_: str, body: str) -> None:
    assert not rests(request_, body)


def test_a_call_grounds_the_answer_where_it_succeeded_in_any_step() -> None:
    failure = PlanFailed(PlanFailure("tool", "down"), (FAILED,))
    literal = steps('return "14 days"')
    failed = Step(1, 1, PerceptionResult(), Plan("p"), failure, 0.0)
    read = Step(1, 1, PerceptionResult(), Plan("p"), FurtherProcessing("14 days", (READ,)), 0.0)
    assert is_grounded((read, *literal), "14 days", "notice?", ())
    assert not is_grounded((failed, *literal), "14 days", "notice?", ())


@pytest.mark.parametrize(
    ("answer", "is_so"),
    [
        ("Briefly: six weeks, in writing.", True),
        ("In writing", True),
        ("The committee accepts 14 days.", False),
        ("Gardens need water.", False),
        ("six weeks, in writing, or 14 days", False),
    ],
)
def test_an_answer_that_says_what_was_found_before_rests_on_it(answer: str, is_so: bool) -> None:
    found = "The notice period is six weeks, in writing, and briefly told to the committee."
    assert rests("say that again, shorter", "return ''", answer, found) is is_so


def test_computing_with_an_earlier_answer_is_grounded() -> None:
    body = 'return f"FINAL_ANSWER: {720 / 2}"'
    assert rests("and half of it?", body, "360", "720")
    assert not rests("and half of it?", body, "360")


def test_a_text_within_the_request_is_worked_on_and_a_question_is_only_asked() -> None:
    pasted = "Summarise: " + "the harbour master closed the eastern gate before the storm came " * 6
    assert rests(pasted, "return ''", "The harbour master closed the eastern gate.")
    assert not rests(pasted, "return ''", "Whales live in warm oceans.")
    question = "Who closed the eastern gate?"
    assert not rests(question, "return ''", "The harbour master closed the eastern gate.")


def test_hostile_plans_and_answers_take_bounded_time() -> None:
    chained = "\n".join(f"a{n} = a{n + 1}" for n in range(900)) + "\na900 = 5"
    assert not rests("5", f"{chained}\nreturn a0 * 2")
    nested = "1" + " + 1" * 2_900
    assert not rests("5", f"return {nested}")
    assert not rests("5", "return 'x'", "word " * 300_000, "other " * 300_000)
    assert not rests("5", "return " + "9" * 5_000)
