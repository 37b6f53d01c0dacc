"""What a person is asked without a terminal, and what becomes of the answers."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from core.asking import Answer, AskedCall, LeaveQuestion, Question, ShownValue
from core.base.redaction import Redactor
from core.dispatch.hooks import QUESTIONS_PER_RUN, ToolChange
from core.errors import UsageError
from core.mcp import hooks
from core.mcp.hooks import Reply
from core.team.graph import Subtask
from core.values import Json, JsonObject
from modules.asking import ATTEMPTS_MAX, DETAIL_CHARACTERS_MAX, Asker, fitting
from modules.team.needs import Wanted

OURS = "s3cr3t-of-mine"


class Person:
    """Gives one answer to every question, and keeps what it was asked; None never answers."""

    def __init__(self, answer: Answer | None = None, seconds: float = 20.0) -> None:
        self.asked: list[Question] = []
        self.told: list[str] = []
        self.standing = 0
        self._answer = answer
        self.questions = Asker(
            self._put, Redactor({"API_KEY": OURS}), self._still, seconds, self._tell
        )

    @contextmanager
    def _still(self) -> Generator[None]:
        self.standing += 1
        try:
            yield
        finally:
            self.standing -= 1

    async def _put(self, question: Question) -> Answer | None:
        assert self.standing == 1
        self.asked.append(question)
        if self._answer is None:
            await asyncio.Event().wait()
        return self._answer

    async def _tell(self, text: str) -> None:
        self.told.append(text)


def form(required: tuple[str, ...] = (), **fields: Json) -> hooks.Question:
    schema: JsonObject = {
        "type": "object",
        "properties": fields,
        "required": [*required],
    }
    return hooks.Question("booking", "Well?", schema)


AGE: JsonObject = {"type": "integer", "minimum": 1}


async def test_a_form_is_put_as_it_is_and_its_values_go_back() -> None:
    person = Person(Answer(content={"age": 7}))
    assert await person.questions.ask(form(age=AGE)) == Reply("accept", {"age": 7})
    [asked] = person.asked
    assert (asked.kind, asked.text) == ("form", "server 'booking' asks: Well?")
    assert asked.form["properties"] == {"age": AGE}
    assert person.standing == 0


@pytest.mark.parametrize(
    "question",
    [
        form(password={"type": "string", "title": OURS}),
        hooks.Question("booking", "Go", url=f"https://x.example/?key={OURS}"),
        form(odd={"type": "object"}),
        hooks.Question("booking", "Well?", {"properties": {f"f{n}": {} for n in range(51)}}),
        form(long={"type": "string", "title": "x" * DETAIL_CHARACTERS_MAX}),
    ],
)
async def test_what_holds_our_secrets_or_is_no_form_or_too_long_is_never_put(
    question: hooks.Question,
) -> None:
    person = Person(Answer())
    assert await person.questions.ask(question) == Reply("decline")
    assert person.asked == []


async def test_texts_go_out_without_our_secrets() -> None:
    person = Person(Answer(OURS))
    await person.questions.ask_back(f"is {OURS} right?")
    await person.questions.ask(hooks.Question("booking", f"is {OURS} right?"))
    assert not [question for question in person.asked if OURS in question.text]


@pytest.mark.parametrize(("said", "action"), [("done", "accept"), ("no", "decline")])
async def test_a_page_is_visited_by_the_person(said: str, action: str) -> None:
    person = Person(Answer(said))
    reply = await person.questions.ask(
        hooks.Question("bank", "Sign in", url="https://bank.example/")
    )
    assert reply.action == action
    assert person.asked[0].url == "https://bank.example/"
    assert [*person.asked[0].options] == ["done", "no"]


async def test_who_declines_and_who_never_answers_are_told_apart() -> None:
    declines, sleeps = Person(Answer(declined=True)), Person(None, 0.01)
    assert await declines.questions.ask(form(age=AGE)) == Reply("decline")
    assert await sleeps.questions.ask(form(age=AGE)) == Reply("cancel")
    assert await sleeps.questions.ask_back("which?") is None
    assert await sleeps.questions.approve([ToolChange("s", "t", "a", "b")]) is False
    assert sleeps.standing == 0


async def test_servers_ask_so_much_a_request_and_no_more() -> None:
    person = Person(Answer(content={"age": 7}))
    change = [ToolChange("s", "t", "a", "b")]
    replies = [await person.questions.ask(form(age=AGE)) for _ in range(QUESTIONS_PER_RUN + 2)]
    assert [reply.action for reply in replies] == ["accept"] * QUESTIONS_PER_RUN + ["decline"] * 2
    assert await person.questions.approve(change) is False
    assert await person.questions.ask_back("which?") is None  # a plan's own are not counted
    assert len(person.asked) == QUESTIONS_PER_RUN + 1
    assert person.told == [
        f"servers have asked {QUESTIONS_PER_RUN} questions in this run; "
        "further ones are declined until the next request"
    ]
    person.questions.begin_request()
    assert (await person.questions.ask(form(age=AGE))).action == "accept"


async def test_a_call_that_nobody_can_check_by_eye_is_refused_without_a_question() -> None:
    person = Person(Answer("once"))
    long = ShownValue("text", "x" * DETAIL_CHARACTERS_MAX, "unknown")
    question = LeaveQuestion((AskedCall("mail.send", (long,), {}),), ("why",), ())
    assert await person.questions.allow(question) is None
    assert person.asked == []


async def test_an_answer_that_does_not_fit_is_told_and_asked_for_so_often_and_no_more() -> None:
    person = Person(Answer(content={"age": "seven"}))
    assert await person.questions.ask(form(age=AGE)) == Reply("cancel")
    assert len({asked.id for asked in person.asked}) == len(person.asked) == ATTEMPTS_MAX
    first, *others = (asked.text for asked in person.asked)
    assert "no answer" not in first
    assert {*others} == {
        "That was no answer: the value of 'age' does not fit: it is held against "
        f'{{"type": "integer", "minimum": 1}}.\n{first}'
    }


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (Answer(" yes "), "yes"),
        (Answer("y"), "yes"),
        (Answer("not before noon"), "not before noon"),
        (Answer(declined=True), ""),
        (None, None),
    ],
)
async def test_a_part_that_needs_a_word(said: Answer | None, text: str | None) -> None:
    person = Person(said, 20 if said else 0.01)
    part = Subtask("pay", "pay the bill", needs="approval", question="Pay?", default="no")
    assert await person.questions.ask_for(Wanted(part, "pay 7", {"bill": "7 zl"})) == text
    [asked] = person.asked
    assert (asked.kind, asked.default, [*asked.options]) == ("part", "no", ["yes", "no"])
    assert asked.detail == "pay 7\n\nbill:\n7 zl"


FORM = Question("1", "form", "", form=form(("age",), age=AGE, name={"type": "string"}).fields)
VISIT = Question("1", "visit", "", options={"done": "", "no": ""})


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        (FORM, Answer(content={"age": "7"}), "'age' does not fit"),
        (FORM, Answer(content={"age": True}), "'age' does not fit"),
        (FORM, Answer(content={"age": 7, "more": 1}), "no field 'more'; its fields: age"),
        (FORM, Answer(content={"name": "Ann"}), "lacks age"),
        (VISIT, Answer("perhaps"), "one of: done, no"),
        (VISIT, Answer(), "one of: done, no"),
    ],
)
def test_an_answer_that_does_not_fit_says_what_would(
    question: Question, answer: Answer, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        fitting(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (FORM, Answer(content={"age": 7})),
        (FORM, Answer(declined=True)),
        (VISIT, Answer("done")),
        (Question("1", "question", ""), Answer("anything")),
        (Question("1", "approval", "", options={"no": ""}), Answer("ask Ben first")),
        (Question("1", "form", ""), Answer()),
    ],
)
def test_an_answer_that_fits_goes_through(question: Question, answer: Answer) -> None:
    fitting(question, answer)
