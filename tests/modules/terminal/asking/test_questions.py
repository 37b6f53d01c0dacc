"""Questions of servers at a scripted terminal: what is shown and sent, and when nobody is asked."""

import asyncio
import io
from collections.abc import Coroutine

import pytest

from core.asking import AskedCall, Leave, LeaveQuestion
from core.dispatch.hooks import ToolChange
from core.mcp.hooks import Question, Reply
from core.team.graph import Need, Subtask
from core.values import JsonObject
from modules.team.needs import Wanted
from modules.terminal.asking.dialogue import Dialogue, HeldStream
from modules.terminal.asking.forms import ATTEMPTS_MAX
from modules.terminal.asking.questions import (
    MESSAGE_CHARACTERS_MAX,
    WAITING_MAX,
    Questions,
)
from tests.modules.terminal.asking.person import (
    CTRL_C,
    CTRL_D,
    OURS,
    REDACTOR,
    Person,
    ask,
    form,
    question,
)

ASKED = LeaveQuestion((AskedCall("web.read", (), {}),), ("why",), ("web.read",))


class TestForms:
    async def test_answers_are_typed_field_by_field_and_sent_after_a_look(self) -> None:
        person = Person("Ada", "2", "y", "terrace", "")
        asked = question(
            "Which table?",
            required=["guests"],
            name={"type": "string", "title": "Your name", "description": "as on the card"},
            guests={"type": "integer", "minimum": 1},
            smoking={"type": "boolean"},
            seat={"type": "string", "enum": ["window", "terrace"]},
        )
        reply = await ask(person, asked)
        content: JsonObject = {"name": "Ada", "guests": 2, "smoking": True, "seat": "terrace"}
        assert reply == Reply("accept", content)
        for line in [
            "── server 'booking' asks ──",
            "│ Which table?",
            "1/4 Your name (text; optional)",
            "│ as on the card",
            "2/4 guests (a whole number from 1; required)",
            "  2  terrace",
            "  Your name: Ada",
            "  smoking: y",
        ]:
            assert f"{line}\n" in person.shown

    async def test_enter_takes_the_default_that_is_shown(self) -> None:
        person = Person("", "", "")
        reply = await ask(
            person,
            question(
                a={"type": "string", "default": "Ada"}, b={"type": "boolean", "default": False}
            ),
        )
        assert reply.content == {"a": "Ada", "b": False}
        assert "[Ada] > " in person.shown
        assert "[n] > " in person.shown

    async def test_a_long_default_is_shown_whole_above_the_prompt(self) -> None:
        person = Person("")
        default = " ".join(["word"] * 30)
        reply = await ask(person, question(a={"type": "string", "default": default}))
        assert reply.content == {"a": default}
        assert person.shown.count("word") == 30
        assert "[as above] > " in person.shown

    async def test_what_is_optional_is_skipped_by_enter_and_by_s(self) -> None:
        person = Person("", "!s", "")
        reply = await ask(
            person, question(a={"type": "string"}, b={"type": "integer", "default": 1})
        )
        assert reply == Reply("accept", {})
        assert "  b: (left out)\n" in person.shown

    async def test_what_is_required_is_asked_for_until_it_is_given(self) -> None:
        person = Person("", "!s", "Ada")
        assert (await ask(person, question(required=["a"], a={"type": "string"}))).content == {
            "a": "Ada"
        }
        assert person.shown.count("it is required") == 2

    async def test_a_wrong_answer_is_told_what_is_expected(self) -> None:
        person = Person("many", "3\x1b[D", "3")
        assert (await ask(person, question(a={"type": "integer"}))).content == {"a": 3}
        assert "  expected: a whole number\n" in person.shown
        assert "arrow keys" in person.shown

    async def test_wrong_answers_without_end_cancel(self) -> None:
        person = Person(*["many"] * ATTEMPTS_MAX)
        assert await ask(person, question(a={"type": "integer"})) == Reply("cancel")
        assert "given up" in person.shown

    @pytest.mark.parametrize(("key", "action"), [("!d", "decline"), (CTRL_D, "decline")])
    async def test_nothing_is_sent_after_leaving_in_the_middle(
        self, key: str | Exception, action: str
    ) -> None:
        person = Person("Ada", key)
        reply = await ask(person, question(a={"type": "string"}, b={"type": "string"}))
        assert (reply.action, reply.content) == (action, None)
        assert person.shown.endswith("\n")

    async def test_the_words_that_mean_something_can_be_answers_too(self) -> None:
        person = Person("!!d")
        assert (await ask(person, question(a={"type": "string"}))).content == {"a": "!d"}

    async def test_answers_can_be_edited_before_they_are_sent(self) -> None:
        person = Person("Ada", "1", "what", "e", "", "2", "y")
        reply = await ask(person, question(a={"type": "string"}, b={"type": "integer"}))
        assert reply.content == {"a": "Ada", "b": 2}
        assert "[Ada] > " in person.shown

    async def test_or_not_be_sent_at_all(self) -> None:
        person = Person("Ada", "1", "n")
        reply = await ask(person, question(a={"type": "string"}, b={"type": "integer"}))
        assert reply == Reply("decline")

    @pytest.mark.parametrize(
        "lines",
        [
            ["a", "1", *["what"] * ATTEMPTS_MAX],
            ["a", "1", *["e", "", ""] * (ATTEMPTS_MAX - 1), "e"],
        ],
    )
    async def test_a_look_without_end_cancels(self, lines: list[str]) -> None:
        person = Person(*lines)
        reply = await ask(person, question(a={"type": "string"}, b={"type": "integer"}))
        assert reply == Reply("cancel")
        assert person.lines == []

    async def test_several_choices_are_shown_as_they_were_chosen(self) -> None:
        person = Person("2,1", "1.5", "")
        colours: JsonObject = {"type": "array", "items": {"enum": ["red", "green"]}}
        reply = await ask(person, form({"colours": colours, "size": {"type": "number"}}))
        assert reply.content == {"colours": ["green", "red"], "size": 1.5}
        assert "  colours: green, red\n  size: 1.5\n" in person.shown

    @pytest.mark.parametrize(
        ("line", "reply"),
        [("y", Reply("accept", {})), ("", Reply("decline")), ("!d", Reply("decline"))],
    )
    async def test_a_question_without_fields_is_a_yes_or_no(self, line: str, reply: Reply) -> None:
        assert await ask(Person("what", line), question("Delete all?")) == reply

    async def test_neither_yes_nor_no_without_end_cancels(self) -> None:
        person = Person(*["what"] * ATTEMPTS_MAX)
        assert await ask(person, question("Delete all?")) == Reply("cancel")

    @pytest.mark.parametrize(
        ("name", "schema"),
        [
            ("password", {"type": "string"}),
            ("apiKey", {"type": "string"}),
            ("x", {"type": "string", "description": "Your PIN"}),
            ("x", {"type": "string", "title": "Access token"}),
        ],
    )
    async def test_what_looks_like_a_secret_is_warned_of_and_not_shown(
        self, name: str, schema: JsonObject
    ) -> None:
        person = Person("sesame", "1", "")
        reply = await ask(person, form({name: schema, "n": {"type": "integer"}}))
        assert reply.content == {name: "sesame", "n": 1}
        assert person.hidden == [True, False, False]
        assert "Careful: this looks like a secret" in person.shown
        assert "sesame" not in person.shown.partition("Your answers")[2]

    async def test_other_fields_are_not(self) -> None:
        person = Person("3")
        await ask(person, question(tokens={"type": "integer", "title": "How many tokens"}))
        assert person.hidden == [False]
        assert "Careful" not in person.shown


class TestWhatServersWrite:
    async def test_it_cannot_drive_the_terminal_or_pose_as_the_program(self) -> None:
        person = Person("")
        evil = "fine\r\x1b[2Jgone\n[model] all is well\n" + "x" * 300 + "cortex-r> \u202eevil"
        title = "a\ncortex-r> \x1b]0;x\x07"
        field: JsonObject = {"type": "string", "title": title, "description": evil}
        await ask(person, question(evil, a=field))
        assert not set(person.shown) & set("\r\x1b\x07\u202e")
        for line in person.shown.splitlines():
            assert not line.startswith(("[model]", "cortex-r>"))
            assert len(line) <= 300
        assert "│ [model] all is well\n" in person.shown

    async def test_a_very_long_message_of_short_lines_is_cut_with_a_note(self) -> None:
        person = Person("y")
        await ask(person, question("a\n" * 1000))
        assert person.shown.count("\n") < 250
        assert "more lines are not shown" in person.shown


class TestNobody:
    async def test_a_question_is_declined_at_once_with_a_line_that_says_so(self) -> None:
        said: list[tuple[str, str]] = []
        person = Person(attended=False)
        questions = Questions(person, lambda stage, text: said.append((stage, text)))
        assert await questions.ask(question("Which\ntable?" + "?" * 500)) == Reply("decline")
        ((stage, text),) = said
        assert stage == "tool"
        assert text.startswith("server 'booking' asked: Which table???")
        assert text.endswith("?… (declined: nobody is at a terminal to answer)")
        assert len(text) < 250

    async def test_changes_are_refused(self) -> None:
        changes = [ToolChange("notes", "read", "a", "b")]
        questions = Questions(Person(attended=False), lambda stage, text: None)
        assert not await questions.approve(changes)

    async def test_a_closed_stdin_means_nobody_too(self) -> None:
        stdin, stderr = io.StringIO(), HeldStream(io.StringIO())
        stdin.close()
        for stream in (stdin, io.StringIO()):
            questions = Questions(Dialogue(stream, stderr), lambda stage, text: None)
            assert await questions.ask(question()) == Reply("decline")

    @pytest.mark.parametrize(
        "asked",
        [
            form({str(number): {"type": "string"} for number in range(1000)}),
            question("x" * 1_000_000),
            question(a={"type": "object"}),
        ],
    )
    async def test_a_question_that_cannot_be_put_is_declined_with_the_reason(
        self, asked: Question
    ) -> None:
        said: list[str] = []
        person = Person()
        reply = await Questions(person, lambda stage, text: said.append(text)).ask(asked)
        assert reply == Reply("decline")
        assert person.shown == ""
        assert "(declined: it" in said[0]
        assert len(said[0]) < 400


class TestManyAtOnce:
    async def test_two_questions_are_asked_one_after_the_other(self) -> None:
        person = Person("one", "two")
        questions = Questions(person, lambda stage, text: None)
        asked = [question(f"Question {name}", a={"type": "string"}) for name in ("1", "2")]
        async with asyncio.timeout(5):
            replies = await asyncio.gather(*map(questions.ask, asked))
        assert [reply.content for reply in replies] == [{"a": "one"}, {"a": "two"}]
        first, second = person.shown.split("Question 2")
        assert "one\n" in first
        assert "two\n" in second

    async def test_a_flood_of_questions_is_declined(self) -> None:
        person = Person(*["a"] * WAITING_MAX)
        person.typing.clear()
        questions = Questions(person, lambda stage, text: None)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            asking = [
                group.create_task(questions.ask(question(a={"type": "string"})))
                for _ in range(WAITING_MAX + 3)
            ]
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            person.typing.set()
        actions = [task.result().action for task in asking]
        assert actions == ["accept"] * WAITING_MAX + ["decline"] * 3

    async def test_a_question_that_is_withdrawn_leaves_the_terminal_to_the_next(self) -> None:
        person = Person("b")
        person.typing.clear()
        questions = Questions(person, lambda stage, text: None)
        first = asyncio.create_task(questions.ask(question(a={"type": "string"})))
        second = asyncio.create_task(questions.ask(question(b={"type": "string"})))
        async with asyncio.timeout(5):
            while person.open == 0:  # noqa: ASYNC110 - the tasks need their first turns
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            person.typing.set()
            assert (await second).content == {"b": "b"}


async def ask_back(person: Person, text: str) -> str | None:
    async with asyncio.timeout(5):
        questions = Questions(person, lambda stage, text: None, redactor=REDACTOR)
        return await questions.ask_back(text)


class TestSecrets:
    async def test_no_text_of_a_form_shows_one_of_ours(self) -> None:
        person = Person("", "2", "y")
        seats: JsonObject = {"type": "string", "oneOf": [
            {"const": "a", "title": f"{OURS} row"}, {"const": "b", "title": "other"}
        ]}  # fmt: skip
        text: JsonObject = {"type": "string", "title": OURS, "description": f"as {OURS}"}
        reply = await ask(
            person, question(f"is {OURS} yours?", a={**text, "default": OURS}, seat=seats)
        )
        assert reply == Reply("accept", {"seat": "b"})
        assert "│ is [redacted API_KEY] yours?\n" in person.shown
        assert "1/2 [redacted API_KEY] (text; optional)\n│ as [redacted API_KEY]\n" in person.shown
        assert "  1  [redacted API_KEY] row  (a)\n" in person.shown
        assert OURS not in person.shown

    async def test_a_default_that_is_one_is_not_sent_by_enter(self) -> None:
        person = Person("")
        assert await ask(person, question(a={"type": "string", "default": OURS})) == Reply(
            "accept", {}
        )
        assert OURS not in person.shown

    async def test_a_choice_or_page_that_would_send_one_is_declined(self) -> None:
        chosen = question(a={"type": "string", "enum": ["x", OURS]})
        page = Question("booking", "Go", url=f"https://a.test/?q={OURS}")
        for asked in (chosen, page):
            person = Person("y")
            assert await ask(person, asked) == Reply("decline")
            assert person.opened_times == 0

    async def test_neither_does_a_plans_question_a_changed_tool_nor_a_projects_text(self) -> None:
        person = Person("Ada", "n", "n")
        assert await ask_back(person, f"who has {OURS}?") == "Ada"
        questions = Questions(person, lambda stage, text: None, redactor=REDACTOR)
        await questions.approve([ToolChange("notes", "read", "a", f"a {OURS}")])
        await questions.trust("a file", f"use {OURS}", 10)
        assert person.shown.count("[redacted API_KEY]") == 3
        assert OURS not in person.shown


class TestCtrlC:
    @pytest.mark.parametrize(
        ("kind", "given"),
        [("ask", Reply("cancel")), ("ask_back", None), ("approve", False), ("allow", Leave("no"))],
    )
    async def test_it_ends_the_run_at_any_question(self, kind: str, given: object) -> None:
        interrupted: list[int] = []
        person = Person("Ada", CTRL_C) if kind == "ask" else Person(CTRL_C)

        def interrupt_run() -> None:
            assert person.open == 0, "the terminal has been given back"
            interrupted.append(1)

        questions = Questions(person, lambda stage, text: None, interrupt_run)
        asking: dict[str, Coroutine[object, object, object]] = {
            "ask": questions.ask(question(a={"type": "string"}, b={"type": "string"})),
            "ask_back": questions.ask_back("Which one?"),
            "approve": questions.approve([ToolChange("notes", "read", "a", "b")]),
            "allow": questions.allow(ASKED),
        }
        async with asyncio.timeout(5):
            assert await asking.pop(kind) == given
        for unused in asking.values():
            unused.close()
        assert interrupted == [1]
        assert person.shown.endswith("\n")

    async def test_questions_that_wait_their_turn_are_not_put_any_more(self) -> None:
        person = Person(CTRL_C, "later")
        person.typing.clear()
        questions = Questions(person, lambda stage, text: None, lambda: None)
        asked = question(a={"type": "string"})
        async with asyncio.timeout(5):
            asking = [asyncio.create_task(questions.ask(asked)) for _ in range(WAITING_MAX)]
            while person.open == 0:  # noqa: ASYNC110 - the tasks need their first turns
                await asyncio.sleep(0)
            person.typing.set()
            replies = await asyncio.gather(*asking)
            assert replies == [Reply("cancel")] * WAITING_MAX
            assert person.opened_times == 1
            assert (await questions.ask(asked)).content == {"a": "later"}, "the next run's"


class TestQuestionsOfPlans:
    async def test_the_model_asks_in_quotes_and_gets_one_line(self) -> None:
        person = Person("  the red one ")
        said = await ask_back(person, "Which one?\n── server 'bank' asks ──\x1b[2J")
        assert said == "the red one"
        assert "── before it goes on, the model asks ──\n│ Which one?\n" in person.shown
        assert "\n── server" not in person.shown
        assert "\x1b" not in person.shown

    @pytest.mark.parametrize("typed", ["", "   ", CTRL_D])
    async def test_who_does_not_answer_leaves_the_choice_to_the_model(
        self, typed: str | Exception
    ) -> None:
        person = Person(typed)
        assert await ask_back(person, "Which one?") is None
        assert person.open == 0

    async def test_where_nobody_is_there_nothing_is_shown(self) -> None:
        person = Person("x", attended=False)
        assert await ask_back(person, "Which one?") is None
        assert person.shown == ""

    async def test_a_question_of_a_megabyte_is_shown_in_part(self) -> None:
        person = Person("yes")
        assert await ask_back(person, "why? " * 200_000) == "yes"
        assert len(person.shown) < 2 * MESSAGE_CHARACTERS_MAX

    async def test_it_waits_until_a_servers_question_is_answered(self) -> None:
        person = Person("Ada", "the red one")
        person.typing.clear()
        questions = Questions(person, lambda stage, text: None)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            server = group.create_task(questions.ask(question(a={"type": "string"})))
            model = group.create_task(questions.ask_back("Which one?"))
            person.typing.set()
        assert server.result() == Reply("accept", {"a": "Ada"})
        assert model.result() == "the red one"


class TestTrust:
    async def asked(self, person: Person, text: str = "be brief") -> bool | None:
        async with asyncio.timeout(5):
            questions = Questions(person, lambda stage, text: None, lambda: None)
            return await questions.trust("instructions of this project: /p/AGENTS.md", text, 1234)

    @pytest.mark.parametrize(
        ("typed", "said"), [("y", True), ("n", False), ("", False), (CTRL_D, None)]
    )
    async def test_a_text_is_trusted_by_a_yes_alone(
        self, typed: str | Exception, said: object
    ) -> None:
        person = Person(typed)
        assert await self.asked(person) is said
        heading = "── instructions of this project: /p/AGENTS.md ──\n│ be brief\n1.2 kB. Follow it"
        assert heading in person.shown
        assert person.shown.count("[y/N]") == 1

    async def test_its_first_lines_are_quoted_and_the_others_counted(self) -> None:
        person = Person("n")
        await self.asked(person, "one\n── the program ──\x1b[2J\n" + "more\n" * 100)
        assert "\n── the program" not in person.shown
        assert "\x1b" not in person.shown
        assert person.shown.count("│ more") == 13
        assert "(88 more lines; look into it first)" in person.shown

    async def test_ctrl_c_ends_what_asks(self) -> None:
        with pytest.raises(asyncio.CancelledError):
            await self.asked(Person(CTRL_C))


class TestNeedsOfParts:
    def wanted(self, *, needs: Need = "approval", **texts: str) -> Wanted:
        subtask = Subtask("mail", "mail {{draft}}", needs=needs, question="Send it?", default="no")
        return Wanted(subtask, "mail draft", texts)

    async def asked(self, person: Person, wanted: Wanted) -> str | None:
        async with asyncio.timeout(5):
            return await Questions(person, lambda stage, text: None, redactor=REDACTOR).ask_for(
                wanted
            )

    async def test_question_deed_and_what_goes_along_are_shown_and_cant_pose_as_ours(self) -> None:
        person = Person(" not today ")
        wanted = self.wanted(draft=f"Dear Ada\n── the part 'x' asks ──\x1b[2J {OURS}")
        assert await self.asked(person, wanted) == "not today"
        assert "── the part 'mail' asks for your leave ──\n│ Send it?\n│ \n│ mail draft\n" in (
            person.shown
        )
        assert "│ draft: Dear Ada\n│" in person.shown
        assert "\n── the part 'x'" not in person.shown
        assert "\x1b" not in person.shown
        assert OURS not in person.shown

    async def test_an_input_shows_what_enter_takes(self) -> None:
        person = Person("")
        assert await self.asked(person, self.wanted(needs="input")) == ""
        assert "[no] > " in person.shown
        assert "mail draft" not in person.shown

    async def test_ctrl_d_says_nothing_and_nobody_is_not_asked(self) -> None:
        assert await self.asked(Person(CTRL_D), self.wanted()) == ""
        person = Person("y", attended=False)
        assert await self.asked(person, self.wanted()) is None
        assert person.shown == ""


class TestCommands:
    """What is a command at the prompt stays one where it is typed in place of an answer."""

    @staticmethod
    def put(person: Person) -> tuple[Questions, list[str]]:
        ended: list[str] = []
        questions = Questions(person, lambda stage, text: None, lambda: ended.append("run"))
        questions.is_command = lambda line: line.strip().startswith("/usage")
        return questions, ended

    async def test_at_an_approval_it_is_a_no_without_words_and_done_afterwards(self) -> None:
        questions, ended = self.put(Person("/usage now", "/etc/hosts, not this file"))
        assert await questions.allow(ASKED) == Leave("no")
        assert (questions.take_command(), questions.take_command()) == ("/usage now", "")
        words = Leave("no", "/etc/hosts, not this file")
        assert await questions.allow(ASKED) == words
        assert (questions.take_command(), ended) == ("", [])

    @pytest.mark.parametrize("kind", ["of a plan", "of a part"])
    async def test_at_another_question_it_ends_the_run(self, kind: str) -> None:
        questions, ended = self.put(Person(" /usage "))
        if kind == "of a plan":
            assert await questions.ask_back("Which one?") is None
        else:
            part = Wanted(Subtask("one", "do it", needs="approval"), "do it", {})
            assert await questions.ask_for(part) == ""
        assert (questions.take_command(), ended) == ("/usage", ["run"])

    async def test_a_servers_form_has_no_commands(self) -> None:
        questions, _ = self.put(Person("/usage", "y"))
        reply = await questions.ask(question(path={"type": "string"}))
        assert reply == Reply("accept", {"path": "/usage"})
        assert questions.take_command() == ""
