"""A conversation: several requests that share one session, one model and living servers."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from config.schema import AgentProfile
from config.server_list import is_documents_server, memory_server_id
from config.servers import ServerSpec
from config.settings import WORKFLOWS, Places
from core.asking import AskLeave
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import sentence
from core.context import AgentContext, Parts
from core.errors import BudgetSpent
from core.events import Emit, Notice, collect
from core.loop import AgentLoop
from core.ports import (
    AskUser,
    CallTool,
    CountingModel,
    Dispatcher,
    OnRepaired,
    RequestRun,
    SpendCall,
)
from core.provenance.guard import Provenance
from core.provenance.known import Known
from core.provenance.permissions import Permissions
from core.provenance.rules import read_rule
from core.run.chosen_tools import ChosenTools, WithoutServer, is_known
from core.run.execution import ExecutionContext, begin, current, working
from core.run.timeout import RequestTimeout
from core.run.working_memory import WorkingMemory
from core.session import MultiMCP
from core.team.graph import TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.record import ToolRecord
from core.turn import (
    ActionResult,
    Exchange,
    MemoryItem,
    PerceptionResult,
    Plan,
    RunOutcome,
    TextInput,
    used_since,
)
from modules.action import as_written, run_plan
from modules.decision import PlanWriter
from modules.memory.recollection import Recollection, Remembering
from modules.memory.tool_record import newest_tool_records
from modules.model_manager import ModelManager
from modules.models.offline.planner import servers_to_ask
from modules.models.offline.welcome import Situation, asks_for_help, count_files, help_page
from modules.perception import run_perception
from modules.planning.answer_schema import ExpectedAnswer
from modules.planning.by_hand import NOTHING_BY_HAND, ByHand
from modules.planning.demands import Demands
from modules.planning.guidance.guide import UNGUIDED, Guide, Guided
from modules.planning.preparation import prepare_plan, read_calls
from modules.planning.prompt.stubs import describe_tool
from modules.planning.prompt.summaries import summarise
from modules.provenance_policy import provenance_policy
from modules.sandbox import Sandbox
from modules.session.attached.attachments import Attached, read_attachments
from modules.session.brought import NOTHING_BROUGHT, Brought
from modules.session.current import CurrentSession
from modules.session.history import exchanges, leave_kept
from modules.session.ids import check_session_id
from modules.team.entry import TeamEntry, may_have_parts

INTERRUPTED_EARLY = "interrupted before a plan was written"
"""What a run says that was stopped before its loop began."""

log = logging.getLogger(__name__)


@frozen
class _Asked:
    """A request, and what goes with it or takes a part of it over."""

    request: str
    texts: tuple[TextInput, ...]
    by_hand: ByHand
    graph: TaskGraph | None
    brought: Brought


@frozen
class _Prepared:
    """What a run works with, and what makes the parts of the loops that it may be split into."""

    context: AgentContext
    make_parts: Callable[..., Parts]


class Conversation:
    """Answers requests one after the other; `async with` bounds servers and sandbox.

    `listener` gets every event of every run, and notices that arise between runs.

    Attributes:
        profile: how requests are answered.
        model: the chain of models, and why it was chosen.
        sandbox: where plans run.
        policy: what is trusted beside the user's words.
        permissions: what the user has allowed.
        guide: what user and project have written for models that read.
    """

    def __init__(
        self,
        profile: AgentProfile,
        places: Places,
        model: ModelManager,
        dispatcher: MultiMCP,
        sandbox: Sandbox,
        listener: Emit,
        session_id: str | None = None,
        redactor: Redactor | None = None,
        *,
        ask_user: AskUser | None = None,
        ask_leave: AskLeave | None = None,
        approve: Sequence[str] = (),
        demands: Demands | None = None,
        guide: Guide | None = None,
        team: TeamEntry | None = None,
        files_in: Path | None = Path(),
        warn: Callable[[str], None] = log.warning,
        owns_parts: bool = True,
        has_commands: bool = True,
    ) -> None:
        """Join the parts; nothing starts before `async with`.

        Sessions, permissions and what was spent lie in `places`: the user's own, where a service
        has several. What is trusted, where documents lie, and what finds earlier sessions, follows
        from the profile and the servers of the dispatcher; tools in `approve` need no leave.
        `redactor` goes over what the session keeps; `ask_user` puts a plan's question to the
        user, and `ask_leave` a doubt about a call, where somebody is there. `demands` hold for
        each request. `guide` has what user and project say to models that read. `team` answers
        requests in parts. Paths in requests (`@notes.md`) start at `files_in`; None: no file is
        read for them. `warn` hears of a permission that can't be kept. Who shares model, dispatcher
        and sandbox with others (`owns_parts` false) opens and ends them. With `has_commands` the
        person can type those of `agent.py`.

        Raises:
            UsageError: `session_id` is not of a known form.
        """
        self.profile = profile
        self._places = places
        self.model = model
        self._dispatcher = dispatcher
        self.sandbox = sandbox
        self._listener = listener
        self._redactor = redactor = redactor or Redactor(os.environ)
        folder = profile.memory_folder(places.home)
        self.session = CurrentSession(profile, folder, listener, session_id, redactor)
        self._ask_user = ask_user
        self._ask_leave = ask_leave
        self._approve = approve
        self.policy = provenance_policy(profile, dispatcher.specs, places, approve)
        self.permissions = Permissions(places.permissions_file, profile.agent.id, redactor, warn)
        self._memory_server = memory_server_id(dispatcher.specs, places.root)
        self._demands = demands or Demands()
        self.guide = guide
        self._team = team or TeamEntry()
        self._expected: ExpectedAnswer | None = None
        self._known = Known(self.policy)
        self._recollection = self._recalling()
        self._is_asked = self._is_interrupted = False
        self._preparation: asyncio.Task[_Prepared] | None = None
        self._loop: RequestRun | None = None
        self._files_in = files_in
        self._spend_call: SpendCall | None = None
        self._owns_parts = owns_parts
        self._has_commands = has_commands
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open the sandbox and the dispatcher; servers start when they are needed."""
        if self._owns_parts:
            await self._stack.enter_async_context(self.sandbox)
            await self._stack.enter_async_context(self._dispatcher)
            # the last, if it was changed
            self._stack.push_async_callback(lambda: self.model.aclose())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End servers, sandbox workers and model connections; every wait is bounded."""
        if left := self.model.leftover:
            await self._listener(Notice("model", f"the script has replies left over: {left}"))
        await self._recollection.aclose()
        await self._stack.aclose()

    @property
    def document_folders(self) -> tuple[Path, ...]:
        """Where the documents lie that answers name as their sources."""
        return self.profile.document_folders(self._places.home)

    @property
    def _index_folder(self) -> Path | None:
        """Where the index of documents lies; None where none of ours keeps one."""
        servers, root = self._dispatcher.specs, self._places.root
        if not any(is_documents_server(spec, root) for spec in servers):
            return None
        return self.profile.index_folder(self._places.home)

    async def use_model(self, model: ModelManager) -> None:
        """Let the next request be answered by another model; the one before is closed."""
        before, self.model = self.model, model
        await before.aclose()

    async def use_profile(self, profile: AgentProfile, specs: Sequence[ServerSpec]) -> bool:
        """Go by another profile, and other servers, from the next request on; as `__init__` does.

        False: what is kept, or where, is another thing there, so that a new session begins.
        """
        before, folder_before = self.profile, self.session.folder
        server_before = self._memory_server
        self.profile = self.session.profile = profile
        self.session.folder = folder = profile.memory_folder(self._places.home)
        self.policy = provenance_policy(profile, specs, self._places, self._approve)
        self._memory_server = memory_server_id(specs, self._places.root)
        self.permissions.use(profile.agent.id)
        self._known.use(self.policy)
        kept = (before.memory, folder_before) == (profile.memory, folder)
        if not kept or self._memory_server != server_before:
            await self._recollection.aclose()
            self._recollection = self._recalling()
        if kept and before.trace == profile.trace:
            return True
        place = (before.memory.storage.structure, before.memory.memory_service, folder_before)
        goes_on = place == (profile.memory.storage.structure, True, folder)
        session_id = self.session.id
        # It is read anew, and kept by the new settings.
        self._begin_session(session_id if goes_on else None)
        return goes_on or session_id is None

    def new_session(self) -> None:
        """Let the next request begin a new session."""
        self._begin_session()

    def resume(self, session_id: str) -> None:
        """Let the next request go on with a session that is kept.

        Raises:
            UsageError: the id is not of a known form.
        """
        self._begin_session(check_session_id(session_id))

    def _begin_session(self, session_id: str | None = None) -> None:
        self.session.leave(session_id)
        self._known = Known(self.policy)
        self.permissions.begin_session()

    def interrupt(self) -> bool:
        """Stop the running request; servers stay alive. Whether there was one."""
        if not self._is_asked:
            return False
        self._is_interrupted = True  # also while neither of the two is there yet
        if self._loop is not None:
            self._loop.interrupt()
        elif self._preparation is not None:
            self._preparation.cancel()
        return True

    @contextlib.asynccontextmanager
    async def beside_runs(self) -> AsyncGenerator[ModelManager]:
        """Models may be asked inside as in a run: it is told, bounded, and counted.

        Raises:
            BudgetSpent: nothing is left for that.
        """
        used_by = dict(self.model.usage_by_model)
        try:
            async with self._within_budgets():
                with self.model.telling(self._listener):
                    yield self.model
        finally:
            await self.session.keep_usage(used_since(used_by, self.model.usage_by_model))

    async def ask(
        self,
        request: str,
        texts: tuple[TextInput, ...] = (),
        by_hand: ByHand = NOTHING_BY_HAND,
        graph: TaskGraph | None = None,
        execution: ExecutionContext | None = None,
        brought: Brought = NOTHING_BROUGHT,
    ) -> RunOutcome:
        """Run one request to its end; `interrupt` ends it at any moment.

        `by_hand` takes over a part of the run. `graph` is one of the user's, which is run in place
        of any other plan. Images that the request names (`@photo.png`) go with it, and so do
        `texts`, whoever may have written them, and what is `brought`. A greeting, and a request for
        help, get the page that helps (`modules.models.offline.welcome`): no model is asked, no
        server started, nothing kept. `execution` is what the request's door has made; by default
        the current one, else a new one.

        Raises:
            StorageError: the session that was asked for can't be read, or a fact that is to be
                remembered can't be written.
            UsageError: an image that the request names can't be used, a tool that the user
                demands is not there, or the graph can't run.
        """
        demands = self._demands
        if (schema := demands.answer_schema) is not None:
            may_repair = self.model.traits.reads_text
            self._expected = ExpectedAnswer(schema, may_repair=may_repair)
        is_plain = by_hand.is_plain and graph is None
        if is_plain and "workflow" in request.lower() and not asks_for_help(request):
            graph = self._team.named_workflow(request)
        asked = self._ask(_Asked(request, texts, by_hand, graph, brought), execution)
        self._is_asked, self._is_interrupted = True, False
        try:
            if (seconds := demands.timeout_seconds) is None:
                outcome = await asked
            else:
                with RequestTimeout(seconds, self.interrupt, demands.timeout_origin) as limit:
                    outcome = limit.settle(await asked)
        finally:
            self._is_asked = False
        return outcome if self._expected is None else self._expected.settle(outcome)

    async def _ask(self, asked: _Asked, execution: ExecutionContext | None) -> RunOutcome:
        is_plain = asked.by_hand.is_plain and asked.graph is None
        if is_plain and asks_for_help(asked.request, reads_text=self.model.traits.reads_text):
            return await self._help()
        work = execution or current() or begin()
        work = work.within(session=self.session.memory.session_id, profile=self.profile.agent.id)
        with working(work):
            try:
                async with self._within_budgets() as settle:
                    outcome = settle(await self._run(asked))
            except BudgetSpent as error:  # before there was a run
                message = f"No answer: {sentence(str(error))}"
                outcome = RunOutcome("no_answer", None, message, budget=error.budget)
        return replace(outcome, trace_id=work.trace_id)

    @contextlib.asynccontextmanager
    async def _within_budgets(self) -> AsyncGenerator[Callable[[RunOutcome], RunOutcome]]:
        """Within the `with`, the profile's budgets are held; gives what settles the outcome.

        Raises:
            BudgetSpent: nothing is left to begin with.
        """
        if not self.profile.budgets.are_set:
            yield lambda outcome: outcome
            return
        from modules.models.serving.account import Budgets  # late: SQLite, for who sets budgets

        session_id = self.session.memory.session_id
        begun = Budgets(self._places.home).begin(self.profile, session_id, self.interrupt)
        async with begun as account:
            with self.model.paying(account):
                self._spend_call = account.spend_call
                try:
                    yield account.settle
                finally:
                    self._spend_call = None
        if account.unkept is not None:
            await self._listener(Notice("model", str(account.unkept)))

    async def _run(self, asked: _Asked) -> RunOutcome:
        by_hand = asked.by_hand
        if self._is_interrupted:  # while the budgets were read
            return RunOutcome("interrupted", answer=None, message=INTERRUPTED_EARLY)
        # A task of its own: servers that start for the first time may take long.
        self._preparation = asyncio.create_task(self._prepare(asked))
        try:
            await asyncio.wait({self._preparation})
            # One that was done already could not be cancelled any more.
            if self._preparation.cancelled() or (
                self._is_interrupted and self._preparation.exception() is None
            ):
                return RunOutcome("interrupted", answer=None, message=INTERRUPTED_EARLY)
            self._loop = self._run_of(self._preparation.result(), by_hand, asked.graph)
            kept = (self.session.recorder.telling(self._listener),) if by_hand.is_kept else ()
            told = (self._listener,) if by_hand.is_told else ()
            outcome = await collect(self._loop.run(), *kept, *told)
            if not by_hand.is_kept:
                await self.session.keep_usage(outcome.usage_by_model)
            return outcome
        finally:
            self._preparation.cancel()
            self._preparation = self._loop = None

    async def _help(self) -> RunOutcome:
        """The page that helps, by what is known without starting a server."""
        await self._dispatcher.recall()
        here = Situation(
            self.model.name,
            self._dispatcher.get_all_tools(),
            self._dispatcher.status(),
            await asyncio.to_thread(count_files, self.document_folders),
            self._has_commands,
        )
        return RunOutcome("done", answer=help_page(here), message="", grounded=True)

    async def _prepare(self, asked: _Asked) -> "_Prepared":
        """What a run works with: the session as it is on the disk, and the tools."""
        self.sandbox.warm()
        request, texts, by_hand = asked.request, asked.texts, asked.by_hand
        graph, brought = asked.graph, asked.brought
        memory = self.session.memory
        attached = Attached(request)
        if "@" in request and self._files_in is not None:
            attached = await read_attachments(request, Path.cwd() / self._files_in)
            texts += attached.texts
        items = await self.session.load()
        if by_hand.is_kept and (
            learnt := await self._recollection.learn(request, memory.session_id)
        ):
            await self._listener(Notice("memory", learnt))
        provenance = self._provenance(items, texts, by_hand.said, brought, graph)
        history = (*brought.history, *(exchanges(items) if items else ()))
        guided = await self._guided(request)
        if brought.instructions and self.model.traits.reads_text:
            guided = guided.saying(brought.instructions)
        self._dispatcher.begin_run()
        dispatcher = await self._tools_for(request, history)
        if (without := self._demands.without) is not None:
            dispatcher = WithoutServer(dispatcher, without)
        servers = {tool.server for tool in dispatcher.catalog}
        told = self._dispatcher.server_descriptions()
        told.pop(without or "", None)
        remember = None  # for a planner that reads no prompt
        if self.model.traits.reads_text:
            remember = await self._recollection.remembering(
                request,
                memory.session_id,
                self.model,
                self.session.summary,
                provenance.known.reminded,
                is_learnt=by_hand.is_kept,
            )
        profile = self.profile if by_hand.is_plain else by_hand.profile(self.profile)
        make_parts = partial(self._parts, profile, remember, guided, is_given=not by_hand.is_plain)
        home = self._team.home
        names = self._demands.tools
        if names is None and home is not None and (home / WORKFLOWS).is_dir():
            more = (lambda: context), self.model, make_parts
            dispatcher = await asyncio.to_thread(self._team.with_workflows, dispatcher, *more)
        parts = make_parts(self.model, texts)
        context = AgentContext(
            attached.text,
            memory.session_id,
            dispatcher,
            told if names is None else {id_: told[id_] for id_ in servers & told.keys()},
            profile=profile,
            memory=memory,
            model=self.model,
            parts=parts if by_hand.is_plain else by_hand.parts(parts),
            history=history,
            images=(*attached.images, *brought.images),
            texts=texts,
            provenance=provenance,
            readable=guided.variables,
            remembered=() if remember is None else remember.lasting,
        )
        if graph is not None:
            await self._team.check(context, graph)
        return _Prepared(context, make_parts)

    def _run_of(
        self, prepared: "_Prepared", by_hand: ByHand, graph: TaskGraph | None
    ) -> RequestRun:
        """What runs a request: a loop, or a run that may go in parts."""
        context, make_parts = prepared.context, prepared.make_parts
        if graph is None and not (by_hand.is_plain and may_have_parts(context)):
            return AgentLoop(context)
        return self._team.run(context, self.model, make_parts, graph)

    async def _guided(self, request: str) -> Guided:
        """What user and project say to models; nothing to a planner that reads no text."""
        traits = self.model.traits
        if self.guide is None or not traits.reads_text:
            return UNGUIDED
        guided = await self.guide.for_request(request, self.profile.guidance, traits.context_tokens)
        for notice in guided.notices:
            await self._listener(Notice("guidance", notice))
        return guided

    async def _tools_for(self, request: str, history: Sequence[Exchange]) -> Dispatcher:
        """The tools of a request, once the servers are known that it waits for."""
        dispatcher, names = self._dispatcher, self._demands.tools
        await dispatcher.recall()
        if names is not None:
            if not all(is_known(name, dispatcher.catalog) for name in names):
                await dispatcher.initialize()
            return ChosenTools(dispatcher, names)
        if unlearned := dispatcher.unlearned():
            needed = [spec.id for spec in unlearned]
            if not self.model.traits.reads_text:  # this planner knows what it can do without
                known = dispatcher.catalog
                needed = await asyncio.to_thread(servers_to_ask, request, unlearned, known, history)
            await dispatcher.initialize(needed)
        await dispatcher.catch_up()
        return dispatcher

    def _provenance(
        self,
        items: Sequence[MemoryItem],
        texts: tuple[TextInput, ...],
        said: str,
        brought: Brought,
        graph: TaskGraph | None,
    ) -> Provenance:
        """What is known of where values come from: it grows with the session.

        `texts` go with the request, and the user has `said` something beside it. A `graph` of the
        user's may name what it may call. Who wrote what
        stands in the answers that are `brought`, nobody knows any more.
        """
        self._known.recall(items)
        for text in texts:
            self._known.given(text.text)
        for exchange in brought.history:
            if exchange.answer:
                self._known.reminded(exchange.answer)
        for words in filter(None, (said, brought.instructions)):
            self._known.user_said(words)
        ask = self._ask_leave
        if ask is not None:
            ask = leave_kept(ask, self.session.keep, self._redactor)
        rules = () if graph is None else tuple(map(read_rule, graph.approve))
        return Provenance(self._known, ask, self.permissions, rules)

    def _recalling(self) -> Recollection:
        """What finds and keeps memories, as the profile has it."""
        where = (self.profile.memory, self.session.folder, self._memory_server)
        return Recollection(self._dispatcher, self._redactor, *where)

    def _parts(
        self,
        whole: AgentProfile,
        remember: Remembering | None,
        guided: Guided,
        model: CountingModel,
        texts: tuple[TextInput, ...],
        *,
        is_given: bool,
        is_whole: bool = True,
        is_answer: bool = True,
        profile: AgentProfile | None = None,
    ) -> Parts:
        """The loop's parts for a whole request, or for a part of it that is no follow-up."""
        # Slips are what people and language models make: of a planner of ours they are bugs.
        prepare = prepare_plan if is_given or model.traits.reads_text else as_written

        schema = self._demands.answer_schema if is_answer else None
        note = schema.note if schema is not None else ""
        expected = self._expected if is_answer else None

        async def act(
            plan: Plan,
            tools: ToolCatalog,
            call: CallTool,
            on_repaired: OnRepaired | None = None,
            memory: WorkingMemory | None = None,
        ) -> ActionResult:
            skills = await guided.given(plan.source) if guided.variables else ()
            more = (on_repaired, (*skills, *texts), prepare, memory)
            ran = await run_plan(plan, tools, call, self.sandbox, *more)
            return ran if expected is None else expected.judge(ran)

        async def condense(request: str, text: str, room_characters: int) -> str:
            return await summarise(model, request, text, room_characters)

        return Parts(
            perceive=self._perceive,
            generate_plan=PlanWriter(
                model,
                profile or whole,
                remember if is_whole else None,
                note,
                guided,
                self._listener,
            ),
            run_plan=act,
            describe_tool=describe_tool,
            condense=None if model.name == "offline" else condense,
            ask_user=self._ask_user,
            recall_tools=self._recall_tools if self.profile.memory.memory_service else None,
            spend_call=self._spend_call,
            read_calls=read_calls,
        )

    async def _recall_tools(self) -> Mapping[str, ToolRecord]:
        structure = self.profile.memory.storage.structure
        return await asyncio.to_thread(newest_tool_records, self.session.folder, structure)

    async def _perceive(
        self, context: AgentContext, user_input: str | None = None
    ) -> PerceptionResult:
        """Perceive, and let the chosen servers start while the model still plans."""
        perception = await run_perception(context, user_input, index_folder=self._index_folder)
        if self.model.name != "offline":
            await self._dispatcher.start(perception.selected_servers)
        return perception
