"""The agent within a Python program; `modules.app.open_agent` is its public name.

Nothing is printed and no signal is touched. Several agents may be open at once, in any event loops.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from keyword import iskeyword
from pathlib import Path
from typing import Final, TypeAlias

from config.dotenv import with_env_file
from config.schema import AgentProfile, load_profile
from config.settings import HOME_VARIABLE, find_places
from core.asking import Answer, Person, Question
from core.base.redaction import Redactor
from core.errors import UsageError
from core.events import Emit, Event, EventChannel
from core.turn import RunOutcome, TextInput
from modules.planning.guidance.guide import Guide
from modules.service.agents import Agent, AgentConversation, AgentSetting
from modules.session.request import STDIN_BYTES_MAX, clean_request

LOGGERS: Final = ("config", "core", "modules")
"""Where we log; without a handler, Python would print warnings to stderr."""

AskPerson: TypeAlias = Callable[[Question], Awaitable[Answer | str | None]]
"""Puts a question to the person: gives an answer, or the text of one; None if there is none."""


@asynccontextmanager
async def opened(
    profile: str | Path | AgentProfile | None,
    *,
    model: str | None,
    home: str | Path | None,
    ask: AskPerson | None,
    session: str | None,
    mcp_config: Sequence[str | Path],
    approve: Sequence[str],
    files_in: str | Path | None,
) -> AsyncGenerator["PythonAgent"]:
    """An agent, as `modules.app.open_agent` says; its servers start when they are needed."""
    if isinstance(mcp_config, str) or isinstance(approve, str):  # which is a sequence of letters
        raise UsageError('`mcp_config` and `approve` are lists: approve=["server.tool(*)"], say')
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

    def made() -> Agent:
        here = os.environ if home is None else {**os.environ, HOME_VARIABLE: str(home)}
        places = find_places(here)
        environ = with_env_file(here, places.home)
        file = places.config_file("profiles.yaml")
        if isinstance(profile, str | Path):
            file = Path(profile)
        setting = AgentSetting(
            places,
            places,
            profile if isinstance(profile, AgentProfile) else load_profile(file),
            file,
            environ,
            Redactor(environ),
            model,
            tuple(map(Path, mcp_config)),
            tuple(approve),
            None if files_in is None else Path(files_in),
            Guide(places.home, Path.cwd()),
            run_seconds=None,  # the program has timeouts of its own
        )
        return Agent(setting)

    agent = await asyncio.to_thread(made)
    async with agent:
        conversation = agent.conversation(session, None if ask is None else person_of(ask))
        answering = PythonAgent(conversation)
        try:
            yield answering
        finally:
            answering.close()


def person_of(ask: AskPerson) -> Person:
    """The person whom a program asks by this function."""

    async def put(question: Question) -> Answer | None:
        answer = await ask(question)
        return Answer(answer) if isinstance(answer, str) else answer

    return put


class PythonAgent:
    """Answers the requests of a program, one after the other.

    Attributes:
        session: where the requests are kept.
    """

    def __init__(self, conversation: AgentConversation) -> None:
        """Answer by `conversation`."""
        self._conversation = conversation
        self._is_closed = False
        self.session = AgentSession(conversation)

    def close(self) -> None:
        """Take no more requests: the servers behind it end."""
        self._is_closed = True

    async def ask(self, request: str, *, texts: Mapping[str, str] | None = None) -> RunOutcome:
        """Answer a request; `texts` go with it, and plans have each as a variable of its name.

        Whoever cancels this stops the run. It ends before the cancellation goes on, and the next
        request can be asked.

        Raises:
            UsageError: the request can't be answered as it is.
            StorageError: the session can't be read.
            RuntimeError: another request is being answered, or the agent was left.
        """
        return await self._answer(request, texts or {}, _nobody)

    async def events(
        self, request: str, *, texts: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Event, None]:
        """What goes on while a request is answered; the last event is `RunFinished`.

        The run waits for its reader. Closing the generator (`contextlib.aclosing`) stops the run.
        It raises what `ask` does.
        """

        async def work(emit: Emit) -> None:
            await self._answer(request, texts or {}, emit)

        async with aclosing(EventChannel().stream(work)) as events:
            async for event in events:
                yield event

    async def _answer(self, request: str, texts: Mapping[str, str], listener: Emit) -> RunOutcome:
        """Answer in a task of its own, which a cancellation of this one interrupts."""
        if self._is_closed:
            raise RuntimeError(
                "this agent has ended; ask inside `async with open_agent()`, and at a prompt keep "
                "the AsyncExitStack that entered it"
            )
        given = _given(texts)
        run = asyncio.create_task(
            self._conversation.ask(clean_request(request), listener, texts=given)
        )
        try:
            await asyncio.wait({run})
        except asyncio.CancelledError:
            if not self._conversation.interrupt():
                run.cancel()
            await asyncio.wait({run})
            raise
        return run.result()


class AgentSession:
    """The session that an agent's requests are kept in."""

    def __init__(self, conversation: AgentConversation) -> None:
        """Speak of the session of `conversation`."""
        self._conversation = conversation

    @property
    def id(self) -> str | None:
        """With it `agent.py --resume` goes on; None before the first request of a new session."""
        return self._conversation.session_id

    def new(self) -> None:
        """Let the next request begin a session.

        Raises:
            RuntimeError: a request is being answered.
        """
        self._idle().conversation.new_session()

    def resume(self, session_id: str) -> None:
        """Let the next request go on with another session.

        Raises:
            UsageError: the id is of no known form.
            RuntimeError: a request is being answered.
        """
        self._idle().conversation.resume(session_id)

    def _idle(self) -> AgentConversation:
        if self._conversation.is_running:
            raise RuntimeError("a request is being answered in this session; wait for its end")
        return self._conversation


async def _nobody(event: Event) -> None:
    """Listen to nothing."""


def _given(texts: Mapping[str, str]) -> tuple[TextInput, ...]:
    """The texts that go with a request.

    Raises:
        UsageError: a name can't be that of a variable, or they are too long.
    """
    for name in texts:
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise UsageError(f"{name[:80]!r} can't be the name of a text: plans use it as theirs")
    if sum(map(len, texts.values())) > STDIN_BYTES_MAX:
        raise UsageError(
            f"the texts have more than {STDIN_BYTES_MAX:,} characters; leave some out, or add "
            "them to the documents"
        )
    return tuple(TextInput(name, text) for name, text in texts.items())
