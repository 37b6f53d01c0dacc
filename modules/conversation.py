"""A conversation: several requests that share one session, one model and living servers."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from config.schema import AgentProfile
from core.base.memory.statements import may_state_facts
from core.base.redaction import Redactor
from core.context import AgentContext, Parts
from core.errors import StorageError
from core.events import Emit, Notice, collect
from core.loop import AgentLoop
from core.ports import AskUser, CallTool, Dispatcher, ModelTraits, OnRepaired
from core.provenance.guard import AskLeave, Provenance
from core.provenance.known import Known, ProvenancePolicy
from core.provenance.permissions import Permissions
from core.run.chosen_tools import ChosenTools, is_known
from core.run.timeout import RequestTimeout
from core.run.working_memory import WorkingMemory
from core.session import MultiMCP
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.record import ToolRecord
from core.turn import (
    ActionResult,
    MemoryItem,
    PerceptionResult,
    Plan,
    RunOutcome,
    TextInput,
    Usage,
    used_since,
)
from core.values import JsonObject
from modules.action import as_written, run_plan
from modules.decision import PlanWriter
from modules.guidance.guide import UNGUIDED, Guide, Guided, guided_for
from modules.memory.earlier import MEMORIES_SHARE, EarlierSessions, search_memory
from modules.memory.long_term import FACTS_SHARE, LongTermMemory
from modules.memory.past import room_characters
from modules.memory.remembering import Remembering
from modules.memory.running_summary import RunningSummary
from modules.memory.tool_record import newest_tool_records
from modules.model_manager import ModelManager
from modules.offline.planner import servers_to_ask
from modules.offline.welcome import Situation, asks_for_help, count_files, help_page
from modules.perception import run_perception
from modules.planning.answer_schema import ExpectedAnswer
from modules.planning.by_hand import NOTHING_BY_HAND, ByHand
from modules.planning.demands import Demands
from modules.planning.preparation import prepare_plan
from modules.planning.prompt.stubs import describe_tool
from modules.planning.prompt.summaries import summarise
from modules.sandbox import Sandbox
from modules.session.attachments import Attached, read_attachments
from modules.session.history import exchanges, usage_item
from modules.session.ids import check_session_id, new_session_id
from modules.session.memory import MemoryManager
from modules.session.recorder import SessionRecorder

INTERRUPTED_EARLY = "interrupted before a plan was written"
"""What a run says that was stopped before its loop began."""


@dataclass
class _Session:
    """What belongs to one session: its items, who writes them, and the notes on the oldest.

    Notes are for planners that read text.
    """

    memory: MemoryManager
    recorder: SessionRecorder
    summary: RunningSummary | None = None


class Conversation:
    """Answers requests one after the other; `async with` bounds servers and sandbox.

    `listener` gets every event of every run, and notices that arise between runs.

    Attributes:
        document_folders: where the documents lie that answers name as their sources.
        permissions: what the user has allowed.
        guide: what user and project have written for models that read.
    """

    def __init__(
        self,
        profile: AgentProfile,
        model: ModelManager,
        dispatcher: MultiMCP,
        sandbox: Sandbox,
        memory_folder: Path,
        listener: Emit,
        session_id: str | None = None,
        redactor: Redactor | None = None,
        ask_user: AskUser | None = None,
        policy: ProvenancePolicy | None = None,
        ask_leave: AskLeave | None = None,
        document_folders: Sequence[Path] = (),
        memory_server: str | None = None,
        demands: Demands | None = None,
        permissions: Permissions | None = None,
        guide: Guide | None = None,
    ) -> None:
        """Keep the parts; nothing starts before `async with`.

        `redactor` goes over what the session keeps; `ask_user` puts a plan's question to the
        user, and `ask_leave` a doubt about a call, where somebody is there. Without `policy`,
        nothing is checked (`core.provenance`). The page that helps counts the files in
        `document_folders`. `memory_server` is the id of the server that finds earlier sessions.
        `demands` hold for each request, and so do the user's `permissions`. `guide` has what user
        and project say to models that read.

        Raises:
            UsageError: `session_id` is not of a known form.
        """
        self._profile = profile
        self._model = model
        self._dispatcher = dispatcher
        self._sandbox = sandbox
        self._memory_folder = memory_folder
        self._listener = listener
        self._redactor = redactor or Redactor(os.environ)
        self._ask_user = ask_user
        self._policy = policy
        self._ask_leave = ask_leave
        self.permissions = permissions or Permissions()
        self.document_folders = tuple(document_folders)
        self._memory_server = memory_server
        self._earlier: EarlierSessions | None = None
        self._demands = demands or Demands()
        self.guide = guide
        self._expected: ExpectedAnswer | None = None
        self._known: Known | None = None
        self._resume_id = check_session_id(session_id) if session_id is not None else None
        is_kept = profile.memory.memory_service
        self._long_term = LongTermMemory(memory_folder if is_kept else None, self._redactor)
        self._preparation: asyncio.Task[AgentContext] | None = None
        self._loop: AgentLoop | None = None
        self._begun: _Session | None = None
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open the sandbox and the dispatcher; servers start when they are needed."""
        await self._stack.enter_async_context(self._sandbox)
        await self._stack.enter_async_context(self._dispatcher)
        self._stack.push_async_callback(self._close_model)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End servers, sandbox workers and model connections; every wait is bounded."""
        if left := self._model.leftover:
            await self._listener(Notice("model", f"the script has replies left over: {left}"))
        await self._close_earlier()
        await self._stack.aclose()

    @property
    def session_id(self) -> str | None:
        """Id of the current session; None before its first request."""
        return self._begun.memory.session_id if self._begun is not None else self._resume_id

    @property
    def kept_session_id(self) -> str | None:
        """Id of the current session if it is on the disk, so that it can be continued."""
        memory = self._begun.memory if self._begun is not None else None
        return memory.session_id if memory is not None and memory.is_kept else None

    @property
    def model_name(self) -> str:
        """The model that answers."""
        return self._model.name

    @property
    def model(self) -> ModelManager:
        """The chain of models, and why it was chosen."""
        return self._model

    @property
    def profile(self) -> AgentProfile:
        """The profile that requests are answered by."""
        return self._profile

    @property
    def policy(self) -> ProvenancePolicy:
        """What is trusted beside the user's words."""
        return self._policy or ProvenancePolicy()

    @property
    def items(self) -> list[MemoryItem]:
        """What the session has kept, as far as this process has looked."""
        return self._begun.memory.get_session_items() if self._begun is not None else []

    @property
    def sandbox(self) -> Sandbox:
        """Where plans run."""
        return self._sandbox

    @property
    def traits(self) -> ModelTraits:
        """What the model can do."""
        return self._model.traits

    async def use_model(self, model: ModelManager) -> None:
        """Let the next request be answered by another model; the one before is closed."""
        before, self._model = self._model, model
        await before.aclose()

    async def use_profile(
        self,
        profile: AgentProfile,
        memory_folder: Path,
        policy: ProvenancePolicy | None,
        document_folders: Sequence[Path],
        memory_server: str | None,
    ) -> bool:
        """Go by another profile, and other servers, from the next request on; as `__init__` does.

        False: what is kept, or where, is another thing there, so that a new session begins.
        """
        before, folder_before = self._profile, self._memory_folder
        self._profile, self._memory_folder = profile, memory_folder
        self._policy, self.document_folders = policy, tuple(document_folders)
        self.permissions.use(profile.agent.id)
        if self._known is not None and policy is not None:
            self._known.use(policy)
        else:
            self._known = None
        if self._earlier is not None and memory_server != self._memory_server:
            await self._close_earlier()
        self._memory_server = memory_server
        kept = (before.memory, before.trace, folder_before)
        if kept == (profile.memory, profile.trace, memory_folder):
            return True
        await self._close_earlier()
        is_kept = profile.memory.memory_service
        self._long_term = LongTermMemory(memory_folder if is_kept else None, self._redactor)
        place = (before.memory.storage.structure, before.memory.memory_service, folder_before)
        goes_on = place == (profile.memory.storage.structure, True, memory_folder)
        session_id = self.session_id
        self.new_session()
        if goes_on:
            self._resume_id = session_id  # read anew, and kept by the new settings
        return goes_on or session_id is None

    async def loaded_items(self) -> list[MemoryItem]:
        """All that the session has kept so far, in earlier processes too.

        Raises:
            StorageError: its file can't be read.
        """
        if self._begun is None and self._resume_id is None:
            return []
        memory = self._session().memory
        await asyncio.to_thread(memory.load)
        await self._tell_warnings(memory)
        return memory.get_session_items()

    def new_session(self) -> None:
        """Let the next request begin a new session."""
        self._begun = self._resume_id = self._known = None
        self.permissions.begin_session()

    def resume(self, session_id: str) -> None:
        """Let the next request go on with a session that is kept.

        Raises:
            UsageError: the id is not of a known form.
        """
        checked = check_session_id(session_id)
        self.new_session()
        self._resume_id = checked

    def interrupt(self) -> bool:
        """Stop the running request; servers stay alive. Whether there was one."""
        if self._loop is not None:
            self._loop.interrupt()
        elif self._preparation is not None:
            self._preparation.cancel()
        return self._preparation is not None

    async def keep(self, item: MemoryItem) -> None:
        """Keep a further item of the session, which gets its id.

        Raises:
            StorageError: it can't be written; it stays in this process.
        """
        memory = self._session().memory
        own = item.model_copy(update={"session_id": memory.session_id})
        await asyncio.to_thread(memory.add, own)

    def running_summary(self) -> RunningSummary:
        """What has notes written on the session's oldest exchanges."""
        session = self._session()
        if session.summary is None:
            where = session.memory, session.memory.session_id
            session.summary = RunningSummary(*where, self._redactor, self._listener)
        return session.summary

    @contextlib.asynccontextmanager
    async def beside_runs(self) -> AsyncGenerator[ModelManager]:
        """Models may be asked inside as in a run: it is told, bounded, and counted."""
        used_by = dict(self._model.usage_by_model)
        try:
            with self._model.telling(self._listener):
                yield self._model
        finally:
            await self._keep_usage(used_since(used_by, self._model.usage_by_model))

    async def ask(
        self,
        request: str,
        texts: tuple[TextInput, ...] = (),
        by_hand: ByHand = NOTHING_BY_HAND,
    ) -> RunOutcome:
        """Run one request to its end; `interrupt` ends it at any moment.

        `by_hand` takes over a part of the run. Images that the request names (`@photo.png`) go with
        it, and so do `texts`, whoever may have written them. A greeting, and a request for help,
        get the page that helps (`modules.offline.welcome`): no model is asked, no server started,
        nothing kept.

        Raises:
            StorageError: the session that was asked for can't be read.
            UsageError: an image that the request names can't be used, or a tool that the user
                demands is not there.
        """
        if (schema := self._demands.answer_schema) is not None:
            may_repair = self._model.traits.reads_text
            self._expected = ExpectedAnswer(schema, may_repair=may_repair)
        if (seconds := self._demands.timeout_seconds) is None:
            outcome = await self._ask(request, texts, by_hand)
        else:
            with RequestTimeout(seconds, self.interrupt) as limit:
                outcome = limit.settle(await self._ask(request, texts, by_hand))
        return outcome if self._expected is None else self._expected.settle(outcome)

    async def _ask(self, request: str, texts: tuple[TextInput, ...], by_hand: ByHand) -> RunOutcome:
        if by_hand.is_plain and asks_for_help(request):
            return await self._help()
        session = self._session()
        # A task of its own: servers that start for the first time may take long.
        self._preparation = asyncio.create_task(self._prepare(request, session, texts, by_hand))
        try:
            await asyncio.wait({self._preparation})
            if self._preparation.cancelled():
                return RunOutcome("interrupted", answer=None, message=INTERRUPTED_EARLY)
            self._loop = AgentLoop(self._preparation.result())
            kept = (session.recorder.telling(self._listener),) if by_hand.is_kept else ()
            told = (self._listener,) if by_hand.is_told else ()
            outcome = await collect(self._loop.run(), *kept, *told)
            if not by_hand.is_kept:
                await self._keep_usage(outcome.usage_by_model)
            return outcome
        finally:
            self._preparation.cancel()
            self._preparation = self._loop = None

    async def _help(self) -> RunOutcome:
        """The page that helps, by what is known without starting a server."""
        await self._dispatcher.recall()
        here = Situation(
            self._model.name,
            self._dispatcher.get_all_tools(),
            self._dispatcher.status(),
            await asyncio.to_thread(count_files, self.document_folders),
        )
        return RunOutcome("done", answer=help_page(here), message="")

    async def _prepare(
        self, request: str, session: "_Session", texts: tuple[TextInput, ...], by_hand: ByHand
    ) -> AgentContext:
        """What a run works with: the session as it is on the disk, and the tools."""
        memory = session.memory
        attached = Attached(request)
        if "@" in request:
            attached = await read_attachments(request, Path.cwd())
            texts += attached.texts
        await asyncio.to_thread(memory.load)
        await self._tell_warnings(memory)
        learns = by_hand.is_kept and may_state_facts(request)
        if learns and (learnt := await self._long_term.learn(request, memory.session_id)):
            await self._listener(Notice("memory", learnt))
        provenance = self._provenance(memory)
        if provenance is not None:
            for text in texts:
                provenance.known.given(text.text)
            if by_hand.said:
                provenance.known.user_said(by_hand.said)
        items = memory.get_session_items()
        history = exchanges(items) if items else ()
        guided = await self._guided(request)
        self._dispatcher.begin_run()
        await self._dispatcher.recall()
        dispatcher: Dispatcher = self._dispatcher
        if (names := self._demands.tools) is not None:
            dispatcher = await self._with_tools(names)
        elif unlearned := self._dispatcher.unlearned():
            known = self._dispatcher.catalog
            needed = await asyncio.to_thread(servers_to_ask, request, unlearned, known, history)
            await self._dispatcher.initialize(needed)
        servers = {tool.server for tool in dispatcher.catalog}
        told = self._dispatcher.server_descriptions()
        remember = await self._remembering(session, request, provenance)
        return AgentContext(
            attached.text,
            memory.session_id,
            dispatcher,
            told if names is None else {id_: told[id_] for id_ in servers & told.keys()},
            profile=by_hand.profile(self._profile),
            memory=memory,
            model=self._model,
            parts=by_hand.parts(
                self._parts(texts, remember, guided, is_given=not by_hand.is_plain)
            ),
            history=history,
            images=attached.images,
            texts=texts,
            provenance=provenance,
            readable=guided.variables,
        )

    async def _guided(self, request: str) -> Guided:
        """What user and project have written for the model; nothing for one that reads none."""
        traits = self._model.traits
        if self.guide is None or not traits.reads_text:
            return UNGUIDED
        where = (self._profile.guidance, traits.context_tokens, self._listener)
        return await guided_for(self.guide, request, *where)

    async def _with_tools(self, names: Sequence[str]) -> ChosenTools:
        """The tools of these names, once their servers are known."""
        if not all(is_known(name, self._dispatcher.catalog) for name in names):
            await self._dispatcher.initialize()
        return ChosenTools(self._dispatcher, names)

    def _provenance(self, memory: MemoryManager) -> Provenance | None:
        """What is known of where values come from: it grows with the session."""
        if self._policy is None:
            return None
        if self._known is None:
            self._known = Known(self._policy)
        self._known.recall(memory.get_session_items())
        return Provenance(self._known, self._ask_leave, self.permissions)

    def _session(self) -> "_Session":
        """What belongs to the session, made at its first request."""
        if self._begun is None:
            settings = self._profile.memory
            memory = MemoryManager(
                self._resume_id or new_session_id(datetime.now().astimezone(), uuid.uuid4().hex),
                self._memory_folder,
                enabled=settings.memory_service,
                structure=settings.storage.structure,
                sync=settings.storage.sync,
                is_new=self._resume_id is None,
            )
            recorder = SessionRecorder(
                memory,
                settings,
                redactor=self._redactor,
                keeps_prompts=self._profile.trace.prompts,
            )
            self._begun = _Session(memory, recorder)
        return self._begun

    async def _tell_warnings(self, memory: MemoryManager) -> None:
        for warning in memory.take_warnings():
            await self._listener(Notice("memory", warning))

    async def _close_earlier(self) -> None:
        earlier, self._earlier = self._earlier, None
        if earlier is not None:
            await earlier.aclose()

    async def _close_model(self) -> None:
        await self._model.aclose()

    async def _search_memory(self, arguments: JsonObject) -> ToolResult:
        return await search_memory(self._dispatcher, self._memory_server or "", arguments)

    async def _remembering(
        self, session: "_Session", request: str, provenance: Provenance | None
    ) -> Remembering | None:
        """What prompts tell of the past; None for a planner that reads none."""
        if not self._model.traits.reads_text:
            return None
        prompt_tokens = self._profile.memory.prompt_tokens
        room = room_characters(prompt_tokens, self._model.traits)
        facts = await self._long_term.facts(request, int(room * FACTS_SHARE))
        memories: tuple[str, ...] = ()
        if request and self._profile.memory.memory_service:
            if self._earlier is None:
                search = None if self._memory_server is None else self._search_memory
                self._earlier = EarlierSessions(self._memory_folder, search)
            session_id, share = session.memory.session_id, int(room * MEMORIES_SHARE)
            memories = await self._earlier.find(request, session_id, share)
        if memories and provenance is not None:
            provenance.known.reminded("\n".join(memories))
        return Remembering(self._model, self.running_summary(), prompt_tokens, facts, memories)

    async def _keep_usage(self, used_by: Mapping[str, Usage]) -> None:
        """Keep what models were asked for beside all runs, so that it is counted."""
        if any(used.tokens for used in used_by.values()):
            with contextlib.suppress(StorageError):  # it stays in this process
                await self.keep(usage_item(used_by, time.time()))

    def _parts(
        self,
        texts: tuple[TextInput, ...],
        remember: Remembering | None,
        guided: Guided,
        *,
        is_given: bool,
    ) -> Parts:
        # Slips are what people and language models make: of a planner of ours they are bugs.
        prepare = prepare_plan if is_given or self._model.traits.reads_text else as_written

        schema = self._demands.answer_schema
        note = schema.note if schema is not None else ""

        async def act(
            plan: Plan,
            tools: ToolCatalog,
            call: CallTool,
            on_repaired: OnRepaired | None = None,
            memory: WorkingMemory | None = None,
        ) -> ActionResult:
            given = (*await guided.given(plan.source), *texts) if guided.variables else texts
            more = (on_repaired, given, prepare, memory)
            ran = await run_plan(plan, tools, call, self._sandbox, *more)
            return ran if self._expected is None else self._expected.judge(ran)

        return Parts(
            perceive=self._perceive,
            generate_plan=PlanWriter(self._model, self._profile, remember, note, guided),
            run_plan=act,
            describe_tool=describe_tool,
            condense=None if self._model.name == "offline" else self._condense,
            ask_user=self._ask_user,
            recall_tools=self._recall_tools if self._profile.memory.memory_service else None,
        )

    async def _recall_tools(self) -> Mapping[str, ToolRecord]:
        structure = self._profile.memory.storage.structure
        return await asyncio.to_thread(newest_tool_records, self._memory_folder, structure)

    async def _condense(self, request: str, text: str, room_characters: int) -> str:
        return await summarise(self._model, request, text, room_characters)

    async def _perceive(
        self, context: AgentContext, user_input: str | None = None
    ) -> PerceptionResult:
        """Perceive, and let the chosen servers start while the model still plans."""
        perception = await run_perception(context, user_input)
        if self._model.name != "offline":
            await self._dispatcher.start(perception.selected_servers)
        return perception
