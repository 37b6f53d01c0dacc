"""Parts that requests and commands both need, built from what is configured."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from config.schema import NotifyMode
from config.servers import ServerSpec
from config.settings import Places
from core.asking import AskLeave, Leave, LeaveQuestion
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import listed
from core.dispatch.hooks import DispatcherHooks, ToolChange
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import StartFailures
from core.dispatch.tool_pins import ToolPins
from core.events import ServerLogged
from core.mcp.hooks import Question, Reply
from core.process.server import SpawnedServer
from core.provenance.known import ProvenancePolicy
from core.session import MultiMCP
from modules.cli.surroundings import Surroundings
from modules.planning.guidance.guide import Guide
from modules.planning.guidance.project import GuidanceText
from modules.terminal.asking.dialogue import Dialogue, HeldStream
from modules.terminal.asking.file_changes import FileChange, file_change
from modules.terminal.asking.questions import Questions, unanswered
from modules.terminal.display.pictures import Pictures
from modules.terminal.display.terminals import notification
from modules.terminal.progress import Progress

FILES_NAMED: Final = 5
"""So many files of a skill are named where it is asked about."""

QUESTION_WAITS: Final = "Cortex-R: a question waits for you"


@frozen
class Display:
    """What a run tells on stderr, and asks there; no `questions` where nobody can type answers."""

    progress: Progress
    questions: Questions | None


_CALLS: Final[Mapping[NotifyMode, Callable[[str], str] | None]] = {
    "auto": partial(notification, environ=os.environ),
    "bell": lambda _: "\a",
    "off": None,
}


def open_display(
    stderr: TextIO | None,
    redactor: Redactor,
    *,
    verbose: bool,
    quiet: bool,
    notify: NotifyMode = "off",
    pictures: Pictures | None = None,
) -> Display:
    """A display on `stderr`, which is None where the process began without one.

    `notify` is how who looks elsewhere hears that a long run has ended, or a question waits.
    `pictures` keeps those that tools give.
    """
    call = _CALLS[notify]
    loudness = "verbose" if verbose else "quiet" if quiet else "normal"
    if stderr is None or not _is_typed(sys.stdin):
        return Display(Progress(stderr, loudness, redactor, call=call, pictures=pictures), None)
    stream = HeldStream(stderr)  # what is told while a question is open comes behind it
    progress = Progress(
        stream, loudness, redactor, is_held=stream.is_held, call=call, pictures=pictures
    )
    stream.before_held = progress.make_room
    dialogue = Dialogue(sys.stdin, stream, partial(progress.call_user, QUESTION_WAITS))
    return Display(progress, Questions(dialogue, progress.say, redactor=redactor))


def _is_typed(stdin: TextIO | None) -> bool:
    """Whether somebody can be asked: what comes from a file or a pipe is no answer."""
    return stdin is not None and not stdin.closed and stdin.isatty()


class _FreshListings(ToolCache):
    """Keeps what servers list for others, and knows nothing itself."""

    def listing(self, spec: ServerSpec) -> None:
        return None


def build_dispatcher(
    specs: Sequence[ServerSpec],
    places: Places,
    display: Display,
    *,
    spawned: Mapping[str, SpawnedServer] | None = None,
    allow_tool_changes: bool = False,
    use_cached_tools: bool = True,
    tries_all: bool = False,
    on_notice: Callable[[str], Awaitable[None]] | None = None,
    while_asking: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> MultiMCP:
    """A dispatcher over these servers that tells `display` and asks at the terminal.

    `spawned` are servers that run already. `allow_tool_changes` accepts definitions that have
    changed. `use_cached_tools` is off for those who want to see servers start; what they list is
    still kept. `tries_all` is for those who name the servers themselves: one that failed to start
    before is tried all the same. `on_notice` hears what the progress display would tell otherwise.
    `while_asking` is entered while the user is asked something.

    Raises:
        ConfigurationError: two servers have the same id.
    """
    progress, questions = display.progress, display.questions

    async def on_log(server: str, level: str, text: str) -> None:
        await progress(ServerLogged(server, level, text))

    async def tell_once(text: str) -> None:
        # An entry that can't be used stays so, and is met anew by each request of a session.
        if text not in told:
            await progress.notice(text)
        if any(text == spec.problem for spec in dispatcher.specs):
            told.add(text)

    async def ask(question: Question) -> Reply:
        if questions is None:
            return unanswered(question, progress.say)
        with while_asking():
            return await questions.ask(question)

    async def approve(changes: Sequence[ToolChange]) -> bool:
        if questions is None:
            return False
        with while_asking():
            return await questions.approve(changes)

    told = set[str]()
    kind = ToolCache if use_cached_tools else _FreshListings
    dispatcher = MultiMCP(
        specs,
        cache=kind(places.cache),
        pins=ToolPins(places.pins_file, allow_changes=allow_tool_changes),
        start_failures=StartFailures(places.failures_file, is_heeded=not tries_all),
        log_folder=places.server_logs,
        spawned=spawned,
        hooks=DispatcherHooks(
            on_notice=on_notice or tell_once,
            on_waiting=progress.waiting,
            waiting_for=partial(progress.during, "mcp"),
            on_log=on_log,
            ask=ask,
            approve=approve,
        ),
    )
    return dispatcher


@asynccontextmanager
async def opened(
    specs: Sequence[ServerSpec],
    around: Surroundings,
    *,
    use_cached_tools: bool = True,
    tries_all: bool = False,
    while_asking: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AsyncGenerator[tuple[MultiMCP, Display]]:
    """`build_dispatcher` for the time of one command: each server starts when it is needed.

    The display tells on stderr what happens meanwhile, as loudly as the command line asks. Why a
    server failed is the caller's to tell (`failures`, `status`).
    """
    options = around.options
    display = open_display(
        around.stderr, around.redactor, verbose=options.verbose, quiet=options.quiet
    )

    async def on_notice(text: str) -> None:
        if not any(text.startswith(str(error)) for error in dispatcher.failures.values()):
            await display.progress.notice(text)

    dispatcher = build_dispatcher(
        [replace(spec, start="lazy") for spec in specs],
        around.places,
        display,
        allow_tool_changes=options.allow_tool_changes,
        use_cached_tools=use_cached_tools,
        tries_all=tries_all,
        on_notice=on_notice,
        while_asking=while_asking,
    )
    try:
        async with dispatcher:
            yield dispatcher, display
    finally:
        display.progress.end_waits()  # its row would stand before what is told of an interruption


def asking_leave(
    questions: Questions | None,
    while_asking: Callable[[], AbstractContextManager[None]],
    policy: Callable[[], ProvenancePolicy],
    redactor: Redactor,
) -> AskLeave | None:
    """Asks at the terminal, with the plan's clock stopped (`while_asking` is entered).

    No secret is shown; of a file that is written, only what the tool's server may reach by the
    `policy` of that moment.
    """
    if questions is None:
        return None

    def shown(question: LeaveQuestion) -> tuple[LeaveQuestion, FileChange | None]:
        arguments = {each.name: each.value for each in question.calls[0].values}
        is_one = len(question.calls) == 1
        change = file_change(question.tool, arguments, policy()) if is_one else None
        return question.redacted(redactor), change and change.redacted(redactor)

    async def ask(question: LeaveQuestion) -> Leave | None:
        harmless, change = await asyncio.to_thread(shown, question)
        with while_asking():
            return await questions.allow(harmless, change)

    return ask


def guide_for(places: Places, questions: Questions | None) -> Guide:
    """What user and project have written for the agent, around the folder that we are in."""

    async def confirm(text: GuidanceText) -> bool | None:
        if questions is None or not questions.is_attended():
            return None
        beside = listed((name for name, _ in text.files[:FILES_NAMED]), len(text.files))
        parts = (text.description, text.text, f"Beside it: {beside}" if beside else "")
        heading = f"{text.kind} of this project: {text.path}"
        return await questions.trust(heading, "\n\n".join(filter(None, parts)), text.size_bytes)

    return Guide(places.home, Path.cwd(), confirm)
