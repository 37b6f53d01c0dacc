"""What is done about a request, by the profile and by its words."""

import time

import pytest

from config.schema import GraphMode
from modules.team.choosing import choose_action, parts_by_words

INDEPENDENT = (
    "compare our lease terms with three competitors' pages and write a summary with a table",
    "1. find the population of France 2. find the population of Spain 3. say which is larger",
    "For each of the three contracts, find the notice period and the rent",
    "Compare Python, Ruby and Perl for scripting and recommend one",
    "What is 5 km in miles? What is 10 kg in pounds? List both results.",
    "Find the weather in Oslo. Find the weather in Rome. Then write a short report on both.",
    "Summarize the lease, search the web for rents in Berlin, and combine both into a text",
    "Tell me about these:\n- the rent in the lease\n- the deposit in the lease\n- rents online",
    "Search for the history of tea and look up that of coffee, then write a comparison",
    "a) the rent in the lease b) the deposit in the lease c) average rents online",
    "What does the lease say about pets? What do the rules say about noise? Write one summary.",
    "Explain the causes of WWI, describe the causes of WWII, and compare them",
    "find out where tea comes from and where milk comes from, then write a summary of both",
    "1. the cube root of 2197 2. 7 choose 3 3. add both results",
    "Is 391 prime? What day of the week is 2027-05-14? List both answers.",
    "According to my notes, what is the rent? According to my notes, who is the owner? List both.",
    "a) the sum of the primes below 30 b) the sum of 1 to 12 c) the digits of 2^20",
    "Find the year of the lease, find the deposit, and give me the sum of both numbers",
)
CALLS_OF_ONE_PLAN = (
    "compare 3 km in miles and 5 kg in pounds",
    "factorial of 5, factorial of 6 and factorial of 7, then average them",
    "Square root of 1764; 5 factorial; 300 / 8; then find the smallest of all the results",
    "factorial of 12 and 15% of 80, then add them",
    "what is 17*23 and the square root of 144; then add the results",
    "compute 12!, 3^20 and 15% of 80, then list them",
    "Square the sine of 0.7 and the cosine of 0.7 and add the two squares.",
    "Read files/shopping.txt and files/notes/todo.txt and show me both.",
)
"""A model does them in one plan; the offline planner has to take them apart."""

ONE_PLAN = (
    "add 5 and 7",
    "add 5 and 7, then multiply the result by 3",
    "Find the ASCII values of characters in INDIA and sum their exponentials",
    "find the first ten primes and add them",
    "what is the notice period of the lease",
    "search the web for pandas and summarize the first page",
    "list the files in documents and sort them by size",
    "Find the largest file, then read it, then summarize it",
    "What is 15% of 80 and is that more than 10?",
    "Read the lease. Then find the notice period in it. Then compute the date before that.",
    "translate 'good morning' into French and German",
    "Who wrote Faust and when was it published?",
    "take 10, double it, add 3, then multiply the result by 4",
    "how many words are in 'to be or not to be, that is the question'",
    "What is the difference between the rent and the deposit in the lease?",
    "1. open notes.txt 2. take its second line 3. reverse it",
    "write a short poem about the sea and the sky",
    "for each number from 1 to 5 compute its square, and print each of them",
    "Is 391 prime? Then double the sum, and list both.",
    "Factorial of 6; divide the result by 9; then find the largest of these",
    "find the capital of France, then find its population, then compute the square root of that",
)


def chosen(request: str, mode: GraphMode = "auto", *, reads_text: bool = True) -> str:
    return choose_action(request, mode, reads_text=reads_text).action


@pytest.mark.parametrize("request_", INDEPENDENT)
@pytest.mark.parametrize("reads_text", [True, False])
def test_independent_parts_want_a_graph(request_: str, reads_text: bool) -> None:
    assert chosen(request_, reads_text=reads_text) == "graph"


@pytest.mark.parametrize("request_", CALLS_OF_ONE_PLAN)
def test_things_in_one_clause_are_parts_for_who_cannot_plan_several_calls(request_: str) -> None:
    assert chosen(request_) == "plan"
    assert chosen(request_, reads_text=False) == "graph"


@pytest.mark.parametrize("request_", ONE_PLAN)
@pytest.mark.parametrize("reads_text", [True, False])
def test_one_part_and_steps_that_build_on_each_other_are_one_plan(
    request_: str, reads_text: bool
) -> None:
    assert chosen(request_, reads_text=reads_text) == "plan"


def test_the_parts_that_a_request_names_are_found_by_its_words() -> None:
    found = parts_by_words("research A, research B, write a report about both")
    assert found is not None
    assert [(each.id, each.description, each.dependencies) for each in found.subtasks] == [
        ("part_1", "research A", ()),
        ("part_2", "research B", ()),
        ("answer", "write a report about both: {{part_1}}, {{part_2}}", ("part_1", "part_2")),
    ]
    assert not any(map(parts_by_words, ONE_PLAN))


@pytest.mark.parametrize(
    ("mode", "action", "reason"),
    [
        ("never", "plan", "strategy.graph is never"),
        ("always", "graph", "strategy.graph is always"),
        ("auto", "graph", "the request lists 3 parts"),
    ],
)
def test_the_profile_settles_it(mode: GraphMode, action: str, reason: str) -> None:
    request = "1. find tea 2. find coffee 3. say which is older"
    found = choose_action(request, mode, reads_text=True)
    assert (found.action, found.reason) == (action, reason)


def test_steps_that_build_on_each_other_are_said_to_do_so() -> None:
    found = choose_action(ONE_PLAN[7], "auto", reads_text=True)
    assert found.reason == "the parts of the request build on each other"


def test_a_long_text_takes_no_longer_than_its_beginning() -> None:
    long = "find the weather in Oslo, and list it. " * 50_000
    chosen(long)
    best = min(_seconds(long) for _ in range(20))
    assert best < 0.005


def _seconds(request: str) -> float:
    started = time.perf_counter()
    chosen(request)
    return time.perf_counter() - started
