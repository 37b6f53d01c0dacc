"""A prompt without its terminal: real parts, a scripted model, a home of its own."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

from config.schema import AgentProfile
from config.server_list import ServerList
from config.servers import ServerSpec
from config.settings import Places
from core.dispatch.hooks import DispatcherHooks
from core.errors import ExitCode
from core.events import Event
from core.ports import TextModel
from core.session import MultiMCP
from core.turn import RunOutcome
from modules.cli.command_line import parse_arguments
from modules.cli.interaction import Setting
from modules.cli.prompt_commands.command import Ask, AtPrompt
from modules.cli.prompt_commands.dispatch import COMMANDS_AT_PROMPT, PromptCommands
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import Reply, ScriptedModel
from modules.sandbox import Sandbox
from modules.terminal.streams import Complaints
from tests.command_line import NO_MODEL_SERVER, ROOT
from tests.core.dispatch.fixture_servers import QUICK
from tests.doubles import profile as usual_profile


class Typed:
    """Runs what is typed, and keeps what is said: `stage: text`."""

    def __init__(
        self,
        home: Path,
        *replies: Reply,
        servers: Sequence[ServerSpec] = (),
        disabled: Sequence[ServerSpec] = (),
        profile: AgentProfile | None = None,
        hooks: DispatcherHooks | None = None,
        slow_start_seconds: float = 5,
        environ: Mapping[str, str] | None = None,
        planner: TextModel | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.said: list[str] = []
        self.events: list[Event] = []
        self.model = ScriptedModel([*replies])
        used = profile or usual_profile()
        places = Places(ROOT, home)
        self.dispatcher = MultiMCP(
            servers, hooks=hooks, stop_grace=QUICK, slow_start_seconds=slow_start_seconds
        )
        self.conversation = Conversation(
            used,
            places,
            ModelManager(planner or self.model),
            self.dispatcher,
            Sandbox(),
            self._listen,
            warn=self._tell,
        )
        self.permissions = self.conversation.permissions
        self.at = AtPrompt(
            Setting(
                parse_arguments(arguments, "0"),
                places,
                Complaints({}),
                used,
                ServerList(tuple(servers), tuple(disabled), ()),
                {},
            ),
            self.conversation,
            self.dispatcher,
            NO_MODEL_SERVER | {**(environ or {})},
            lambda stage, text: nullcontext(),
            self.say,
        )
        self.commands = PromptCommands(self.at, COMMANDS_AT_PROMPT)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open the conversation."""
        await self._stack.enter_async_context(self.conversation)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        await self._stack.aclose()

    def say(self, stage: str, text: str) -> None:
        """Keep it."""
        self.said.append(f"{stage}: {text}")

    def _tell(self, text: str) -> None:
        self.say("tool", text)

    async def run(self, line: str) -> ExitCode | Ask:
        """Do what a line says."""
        return await self.commands.run(line)

    async def ask(self, request: str) -> RunOutcome:
        """A request, as the prompt asks it."""
        self.at.last_request = request
        return await self.conversation.ask(request)

    async def answer(self, line: str) -> RunOutcome:
        """What comes of a line that wants a request answered, as the prompt has it answered."""
        done = await self.run(line)
        assert isinstance(done, Ask)
        self.at.last_request = done.request
        return await self.conversation.ask(done.request, by_hand=done.by_hand, graph=done.graph)

    def proposed(self, text: str) -> list[str]:
        """What Tab would propose at the end of a line."""
        return [candidate.text for candidate in self.commands.candidates(text)[1]]

    async def _listen(self, event: Event) -> None:
        self.events.append(event)
