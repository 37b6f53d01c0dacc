"""Runs of requests that come through a door which may close before they end.

Each run keeps its events, in memory and in a file, so that whoever asked can come back for them:
another connection, another tab, or, of a run that a killed process left, another process.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.events import Event, Notice
from core.run.execution import ExecutionContext, begin, working
from core.turn import RunOutcome, TextInput
from core.values import JsonObject
from modules.service.agents import AgentConversation
from modules.service.pool import AgentPool, Busy, ConversationBusy, User
from modules.service.questions import PersonAnswer, PersonQuestion, check_answer
from modules.service.served.events import DONE, EventWords, ServiceEvent, ended
from modules.service.served.problems import Problem, problem_of, problem_of_outcome
from modules.service.served.run_log import KeptRun, RunFacts, RunLog, read_log
from modules.session.ids import check_session_id, new_session_id

RUNS_MAX: Final = 8
"""So many runs go on at once."""

QUEUE_MAX: Final = 64
"""So many more wait for their turn."""

USER_RUNS_MAX: Final = 16
"""So many of them, both together, may be one user's where there are others."""

EVENTS_MAX: Final = 20_000
"""From here on a run tells no more progress, logs and notices."""

FINISHED_KEPT: Final = 100
"""So many finished runs stay in memory; the others are read from their files."""

FINISHED_CHARACTERS_MAX: Final = 64_000_000
"""So much they may take together; the newest stays in any case."""

CANCEL_SECONDS: Final = 10.0
"""So long cancelled runs may take to end."""

_UNIMPORTANT: Final = frozenset({"tool.progress", "server.log", "notice", "workflow.message"})

INTERRUPTED: Final = "the service ended before the run did"

BEFORE_IT_BEGAN: Final = "interrupted before it began"

GIVEN_UP: Final = "interrupted: the service ended, and did not wait any longer"

_BEGINS: Final = "begins the conversation '{}': none of that name is kept"

OnEvent: TypeAlias = Callable[[ServiceEvent], None]

log = logging.getLogger(__name__)


class QueueFull(Busy):
    """As many runs wait as may, of all users or of one."""

    problem = "too-many-requests"


class Draining(Busy):
    """The service ends, and takes no more requests."""


class RunElsewhere(Busy):
    """Another process answers the run just now."""


class NoSuchRun(KeyError):
    """The user has no run of that id."""


class NoSuchQuestion(KeyError):
    """No question of that id is open."""


@dataclass(eq=False)
class _Ask:
    """What a run is to answer, and how."""

    request: str
    texts: tuple[TextInput, ...]
    context: ExecutionContext
    words: EventWords
    max_cost: float | None
    is_named: bool  # the client has named the conversation


@frozen
class _Open:
    """A question that waits for the person."""

    question: PersonQuestion
    answer: asyncio.Future[PersonAnswer | None]


class ServedRun:
    """One run, as its events tell of it; `Runs` makes it.

    Attributes:
        id: 32 hexadecimal digits.
        user: whose it is.
        conversation_id: the session that it belongs to.
        profile: the name of the profile that answers.
        outcome: how it ended, without its steps; None before, or where another process answered.
        has_begun: whether its turn has come.
        characters: about how much memory its events take.
    """

    def __init__(
        self,
        id_: str,
        user: User,
        profile: str,
        conversation_id: str | None,
        events: list[ServiceEvent],
        on_event: OnEvent | None = None,
    ) -> None:
        self.id = id_
        self.user = user
        self.profile = profile
        self.conversation_id = conversation_id
        self.outcome: RunOutcome | None = None
        self.has_begun = False
        self.characters = 0
        self._events = events
        self._on_event = on_event
        self._more = asyncio.Event()
        self._open: dict[str, _Open] = {}
        self._log: RunLog | None = None  # there is one as soon as the task has begun
        self._is_cancelled = False
        self._is_waiting = False
        self._task: asyncio.Task[object] | None = None
        self._conversation: AgentConversation | None = None

    @property
    def is_done(self) -> bool:
        """Whether there will be no further event."""
        return bool(self._events) and self._events[-1].name == DONE

    @property
    def last_event(self) -> ServiceEvent | None:
        """The newest event."""
        return self._events[-1] if self._events else None

    async def events(self, after: int = 0) -> AsyncGenerator[ServiceEvent, None]:
        """The events behind the one of that id, then those to come; the last one ends it.

        Who names an event that never was, of a run that has ended, gets the last one again.
        """
        place = max(0, after)
        while True:
            while place < len(self._events):
                event = self._events[place]
                place += 1
                yield event
            if self.is_done:
                if place > len(self._events):
                    yield self._events[-1]
                return
            more = self._more
            await more.wait()

    @property
    def task(self) -> "asyncio.Task[object] | None":
        """What answers; None where another process did."""
        return self._task

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Let the work that answers begin."""
        self._task = asyncio.create_task(work)

    def join(self, task: "asyncio.Task[object]") -> None:
        """Let the task answer, which has begun."""
        self._task = task

    def record(self, log_: RunLog) -> None:
        """Write what will be told to the file, and close that at the end."""
        self._log = log_

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Within the `with`, the run waits for its turn, and `cancel` ends the wait.

        Raises:
            CancelledError: it was cancelled before.
        """
        if self._is_cancelled:
            raise asyncio.CancelledError
        self._is_waiting = True
        try:
            yield
        finally:
            self._is_waiting = False

    @contextlib.contextmanager
    def answered_by(self, conversation: AgentConversation) -> Generator[None]:
        """Within the `with`, the conversation answers, and `cancel` interrupts it."""
        self._is_waiting, self._conversation, self.has_begun = False, conversation, True
        try:
            yield
        finally:
            self._conversation = None

    async def put(self, question: PersonQuestion, words: EventWords) -> PersonAnswer | None:
        """Put a question to who follows the run, and wait for the answer."""
        if self.is_done:
            return None
        waiting = asyncio.get_running_loop().create_future()
        self._open[question.id] = _Open(question, waiting)
        self.add(*words.document("clarify.request", {"question": question}))
        try:
            return await waiting
        finally:
            self._close(question.id, words)

    def close_questions(self, words: EventWords) -> None:
        """Have no question open any more: the run ends."""
        for id_, open_ in [*self._open.items()]:
            self._close(id_, words)
            if not open_.answer.done():
                open_.answer.set_result(None)

    def _close(self, question_id: str, words: EventWords) -> None:
        """Tell that a question is open no more, once."""
        if (open_ := self._open.pop(question_id, None)) is None:
            return
        answer = open_.answer
        given = answer.result() if answer.done() and not answer.cancelled() else None
        told = {"question_id": question_id, "answered": given is not None and not given.declined}
        self.add(*words.document("clarify.answered", told))

    def answer(self, question_id: str, answer: PersonAnswer | None) -> None:
        """Answer a question that is open; None where nobody is there to be asked.

        Raises:
            NoSuchQuestion: it is not, or not any more.
            UsageError: the answer does not fit the question, which stays open.
        """
        open_ = self._open.get(question_id)
        if open_ is None or open_.answer.done():
            raise NoSuchQuestion(question_id)
        if answer is not None:
            check_answer(open_.question, answer)
        open_.answer.set_result(answer)

    def cancel(self) -> None:
        """End the run as interrupted; nothing if it has ended, or just ends."""
        if self._conversation is not None:
            self._conversation.interrupt()
        elif self._is_waiting and not self._is_cancelled and self._task is not None:
            self._task.cancel()
        self._is_cancelled = True

    def abandon(self) -> None:
        """Wait for nothing any more that the run works with."""
        if self._task is not None:
            self._task.cancel()

    def add(self, name: str, data: JsonObject) -> None:
        """Tell one more event; nothing behind the last one."""
        if self.is_done or (len(self._events) >= EVENTS_MAX and name in _UNIMPORTANT):
            return
        event = ServiceEvent(len(self._events) + 1, name, data)
        self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        if self._log is not None:
            self.characters += self._log.write(event, is_last=self.is_done)
        self._more.set()
        self._more = asyncio.Event()


class Runs:
    """Begins runs, within limits, and finds them again; one for the process.

    Attributes:
        pool: the agents that answer.
    """

    def __init__(
        self,
        pool: AgentPool,
        *,
        runs_max: int = RUNS_MAX,
        queue_max: int = QUEUE_MAX,
        user_runs_max: int | None = None,
        clock: Clock = time.time,
        on_event: OnEvent | None = None,
    ) -> None:
        """Begin nothing; `clock` gives Unix seconds. One user may take all without a limit.

        `on_event` hears every event of every run.
        """
        self.pool = pool
        self._clock = clock
        self._runs_max = runs_max
        self._queue_max = queue_max
        self._user_runs_max = user_runs_max or runs_max + queue_max
        self._turn = asyncio.Semaphore(runs_max)
        self._active: dict[str, ServedRun] = {}
        self._finished: OrderedDict[str, ServedRun] = OrderedDict()
        self._is_draining = False
        self._on_event = on_event

    @property
    def is_draining(self) -> bool:
        """Whether no more requests are taken."""
        return self._is_draining

    @property
    def active(self) -> tuple[ServedRun, ...]:
        """Those that have not ended, the oldest first; some may wait for their turn."""
        return tuple(self._active.values())

    def active_of(self, user: User) -> tuple[ServedRun, ...]:
        """Those of the user that have not ended, of the profiles that the user may use."""
        return tuple(run for run in self.active if _is_own(run, user))

    async def start(
        self,
        user: User,
        request: str,
        *,
        profile: str = "default",
        conversation_id: str | None = None,
        texts: tuple[TextInput, ...] = (),
        execution: ExecutionContext | None = None,
        max_cost: float | None = None,
    ) -> ServedRun:
        """Begin to answer a request; returns at once.

        A `conversation_id` that is not kept begins a session of that name; a `notice` says so.
        Where two ids are one file (by their case, on a disk that knows none), or the terminal works
        on the same session, requests may go on at once: the file's lock keeps it whole.

        Raises:
            ConversationBusy: the conversation answers another request.
            QueueFull, Draining: no more are taken now.
            UsageError: there is no such profile for the user, or the id is no id.
        """
        self.pool.check_profile(user, profile)
        is_named = conversation_id is not None
        if conversation_id is None:
            now = datetime.now().astimezone()
            conversation_id = new_session_id(now, uuid.uuid4().hex)
        check_session_id(conversation_id)
        self._admit(user, conversation_id)
        run = ServedRun(uuid.uuid4().hex, user, profile, conversation_id, [], self._on_event)
        self._active[run.id] = run
        context = execution or begin(user=user.name)
        context = context.within(session=conversation_id, profile=profile)
        words = EventWords(run.id, self.pool.setting.redactor, self._clock)
        ask = _Ask(request, texts, context, words, max_cost, is_named)
        run.start(self._answered(run, ask))
        return run

    @contextlib.asynccontextmanager
    async def unkept(self, user: User, profile: str) -> AsyncGenerator[ServedRun]:
        """Within the `with`, the current task answers, once its turn has come; nothing is kept.

        The run counts as the others do, and is cancelled with them.

        Raises:
            QueueFull, Draining: no more are taken now.
        """
        id_ = uuid.uuid4().hex
        self._admit(user, id_)
        run = self._active[id_] = ServedRun(id_, user, profile, None, [], self._on_event)
        task = asyncio.current_task()
        try:
            if task is not None:
                run.join(task)
            with run.waiting():  # until a conversation answers
                async with self._turn:
                    yield run
        finally:
            del self._active[id_]
            if not run.is_done:  # who follows its events is to see their end
                words = EventWords(id_, self.pool.setting.redactor, self._clock)
                outcome = RunOutcome("interrupted", None, "ended before there was an answer")
                for name, fields in ended(outcome, None, ""):
                    run.add(*words.document(name, fields))

    def get(self, user: User, run_id: str) -> ServedRun:
        """A run of the user's, of an earlier process too, whose file is read: call it in a thread.

        Raises:
            NoSuchRun: there is none, or it is another user's, or of a profile that is not theirs.
            RunElsewhere: another process answers it just now.
        """
        run = self._active.get(run_id) or self._finished.get(run_id)
        if run is not None:
            if not _is_own(run, user):
                raise NoSuchRun(run_id)
            return run
        if len(run_id) != 32 or not set(run_id) <= set("0123456789abcdef"):
            raise NoSuchRun(run_id)
        kept = read_log(self.home(user), run_id)
        if kept is None or not user.may_use(kept.facts.profile):
            raise NoSuchRun(run_id)
        return self._of_earlier_process(run_id, user, kept)

    def home(self, user: User) -> Path:
        """Where the user's state lies."""
        return user.home(self.pool.setting.shared.home)

    async def drain(self, seconds: float) -> None:
        """Take no more requests; runs have so long to end, then they are cancelled."""
        self._is_draining = True
        await self._wait(seconds)
        for run in self.active:
            run.cancel()
        await self._wait(CANCEL_SECONDS)
        for run in self.active:
            run.abandon()
        await self._wait(CANCEL_SECONDS)

    async def _wait(self, seconds: float) -> None:
        """Wait until no run is left, for so long at most."""
        tasks = {task for run in self.active if (task := run.task) is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _admit(self, user: User, conversation_id: str) -> None:
        """Raise what stands against one more run."""
        if self._is_draining:
            raise Draining("the service ends; try again in a while")
        own = [run for run in self.active if run.user.name == user.name]
        if any(run.conversation_id == conversation_id for run in own):
            raise ConversationBusy(
                f"the conversation {conversation_id} answers another request; wait for its end, "
                "or cancel it"
            )
        if len(self._active) >= self._runs_max + self._queue_max:
            raise QueueFull(f"{len(self._active)} requests are under way; try again in a while")
        if len(own) >= self._user_runs_max:
            raise QueueFull(f"{len(own)} of your requests are under way; wait for one of them")

    async def _answered(self, run: ServedRun, ask: _Ask) -> None:
        """Answer, whatever happens; the last event is told in any case."""
        began, problem = self._clock(), None
        facts = RunFacts(run.conversation_id or "", run.profile, ask.context.trace_id)
        try:
            where, redactor = self.home(run.user), self.pool.setting.redactor
            run.record(await asyncio.to_thread(RunLog, where, run.id, facts, redactor))
            with working(ask.context):
                outcome = await self._in_turn(run, ask)
            problem = problem_of_outcome(outcome)
        except asyncio.CancelledError:
            why = GIVEN_UP if run.has_begun else BEFORE_IT_BEGAN
            outcome = RunOutcome("interrupted", None, why)
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "bug":
                log.exception("a bug in Cortex-R; trace %s", ask.context.trace_id)
            outcome = RunOutcome("failed", None, problem.detail)
        outcome.durations.setdefault("total", self._clock() - began)
        try:
            self._tell_end(run, ask, outcome, problem)
        finally:
            self._retire(run)

    def _tell_end(
        self, run: ServedRun, ask: _Ask, outcome: RunOutcome, problem: Problem | None
    ) -> None:
        run.outcome = replace(outcome, steps=())  # its calls' results may be large
        run.close_questions(ask.words)
        if problem is not None:
            document = problem.document(ask.context.trace_id)
            run.add(*ask.words.document("error", {"problem": document}))
        for name, fields in ended(outcome, run.conversation_id, ask.context.trace_id):
            run.add(*ask.words.document(name, fields))

    async def _in_turn(self, run: ServedRun, ask: _Ask) -> RunOutcome:
        async def listen(event: Event) -> None:
            for name, data in ask.words.told(event):
                run.add(name, data)

        async def put(question: PersonQuestion) -> PersonAnswer | None:
            return await run.put(question, ask.words)

        where = run.user, run.profile, run.conversation_id
        async with contextlib.AsyncExitStack() as stack:
            with run.waiting():
                if self._turn.locked():
                    run.add(*ask.words.document("run.queued", {"place": self._place_of(run)}))
                await stack.enter_async_context(self._turn)
                conversation = self.pool.conversation(*where, put)
                answering = await stack.enter_async_context(conversation)
                if ask.is_named and not await answering.is_kept():
                    await listen(Notice("memory", _BEGINS.format(run.conversation_id)))
            with run.answered_by(answering):
                asked = ask.request, listen, ask.texts
                return await answering.ask(*asked, max_cost=ask.max_cost)

    def _place_of(self, run: ServedRun) -> int:
        """Its place in the queue: 1 is the next whose turn it is."""
        waiting = [each for each in self.active if not each.has_begun]
        return 1 + waiting.index(run)

    def _retire(self, run: ServedRun) -> None:
        self._active.pop(run.id, None)
        self._finished[run.id] = run
        characters = sum(each.characters for each in self._finished.values())
        while len(self._finished) > 1 and (
            len(self._finished) > FINISHED_KEPT or characters > FINISHED_CHARACTERS_MAX
        ):
            characters -= self._finished.popitem(last=False)[1].characters

    def _of_earlier_process(self, run_id: str, user: User, kept: KeptRun) -> ServedRun:
        """A run as its file tells it; where its process was killed, it ends as interrupted.

        Raises:
            RunElsewhere: its process is alive.
        """
        facts, events = kept.facts, kept.events
        run = ServedRun(run_id, user, facts.profile, facts.conversation_id or None, events)
        if run.is_done:
            return run
        if kept.is_going_on:
            raise RunElsewhere(
                f"another process answers the run {run_id}; ask that one, or wait for its end"
            )
        at = events[-1].data.get("at") if events else None
        moment = at if isinstance(at, int | float) else self._clock()
        words = EventWords(run_id, self.pool.setting.redactor, lambda: moment)
        outcome = RunOutcome("interrupted", None, INTERRUPTED)
        for name, fields in ended(outcome, run.conversation_id, facts.trace_id):
            run.add(*words.document(name, fields))
        return run


def _is_own(run: ServedRun, user: User) -> bool:
    """Whether a run is the user's to see: one token of a user may be for fewer profiles."""
    return run.user.name == user.name and user.may_use(run.profile)
