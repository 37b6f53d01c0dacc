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
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Final, TypeAlias

from core.asking import Answer, Question
from core.base.clock import Clock
from core.base.frozen import frozen
from core.events import Event, Notice
from core.run.execution import ExecutionContext, begin, working
from core.turn import RunOutcome, TextInput
from core.values import JsonObject
from modules.asking import fitting
from modules.service.agents import AgentConversation
from modules.service.pool import AgentPool, Busy, ConversationBusy, User
from modules.service.served.events import CHUNK, DONE, EventWords, ServiceEvent, ended
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


@frozen
class _Ask:
    """What a run is to answer, and how."""

    request: str
    texts: tuple[TextInput, ...]
    context: ExecutionContext
    max_cost: float | None
    is_named: bool  # the client has named the conversation


class ServedRun:
    """One run, as its events tell of it; `Runs` makes it.

    Attributes:
        id: 32 hexadecimal digits.
        user: whose it is.
        profile: the name of the profile that answers.
        conversation_id: the session that it belongs to.
        outcome: how it ended, without its steps; None before.
        task: what answers; None where another process did.
        log: the file of its events; there is one as soon as the task has begun.
        has_begun: whether its turn has come.
        characters: about how much memory its events take.
    """

    def __init__(
        self,
        id_: str,
        user: User,
        profile: str,
        conversation_id: str | None,
        words: EventWords,
        on_event: OnEvent | None = None,
        events: Sequence[ServiceEvent] = (),
    ) -> None:
        self.id = id_
        self.user = user
        self.profile = profile
        self.conversation_id = conversation_id
        self.outcome: RunOutcome | None = None
        self.task: asyncio.Task[object] | None = None
        self.log: RunLog | None = None
        self.has_begun = False
        self.characters = 0
        self._words = words
        self._events = [*events]
        self._on_event = on_event
        self._more = asyncio.Event()
        self._open: dict[str, tuple[Question, asyncio.Future[Answer | None]]] = {}
        self._is_cancelled = False
        self._is_waiting = False
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

    async def put(self, question: Question) -> Answer | None:
        """Put a question to who follows the run, and wait for the answer."""
        if self.is_done:
            return None
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._open[question.id] = question, answer
        self.tell("clarify.request", {**_where(question), "question": _told(question)})
        try:
            return await answer
        finally:
            self._close(question.id)

    def question(self, question_id: str) -> Question:
        """The question of that id.

        Raises:
            NoSuchQuestion: it is not open, or not any more.
        """
        if question_id not in self._open:
            raise NoSuchQuestion(question_id)
        return self._open[question_id][0]

    def _close(self, question_id: str) -> None:
        """Tell that a question is open no more, once."""
        if question_id not in self._open:
            return
        question, answer = self._open.pop(question_id)
        given = answer.result() if answer.done() and not answer.cancelled() else None
        is_answered = given is not None and not given.declined
        told = {**_where(question), "question_id": question_id, "answered": is_answered}
        self.tell("clarify.answered", told)
        if not answer.done():
            answer.set_result(None)

    def answer(self, question_id: str, answer: Answer | None) -> None:
        """Answer a question that is open; None where nobody is there to be asked.

        Raises:
            NoSuchQuestion: it is not, or not any more.
            UsageError: the answer does not fit the question, which stays open.
        """
        question, given = self._open.get(question_id, (None, None))
        if question is None or given is None or given.done():
            raise NoSuchQuestion(question_id)
        if answer is not None:
            answer = fitting(question, answer)
        given.set_result(answer)

    def cancel(self) -> None:
        """End the run as interrupted; nothing if it has ended, or just ends."""
        if self._conversation is not None:
            self._conversation.interrupt()
        elif self._is_waiting and not self._is_cancelled and self.task is not None:
            self.task.cancel()
        self._is_cancelled = True

    async def hear(self, event: Event) -> None:
        """Tell an event of the engine."""
        for name, data in self._words.told(event):
            self.add(name, data)

    def tell(self, name: str, fields: Mapping[str, object]) -> None:
        """Tell one more event, within bounds and without secrets."""
        self.add(*self._words.document(name, fields))

    def add(self, name: str, data: JsonObject) -> None:
        """Tell one more event as it is; nothing behind the last one."""
        if self.is_done or (len(self._events) >= EVENTS_MAX and name in _UNIMPORTANT):
            return
        event = ServiceEvent(len(self._events) + 1, name, data)
        self._events.append(event)
        if self._on_event is not None:
            self._on_event(event)
        if self.log is not None:
            self.characters += self.log.write(event, is_last=self.is_done)
        self._more.set()
        self._more = asyncio.Event()

    def end(self, outcome: RunOutcome, trace_id: str, problem: Problem | None = None) -> None:
        """Tell how it ended; no question is open any more."""
        self.outcome = replace(outcome, steps=())  # its calls' results may be large
        for question_id in [*self._open]:
            self._close(question_id)
        if problem is not None:
            self.tell("error", {"problem": problem.document(trace_id)})
        last = next((each.data for each in reversed(self._events) if each.name == CHUNK), None)
        if outcome.answer is not None and last is None:
            self.tell(CHUNK, {"content": outcome.answer})  # help, say, which no run has made
        elif outcome.answer is None and last is not None and last.get("more"):
            self.tell(CHUNK, {"content": "", "restart": True})  # a draft that became no answer
        for name, fields in ended(outcome, self.conversation_id, trace_id):
            self.tell(name, fields)


def _where(question: Question) -> dict[str, str]:
    return {"step": question.step} if question.step else {}


def _told(question: Question) -> dict[str, object]:
    """A question as `QuestionDocument` has it."""
    calls = [
        {
            "tool": call.tool,
            "values": [
                {"name": each.name, "value": each.value, "from": each.origin}
                for each in call.values
            ],
        }
        for call in question.calls
    ]
    return {**asdict(question), "calls": calls}


class Runs:
    """Begins runs, within limits, and finds them again; one for the process.

    Attributes:
        pool: the agents that answer.
        is_draining: whether no more requests are taken.
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
        self.is_draining = False
        self._on_event = on_event

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
        run = self._made(user, profile, conversation_id)
        context = execution or begin(user=user.name)
        context = context.within(session=conversation_id, profile=profile)
        ask = _Ask(request, texts, context, max_cost, is_named)
        run.task = asyncio.create_task(self._answered(run, ask))
        return run

    @contextlib.asynccontextmanager
    async def unkept(self, user: User, profile: str) -> AsyncGenerator[ServedRun]:
        """Within the `with`, the current task answers, once its turn has come; nothing is kept.

        The run counts as the others do, and is cancelled with them.

        Raises:
            QueueFull, Draining: no more are taken now.
        """
        self._admit(user, None)
        run = self._made(user, profile, None)
        run.task = asyncio.current_task()
        try:
            with run.waiting():  # until a conversation answers
                async with self._turn:
                    yield run
        finally:
            del self._active[run.id]
            if not run.is_done:  # who follows its events is to see their end
                outcome = RunOutcome("interrupted", None, "ended before there was an answer")
                run.end(outcome, "")

    def _made(self, user: User, profile: str, conversation_id: str | None) -> ServedRun:
        """A run that counts from now on."""
        id_ = uuid.uuid4().hex
        words = EventWords(id_, self.pool.setting.redactor, self._clock)
        run = ServedRun(id_, user, profile, conversation_id, words, self._on_event)
        self._active[id_] = run
        return run

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
        kept = read_log(self.pool.home(user), run_id)
        if kept is None or not user.may_use(kept.facts.profile):
            raise NoSuchRun(run_id)
        return self._of_earlier_process(run_id, user, kept)

    async def drain(self, seconds: float) -> None:
        """Take no more requests; runs have so long to end, then they are cancelled."""
        self.is_draining = True
        await self._wait(seconds)
        for run in self.active:
            run.cancel()
        await self._wait(CANCEL_SECONDS)
        for run in self.active:
            if run.task is not None:
                run.task.cancel()  # which waits for nothing any more
        await self._wait(CANCEL_SECONDS)

    async def _wait(self, seconds: float) -> None:
        """Wait until no run is left, for so long at most."""
        tasks = {task for run in self.active if (task := run.task) is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _admit(self, user: User, conversation_id: str | None) -> None:
        """Raise what stands against one more run."""
        if self.is_draining:
            raise Draining("the service ends; try again in a while")
        own = [run for run in self.active if run.user.name == user.name]
        if conversation_id and any(run.conversation_id == conversation_id for run in own):
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
            where, redactor = self.pool.home(run.user), self.pool.setting.redactor
            run.log = await asyncio.to_thread(RunLog, where, run.id, facts, redactor)
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
            run.end(outcome, ask.context.trace_id, problem)
        finally:
            self._retire(run)

    async def _in_turn(self, run: ServedRun, ask: _Ask) -> RunOutcome:
        where = run.user, run.profile, run.conversation_id
        async with contextlib.AsyncExitStack() as stack:
            with run.waiting():
                if self._turn.locked():
                    run.tell("run.queued", {"place": self._place_of(run)})
                await stack.enter_async_context(self._turn)
                conversation = self.pool.conversation(*where, run.put)
                answering = await stack.enter_async_context(conversation)
                if ask.is_named and not await answering.is_kept():
                    await run.hear(Notice("memory", _BEGINS.format(run.conversation_id)))
            with run.answered_by(answering):
                asked = ask.request, run.hear, ask.texts
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
        facts, at = kept.facts, self._clock()
        if kept.events and isinstance(last := kept.events[-1].data.get("at"), int | float):
            at = last
        words = EventWords(run_id, self.pool.setting.redactor, lambda: at)
        conversation = facts.conversation_id or None
        run = ServedRun(run_id, user, facts.profile, conversation, words, events=kept.events)
        if run.is_done:
            return run
        if kept.is_going_on:
            raise RunElsewhere(
                f"another process answers the run {run_id}; ask that one, or wait for its end"
            )
        run.end(RunOutcome("interrupted", None, INTERRUPTED), facts.trace_id)
        return run


def _is_own(run: ServedRun, user: User) -> bool:
    """Whether a run is the user's to see: one token of a user may be for fewer profiles."""
    return run.user.name == user.name and user.may_use(run.profile)
