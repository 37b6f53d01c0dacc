"""One question for leave at every door: the same facts are shown, answers mean the same."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from core.asking import Answer, AskedCall, Leave, LeaveQuestion, Question, ShownValue
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.errors import UsageError
from core.mcp.peer import RpcError
from core.provenance.known import ProvenancePolicy
from core.values import Json, JsonObject
from modules.asking import Asker, until_fitting
from modules.cli.composition import asking_leave
from modules.service.acp.asking import OTHER, EditorQuestions
from modules.service.acp.door import Editor
from modules.service.acp.updates import RunUpdates
from modules.service.http.endpoints.shapes import AnswerRequest
from modules.service.mcp_door.elicitation import Means, answer_of, elicitation_of
from modules.service.pool import User
from modules.service.python import person_of
from modules.service.served.events import EventWords
from modules.service.served.runs import ServedRun
from modules.terminal.asking.questions import Questions
from tests.modules.service.made import checked
from tests.modules.terminal.asking.person import CTRL_D, Person

OURS = "s3cr3t-of-mine"
REDACTOR = Redactor({"API_KEY": OURS})
TO = ("ann@x.example", "ben@x.example", "cy@x.example")
LINE = "line 3 of bill.txt"
RULES = tuple(f"mail.send(to={each})" for each in TO)


@frozen
class Said:
    """What the person means to say, in whatever way the door has for it."""

    text: str = ""
    rule: str = ""
    only: tuple[int, ...] | None = None
    declined: bool = False


NO_ANSWER = Said(declined=True)


class Door(Protocol):
    """Puts a question for leave to a person who says these things, one after the other."""

    def __init__(self, *says: Said) -> None: ...

    async def ask(self, question: LeaveQuestion) -> Leave | None:
        """What the engine gets."""
        ...

    def shown(self) -> str:
        """All that the person has seen."""
        ...


class Doorway:
    """What a door keeps; those of the service are asked by the one `Asker`."""

    def __init__(self, *says: Said) -> None:
        self.says = [*says]
        self.seen: list[str] = []

    async def ask(self, question: LeaveQuestion) -> Leave | None:
        async with asyncio.timeout(20):
            return await Asker(self.put, REDACTOR, nullcontext).allow(question)

    async def put(self, question: Question) -> Answer | None:
        raise NotImplementedError

    def shown(self) -> str:
        return "\n".join(self.seen)


class Terminal(Doorway):
    """Keys at a scripted terminal."""

    def __init__(self, *says: Said) -> None:
        self._person = Person(*(line for said in says for line in self._lines(said)))
        self._person.attended = bool(says)

    @staticmethod
    def _lines(said: Said) -> Sequence[str | Exception]:
        if said.declined:
            return [CTRL_D]
        key = {"session": "a", "always": "A"}.get(said.text, said.text)
        if said.rule:
            return ["e", said.rule, key]
        if said.only is not None:
            return ["o", *("y" if number in said.only else "n" for number in range(len(TO)))]
        return [key]

    async def ask(self, question: LeaveQuestion) -> Leave | None:
        questions = Questions(self._person, lambda stage, text: None)
        asking = asking_leave(questions, nullcontext, ProvenancePolicy, REDACTOR)
        assert asking is not None
        async with asyncio.timeout(20):
            return await asking(question)

    def shown(self) -> str:
        return self._person.shown


class Python(Doorway):
    """A program's own function, which sees the question as an object."""

    async def put(self, question: Question) -> Answer | None:
        return await person_of(self._answer)(question)

    async def _answer(self, question: Question) -> Answer | str | None:
        self.seen.append(question.text)
        for call in question.calls:
            self.seen += [
                f"{call.tool} {each.name} {each.value} {each.origin}" for each in call.values
            ]
        self.seen += [*question.why, *question.rules]
        if not self.says:
            return None
        said = self.says.pop(0)
        if said == Said(said.text):
            return said.text
        return Answer(said.text, declined=said.declined, rule=said.rule, only=said.only)


class Http(Doorway):
    """The events of a run, and the bodies of `POST /runs/{id}/answer`."""

    async def put(self, question: Question) -> Answer | None:
        words = EventWords("r", REDACTOR, lambda: 0.0)
        run = ServedRun("0" * 32, User(), "default", "s", words)
        putting = asyncio.create_task(run.put(question))
        events = run.events()
        event = checked(await anext(events))
        asked = event.data["question"]
        assert isinstance(asked, dict)
        self.seen.append(json.dumps(asked, ensure_ascii=False))
        if not self.says:
            run.answer(str(asked["id"]), None)
        while not putting.done() and self.says:
            body = {"question_id": asked["id"], **self._body(self.says.pop(0))}
            given = AnswerRequest.model_validate_json(json.dumps(body))
            try:
                run.answer(given.question_id, given.answer)
                break
            except UsageError as error:  # a problem document; the question stays open
                self.seen.append(str(error))
        answer = await putting
        await self._closed(events)
        return answer

    @staticmethod
    def _body(said: Said) -> JsonObject:
        body: JsonObject = {"text": said.text, "declined": said.declined}
        if said.rule:
            body["rule"] = said.rule
        if said.only is not None:
            body["only"] = [*said.only]
        return body

    async def _closed(self, events: AsyncIterator[object]) -> None:
        await anext(events)  # `clarify.answered`


class Acp(Doorway):
    """Buttons and the chat of an editor."""

    def __init__(self, *says: Said) -> None:
        super().__init__(*says)
        door = self

        class Typing(Editor):
            """Presses the button, or says what no button is for in the chat."""

            def __init__(self) -> None:
                self.has_forms = False

            async def ask(self, method: str, params: JsonObject) -> JsonObject:
                assert method == "session/request_permission"
                return door.pressed(params)

        self._typing = ""
        updates = RunUpdates(self._hear, REDACTOR, Path("/work"))
        self._editor = EditorQuestions("s", Typing(), self._chat, updates, REDACTOR, Path("/work"))

    async def put(self, question: Question) -> Answer | None:
        return await self._editor.put(question)

    def pressed(self, params: JsonObject) -> JsonObject:
        call = params["toolCall"]
        assert isinstance(call, dict)
        for told in (call["title"], call["content"], params["options"]):
            self.seen.append(json.dumps(told, ensure_ascii=False).replace("\\n", "\n"))
        if not self.says:
            raise RpcError(-32603, "the editor is gone")
        said = self.says.pop(0)
        offered = params["options"]
        assert isinstance(offered, list)
        values = [each["optionId"] for each in offered if isinstance(each, dict)]
        if said.declined:
            return {"outcome": {"outcome": "selected", "optionId": "no"}}
        if said.text in values and not said.rule and said.only is None:
            return {"outcome": {"outcome": "selected", "optionId": said.text}}
        self._typing = f"{said.text} {said.rule}".strip()
        if said.only is not None:
            self._typing = ", ".join(str(number + 1) for number in said.only)
        return {"outcome": {"outcome": "selected", "optionId": OTHER}}

    async def _chat(self, text: str) -> str | None:
        self.seen.append(text)
        return self._typing

    async def _hear(self, update: JsonObject) -> None:
        """Updates of calls tell nothing that the request does not."""


class Mcp(Doorway):
    """Forms of a client (elicitation)."""

    async def put(self, question: Question) -> Answer | None:
        return await until_fitting(self._elicit, question)

    async def _elicit(self, question: Question) -> Answer | None:
        means = Means(forms=True)
        asked = elicitation_of(question, means, has_ids=True).params
        assert isinstance(asked, ElicitRequestFormParams)
        self.seen += [asked.message, json.dumps(asked.requested_schema)]
        if not self.says:
            return answer_of(question, ElicitResult(action="cancel"), means)
        said = self.says.pop(0)
        if said.declined:
            return answer_of(question, ElicitResult(action="decline"), means)
        content: dict[str, str | int | float | bool | list[str] | None] = {"answer": said.text}
        if len(question.rules) == 1:
            content["rule"] = question.rules[0]  # a form sends its defaults, too
        if said.text.lower() not in ("y", "yes", "once", "session", "always", "no"):
            content |= {"answer": "no", "words": said.text}
        if said.rule:
            content["rule"] = said.rule
        if said.only is not None:
            content["only"] = [str(number + 1) for number in said.only]
        return answer_of(question, ElicitResult(action="accept", content=content), means)


DOORS: list[type[Door]] = [Terminal, Python, Http, Acp, Mcp]

at_every_door = pytest.mark.parametrize("door", DOORS)


def call(to: str, text: str = "hello", line: str = LINE) -> AskedCall:
    arguments: JsonObject = {"to": to, "text": text}
    values = ShownValue("to", to, line), ShownValue("text", text, "unknown")
    return AskedCall("mail.send", values, arguments)


ONE = LeaveQuestion((call(TO[0]),), ("it may change something",), RULES[:1])
THREE = LeaveQuestion(
    (*map(call, TO),), ("it may change something", "you have not named ben"), RULES
)


def plain(text: str) -> str:
    """Without the marks and breaks of a narrow terminal."""
    return " ".join(text.replace("│", " ").split())


@at_every_door
async def test_each_value_is_shown_with_where_it_comes_from_and_why_and_the_rules(
    door: type[Door],
) -> None:
    asking = door(Said("no"))
    assert await asking.ask(THREE) == Leave("no")
    shown = plain(asking.shown())
    for fact in ("mail", "send", "3 times", *THREE.why, *RULES):
        assert fact in shown
    at = 0
    for to in TO:
        for fact in ("to", to, LINE, "text", "hello", "unknown"):
            at = shown.index(fact, at) + len(fact)


@at_every_door
@pytest.mark.parametrize(
    ("said", "leave"),
    [
        (Said("once"), Leave("once")),
        (Said("y"), Leave("once")),
        (Said("yes"), Leave("once")),
        (Said("YES"), Leave("once")),
        (Said("session"), Leave("session")),
        (Said("always"), Leave("always")),
        (Said("no"), Leave("no")),
        (NO_ANSWER, Leave("no")),
        (Said("write to Ben in her place"), Leave("no", "write to Ben in her place")),
        (
            Said("session", "mail.send(to=*@x.example)"),
            Leave("session", "", "mail.send(to=*@x.example)"),
        ),
        (Said("always", " send( to = *@x.example )"), Leave("always", "", "send(to=*@x.example)")),
    ],
)
async def test_an_answer_means_the_same(door: type[Door], said: Said, leave: Leave) -> None:
    assert await door(said).ask(ONE) == leave
    assert await door(said).ask(THREE) == leave


@at_every_door
async def test_of_several_calls_some_may_be_allowed(door: type[Door]) -> None:
    leave = await door(Said("once", only=(0, 2))).ask(THREE)
    assert leave == Leave("once", only=frozenset({0, 2}))
    assert leave is not None
    assert [leave.allows(number) for number in range(3)] == [True, False, True]


@at_every_door
@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("mail.send(to=", "is no rule"),
        ("mail.send and more", "is no rule"),
        ("files.delete(*)", "the rule is for files.delete; write one for mail.send"),
    ],
)
async def test_what_is_no_rule_for_the_tool_is_said_and_is_no_yes(
    door: type[Door], rule: str, why: str
) -> None:
    asking = door(Said("session", rule), NO_ANSWER)
    assert await asking.ask(ONE) == Leave("no")
    assert why in plain(asking.shown())


@pytest.mark.parametrize("door", [Terminal, Python, Http, Acp])  # MCP's form has a field for words
async def test_a_yes_with_conditions_is_asked_about_once_more(door: type[Door]) -> None:
    asking = door(Said("yes, but only to Ann"), Said("only to Ann"))
    assert await asking.ask(ONE) == Leave("no", "only to Ann")
    assert "is more than a yes" in plain(asking.shown())


@at_every_door
async def test_a_rule_that_nobody_can_check_by_eye_is_not_kept_but_may_be_written(
    door: type[Door],
) -> None:
    too_long = LeaveQuestion(ONE.calls, ONE.why, ())
    asking = door(Said("session"), NO_ANSWER)
    assert await asking.ask(too_long) == Leave("no")
    assert "too long for a rule" in plain(asking.shown())
    written = await door(Said("session", "mail.send")).ask(too_long)
    assert written == Leave("session", "", "mail.send")


@at_every_door
async def test_no_secret_is_shown(door: type[Door]) -> None:
    secret = LeaveQuestion((call(OURS, OURS),), (OURS,), (f"mail.send(to={OURS})",))
    asking = door(Said("no"))
    await asking.ask(secret)
    assert "API_KEY" in asking.shown()
    assert OURS not in asking.shown()


@at_every_door
async def test_where_nobody_answers_nothing_is_allowed_or_refused(door: type[Door]) -> None:
    assert await door().ask(ONE) is None


@pytest.mark.parametrize("door", [Terminal, Acp, Mcp])
async def test_what_hides_in_a_value_is_shown_where_the_door_writes_the_text(
    door: type[Door],
) -> None:
    asking = door(Said("no"))
    await asking.ask(LeaveQuestion((call("a\u202eb\u200b"),), ("why",), ()))
    assert "\u202e" not in asking.shown()
    assert "\\u202e" in asking.shown()


@pytest.mark.parametrize("door", [Python, Http])
@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said("once", only=(3,)), "there are 3 calls, numbered from 0"),
        (Said("once", only=(-1,)), "there are 3 calls, numbered from 0"),
        (Said("once", only=()), "name at least one"),
        (Said("no", only=(1,)), "allowed with a yes"),
        (Said("once", rule="mail.send"), "with 'session' or 'always'"),
    ],
)
async def test_what_can_not_be_meant_is_said(door: type[Door], said: Said, why: str) -> None:
    asking = door(said, NO_ANSWER)
    assert await asking.ask(THREE) == Leave("no")
    assert why in asking.shown()


VALUES: list[Json] = [None, True, 7, 98.7, "", ["a", "b"], {"deep": [1]}]


@at_every_door
async def test_a_value_of_any_kind_is_shown(door: type[Door]) -> None:
    values = tuple(ShownValue(f"arg{at}", each, "computed") for at, each in enumerate(VALUES))
    asking = door(Said("no"))
    assert await asking.ask(LeaveQuestion((AskedCall("a.b", values, {}),), ("why",), ())) == Leave(
        "no"
    )
    assert asking.shown().count("computed") >= len(VALUES)


@at_every_door
async def test_calls_without_arguments_are_asked_about_too(door: type[Door]) -> None:
    nothing = LeaveQuestion((AskedCall("a.stop", (), {}),), ("why",), ("a.stop",))
    assert await door(Said("yes")).ask(nothing) == Leave("once")
