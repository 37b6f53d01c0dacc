"""What a command at the prompt is: a row of the one table, and what its handler works with."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Concatenate, Final, Literal, ParamSpec, TypeAlias, get_args

from core.base.frozen import frozen
from core.base.memory.exchanges import dated_exchanges
from core.errors import ExitCode
from core.session import MultiMCP
from core.team.graph import TaskGraph
from modules.cli.interaction import Setting
from modules.conversation import Conversation
from modules.planning.by_hand import NOTHING_BY_HAND, ByHand
from modules.session.kept import KeptSessions
from modules.terminal.input.candidates import Candidate

Group: TypeAlias = Literal[
    "Requests", "Sessions", "Servers and documents", "Settings", "Terminal", "Yours"
]

GROUPS: Final[tuple[Group, ...]] = get_args(Group)
"""In the order in which `/help` lists them."""


@frozen
class Ask:
    """What a handler gives that wants a request answered; see `Conversation.ask`."""

    request: str
    by_hand: ByHand = NOTHING_BY_HAND
    graph: TaskGraph | None = None


@frozen
class ShownPlan:
    """The plan that was shown last, which `/run` runs.

    `request` is what it answers, or the `/run FILE` that read it. `is_users`: a person wrote in it.
    `is_graph`: the source is the YAML of a graph.
    """

    source: str
    request: str
    is_users: bool = False
    is_graph: bool = False


@dataclass
class AtPrompt:
    """What handlers work with; `say` writes a text under a stage, `during` names a wait.

    Attributes:
        environ: where keys and variables come from.
        commands: the table itself, for those that tell of it.
        last_request: what was asked last in this process, as it was typed.
        next_text: what stands in the next prompt from the beginning.
        is_typed: whether somebody types at a terminal; else lines come from a pipe.
        plan: the plan that was shown last.
        edit: lets the user change a text in an editor; None where there is no terminal for one.
        show_code: writes Python under a stage; None where `say` has to do.
    """

    setting: Setting
    conversation: Conversation
    dispatcher: MultiMCP
    environ: Mapping[str, str]
    during: Callable[[str, str], AbstractContextManager[None]]
    say: Callable[[str, str], None]
    commands: Sequence["PromptCommand"] = ()
    last_request: str | None = None
    next_text: str = ""
    is_typed: bool = False
    plan: ShownPlan | None = None
    edit: Callable[[str], Awaitable[str]] | None = None
    show_code: Callable[[str, str], None] | None = None

    @property
    def kept(self) -> KeptSessions:
        """The sessions of the profile in use."""
        return KeptSessions(self.setting.profile, self.setting.places.home, self.say)

    def redact(self, text: str) -> str:
        """The text without secrets."""
        return self.setting.complaints.redactor.text(text)

    async def last_asked(self) -> str | None:
        """The last request, of an earlier process where this one has asked none."""
        if self.last_request is not None:
            return self.last_request
        asked = dated_exchanges(await self.conversation.session.load(), with_undone=True)
        return asked[-1].request if asked else None


Handler: TypeAlias = Callable[[AtPrompt, str], Coroutine[object, object, ExitCode | Ask | None]]
"""Does what the words behind a command say; None: that was done."""

Complete: TypeAlias = Callable[[AtPrompt, str], Iterable[Candidate]]
"""What could stand where the words behind a command end: whole words, for the last of them."""


def nothing(at: AtPrompt, text: str) -> Iterable[Candidate]:
    """Complete nothing."""
    return ()


@frozen
class PromptCommand:
    """One command: `/name arguments`, a line of help, what more there is to tell, who does it.

    `others` are further names for it, and `bare` those that mean it without a slash. Without
    `arguments`, it stands alone. What it proposes once a prompt is the same whatever is typed, and
    takes a look at files or services.
    """

    run: Handler
    name: str
    group: Group
    summary: str
    arguments: str = ""
    details: str = ""
    complete: Complete = nothing
    others: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    proposes_once: bool = False

    @property
    def usage(self) -> str:
        """`/resume [ID]`."""
        return f"/{self.name} {self.arguments}".rstrip()


Told = ParamSpec("Told")


def _decorator(
    made: Callable[Concatenate[Handler, Told], PromptCommand],
) -> Callable[Told, Callable[[Handler], PromptCommand]]:
    def told(*args: Told.args, **kwargs: Told.kwargs) -> Callable[[Handler], PromptCommand]:
        return lambda run: made(run, *args, **kwargs)

    return told


prompt_command = _decorator(PromptCommand)
"""Makes a command of the handler below it; takes what a `PromptCommand` has beside `run`."""
