"""What a person has to give before a subtask runs: asked one by one, in time, told, never twice."""

import asyncio
from pathlib import Path

import pytest

from core.events import Event, MessageSent, Notice, SubtaskChanged
from core.team.graph import Need, Subtask, TaskGraph, problems
from modules.team.needs import Given, Needs, Refused, Wanted
from tests.modules.team.test_run import Played, answer, by_words


def wanted(
    needs: Need = "input",
    default: str | None = None,
    id_: str = "part",
    asked: str = "add {{input}}",
) -> Wanted:
    return Wanted(Subtask(id_, asked, needs=needs, question="Which?", default=default), asked, {})


class Person:
    """Says what it was given to say, and keeps what it was asked and all that was told."""

    def __init__(self, *says: str | None) -> None:
        self.says = [*says]
        self.asked: list[str] = []
        self.told: list[Event] = []
        self.open = self.most_open = 0

    async def __call__(self, wanted: Wanted) -> str | None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        self.asked.append(wanted.subtask.id)
        await asyncio.sleep(0)
        self.open -= 1
        return self.says.pop(0)

    async def tell(self, event: Event) -> None:
        self.told.append(event)

    @property
    def messages(self) -> list[tuple[str, str, str]]:
        sent = [event.message for event in self.told if isinstance(event, MessageSent)]
        return [(message.sender, message.kind, message.text) for message in sent]


async def test_what_the_person_says_stands_where_the_subtask_wants_it() -> None:
    person, part = Person("7"), wanted()
    given = await Needs(person, 60).settle(part, person.tell)
    assert given == Given("7", is_users=True)
    assert isinstance(given, Given)
    assert given.put_into(part) == "add 7"
    assert given.put_into(wanted(asked="add one")) == "add one\n\nWhich?\n7"
    assert person.messages == [("coordinator", "question", "Which?"), ("user", "answer", "7")]


@pytest.mark.parametrize(
    ("says", "settled"),
    [
        ("y", Given("", is_users=True)),
        ("Yes", Given("", is_users=True)),
        ("Yes, but not today", Refused("the user did not allow it: Yes, but not today")),
        ("", Refused("the user did not allow it")),
        ("No", Refused("the user did not allow it")),
        ("not before noon", Refused("the user did not allow it: not before noon")),
    ],
)
async def test_leave_is_given_by_a_yes_alone(says: str, settled: Given | Refused) -> None:
    person = Person(says)
    # The default stands for an answer that is not there, and never for a no.
    part = wanted("approval", default="yes")
    assert await Needs(person, 60).settle(part, person.tell) == settled


@pytest.mark.parametrize(
    ("needs", "default", "settled"),
    [
        ("input", "3", Given("3", is_users=False)),
        ("input", None, Refused("it needs an answer, and nobody is there to be asked")),
        ("approval", "yes", Given("", is_users=False)),
        ("approval", "no", Refused("its default did not allow it")),
        ("approval", None, Refused("it needs leave, and nobody is there to be asked")),
    ],
)
async def test_where_nobody_is_there_the_default_counts_and_that_is_told(
    needs: Need, default: str | None, settled: Given | Refused
) -> None:
    person = Person(None)
    for ask in (None, person):
        told = Person()
        assert await Needs(ask, 60).settle(wanted(needs, default), told.tell) == settled
        assert [sender for sender, _, _ in told.messages] == ["coordinator", "default"]
        assert isinstance(told.told[-1], Notice)
        assert "nobody is there to be asked" in told.told[-1].text


async def test_who_does_not_answer_in_time_is_not_waited_for() -> None:
    ended = asyncio.Event()

    async def never(wanted: Wanted) -> str | None:
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    person = Person()
    given = await Needs(never, seconds=0.01).settle(wanted(default="3"), person.tell)
    assert given == Given("3", is_users=False)
    assert ended.is_set()
    assert isinstance(notice := person.told[-1], Notice)
    assert "nobody answered within" in notice.text


async def test_two_that_ask_at_once_are_asked_one_after_the_other_and_none_twice() -> None:
    person = Person("1", "2")
    needs, parts = Needs(person, 60), [wanted(id_="one"), wanted(id_="two"), wanted(id_="one")]
    async with asyncio.timeout(5):
        await asyncio.gather(*(needs.settle(part, person.tell) for part in parts[:2]))
        again = await needs.settle(parts[2], person.tell)
    assert person.asked == ["one", "two"]
    assert person.most_open == 1
    assert again == Given("1", is_users=True)


def test_an_input_is_no_other_subtask() -> None:
    graph = TaskGraph("x", (Subtask("a", "add {{input}}", needs="input"),))
    assert problems(graph) == ()
    assert graph["a"].dependencies == ()
    assert problems(TaskGraph("x", (Subtask("a", "add {{input}}"),))) != ()


async def test_a_run_asks_before_a_part_and_leaves_out_what_is_not_allowed(tmp_path: Path) -> None:
    person = Person("the pear", "n")
    graph = TaskGraph(
        "two facts",
        (
            Subtask("first", "find a fact about {{input}}", needs="input"),
            Subtask("second", "mail {{first}}", needs="approval"),
        ),
    )
    replies = by_words(fact_about=answer("one"), mail=answer("sent"))
    played = Played(tmp_path, replies, person=person)
    outcome = await played.ask(graph)
    assert outcome.graph is not None
    assert outcome.graph.states == {"first": "completed", "second": "failed"}
    assert outcome.graph.reasons["second"] == "the user did not allow it"
    assert "find a fact about the pear" in played.model.requests[0].prompt
    assert len(played.model.requests) == 1
    changes = [e for e in played.events if isinstance(e, SubtaskChanged) and e.state == "failed"]
    assert [change.attempt for change in changes] == [1]  # a no is not asked for again
