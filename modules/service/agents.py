"""An agent of one user and one profile: living servers, a sandbox and models for its conversations.

Conversations of one agent run at the same time over the same servers. What a server says or asks of
its own accord is told to those whose requests it works on; what concerns the agent as a whole, such
as a server that did not start, to all whose requests are being answered.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from config.schema import AgentProfile
from config.server_list import ServerList, memory_server_id, secret_values, server_list
from config.servers import ServerSpec, seen_from
from config.settings import Places
from core.asking import Answer, Person, Question
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.dispatch.hooks import DispatcherHooks, ToolChange
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import StartFailures
from core.dispatch.tool_pins import ToolPins
from core.events import (
    Emit,
    Event,
    Notice,
    ServerLogged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from core.mcp import hooks
from core.mcp.hooks import Reply
from core.session import MultiMCP
from core.team.graph import TaskGraph
from core.tools.catalog import ToolCatalog
from core.turn import RunOutcome, TextInput
from modules.asking import Asker
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.planning.answer_schema import AnswerSchema
from modules.planning.demands import Demands
from modules.planning.guidance.guide import Guide
from modules.sandbox import Sandbox, limits_of
from modules.session.brought import NOTHING_BROUGHT, Brought
from modules.team.entry import TeamEntry
from modules.trace.telemetry import Telemetry

RUN_SECONDS: Final = 1_800.0
"""So long a request may take by default: none holds a place for ever."""

RUN_BOUND: Final = "the most that a request may take here"
"""What ended a request that took longer, as its outcome tells it."""

MCP_SERVER_COMMAND: Final = "mcp-server"
"""The command that makes an agent a server."""

PROGRAMS: Final = ("agent.py", "cortex-r")
"""What this program is called in a checkout, and where it is installed."""

BROUGHT_TOKENS: Final = 16_000
"""What a prompt tells at least of a history that is brought: who sends all of it wants it read."""


@frozen
class AgentSetting:
    """What an agent is made of.

    Attributes:
        places: where the user's state lies.
        shared: where models, their weights and settings lie: those of who runs the program.
        profile: how requests are answered.
        profile_file: where it was read.
        environ: with the keys of models.
        redactor: knows the secrets of the environment, and learns those of every agent: there is
            one for all, so that logs and errors are clean whoever writes them.
        model: names a model that goes before the profile's.
        mcp_files: further files of servers.
        approve: tools that need no leave.
        files_in: where paths in requests start; None: no file is read for them.
        guide: what user and project say to models; None where nobody does.
        servers: further servers, which a client brings.
        run_seconds: so long a request may take, questions to the person included; None: for ever.
        allow_tool_changes: take definitions of tools that have changed as they are now.
        telemetry: sends runs to a collector; None where nobody asks for that.
        is_server: this agent is a server to others, and starts none that is an agent like it.
        secrets: what no log of a server may hold, beside the secrets of the environment.
    """

    places: Places
    shared: Places
    profile: AgentProfile
    profile_file: Path
    environ: Mapping[str, str]
    redactor: Redactor
    model: str | None = None
    mcp_files: Sequence[Path] = ()
    approve: Sequence[str] = ()
    files_in: Path | None = None
    guide: Guide | None = None
    servers: Sequence[ServerSpec] = ()
    run_seconds: float | None = RUN_SECONDS
    allow_tool_changes: bool = False
    telemetry: Telemetry | None = None
    is_server: bool = False
    secrets: frozenset[str] = frozenset()


class Agent:
    """Makes conversations; `async with` bounds servers, sandbox and models.

    Attributes:
        setting: what it was made of.
        dispatcher: its servers.
        servers: what was configured of them.
        calls: numbers the requests and calls of all its conversations.
        on_tools: hears of a server whose tools are known anew.
    """

    def __init__(self, setting: AgentSetting) -> None:
        """Read what is configured; nothing is started.

        Raises:
            SettingsError: servers or models are not configured as they have to be.
        """
        self.setting = setting
        self.servers = _servers(setting)
        setting.redactor.learn(secret_values(self.servers.everyone))
        setting.redactor.mask(setting.profile.memory.mask)
        section = setting.profile.sandbox
        self.sandbox = Sandbox(limits_of(section), require=section.require)
        places = setting.places
        self.dispatcher = MultiMCP(
            self.servers.specs,
            cache=ToolCache(places.cache),
            pins=ToolPins(places.pins_file, allow_changes=setting.allow_tool_changes),
            start_failures=StartFailures(places.failures_file),
            log_folder=places.server_logs,
            hooks=DispatcherHooks(
                on_notice=self._notice,
                on_waiting=self._notice,
                on_log=self._logged,
                on_tools=self._tools_known,
                ask=self._ask,
                approve=self._approve,
                counts_questions=False,  # each conversation counts those of its own request
            ),
        )
        self.calls = itertools.count(1)
        self.on_tools: Callable[[str], Awaitable[None]] | None = None
        self._callers: list[tuple[int, str, Asker | None]] = []
        self._conversations: list[AgentConversation] = []
        self._model: ModelManager | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Choose the models, and open sandbox and dispatcher; servers start when needed.

        Raises:
            UserError: no model can be chosen, or a wall that is required doesn't stand.
        """
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(self.sandbox)
            await opening.enter_async_context(self.dispatcher)
            self._model = await asyncio.to_thread(chosen_model, self.setting, self.setting.model)
            opening.push_async_callback(self._model.aclose)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        """End conversations, servers, sandbox and connections; every wait is bounded."""
        async with AsyncExitStack() as closing:  # what fails to end does not keep up the others
            closing.push_async_callback(self._stack.aclose)
            for conversation in [*self._conversations]:
                conversation.interrupt()
                closing.push_async_callback(conversation.aclose)

    @property
    def model(self) -> ModelManager:
        """The models, and why they were chosen.

        Raises:
            RuntimeError: the agent is not open.
        """
        if self._model is None:
            raise RuntimeError("the agent is not open")
        return self._model

    @property
    def busy(self) -> int:
        """How many requests are being answered."""
        return len(self._running)

    def conversation(
        self, session_id: str | None = None, put_question: Person | None = None
    ) -> "AgentConversation":
        """A conversation that goes on with a session or begins one; who got it closes it.

        `put_question` asks the person; without it nobody is there to be asked.

        Raises:
            UsageError: the id is not of a known form.
        """
        return AgentConversation(self, self.setting, session_id, put_question)

    def unkept_conversation(
        self, put_question: Person | None = None, schema: AnswerSchema | None = None
    ) -> "AgentConversation":
        """A conversation of which nothing is kept, and which knows nothing of other sessions.

        Requests bring their history (`modules.session.brought`) and read no file. Answers
        validate against `schema`. Who got it closes it.
        """
        setting, places = self.setting, self.setting.places
        profile = setting.profile.without_memory()
        room = max(profile.memory.prompt_tokens, BROUGHT_TOKENS)
        memory = profile.memory.model_copy(update={"prompt_tokens": room})
        profile = profile.model_copy(update={"memory": memory})
        unkept = replace(setting, profile=profile, files_in=None)
        without = memory_server_id(self.servers.specs, places.root)
        demands = Demands(schema, without=without)
        return AgentConversation(self, unkept, None, put_question, demands)

    def know(self, conversation: "AgentConversation") -> None:
        """Tell a conversation what happens, until it is closed."""
        self._conversations.append(conversation)

    @contextmanager
    def calling(self, server: str, questions: Asker | None) -> Generator[None]:
        """Within the `with`, somebody calls the server beside all conversations.

        What the server asks meanwhile is asked by `questions`.
        """
        caller = next(self.calls), server, questions
        self._callers.append(caller)
        try:
            yield
        finally:
            self._callers.remove(caller)

    def forget(self, conversation: "AgentConversation") -> None:
        """Tell a conversation no more."""
        if conversation in self._conversations:
            self._conversations.remove(conversation)

    def named_model(self, name: str) -> ModelManager:
        """The model of a role of the team."""
        return chosen_model(self.setting, name, "team.roles in the profile")

    @property
    def _running(self) -> list["AgentConversation"]:
        return [each for each in self._conversations if each.is_running]

    async def _notice(self, text: str) -> None:
        for each in self._running:
            await each.hear(Notice("mcp", text))

    async def _logged(self, server: str, level: str, text: str) -> None:
        running = self._running
        # A log message may come a little behind the answer that it belongs to.
        called = [each for each in running if each.has_called(server)]
        for each in called or running:
            await each.hear(ServerLogged(server, level, text))

    async def _tools_known(self, server: str) -> None:
        if self.on_tools is not None:
            await self.on_tools(server)

    async def _ask(self, question: hooks.Question) -> Reply:
        asked = self._working_with(question.server)
        return Reply("decline") if asked is None else await asked.ask(question)

    async def _approve(self, changes: Sequence[ToolChange]) -> bool:
        asked = self._working_with(changes[0].server) if changes else None
        return False if asked is None else await asked.approve(changes)

    def _working_with(self, server: str) -> Asker | None:
        """Who asked for what the server does just now: of several, the one that called it last.

        MCP over stdio does not say which call a question belongs to; all are of one user. While a
        server starts, no call of it is open: it is taken to start for the newest request.
        """
        asked: dict[int, Asker | None] = {
            at: questions for at, name, questions in self._callers if name == server
        }
        asked |= {each.last_call_of(server): each.questions for each in self._conversations}
        if newest := max(asked, default=0):
            return asked[newest]
        latest = max(self._running, key=lambda each: each.number, default=None)
        return None if latest is None else latest.questions


class AgentConversation:
    """A conversation of an agent, with one listener and one person for each of its requests.

    Attributes:
        put_question: puts a question to the person; another one may do so for each request.
        questions: asks the person; None where nobody is ever there.
        conversation: what answers.
        number: of the request that is answered, or was last; later ones have higher numbers.
    """

    def __init__(
        self,
        agent: Agent,
        setting: AgentSetting,
        session_id: str | None,
        put_question: Person | None,
        demands: Demands | None = None,
    ) -> None:
        sandbox = agent.sandbox.share()  # an open question stops the clock of its own request
        profile, places = setting.profile, setting.places
        self._agent = agent
        self._listener: Emit | None = None
        self._trace = setting.telemetry.listener() if setting.telemetry is not None else None
        self._model_name = setting.model
        self._calls: dict[tuple[str, int, int], tuple[str, int]] = {}
        self._called: set[str] = set()
        self.number = 0
        self.put_question = put_question
        asked = None
        if put_question is not None:
            bounds = sandbox.standing_still, profile.team.ask_seconds, self._notice
            asked = Asker(self._put, setting.redactor, *bounds)
        self.questions = asked
        self.conversation = Conversation(
            profile,
            places,
            agent.model.again(),
            agent.dispatcher,
            sandbox,
            self.hear,
            session_id,
            setting.redactor,
            ask_user=None if asked is None else asked.ask_back,
            ask_leave=None if asked is None else asked.allow,
            approve=setting.approve,
            demands=replace(
                demands or Demands(),
                timeout_seconds=setting.run_seconds,
                timeout_origin=RUN_BOUND,
            ),
            guide=setting.guide,
            team=TeamEntry(
                agent.named_model, None if asked is None else asked.ask_for, places.home
            ),
            files_in=setting.files_in,
            owns_parts=False,
            has_commands=False,
        )
        agent.know(self)

    @property
    def is_running(self) -> bool:
        """Whether a request is being answered."""
        return self._listener is not None

    @property
    def _has_own_model(self) -> bool:
        """Whether its model is another than the agent's, which others use and the agent closes."""
        return self._model_name != self._agent.setting.model

    @property
    def session_id(self) -> str | None:
        """Id of its session; None before the first request of a new one."""
        return self.conversation.session.id

    def tools(self) -> ToolCatalog:
        """The tools that are known just now."""
        return self._agent.dispatcher.catalog

    async def use_model(self, name: str | None, origin: str = "--model") -> None:
        """Let a model of this name answer from the next request on; None: as the agent has it.

        Raises:
            UserError: there is none, or it can't be used.
        """
        if name == self._model_name:
            return
        setting = self._agent.setting
        model = self._agent.model.again()
        if name != setting.model:
            model = await asyncio.to_thread(chosen_model, setting, name, origin)
        if self._has_own_model:
            await self.conversation.use_model(model)  # which closes it
        else:
            self.conversation.model = model
        self._model_name = name

    async def ask(
        self,
        request: str,
        listener: Emit,
        texts: tuple[TextInput, ...] = (),
        graph: TaskGraph | None = None,
        max_cost: float | None = None,
        brought: Brought = NOTHING_BROUGHT,
    ) -> RunOutcome:
        """Answer one request; `listener` hears every event of the run, and what servers say.

        It may cost `max_cost` US dollars, where that is less than the profile allows.

        Raises:
            RuntimeError: another request is being answered.
            StorageError: the session can't be read.
            UsageError: the request can't be answered as it is.
        """
        if self._listener is not None:
            raise RuntimeError("a conversation answers one request at a time")
        if max_cost is not None:
            self.conversation.model = self._agent.model.again(max_cost)
        self._listener, self.number = listener, next(self._agent.calls)
        if self.questions is not None:
            self.questions.begin_request()
        try:
            return await self.conversation.ask(request, texts, graph=graph, brought=brought)
        finally:
            self._listener = None
            self._calls.clear()
            self._called.clear()
            if max_cost is not None:
                self.conversation.model = self._agent.model.again()

    def interrupt(self) -> bool:
        """Stop the request that is being answered; whether there was one."""
        return self.conversation.interrupt()

    async def aclose(self) -> None:
        """End what the conversation has open; servers stay."""
        self._agent.forget(self)
        if (telemetry := self._agent.setting.telemetry) is not None and self._trace is not None:
            telemetry.leave(self._trace)
        await self.conversation.__aexit__(None, None, None)
        if self._has_own_model:
            await self.conversation.model.aclose()

    async def hear(self, event: Event) -> None:
        """Hand an event to who listens to the request."""
        self._note_calls(event)
        if self._trace is not None:
            await self._trace(event)
        if self._listener is not None:
            await self._listener(event)

    def last_call_of(self, server: str) -> int:
        """When the newest call of the server that is open was sent, as a number; 0 for none."""
        return max((at for name, at in self._calls.values() if name == server), default=0)

    def has_called(self, server: str) -> bool:
        """Whether the request that is being answered has called the server."""
        return server in self._called

    async def is_kept(self) -> bool:
        """Whether something of its session is on the disk; True where nothing is ever kept."""
        memory = self.conversation.session.memory
        is_on = self.conversation.profile.memory.memory_service
        return not is_on or await asyncio.to_thread(memory.path.exists)

    async def _put(self, question: Question) -> Answer | None:
        return None if self.put_question is None else await self.put_question(question)

    async def _notice(self, text: str) -> None:
        await self.hear(Notice("mcp", text))

    def _note_calls(self, event: Event, subtask: str = "", attempt: int = 0) -> None:
        match event:
            case SubtaskEvent():
                self._note_calls(event.event, event.subtask, event.attempt)
            case ToolCallStarted():
                place = event.tool.partition(".")[0], next(self._agent.calls)
                self._called.add(place[0])
                self._calls[subtask, attempt, event.call_id] = place
            case ToolCallFinished():
                self._calls.pop((subtask, attempt, event.call_id), None)
            case _:
                pass


def chosen_model(setting: AgentSetting, name: str | None, origin: str = "--model") -> ModelManager:
    """The model of this name, else the profile's; raises as `choose_model`.

    `origin` is what names it, for messages.
    """
    profile = setting.profile
    return choose_model(
        name,
        profile.llm,
        setting.shared,
        setting.environ,
        setting.redactor,
        flag_origin=origin,
        idle_seconds=profile.models.idle_seconds,
    )


def _servers(setting: AgentSetting) -> ServerList:
    """The profile's servers, those of who runs the program, the user's own, and the client's.

    One that is an agent like this is left out where it could be started by itself, for ever.
    """
    places, shared = setting.places, setting.shared
    files = [*setting.mcp_files]
    if places.home != shared.home and shared.mcp_file.exists():
        files.append(shared.mcp_file)
    more = setting.servers
    found = server_list(setting.profile, places, setting.profile_file, files, setting.environ, more)
    if setting.is_server:
        found = replace(found, specs=tuple(spec for spec in found.specs if not _is_agent(spec)))
    if own := setting.secrets:
        specs = (replace(spec, secrets=spec.secrets | own) for spec in found.specs)
        found = replace(found, specs=tuple(specs))
    if (here := setting.files_in) is None:
        return found
    return replace(found, specs=tuple(seen_from(spec, here) for spec in found.specs))


def _is_agent(spec: ServerSpec) -> bool:
    """Whether a server is started by `agent.py mcp-server`, by whatever name that is called."""
    return MCP_SERVER_COMMAND in spec.command and any(
        Path(word).name in PROGRAMS for word in spec.command
    )
