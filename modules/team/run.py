"""A request that may be answered in parts: a graph of subtasks, each of them a run of the loop.

Beside `core.loop.AgentLoop`, and used as it is: events come from `run`, `interrupt` ends it. How
the request is answered is chosen first; if one plan will do, a loop does all of it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Final, ParamSpec, Protocol, TypeAlias, TypeVar

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import counted, sentence, shorten
from core.context import AgentContext, AgentProfile, Parts
from core.errors import BudgetSpent, SpentBudget, UserError, WorldError
from core.events import (
    ActionChosen,
    Answered,
    Emit,
    Event,
    GraphPlanned,
    InterruptibleRun,
    Replanned,
    RoleChosen,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
    collect,
)
from core.loop import AgentLoop
from core.ports import CountingModel, Dispatcher
from core.provenance.guard import guard_of
from core.provenance.known import Known
from core.run.answer import INTERRUPTED, UNFINISHED, after_interruption, with_sources
from core.run.execution import current_ids, working_on_part
from core.team.graph import GraphOutcome, Subtask, TaskGraph, is_number
from core.team.schedule import GraphRun, Replan, Result
from core.turn import RunOutcome, RunStatus, Step, TextInput, Usage, used_since
from modules.model_manager import ModelManager, ModelPart
from modules.models.serving.budget import RunLimits
from modules.team.board import Coordinator
from modules.team.needs import AskPerson, Needs, Refused, Wanted
from modules.team.patterns import Teamwork, estimate_by, judge_by, person_by, reviewer_by
from modules.team.reflection import Judgement, Reflection
from modules.team.roles import GENERALIST, Role, Team

FAILURE_TEXT: Final = "earlier_failure"
"""The text that tells a further try of a subtask why the one before failed."""

DECIDED_TEXT: Final = "contradictions"
"""The text that tells a subtask where those that it builds on contradict, and what counts."""

NO_ANSWER: Final = "No answer: "
"""Begins what is said instead of an answer: once, also where a part said it."""

FOUND: Final = "What was found:"
"""Stands before what was found where it is no answer."""

PARTIAL_CHARACTERS: Final = 500
"""How much of a finished part is told where the whole has no answer."""


_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


@frozen
class Part:
    """What one loop works on.

    Attributes:
        asked: the request, or what a subtask asks.
        texts: what goes along beside the texts of the request; written by anybody.
        is_said: whether `asked` counts as the user's words.
        is_answer: whether its result is what the user gets.
        subtask: None for the whole request.
        answer: what the user said to a question of the subtask.
    """

    asked: str
    texts: tuple[TextInput, ...] = ()
    is_said: bool = True
    is_answer: bool = True
    subtask: Subtask | None = None
    answer: str = ""


@frozen
class _Try:
    """One try of a subtask: by whom, with which tools, what it is asked, and the user's answer."""

    subtask: Subtask
    role: Role
    tools: Dispatcher
    asked: str
    texts: Mapping[str, str]
    attempt: int
    answer: str


@frozen
class _Work:
    """Who works on a graph, who keeps the books, and who plans anew."""

    coordinator: Coordinator
    teamwork: Teamwork
    replan: Replan | None


class MakeParts(Protocol):
    """Makes the parts that a loop works with."""

    def __call__(
        self,
        model: CountingModel,
        texts: tuple[TextInput, ...],
        *,
        is_whole: bool = True,
        is_answer: bool = True,
        profile: AgentProfile | None = None,
    ) -> Parts:
        """Those of a loop with this model, for plans that have `texts`.

        `profile` is that of a role, by default the whole agent's.
        Only the loop of a whole request is told of the past; only an answer must have the form
        that the user demands.
        """
        ...


@frozen
class Chosen:
    """How a request is answered; by one plan where there is no graph.

    Attributes:
        notes: what was changed in the graph, and why.
        is_users: whether the user wrote the graph, so that what it asks is the user's word.
        is_anybodys: whether it holds what anybody may have written, so that nothing in it is.
    """

    action: ActionChosen
    graph: TaskGraph | None = None
    notes: tuple[str, ...] = ()
    is_users: bool = False
    is_anybodys: bool = False


Choose: TypeAlias = Callable[[ModelPart], Awaitable[Chosen]]
"""Says how the request is answered; may ask the model."""


@frozen
class TeamSettings:
    """Who plans parts anew, where models come from that roles name, and who asks a person."""

    replan: Callable[[ModelPart], Replan] | None = None
    model_named: Callable[[str], ModelManager] | None = None
    ask_person: AskPerson | None = None


@frozen
class _Tally:
    """What the parts' own runs came to."""

    steps: list[Step] = field(default_factory=list[Step])
    durations: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    ungrounded: set[str] = field(default_factory=set[str])
    rules_wanted: dict[str, None] = field(default_factory=dict[str, None])
    unfinished: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add(self, subtask: str, outcome: RunOutcome) -> None:
        """Count one of them in; phases of parts that run at once add up."""
        self.steps.extend(outcome.steps)
        self.rules_wanted.update(dict.fromkeys(outcome.rules_wanted))
        if outcome.grounded is False:
            self.ungrounded.add(subtask)
        elif outcome.grounded:
            self.ungrounded.discard(subtask)
        for phase, seconds in outcome.durations.items():
            if phase != "total":
                self.durations[phase] = self.durations.get(phase, 0.0) + seconds


class TeamRun(InterruptibleRun):
    """Runs one request to its end, in parts where that was chosen."""

    def __init__(
        self,
        whole: AgentContext,
        model: ModelManager,
        make_parts: MakeParts,
        choose: Choose,
        settings: TeamSettings | None = None,
        clock: Clock = time.perf_counter,
        *,
        is_inside: bool = False,
    ) -> None:
        """Answer the request of `whole`, by loops that have their parts from `make_parts`.

        `clock` gives seconds. One that runs inside another shares that one's models and budget.
        """
        super().__init__()
        self._is_inside = is_inside
        self._whole = whole
        self._model = model
        self._make_parts: MakeParts = make_parts
        self._asking = asyncio.Lock()
        self._choose = choose
        self._settings = settings or TeamSettings()
        seconds = whole.agent_profile.team.ask_seconds
        self._needs = Needs(self._settings.ask_person, seconds, self._asking)
        self._clock = clock
        self._trusted: frozenset[Subtask] = frozenset()
        self._graph = TaskGraph("", ())
        self._keeps_roles = False
        self._coordinator: Coordinator | None = None
        self._is_anybodys = False
        self._inputs: set[str] = set()
        self._run_of_graph: GraphRun | None = None
        self._answer: str | None = None
        self._judged: Judgement | None = None
        self._tally = _Tally()
        self._models: dict[str, ModelManager] = {}
        self._spent: SpentBudget | None = None
        self._roles: dict[str, str] = {}

    async def _run(self, emit: Emit) -> None:
        started, whole = self._clock(), self._whole
        used, used_by = self._model.usage, dict(self._model.usage_by_model)
        with contextlib.nullcontext() if self._is_inside else self._model.telling(emit):
            about = whole.session_id, whole.user_input, self._model.name
            await emit(RunStarted(*about, *current_ids()))
            outcome = await self._bounded_by_the_world(emit)
        usage, used_by = self._model.usage - used, used_since(used_by, self._model.usage_by_model)
        for other in self._models.values():
            usage += other.usage
            for name, more in other.usage_by_model.items():
                used_by[name] = used_by.get(name, Usage()) + more
            await other.aclose()
        outcome = replace(
            outcome,
            usage=usage,
            usage_by_model=used_by,
            durations={**outcome.durations, "total": self._clock() - started},
            rules_wanted=(*outcome.rules_wanted, *self._tally.rules_wanted),
        )
        whole.final_answer = outcome.result
        if outcome.answer is not None:
            await emit(Answered(outcome.answer))
        await emit(RunFinished(outcome))

    async def _bounded_by_the_world(self, emit: Emit) -> RunOutcome:
        """The answer, with outage and interruption turned into an outcome."""
        if self._interrupted:
            return _without_answer("interrupted", INTERRUPTED)
        self._task = asyncio.current_task()
        asker = self._model.part()
        try:
            with asker.telling(emit):
                chosen = await self._choose(asker)
                await emit(chosen.action)
                if chosen.graph is None:
                    return await self._by_one_plan(emit)
                self._is_anybodys = chosen.is_anybodys
                self._keeps_roles = chosen.action.action == "workflow"
                self._plan(chosen.graph, is_users=chosen.is_users)
                self._coordinator = coordinator = self._coordinator_of(emit, asker)
                await coordinator.tell(GraphPlanned(chosen.graph, chosen.notes))
                return await self._by_graph(chosen.graph, coordinator, asker)
        except BudgetSpent as error:
            ended = _without_answer("no_answer", f"No answer: {sentence(str(error))}")
            return replace(ended, budget=error.budget)
        except WorldError as error:
            return _without_answer("failed", str(error))
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None:
                raise
            self._task.uncancel()
            return _without_answer("interrupted", after_interruption(self._unfinished()))
        finally:
            self._task = None

    async def _by_one_plan(self, emit: Emit) -> RunOutcome:
        context = self._begin(Part(self._whole.user_input), self._model.part())

        async def tell(event: Event) -> None:
            if not isinstance(event, RunStarted | Answered | RunFinished):
                await emit(event)

        return await self._loop("", context, tell)

    async def _loop(self, name: str, context: AgentContext, tell: Emit) -> RunOutcome:
        """One loop, run to its end; cut off, what its model had written stays."""
        loop = AgentLoop(context, self._clock)
        try:
            return await collect(loop.run(), tell)
        finally:
            if loop.unfinished:
                self._tally.unfinished.append((name, loop.unfinished))

    def _unfinished(self, done: Collection[str] = ()) -> str:
        """What models had written of parts that are not `done`, each under its name."""
        written = self._tally.unfinished
        return "\n\n".join(
            f"**{id_}**\n\n{text}" if id_ else text for id_, text in written if id_ not in done
        )

    async def _by_graph(
        self, graph: TaskGraph, coordinator: Coordinator, asker: ModelPart
    ) -> RunOutcome:
        team, teamwork = self._team(asker, coordinator)
        if wrong := team.problems(graph):
            return _without_answer("failed", f"the graph can't run: {'; '.join(wrong)}")
        replan = None if self._settings.replan is None else self._settings.replan(asker)
        work = _Work(coordinator, teamwork, replan)
        try:
            reflection = Reflection(asker, coordinator.tell)
            outcome = await self._graph_run(graph, {}, work).run()
            return self._outcome(await self._until_enough(outcome, reflection, work))
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None or self._run_of_graph is None:
                raise
            self._task.uncancel()
            ended = await self._run_of_graph.ended(INTERRUPTED)
            return self._interrupted_outcome(ended)

    def _interrupted_outcome(self, ended: GraphOutcome) -> RunOutcome:
        """What there is, finished or not, when a person has stopped the run."""
        outcome = self._outcome(ended)
        told = outcome.message
        if outcome.answer is not None:  # found, and not judged yet
            told = f"{sentence(INTERRUPTED)} {FOUND}\n\n{outcome.answer}"
        if unfinished := self._unfinished(ended.results):
            told = f"{told}\n\n{UNFINISHED.capitalize()}\n\n{unfinished}"
        return replace(outcome, status="interrupted", answer=None, message=told, grounded=None)

    def _graph_run(self, graph: TaskGraph, done: Mapping[str, str], work: _Work) -> GraphRun:
        """A run of what is not `done` of a graph; the newest is the one that can be interrupted."""

        async def tell(event: SubtaskChanged | Replanned) -> None:
            if isinstance(event, Replanned):
                self._plan(event.graph)
            await work.coordinator.tell(event)

        section = work.teamwork.section
        self._run_of_graph = GraphRun(
            graph,
            partial(self._done_by_team, work),
            tell,
            clock=self._clock,
            replan=work.replan,
            done=done,
            max_parallel=section.max_parallel,
            deadline_seconds=section.deadline_seconds,
        )
        return self._run_of_graph

    async def _done_by_team(
        self, work: _Work, subtask: Subtask, asked: str, texts: Mapping[str, str], attempt: int
    ) -> Result:
        """One try by whoever of the team does it, once a person has given what it needs."""
        answer, emit = "", work.coordinator.tell
        if subtask.needs is not None:
            wanted = Wanted(subtask, asked, texts)
            settled = await self._needs.settle(wanted, emit)
            if isinstance(settled, Refused):
                return Result(False, settled.reason, again=False)
            asked, answer = settled.put_into(wanted), settled.text if settled.is_users else ""
        before = [id_ for id_ in self._graph.ids if subtask.id in self._graph.after(id_)]
        if decided := work.coordinator.contradictions_of(before):
            texts = {**texts, DECIDED_TEXT: decided}

        async def by(role: Role, tools: Dispatcher) -> Result:
            this = _Try(subtask, role, tools, asked, texts, attempt, answer)
            return await self._subtask(this, emit)

        try:
            return await work.teamwork.do(subtask, asked, by)
        except BudgetSpent as error:
            self._spent = error.budget
            raise

    async def _until_enough(
        self, outcome: GraphOutcome, reflection: Reflection, work: _Work
    ) -> GraphOutcome:
        """Plan and run more, while the answer is judged to want more and somebody knows how."""
        while (other := await self._more(outcome, reflection, work)) is not None:
            self._plan(other)
            before = outcome.graph
            kept = {
                id_: text
                for id_, text in outcome.results.items()
                if id_ in other.ids and other[id_] == before[id_]
            }
            again = await self._graph_run(other, kept, work).run()
            if self._is_answered(outcome) and not self._is_answered(again):
                break  # what there was before is the better answer
            outcome = again.behind(outcome)
        return outcome

    async def _more(
        self,
        outcome: GraphOutcome,
        reflection: Reflection,
        work: _Work,
    ) -> TaskGraph | None:
        """A graph that also finds what is missing; None where nothing is, or nobody knows a way.

        The part that gives the answer is planned anew; what is missing is data to who does that.
        """
        board = work.coordinator.board.view("reviewer")
        judged = self._judged = await reflection.judge(self._whole.user_input, outcome, board)
        last = outcome.graph[outcome.graph.results[-1]]
        if judged.verdict != "need_more" or work.replan is None or last.needs is not None:
            return None
        reason = f"the answer is not complete; missing: {'; '.join(judged.missing)}"
        done = {id_: text for id_, text in outcome.results.items() if id_ != last.id}
        try:
            async with asyncio.timeout(work.teamwork.section.deadline_seconds):
                other = await work.replan(outcome.graph, last, reason, done)
        except (BudgetSpent, TimeoutError):
            return None  # the answer that there is has been paid for
        if other is None or other.is_same_as(outcome.graph):
            return None
        await work.coordinator.tell(Replanned(last.id, reason, other))
        return other

    def _coordinator_of(self, emit: Emit, model: ModelPart) -> Coordinator:
        """Who keeps the whiteboard; asks a reviewer, then the user, where workers contradict."""
        reviewer = reviewer_by(judge_by(model)) if model.traits.reads_text else None
        asked = self._one_by_one(self._whole.parts.ask_user)
        return Coordinator(emit, reviewer=reviewer, user=person_by(asked) if asked else None)

    def _team(self, model: ModelPart, coordinator: Coordinator) -> tuple[Team, Teamwork]:
        """The profile's team, and how it works; `model` judges, where it reads texts."""

        async def note(event: RoleChosen) -> None:
            before = self._roles.setdefault(event.subtask, event.role)
            if event.role not in before.split(", "):  # a committee, or another try
                self._roles[event.subtask] = f"{before}, {event.role}"
            await coordinator.tell(event)

        section = self._whole.agent_profile.team
        team = Team(section, self._whole.dispatcher)
        reads = model.traits.reads_text
        judge, estimate = (judge_by(model), estimate_by(model)) if reads else (None, None)
        told = note, coordinator.bus.send, time.time
        keeps = self._keeps_roles
        return team, Teamwork(team, section, *told, judge, estimate, keeps_roles=keeps)

    def _plan(self, graph: TaskGraph, *, is_users: bool = False) -> None:
        """Go by a graph: what it asks is the user's word unless a text of others had a say in it.

        What was trusted before stays so.
        """
        self._graph, known = graph, self._known
        if self._is_anybodys:
            self._trusted = frozenset()
        elif is_users or known is None or not known.is_tainted:
            self._trusted = frozenset(graph.subtasks)
        self._inputs |= {*graph.ids} - {*graph.results}
        wanted = self._wanted(graph)
        self._answer = wanted[0] if len(wanted) == 1 else None

    def _is_answered(self, outcome: GraphOutcome) -> bool:
        return {*self._wanted(outcome.graph)} <= outcome.results.keys()

    def _wanted(self, graph: TaskGraph) -> tuple[str, ...]:
        """The parts whose results are the answer: none that was an input before it was planned."""
        return tuple(id_ for id_ in graph.results if id_ not in self._inputs) or graph.results

    @property
    def _known(self) -> Known | None:
        provenance = self._whole.provenance
        return None if provenance is None else provenance.known

    async def _subtask(self, this: _Try, emit: Emit) -> Result:
        """One try of a subtask, by a loop of its own.

        Raises:
            BudgetSpent: the run may use no more of its models.
        """
        subtask, asked = this.subtask, this.asked
        is_free = subtask.role is None or not self._keeps_roles
        is_next_another = is_free and this.role.name != GENERALIST
        try:
            model = self._model_of(this.role)
        except UserError as error:
            return Result(False, f"the model of {this.role.name}: {error}", is_next_another)
        if model.traits.reads_text:
            asked = _asked_in_words(this)
        of_nothing = {*self._tally.ungrounded, DECIDED_TEXT}  # what models wrote themselves
        given = [
            TextInput(name, text, grounded=name not in of_nothing)
            for name, text in this.texts.items()
        ]
        if (failure := self._tally.failures.get(subtask.id)) is not None:
            given.append(TextInput(FAILURE_TEXT, failure, grounded=False))
        is_said = subtask in self._trusted  # the whole of it: what is expected is asked, too
        is_answer = subtask.id == self._answer
        part = Part(asked, tuple(given), is_said, is_answer, subtask, this.answer)
        context = self._begin(part, model, this)

        async def tell(event: Event) -> None:
            about = current_ids()[1], this.role.name
            await emit(SubtaskEvent(subtask.id, this.attempt, event, *about))

        try:
            with working_on_part(subtask.id):
                outcome = await self._loop(subtask.id, context, tell)
        finally:
            if self._known is not None and context.provenance is not None:
                self._known.absorb(context.provenance.known)
        self._tally.add(subtask.id, outcome)
        if outcome.answer is not None:
            return Result(True, outcome.answer)
        if model.spent is not None:
            raise model.spent
        if outcome.budget is not None:
            raise BudgetSpent(outcome.message.removeprefix(NO_ANSWER), outcome.budget)
        self._tally.failures[subtask.id] = outcome.message
        # Whoever plans the same again fails the same again, and a service that is down stays so.
        # So does what nobody can have, what the user has said no to, or what nobody may allow.
        calls = [call for step in outcome.steps for call in step.result.calls]
        is_refused = bool(calls) and calls[-1].refused
        is_open = outcome.status == "no_answer" and outcome.verdict != "blocked" and not is_refused
        again = is_open and (is_next_another or not model.traits.deterministic)
        if outcome.status != "no_answer":
            again = is_next_another and this.role.model is not None
        return Result(False, outcome.message, again)

    def _model_of(self, role: Role) -> ModelPart:
        """The models of a role, bounded by its own limits and those of the run.

        Raises:
            UserError: its model can't be had.
        """
        limits = RunLimits(role.max_cost, role.max_tokens)
        if role.model is None or self._settings.model_named is None:
            return self._model.part(limits)
        if role.model not in self._models:
            self._models[role.model] = self._settings.model_named(role.model)
        return self._models[role.model].part(limits, within=self._model)

    def _begin(self, part: Part, model: ModelPart, this: _Try | None = None) -> AgentContext:
        """The context of a loop; what it learns of values is its own until it is absorbed."""
        profile, tools = self._whole.agent_profile, self._whole.dispatcher
        servers = self._whole.mcp_server_descriptions
        if this is not None:
            profile = this.role.profile(profile)
            if this.tools is not tools:
                tools, there = this.tools, {tool.server for tool in this.tools.catalog}
                servers = {id_: text for id_, text in servers.items() if id_ in there}
        whole, is_whole = self._whole, part.subtask is None
        texts, provenance = (*whole.texts, *part.texts), whole.provenance
        if provenance is not None and not is_whole:
            known = provenance.known.fork()
            for text in part.texts:
                known.reminded(text.text)
            provenance = replace(provenance, known=known, ask=self._one_by_one(provenance.ask))
        parts = self._make_parts(
            model, texts, is_whole=is_whole, is_answer=part.is_answer, profile=profile
        )
        return AgentContext(
            part.asked,
            whole.session_id,
            tools,
            servers,
            profile=profile,
            memory=whole.memory,
            model=model,
            parts=replace(parts, ask_user=self._one_by_one(parts.ask_user)),
            history=whole.history if is_whole else (),
            images=whole.images,
            texts=texts,
            provenance=provenance,
            readable=whole.readable,
            said=None if is_whole else self._said(part),
        )

    def _said(self, part: Part) -> tuple[str, ...]:
        """The user's words in a part; what is wanted now stands at their end.

        What others gave is none of them: a number of theirs stands in what the part is asked.
        """
        words, subtask = tuple(self._whole.said), part.subtask
        if part.is_said and subtask is not None:
            told = subtask.description, subtask.expected, subtask.default or ""
            words = (*words, "\n".join(filter(None, told)))
        return (*words[:-1], part.answer, *words[-1:]) if part.answer else words

    def _one_by_one(
        self, ask: Callable[_Asked, Awaitable[_Answer]] | None
    ) -> Callable[_Asked, Awaitable[_Answer]] | None:
        """The same, but while one part asks the user, the others wait for their turn."""
        if ask is None:
            return None

        async def ask_in_turn(*args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
            async with self._asking:
                return await ask(*args, **named)

        return ask_in_turn

    def _outcome(self, graph: GraphOutcome) -> RunOutcome:
        """What the whole comes to: the results that no other part needs are the answer."""
        if self._coordinator is not None:
            found = self._coordinator.contradictions.items()
            graph = replace(graph, notes=graph.notes | {key: each.told for key, each in found})
        steps, wanted = tuple(self._tally.steps), self._wanted(graph.graph)
        found = [(id_, graph.results[id_]) for id_ in wanted if id_ in graph.results]
        if found and len(found) == len(wanted):
            parts = (f"**{id_}**\n\n{text}" for id_, text in found)
            answer = found[0][1] if len(found) == 1 else "\n\n".join(parts)
            noted = (f"({id_}: {note})" for id_, note in graph.notes.items())
            if not answer.lstrip().startswith(("{", "[")):  # JSON, for programs
                answer = "\n\n".join((answer, *noted))
            answer = with_sources(self._without_unknown_images(answer), steps)
            grounded = self._tally.ungrounded.isdisjoint(wanted)
            whole = RunOutcome("done", answer, "", steps, grounded=grounded)
            whole = _as_judged(whole, self._judged)
        else:
            whole = RunOutcome("no_answer", None, _why_not(graph), steps, budget=self._spent)
        graph = replace(graph, roles=dict(self._roles))
        verdict = None if self._judged is None else self._judged.verdict
        return replace(whole, graph=graph, durations=self._tally.durations, verdict=verdict)

    def _without_unknown_images(self, answer: str) -> str:
        """As each part's run has it of its own text, of what the texts make together."""
        whole = self._whole
        guard = guard_of(whole.provenance, lambda: whole.dispatcher.catalog, whole.said)
        return answer if guard is None else guard.without_unknown_images(answer)


def _asked_in_words(this: _Try) -> str:
    """What a try is asked, by a model that reads texts."""
    asked, subtask = this.asked, this.subtask
    if subtask.after and not subtask.references:  # nothing in it speaks of them
        before = {id_: text for id_, text in this.texts.items() if id_ in subtask.after}
        came = (f"{id_} = {text}" if is_number(text) else id_ for id_, text in before.items())
        asked = f"{asked}\n\nResults of what came before: {', '.join(came)}."
    if subtask.expected:
        asked = f"{asked}\n\nThe result should be: {subtask.expected}"
    return asked


def _without_answer(status: RunStatus, message: str) -> RunOutcome:
    return RunOutcome(status, None, message)


def _as_judged(found: RunOutcome, judged: Judgement | None) -> RunOutcome:
    """What is found; no answer, but told all the same, where it is judged not to be enough."""
    if judged is None or judged.verdict == "satisfied":
        return found
    why = "what was found is incomplete" if judged.verdict == "need_more" else "it can't be had"
    missing = f" Missing: {sentence('; '.join(judged.missing))}" if judged.missing else ""
    told = f"{NO_ANSWER}{why}: {sentence(judged.reason)}{missing}\n\n{FOUND}\n\n{found.answer}"
    return replace(
        found,
        status="no_answer",
        answer=None,
        message=told,
        rejected_answer=found.answer,
        grounded=None,
    )


def _why_not(graph: GraphOutcome) -> str:
    """Plainly what failed, and the best that was found: of the parts that came furthest."""
    failed = [id_ for id_, state in graph.states.items() if state == "failed"]
    why = graph.stopped or "; ".join(
        f"{id_}: {graph.reasons.get(id_, '').removeprefix(NO_ANSWER)}" for id_ in failed
    )
    done = counted(len(graph.results), "part")
    told = f"{NO_ANSWER}{sentence(why or 'no part of it could be done')}"
    if not graph.results:
        return told
    newest = next(id_ for id_ in reversed(graph.graph.ids) if id_ in graph.results)
    best = shorten(graph.results[newest], PARTIAL_CHARACTERS)
    return f"{told} {done} of {len(graph.graph.ids)} finished; {newest} gave: {best}"
