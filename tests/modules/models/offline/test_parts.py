"""Requests in parts: taken apart where the offline planner can do every part, else left alone."""

import pytest

from core.team.graph import TaskGraph, filled, problems
from core.turn import TextInput
from modules.models.offline.parts import ANSWER
from modules.models.offline.planner import plan_parts
from tests.modules.models.offline.plans import Bench


async def answers(graph: TaskGraph, bench: Bench) -> dict[str, str]:
    """The result of each subtask, each planned and really run with those before it."""
    results: dict[str, str] = {}
    for id_ in graph.ids:
        asked, texts = filled(graph[id_], results)
        given = tuple(TextInput(name, text) for name, text in texts.items())
        ended = await bench.run(asked, texts=given)
        assert not ended.declined, (asked, ended.text)
        results[id_] = ended.answer
    return results


JOINED = (
    ("factorial of 12 and 15% of 80, then add them", "479001612"),
    ("what is 17*23 and the square root of 144; then add the results", "403"),
    ("12*7 and the square root of 144, then add the two", "96"),
    ("What is 12*7? And what is the square root of 144? Then add the two.", "96"),
    ("2^10 and 3^5, then multiply them together.", "248832"),
    ("add 5 and 7 and multiply 3 by 4, then sum up both", "24"),
    ("1. add 5 and 7 2. multiply 3 by 5 3. add both results", "27"),
    ("- factorial of 5\n- 7 squared\n- find the largest of all the results", "120"),
    ("What is 6 times 7? What is 10 minus 4? Finally, give me the average of both", "24"),
    ("find the cube root of 27 and 9 - 8, then take the smallest of the two results", "1"),
    (
        "what is 5 km in miles and 10 kg in pounds? List both results.",
        "what is 5 km in miles: 3.1068559611866697 mi\n10 kg in pounds: 22.046226218487757 lb",
    ),
    (
        '2^8 and the length of "four"; then show them side by side',
        "2^8: 256\nthe length of 'four': 4",
    ),
    ("compare 3 squared, 4 squared and 2^5", "3 squared: 9\n4 squared: 16\n2^5: 32"),
    (
        "count the words in 'to be or not' and the days from 2026-01-01 to 2026-01-31, "
        "then add them",
        "34",
    ),
    ("how many vowels are in education? How many words are in 'a b c'? Multiply both.", "15"),
    ("what is 17*23? is 7 prime?", "what is 17*23: 391\nis 7 prime: yes, 7 is prime"),
)


@pytest.mark.parametrize(("request_", "answer"), JOINED)
async def test_a_request_is_taken_apart_and_its_parts_are_joined(
    request_: str, answer: str
) -> None:
    bench = Bench()
    graph = plan_parts(bench.inputs(request_))
    assert graph is not None
    assert problems(graph) == ()
    assert graph.results == (ANSWER,)
    assert (await answers(graph, bench))[ANSWER] == answer


@pytest.mark.parametrize(
    "request_",
    [
        "add 5 and 7",
        "add 5 and 7, then multiply the result by 3",
        "what is 6 times 7 and 10 minus 4, then double that and add them",
        "find the weather in Oslo and 15% of 80, then list them",
        "the first ten primes and their sum, then list them",
        "factorial of 12, then add them",
        "factorial of 12 and {{part_1}}, then add them",
        "and ".join(["2^3 "] * 400) + ", then add them",
        ", ".join(["2^3 of x"] * 40) + ", then add them",
    ],
)
def test_anything_else_stays_whole(request_: str) -> None:
    assert plan_parts(Bench().inputs(request_)) is None


@pytest.mark.parametrize(
    "request_",
    [
        'list these results: "a": part_1; and more',
        'list these results: "a": os.getcwd()',
        "list these results: 3",
    ],
)
async def test_a_list_of_results_is_nothing_but_that(request_: str) -> None:
    assert (await Bench().run(request_)).declined
