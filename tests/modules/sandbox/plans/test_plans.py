"""The corpus of plans is what it says: its outcomes are CPython's, its random programs run."""

import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from .random_programs import programs
from .reference import Interpreter, Outcome, Plan, plans, recorded

HERE = sys.version_info[:2]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What this Python makes of the plans that it is new enough for.

    The seed of hashes is another than the recorded one: no outcome may hang on it.
    """
    with Interpreter(hash_seed=2) as interpreter:
        return {plan.name: interpreter.run(plan.text) for plan in plans() if plan.needs <= HERE}


def test_this_python_makes_of_each_plan_what_is_recorded(outcomes: dict[str, Outcome]) -> None:
    expected = recorded()["plans"]
    differing = {
        name: (outcome, expected[name])
        for name, outcome in outcomes.items()
        if outcome != expected[name]
    }
    assert len(outcomes) >= 190
    assert differing == {}


def test_each_plan_has_a_name_of_its_own_and_a_recorded_outcome() -> None:
    names = Counter(plan.name for plan in plans())
    assert names.most_common(1)[0][1] == 1
    assert set(names) == set(recorded()["plans"])


def test_the_python_that_was_recorded_is_new_enough_for_each_plan() -> None:
    major, minor = recorded()["python"].split(".")[:2]
    assert max(plan.needs for plan in plans()) <= (int(major), int(minor))


def _ending(plan: Plan) -> str:
    """How the plan's marks say that it ends."""
    if plan.kind == "failing":
        return "error"
    return "type" if plan.shape == "other" else "value"


def test_each_plan_ends_as_its_marks_say() -> None:
    expected = recorded()["plans"]
    wrong = [plan.name for plan in plans() if _ending(plan) not in expected[plan.name]]
    assert wrong == []


def test_the_plans_are_as_many_as_the_sandbox_is_to_be_judged_by() -> None:
    endings = Counter(map(_ending, plans()))
    assert endings["value"] >= 120
    assert endings["type"] >= 15
    assert endings["error"] >= 15
    families = Counter(plan.like for plan in plans())
    assert set(families) == {"gpt", "claude", "gemini", "llama", "qwen"}


def test_a_plan_that_never_ends_is_ended_and_the_next_one_runs() -> None:
    with Interpreter(cpu_seconds=1) as interpreter:
        endless = interpreter.run("def solve():\n    while True:\n        pass\n")
        assert endless == {"error": "Killed", "line": None}
        assert interpreter.run("def solve():\n    return 1\n") == {"value": 1}


def test_nothing_that_a_plan_changes_is_there_for_the_next() -> None:
    with Interpreter() as interpreter:
        interpreter.run("import math\nmath.pi = 3\ndef solve():\n    memory['a'] = 1\n")
        after = "import math\ndef solve():\n    return [math.pi > 3, memory]\n"
        assert interpreter.run(after) == {"value": [True, {}]}


def test_a_plan_that_writes_and_reads_below_print_leaves_the_next_one_its_turn() -> None:
    with Interpreter() as interpreter:
        interpreter.run("import os\ndef solve():\n    os.write(1, b'x\\n')\n    os.read(0, 9)\n")
        assert interpreter.run("def solve():\n    return 1\n") == {"value": 1}


def test_random_programs_nearly_all_end_in_a_value_that_json_holds_within_a_second() -> None:
    ends: Counter[str] = Counter()
    with Interpreter(hash_seed=1, cpu_seconds=1) as one, Interpreter(hash_seed=2) as other:

        @settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
        @given(programs())
        def run(text: str) -> None:
            outcome = one.run(text)
            assert outcome == other.run(text), "the order of hashes shows"
            ends[outcome.get("error") or ("value" if "value" in outcome else "other")] += 1

        run()
    assert ends["value"] >= 0.95 * ends.total(), ends
    assert not {"other", "Killed", "SyntaxError", "NameError", "UnboundLocalError"} & set(ends)
