"""Facts: taken out of results, and each step of the rule for those that contradict."""

import json
from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ModelUnavailable
from core.team.facts import (
    FACTS_MAX,
    SAME_AGE_SECONDS,
    Arbiter,
    Facts,
    Rule,
    facts_in,
    settle,
)
from core.team.whiteboard import BoardWriter, Suggestion, Whiteboard
from core.values import Json
from tests.core.team.boards import Told

NOW = 1.7e9
LONG_AGO = NOW - 2 * SAME_AGE_SECONDS


def claim(value: str, who: str, time: float = NOW, source: str = "") -> Suggestion:
    return Suggestion("facts", "months", value, who, time, source)


def saying(place: int | None) -> Arbiter:
    async def judge(key: str, claims: Sequence[Suggestion]) -> int | None:
        return place

    return judge


async def unreachable(key: str, claims: Sequence[Suggestion]) -> int | None:
    raise ModelUnavailable("no connection")


async def never(key: str, claims: Sequence[Suggestion]) -> int | None:
    raise AssertionError("nobody has to be asked")


def found(result: str, about: str = "ours") -> dict[str, str]:
    return {each.key: each.value for each in facts_in(result, about, "analyst", NOW, "")}


def test_an_object_gives_its_keys_as_facts_and_any_other_result_none() -> None:
    result = '{"Notice period": "3 months", "months": 3, "none": null, "all": [1, "é"]}'
    assert found(result) == {
        "ours.notice_period": "3 months",
        "ours.months": "3",
        "ours.all": '[1, "é"]',
    }
    for other in ("3 months", '["a"]', '{"a": 1', "{" * 100_000, '{"a":' * 3_000, "", "null"):
        assert found(other) == {}


def test_what_names_its_thing_is_the_same_fact_whoever_says_it() -> None:
    assert found('{"Acme": {"months": 3, "x": null}, "empty": {}}') == {
        "acme.months": "3",
        "ours.empty": "{}",
    }
    assert found('{"months": 3}', "") == {"months": "3"}


def test_a_result_gives_no_more_facts_than_anybody_reads() -> None:
    assert len(found(json.dumps({f"k{n}": n for n in range(FACTS_MAX + 5)}))) == FACTS_MAX
    assert found(json.dumps({"k": "x" * 30_000})) == {}


ANY_JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANY_JSON)
def test_no_result_is_too_odd(value: Json) -> None:
    facts = [*facts_in(json.dumps(value), "ours", "analyst", NOW, "")]
    assert isinstance(value, dict) or not facts
    assert len(facts) <= FACTS_MAX
    assert all(fact.value != "null" for fact in facts)


@pytest.mark.parametrize(
    ("claims", "winners", "rule"),
    [
        ([claim("12", "a", LONG_AGO, "lease.pdf"), claim("3", "b")], "a", "source"),
        ([claim("12", "a", LONG_AGO), claim("3", "b")], "b", "newer"),
        (
            [claim("12", "a", LONG_AGO, "x.pdf"), claim("3", "b", NOW, "y.pdf"), claim("5", "c")],
            "b",
            "newer",
        ),
        ([claim("12", "a"), claim("3", "b"), claim("12.0", "c")], "ac", "majority"),
        ([claim("A  year", "a"), claim("3", "b"), claim("a year", "c")], "ac", "majority"),
    ],
)
async def test_a_rule_settles_what_it_can_whatever_the_order(
    claims: list[Suggestion], winners: str, rule: Rule
) -> None:
    for order in permutations(claims):
        settled = await settle("months", order, never, never)
        assert settled is not None
        assert settled.rule == rule
        assert settled.claim.who in winners


async def test_claims_of_one_run_are_of_one_age() -> None:
    assert await settle("months", [claim("12", "a", NOW - 60), claim("3", "b")]) is None


async def test_half_of_the_workers_are_no_majority() -> None:
    claims = [claim("12", "a"), claim("12", "b"), claim("3", "c"), claim("4", "d")]
    assert await settle("months", claims) is None


@pytest.mark.parametrize(
    ("reviewer", "user", "outcome"),
    [
        (saying(1), never, ("3", "reviewer")),
        (saying(None), saying(0), ("12", "user")),
        (unreachable, saying(1), ("3", "user")),
        (saying(7), saying(-1), None),
        (None, saying(0), ("12", "user")),
        (None, None, None),
    ],
)
async def test_the_reviewer_is_asked_and_then_the_user(
    reviewer: Arbiter | None, user: Arbiter | None, outcome: tuple[str, Rule] | None
) -> None:
    settled = await settle("months", [claim("12", "a"), claim("3", "b")], reviewer, user)
    assert (settled and (settled.claim.value, settled.rule)) == outcome


def written(
    reviewer: Arbiter | None = None, user: Arbiter | None = None
) -> tuple[Told, Whiteboard, BoardWriter, Facts]:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    return told, board, writer, Facts(board, writer, reviewer, user)


async def test_a_contradiction_is_told_as_a_decision_on_the_board() -> None:
    _, board, _, facts = written()
    board.suggest(claim("3", "writer"))
    await facts.take_over()
    board.suggest(claim("12", "analyst", NOW, "lease.pdf"))
    await facts.take_over()
    fact = board.entry("facts", "months")
    assert fact is not None
    assert (fact.value, fact.who, fact.source, fact.version) == ("12", "analyst", "lease.pdf", 2)
    decision = board.entry("decisions", "facts.months")
    assert decision is not None
    assert decision.value == "«12» (analyst), not «3» (writer): a source beats a memory"
    assert decision.who == "coordinator"


async def test_two_that_agree_and_one_that_changes_its_mind_need_no_decision() -> None:
    told, board, _, facts = written()
    for each in (claim("3", "a"), claim("3.0", "b"), claim("3", "a")):
        board.suggest(each)
    await facts.take_over()
    assert [entry.value for entry in told.entries] == ["3"]
    _, board, _, facts = written()
    for value in ("3", "4"):
        board.suggest(claim(value, "a"))
        await facts.take_over()
    assert board.entry("decisions", "facts.months") is None
    assert [entry.value for entry in board.view("user")] == ["4"]


async def test_what_nobody_can_settle_is_a_blocker_until_somebody_can() -> None:
    _, board, _, facts = written()
    for each in (claim("3", "a"), claim("12", "b")):
        board.suggest(each)
    await facts.take_over()
    blocker = board.entry("blockers", "facts.months")
    assert blocker is not None
    assert blocker.value == "nobody can say which is right: «3» (a) and «12» (b)"
    assert [entry.value for entry in board.view("user") if entry.topic == "facts"] == ["3"]
    board.suggest(claim("12", "c"))
    await facts.take_over()
    fact = board.entry("facts", "months")
    assert fact is not None
    assert fact.value == "12"
    assert board.entry("blockers", "facts.months") is None
    (found,) = facts.contradictions.values()
    assert found.told == "«12» (c), not «3» (a): most workers say so"


@pytest.mark.parametrize("more", [claim("3", "c"), claim("3", "b")])
async def test_a_blocker_leaves_also_where_what_stood_there_was_right(more: Suggestion) -> None:
    told, board, _, facts = written()
    for each in (claim("3", "a"), claim("12", "b")):
        board.suggest(each)
    await facts.take_over()
    assert board.entry("blockers", "facts.months") is not None
    board.suggest(more)
    await facts.take_over()
    assert board.entry("blockers", "facts.months") is None
    off = [entry for entry in told.entries if entry.topic == "blockers"][-1]
    assert (off.key, off.value) == ("facts.months", "")


async def test_who_decided_stands_in_the_decision() -> None:
    _, board, _, facts = written(saying(1))
    for each in (claim("3", "a"), claim("12", "b")):
        board.suggest(each)
    await facts.take_over()
    decision = board.entry("decisions", "facts.months")
    assert decision is not None
    assert (decision.who, decision.value) == (
        "reviewer",
        "«12» (b), not «3» (a): the reviewer says so",
    )


async def test_what_is_written_while_a_judge_thinks_is_looked_at_too() -> None:
    asked = list[list[str]]()

    async def judge(key: str, claims: Sequence[Suggestion]) -> int | None:
        asked.append([each.value for each in claims])
        if len(asked) == 1:
            await writer.write("facts", "months", "5", 1, "coordinator")
        return len(claims) - 1

    _, board, writer, facts = written(judge)
    for each in (claim("3", "a"), claim("12", "b")):
        board.suggest(each)
    await facts.take_over()
    assert asked == [["3", "12"], ["5", "3", "12"]]
    fact = board.entry("facts", "months")
    assert fact is not None
    assert (fact.value, fact.version) == ("12", 3)


async def test_other_suggestions_are_written_as_they_are() -> None:
    _, board, _, facts = written()
    board.suggest(Suggestion("blockers", "door", "no key", "a", NOW))
    await facts.take_over()
    assert [(e.topic, e.value, e.who) for e in board.view("user")] == [("blockers", "no key", "a")]
