"""Agents whose conversations go on at the same time: who hears what, who is asked, what ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.asking import Answer, Question
from core.errors import UserError
from core.events import Event, ServerLogged, ToolCallStarted
from core.turn import RunOutcome
from modules.service.agents import Agent, AgentConversation, AgentSetting
from tests.modules.service.made import (
    WAIT_SECONDS,
    asks,
    calls,
    child_processes,
    fixture,
    says,
    setting,
    settled,
)
from tests.modules.talks import nobody

SLOW = {"text": says("late"), "after": 60}


class Person:
    """Who is asked: keeps the questions, and answers them when told to."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.answer = asyncio.get_running_loop().create_future()

    async def __call__(self, question: Question) -> Answer | None:
        """Be asked."""
        self.questions.append(question)
        return await asyncio.shield(self.answer)


class Talk:
    """A conversation whose requests run beside the test."""

    def __init__(self, agent: Agent, put: Person | None = None) -> None:
        self.conversation: AgentConversation = agent.conversation(None, put)
        self.events: list[Event] = []

    def ask(self, request: str = "hm") -> asyncio.Task[RunOutcome]:
        """Begin a request."""
        return asyncio.create_task(self.conversation.ask(request, self._hear))

    def has_heard(self, kind: type) -> bool:
        """Whether an event of that class has come."""
        return any(isinstance(event, kind) for event in self.events)

    async def _hear(self, event: Event) -> None:
        self.events.append(event)


@asynccontextmanager
async def opened(made: AgentSetting) -> AsyncGenerator[Agent]:
    async with asyncio.timeout(WAIT_SECONDS), Agent(made) as agent:
        yield agent


def gated(tmp_path: Path, more: str = "") -> str:
    (tmp_path / "gates").mkdir(exist_ok=True)
    return fixture("gated", tmp_path / "gates", id_="gate", more=more)


async def test_what_a_server_logs_is_told_to_who_has_called_it(tmp_path: Path) -> None:
    replies = [calls("hold", 'name="a"'), calls("talk")]
    async with opened(setting(tmp_path, replies, gated(tmp_path), fixture("typed"))) as agent:
        waits, talks = Talk(agent), Talk(agent)
        waiting = waits.ask()
        await settled(lambda: waits.has_heard(ToolCallStarted))
        assert (await talks.ask()).answer == "said"
        await settled(lambda: talks.has_heard(ServerLogged))
        (tmp_path / "gates" / "a").touch()
        assert (await waiting).answer == "a is open"
    assert not waits.has_heard(ServerLogged)


async def test_a_server_asks_the_person_whose_request_it_works_on(tmp_path: Path) -> None:
    replies = [calls("hold", 'name="a"'), calls("table")]
    async with opened(setting(tmp_path, replies, gated(tmp_path), fixture("asking"))) as agent:
        one, other = Person(), Person()
        waits, calls_it = Talk(agent, one), Talk(agent, other)
        waiting = waits.ask()
        await settled(lambda: waits.has_heard(ToolCallStarted))
        asking = calls_it.ask()
        await settled(lambda: bool(other.questions))
        other.answer.set_result(Answer(content={"guests": 3}))
        assert "'guests': 3" in str((await asking).answer)
        (tmp_path / "gates" / "a").touch()
        await waiting
        assert one.questions == []


async def test_changed_tools_are_asked_about_while_their_server_starts(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("reads a note")
    server = fixture("redefined", text, id_="notes")
    async with opened(setting(tmp_path, [calls("read")], server)) as agent:
        await Talk(agent).ask()
    text.write_text("reads a note, and sends it away")
    async with opened(setting(tmp_path, [calls("read")] * 2, server)) as agent:
        nobody, person = Talk(agent), Person()
        person.answer.set_result(Answer("yes"))
        assert (await Talk(agent, person).ask()).answer == "a note"
        assert [question.kind for question in person.questions] == ["changed_tools"]
        assert "sends it away" in person.questions[0].detail
        assert (await nobody.ask()).answer == "a note"


async def test_an_open_question_stops_the_clock_of_its_own_request_alone(tmp_path: Path) -> None:
    replies = [calls("table"), calls("hold", 'name="a"'), says("over")]
    bounds = "sandbox: {wall_seconds: 0.5}\n"
    servers = gated(tmp_path), fixture("asking")
    async with opened(setting(tmp_path, replies, *servers, more=bounds)) as agent:
        await agent.dispatcher.initialize()  # so that no start takes the plan's time
        person = Person()
        asked, bounded = Talk(agent, person), Talk(agent)
        asking = asked.ask()
        await settled(lambda: bool(person.questions))
        outcome = await bounded.ask()
        assert "longer than 0.5 s" in str(outcome.steps[0].result)
        assert not asking.done()
        person.answer.set_result(Answer(content={"guests": 1}))
        assert (await asking).status == "done"


@pytest.mark.parametrize("budgets", ["", "budgets: {day: {tokens: 1000000}}\n"])
async def test_an_interrupt_is_never_lost_whenever_it_comes(tmp_path: Path, budgets: str) -> None:
    async with opened(setting(tmp_path, [SLOW] * 60, more=budgets)) as agent:
        talk = Talk(agent)
        for turns in range(60):
            asking = talk.ask()
            await settled(lambda: talk.conversation.is_running)
            for _ in range(turns):
                await asyncio.sleep(0)
            assert talk.conversation.interrupt()
            assert (await asking).status == "interrupted"
            assert not talk.conversation.interrupt()


async def test_a_conversation_answers_one_request_at_a_time(tmp_path: Path) -> None:
    async with opened(setting(tmp_path, [asks("which?"), says("x")])) as agent:
        person = Person()
        talk = Talk(agent, person)
        first = talk.ask()
        await settled(lambda: bool(person.questions))
        with pytest.raises(RuntimeError, match="one request at a time"):
            await talk.ask()
        person.answer.set_result(Answer("this"))
        assert (await first).answer == "x"


async def test_an_agent_that_cant_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    before = child_processes()
    made = replace(setting(tmp_path, [], fixture("noisy")), model="no-such-model")
    with pytest.raises(UserError, match="no-such-model"):
        async with Agent(made):
            pass
    assert child_processes() <= before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_end_of_an_agent_ends_requests_and_servers(tmp_path: Path) -> None:
    before = child_processes()
    async with opened(setting(tmp_path, [calls("hold", 'name="a"')], gated(tmp_path))) as agent:
        talk = Talk(agent)
        asking = talk.ask()
        await settled((tmp_path / "gates" / "pid").exists)
        await settled(lambda: talk.has_heard(ToolCallStarted))
    assert (await asking).status == "interrupted"
    assert child_processes() <= before


async def test_help_speaks_of_no_command_line(tmp_path: Path) -> None:
    async with Agent(setting(tmp_path, [])) as agent:
        talk = agent.conversation()
        outcome = await talk.ask("help", nobody)
        await talk.aclose()
    assert "add 5 and 7" in (outcome.answer or "")
    assert "agent.py" not in (outcome.answer or "")
