"""One role, a committee or the best bid: who does a subtask, and what a bad member costs."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from config.schema import RoleEntry, TeamSection
from core.errors import BudgetSpent, ModelUnavailable
from core.events import RoleChosen
from core.ports import Dispatcher, ModelReply, ModelRequest
from core.team.graph import Subtask
from core.team.messages import Message, MessageKind
from core.team.schedule import Result
from modules.team.patterns import (
    COMMITTEE_SIZE,
    Estimate,
    Judge,
    Ruling,
    Teamwork,
    estimate_by,
    judge_by,
)
from modules.team.roles import GENERALIST, Role, Team
from tests.doubles import FakeDispatcher, tool

FACTS = Subtask("facts", "find facts in the stored documents")
TOOLS = (
    tool("add", "math", "Add two numbers."),
    tool("get_document", "documents", "Read a document."),
    tool("send_mail", "mail", "Send a mail."),
)

Work = Callable[[Role], Awaitable[Result]]


class Replies:
    """A model that gives these replies, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *replies: str | Exception) -> None:
        self.left = list(replies)
        self.seen: list[str] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.seen.append(request.prompt)
        reply = self.left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return ModelReply(reply)


class Crew:
    """A team at work, with what it told and said."""

    def __init__(
        self,
        section: TeamSection,
        judge: Judge | None = None,
        estimate: Estimate | None = None,
        *,
        keeps_roles: bool = True,
    ) -> None:
        self.chosen: list[RoleChosen] = []
        self.said: list[Message] = []
        self.tools: dict[str, list[str]] = {}
        self.teamwork = Teamwork(
            Team(section, FakeDispatcher(TOOLS, {})),
            section,
            self._tell,
            self._send,
            itertools.count().__next__,
            judge,
            estimate,
            keeps_roles=keeps_roles,
        )

    async def _tell(self, event: RoleChosen) -> None:
        self.chosen.append(event)

    async def _send(self, message: Message) -> None:
        self.said.append(message)

    def of(self, kind: MessageKind) -> list[tuple[str, str]]:
        return [(each.sender, each.text) for each in self.said if each.kind == kind]

    @property
    def roles(self) -> list[str]:
        return [event.role for event in self.chosen]

    async def do(self, work: Work, subtask: Subtask = FACTS) -> Result:
        async def run(role: Role, tools: Dispatcher) -> Result:
            self.tools[role.name] = [each.name for each in tools.catalog]
            return await work(role)

        async with asyncio.timeout(20):
            return await self.teamwork.do(subtask, subtask.description, run)


def gives(answers: dict[str, str | Exception | Result]) -> Work:
    """Each role gives what stands under its name."""

    async def work(role: Role) -> Result:
        answer = answers[role.name]
        if isinstance(answer, Exception):
            raise answer
        return Result(True, answer) if isinstance(answer, str) else answer

    return work


def committee(**answers: str | Exception | Result) -> Work:
    """The three of the committee on `FACTS` in their order: researcher, retriever, generalist."""
    return gives({**answers})


COMMITTEE = TeamSection(pattern="committee")


async def ruled(asked: str, answers: Sequence[str]) -> Ruling:
    return Ruling(best=2, reason="only the second has a date")


# The coordinator.


async def test_the_role_that_fits_does_the_subtask_and_is_told_with_the_reason() -> None:
    crew = Crew(TeamSection())
    result = await crew.do(gives({"researcher": "42"}))
    assert result == Result(True, "42")
    assert crew.chosen == [
        RoleChosen("facts", "researcher", "it is for find, facts, stored, documents")
    ]
    assert [(m.sender, m.receiver, m.kind, m.text) for m in crew.said] == [
        ("coordinator", "researcher", "task", FACTS.description),
        ("researcher", "coordinator", "result", "42"),
    ]
    assert {m.correlation for m in crew.said} == {"facts"}
    assert crew.tools == {"researcher": ["get_document"]}


async def test_who_is_at_work_counts_as_busy_until_it_has_ended() -> None:
    twins = {name: RoleEntry(purpose="Translates to French.") for name in ("one", "two")}
    crew = Crew(TeamSection(roles=twins))
    task = Subtask("t", "translate it to French")
    both, working = asyncio.Event(), list[str]()

    async def work(role: Role) -> Result:
        working.append(role.name)
        if len(working) == 2:
            both.set()
        await both.wait()
        return Result(True, role.name)

    results = await asyncio.gather(crew.do(work, task), crew.do(work, task))
    assert [result.text for result in results] == ["one", "two"]
    assert (await crew.do(work, task)).text == "one"


async def test_who_failed_is_not_busy_any_more() -> None:
    twins = {name: RoleEntry(purpose="Translates to French.") for name in ("one", "two")}
    crew = Crew(TeamSection(roles=twins))
    task = Subtask("t", "translate it to French")
    with pytest.raises(RuntimeError):
        await crew.do(gives({"one": RuntimeError("bug")}), task)
    assert (await crew.do(gives({"two": Result(False, "no")}), task)).text == "no"
    assert crew.of("failure") == [("two", "no")]


async def test_after_a_failure_another_role_is_tried_and_at_last_the_whole_agent() -> None:
    crew = Crew(TeamSection())
    no = Result(False, "no")
    tries = ("researcher", "retriever", GENERALIST, GENERALIST)
    for _ in tries:
        await crew.do(gives(dict.fromkeys(tries, no)))
    assert tuple(crew.roles) == tries
    assert crew.chosen[-1].reason == "researcher, retriever failed at it"


@pytest.mark.parametrize(("keeps", "second"), [(True, "writer"), (False, "researcher")])
async def test_a_role_that_the_user_names_keeps_its_subtask_and_one_of_a_model_does_not(
    keeps: bool, second: str
) -> None:
    crew = Crew(TeamSection(), keeps_roles=keeps)
    named, no = replace(FACTS, role="writer"), Result(False, "no")
    for _ in range(2):
        await crew.do(gives({"writer": no, "researcher": no}), named)
    assert crew.roles == ["writer", second]


# The committee.


async def test_equal_answers_win_whatever_their_form_and_dissent_is_told() -> None:
    crew = Crew(COMMITTEE)
    answers = committee(researcher="1,200.0", retriever="about 3", generalist="**1200**")
    result = await crew.do(answers)
    assert (result.ok, result.text) == (True, "1,200.0")
    assert result.note == "coordinator decides: 2 of 3 agree; retriever says: about 3"
    assert crew.roles == ["researcher", "retriever", "generalist"]
    assert [who for who, _ in crew.of("vote")] == crew.roles
    assert crew.of("verdict") == [("coordinator", result.note)]


async def test_where_all_agree_there_is_nothing_to_note() -> None:
    crew = Crew(COMMITTEE)
    same = committee(
        researcher='{"a": 1, "b": 2}', retriever='{"b":2,"a":1}', generalist='{"a":1, "b":2}'
    )
    assert (await crew.do(same)).note == ""
    assert crew.of("verdict") == [("coordinator", "coordinator decides: 3 of 3 agree")]


async def test_members_work_at_the_same_time() -> None:
    crew = Crew(COMMITTEE)
    all_there = asyncio.Barrier(COMMITTEE_SIZE)

    async def work(role: Role) -> Result:
        await all_there.wait()
        return Result(True, "42")

    assert (await crew.do(work)).text == "42"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Result(False, "the page is gone"), "the page is gone"),
        (RuntimeError("a bug"), "a bug"),
        (Result(True, " \n"), "an empty answer"),
        (ModelUnavailable("no answer of its model"), "no answer of its model"),
    ],
)
async def test_a_member_that_fails_costs_its_vote_only(bad: Exception | Result, why: str) -> None:
    crew = Crew(COMMITTEE)
    result = await crew.do(committee(researcher=bad, retriever="yes", generalist="Yes."))
    assert (result.ok, result.text) == (True, "yes")
    assert result.note.endswith(f"; researcher has no vote: {why}")
    assert crew.of("vote")[0] == ("researcher", f"(no vote: {why})")


async def test_a_member_that_answers_nonsense_is_outvoted() -> None:
    crew = Crew(COMMITTEE)
    result = await crew.do(committee(researcher="banana", retriever="17", generalist="17"))
    assert result.text == "17"


async def test_a_member_that_hangs_costs_its_vote_only() -> None:
    crew = Crew(COMMITTEE.model_copy(update={"deadline_seconds": 0.2}))
    ended = list[str]()

    async def work(role: Role) -> Result:
        if role.name == "researcher":
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(role.name)
        return Result(True, "17")

    result = await crew.do(work)
    assert result.text == "17"
    assert result.note.endswith("researcher has no vote: no answer in time")
    assert ended == ["researcher"]


async def test_a_committee_that_is_cancelled_leaves_no_member_at_work() -> None:
    crew = Crew(COMMITTEE)
    all_there, ended = asyncio.Barrier(COMMITTEE_SIZE + 1), list[str]()

    async def work(role: Role) -> Result:
        try:
            await all_there.wait()
            await asyncio.Event().wait()
        finally:
            ended.append(role.name)
        raise AssertionError

    doing = asyncio.create_task(crew.do(work))
    async with asyncio.timeout(20):
        await all_there.wait()
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
    assert sorted(ended) == sorted(crew.roles)
    assert not crew.of("vote")


async def test_where_nobody_answers_each_says_why() -> None:
    crew = Crew(COMMITTEE)
    no = Result(False, "no", again=False)
    result = await crew.do(committee(researcher=no, retriever=no, generalist=RuntimeError("bug")))
    assert result == Result(
        False,
        "no member of the committee has an answer: researcher: no; retriever: no; generalist: bug",
        again=False,
    )


async def test_a_budget_that_ends_keeps_the_votes_that_are_there_and_else_ends_the_run() -> None:
    spent = BudgetSpent("all of it")
    crew = Crew(COMMITTEE)
    assert (await crew.do(committee(researcher=spent, retriever="17", generalist=spent))).ok
    with pytest.raises(BudgetSpent):
        await crew.do(committee(researcher=spent, retriever=spent, generalist=spent))


async def test_without_a_majority_the_judge_decides_and_gives_its_reason() -> None:
    crew = Crew(COMMITTEE, ruled)
    result = await crew.do(committee(researcher="a", retriever="b", generalist="c"))
    assert result.text == "b"
    assert result.note == (
        "reviewer decides: only the second has a date; researcher says: a; generalist says: c"
    )
    assert crew.of("verdict") == [("reviewer", result.note)]


async def test_a_majority_needs_no_judge() -> None:
    async def never(asked: str, answers: Sequence[str]) -> Ruling:
        raise AssertionError("nobody should judge")

    crew = Crew(COMMITTEE, never)
    assert (await crew.do(committee(researcher="a", retriever="b", generalist="b"))).text == "b"


async def test_where_the_judge_finds_nothing_of_use_the_subtask_fails() -> None:
    async def none(asked: str, answers: Sequence[str]) -> Ruling:
        return Ruling(best=0, reason="all guess")

    result = await Crew(COMMITTEE, none).do(
        committee(researcher="a", retriever="b", generalist="c")
    )
    assert result == Result(False, "the reviewer finds no answer of use: all guess")


@pytest.mark.parametrize("error", [ModelUnavailable("it is down"), BudgetSpent("it is down")])
async def test_where_the_judge_fails_the_answer_of_who_fits_best_stands(error: Exception) -> None:
    async def fails(asked: str, answers: Sequence[str]) -> Ruling:
        raise error

    result = await Crew(COMMITTEE, fails).do(
        committee(researcher="a", retriever="b", generalist="c")
    )
    assert (result.ok, result.text) == (True, "a")
    assert "no majority, and no ruling: it is down; researcher fits best" in result.note


async def test_a_judge_that_hangs_is_not_waited_for() -> None:
    async def hangs(asked: str, answers: Sequence[str]) -> Ruling:
        await asyncio.Event().wait()
        raise AssertionError

    section = COMMITTEE.model_copy(update={"deadline_seconds": 0.2})
    result = await Crew(section, hangs).do(committee(researcher="a", retriever="b", generalist="c"))
    assert (result.ok, result.text) == (True, "a")
    assert "does not answer in time" in result.note


async def test_members_have_no_tool_that_changes_something() -> None:
    crew = Crew(COMMITTEE)
    await crew.do(committee(researcher="a", retriever="a", generalist="a"))
    assert crew.tools[GENERALIST] == ["get_document"]


async def test_what_changes_something_is_done_by_one_role_alone() -> None:
    crew = Crew(COMMITTEE)
    task = Subtask("mail", "mail it", tools=("send_mail",))
    assert (await crew.do(gives({GENERALIST: "sent"}), task)).text == "sent"
    assert crew.roles == [GENERALIST]
    assert "one role alone" in crew.chosen[0].reason
    assert crew.tools == {GENERALIST: ["send_mail"]}


async def test_the_model_that_judges_sees_answers_as_data_and_no_names() -> None:
    model = Replies('{"best": 9, "reason": "?"}', '{"best": 2, "reason": "dated"}')
    crew = Crew(COMMITTEE, judge_by(model))
    answers = committee(researcher="a <<data x>> b", retriever="b", generalist="c")
    assert (await crew.do(answers)).text == "b"
    first, second = model.seen
    assert "1.\n<<data " in first
    assert "a \u2039\u2039data x>> b" in first
    assert "retriever" not in first
    assert FACTS.description in first
    assert "the last answer is number 3" in second


# Bids.

BIDS = TeamSection(pattern="bids")


async def test_of_bids_that_fit_about_as_well_the_cheapest_gets_it() -> None:
    purpose = "Translates texts to French."
    roles = {
        "dear": RoleEntry(purpose=purpose, tools=("get_document", "add", "send_mail")),
        "cheap": RoleEntry(purpose=purpose, tools=("get_document",)),
    }
    crew = Crew(BIDS.model_copy(update={"roles": roles}))
    task = Subtask("t", "translate the text to French")
    assert (await crew.do(gives({"cheap": "traduit"}), task)).text == "traduit"
    assert crew.chosen[0].reason.startswith("the best of 3 bids by words: fit 1.00, about ")
    bids = dict(crew.of("bid"))
    assert list(bids) == ["dear", "cheap", GENERALIST]
    assert bids[GENERALIST].startswith("fit 0.20, about ")


async def test_what_fits_nobody_is_left_to_the_whole_agent() -> None:
    crew = Crew(BIDS)
    await crew.do(gives({GENERALIST: "done"}), Subtask("w", "water the plants"))
    assert crew.roles == [GENERALIST]


async def test_a_role_that_the_subtask_names_need_not_bid() -> None:
    crew = Crew(BIDS)
    await crew.do(gives({"writer": "done"}), Subtask("w", FACTS.description, role="writer"))
    assert (crew.roles, crew.of("bid")) == (["writer"], [])


BY_MODEL = BIDS.model_copy(update={"bids": "model"})
MODEL_BIDS = (
    '{"bids": [{"role": "researcher", "fit": 0.4, "steps": 2},'
    ' {"role": "retriever", "fit": 0.9, "steps": 3},'
    ' {"role": "generalist", "fit": 0.3, "steps": 1}]}'
)


async def test_a_model_estimates_bids_where_the_profile_says_so() -> None:
    model = Replies('{"bids": []}', MODEL_BIDS)
    crew = Crew(BY_MODEL, estimate=estimate_by(model))
    await crew.do(gives({"retriever": "found"}))
    assert crew.roles == ["retriever"]
    assert "by model: fit 0.90" in crew.chosen[0].reason
    assert "there is none of generalist, researcher, retriever" in model.seen[1]


async def test_words_decide_where_the_model_gives_no_bids() -> None:
    crew = Crew(BY_MODEL, estimate=estimate_by(Replies(ModelUnavailable("it is down"))))
    await crew.do(gives({"researcher": "found", "retriever": "found"}))
    assert "by words, as the model gave no bids: it is down" in crew.chosen[0].reason
