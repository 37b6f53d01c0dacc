"""What servers ask the user, put to the person at the terminal; declined where nobody is.

Prompts go to stderr, for stdout carries answers only, and what is typed goes to the server that
asked and nowhere else: into no history, no log, no session memory. Everything that a server wrote
stands behind a mark, so that it can't pose as the program.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from core.asking import Leave, LeaveQuestion
from core.base.redaction import Redactor
from core.base.text import counted, lazy_pattern, shorten, size_text
from core.dispatch.hooks import ToolChange
from core.mcp.form import FormError, FormField, read_form
from core.mcp.hooks import Question, Reply
from modules.team.needs import Wanted
from modules.terminal.asking.dialogue import (
    Cancelled,
    Declined,
    Dialogue,
    Interrupted,
)
from modules.terminal.asking.file_changes import FileChange
from modules.terminal.asking.forms import filled_in, is_confirmed
from modules.terminal.asking.leave import leave_given
from modules.terminal.asking.quoting import (
    ARGUMENTS_MAX,
    changes_text,
    fields_text,
    heading,
    keys,
    on_one_line,
    prompt_line,
    quoted,
    url_warnings,
)

MESSAGE_CHARACTERS_MAX = 8_000
"""A question with a longer message is declined: nobody reads that at a prompt."""

URL_CHARACTERS_MAX = 4_000
"""A longer URL can't be checked by eye."""

WAITING_MAX = 8
"""So many questions wait for their turn; further ones are declined."""

FIRST_LINES = 15
FIRST_CHARACTERS = 2_000
"""How much of a text is shown that is to be trusted."""

MESSAGE_CHARACTERS_TOLD = 120
"""How much of a declined question is told."""

_URL_TEXT = lazy_pattern(r"[\x21-\x7e]+")


def _interrupt_run() -> None:
    """What Ctrl-C does where no question is open."""
    signal.raise_signal(signal.SIGINT)


class Questions:
    """Puts one question at a time; Ctrl-C at any of them ends the run, Ctrl-D declines."""

    def __init__(
        self,
        dialogue: Dialogue,
        say: Callable[[str, str], None],
        interrupt_run: Callable[[], None] = _interrupt_run,
        redactor: Redactor | None = None,
    ) -> None:
        """Ask nothing yet; `say` writes a line under a stage.

        Without `redactor`, no secrets are known; no question shows one, and none sends one.
        """
        self._dialogue = dialogue
        self._redactor = redactor if redactor is not None else Redactor({})
        self._say = say
        self._interrupt_run = interrupt_run
        self._interruptions: int = 0
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(self, question: Question) -> Reply:
        """The user's reply to a server; `core.mcp.hooks.Ask`."""
        if not self.is_attended():
            return unanswered(question, self._say)
        try:
            fields = _checked(question, self._redactor)
        except FormError as problem:
            return _declined(question, str(problem), self._say)
        if self._waiting >= WAITING_MAX:
            why = f"{WAITING_MAX} questions are waiting already"
            return _declined(question, why, self._say)
        question = replace(question, message=self._redactor.text(question.message))
        try:
            async with self._asking() as dialogue:
                if question.url is not None:
                    return await _asked_to_visit(dialogue, question, question.url)
                dialogue.write(_heading(question.server, "asks") + quoted(question.message))
                return Reply("accept", await filled_in(dialogue, question.server, fields))
        except Declined:
            return Reply("decline")
        except Cancelled:
            return Reply("cancel")

    async def approve(self, changes: Sequence[ToolChange]) -> bool:
        """Whether the user accepts a server's new tool definitions; `core.dispatch.hooks.Approve`.

        Without anybody there it is no, and the dispatcher says so.
        """
        if not changes or not self.is_attended():
            return False
        text = _heading(changes[0].server, "has changed tools that you have used")
        redact = self._redactor.text
        shown = [replace(c, before=redact(c.before), after=redact(c.after)) for c in changes]
        text += changes_text(shown) + keys("y: use them as they are now", "n: leave them out")
        with contextlib.suppress(Declined, Cancelled):
            async with self._asking() as dialogue:
                dialogue.write(text)
                return await is_confirmed(dialogue, "Use them?", default=False)
        return False

    async def allow(
        self, question: LeaveQuestion, change: FileChange | None = None
    ) -> Leave | None:
        """The user's answer to a question for leave (`core.asking.AskLeave`).

        Shown are all values of the calls, and of the file that one writes the `change`. None:
        nobody is there, or it is too much to be checked by eye, and nothing was asked.
        """
        too_long = any(len(call.values) > ARGUMENTS_MAX for call in question.calls)
        if too_long or not self.is_attended():
            return None
        with contextlib.suppress(Declined, Cancelled):
            async with self._asking() as dialogue:
                return await leave_given(dialogue, question, change)
        return Leave("no")

    async def trust(self, heading: str, text: str, size_bytes: int) -> bool | None:
        """Whether the user trusts a project's text, of which the first lines are shown.

        None: there is no answer.

        Raises:
            CancelledError: Ctrl-C; what asks ends with the run.
        """
        lines = self._redactor.text(text).split("\n")
        left = max(len(lines) - FIRST_LINES, 0)
        more = f"({counted(left, 'more line')}; look into it first)\n" if left else ""
        first = shorten("\n".join(lines[:FIRST_LINES]), FIRST_CHARACTERS)
        try:
            async with self._asking() as dialogue:
                dialogue.write(f"\n── {on_one_line(heading)} ──\n{quoted(first)}{more}")
                prompt = f"{size_text(size_bytes)}. Follow it, while it stays as it is?"
                return await is_confirmed(dialogue, prompt, default=False)
        except Interrupted:
            raise asyncio.CancelledError from None
        except (Declined, Cancelled):
            return None

    def is_attended(self) -> bool:
        """Whether somebody is there to answer."""
        return self._dialogue.is_attended()

    async def ask_back(self, question: str) -> str | None:
        """The user's answer to a question of a plan (`core.ports.AskUser`); None if there is none.

        The question is a model's text, and quoted as such.
        """
        if not self.is_attended():
            return None
        shown = quoted(self._redactor.text(question)[:MESSAGE_CHARACTERS_MAX])
        with contextlib.suppress(Declined, Cancelled):
            async with self._asking() as dialogue:
                asks = heading("before it goes on,", "the model asks")
                how_to = keys("Enter: the model decides", "Ctrl-C: end the run")
                dialogue.write(f"{asks}{shown}{how_to}{prompt_line('', '')}")
                return (await dialogue.read_line()).strip() or None
        return None

    async def ask_for(self, wanted: Wanted) -> str | None:
        """What the user says to a part that needs leave or an answer (`modules.team.needs`).

        "" for Enter alone and Ctrl-D, None where nobody is there. Shown are its question, what it
        would do, and what other parts gave it, which anybody may have written.
        """
        if not self.is_attended():
            return None
        subtask, is_leave = wanted.subtask, wanted.subtask.needs == "approval"
        shown = [wanted.question, *([wanted.asked] if subtask.question and is_leave else [])]
        with contextlib.suppress(Declined, Cancelled):
            async with self._asking() as dialogue:
                does = "asks for your leave" if is_leave else "asks"
                dialogue.write(heading(f"the part '{subtask.id}'", does))
                text = self._redactor.text("\n\n".join(shown))
                dialogue.write(quoted(text[:MESSAGE_CHARACTERS_MAX]))
                redact = self._redactor.text
                given = [(n, shorten(redact(t), FIRST_CHARACTERS)) for n, t in wanted.texts.items()]
                dialogue.write(fields_text(given, FIRST_LINES))
                if is_leave:
                    dialogue.write(keys("y: yes", "n or Enter: no", "Ctrl-C: end the run"))
                    dialogue.write(prompt_line("May it go on?", "y/N"))
                else:
                    enter = "no answer" if subtask.default is None else "what stands in [ ]"
                    dialogue.write(keys(f"Enter: {enter}", "Ctrl-C: end the run"))
                    dialogue.write(prompt_line("", on_one_line(subtask.default or "")))
                return (await dialogue.read_line()).strip()
        return ""

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncGenerator[Dialogue]:
        """Wait for our turn at the terminal; give it back with the cursor on a new line.

        Raises:
            Cancelled: the run was interrupted while another question was open.
        """
        self._waiting += 1
        interruptions = self._interruptions
        try:
            async with self._turn:
                if self._interruptions != interruptions:
                    raise Cancelled
                async with _opened(self._dialogue):
                    yield self._dialogue
        except Interrupted:
            self._interruptions += 1
            self._interrupt_run()  # with the terminal as it was
            raise
        finally:
            self._waiting -= 1


def unanswered(question: Question, say: Callable[[str, str], None]) -> Reply:
    """The reply to a server where nobody is there; it is told by `say`, under a stage."""
    return _declined(question, "nobody is at a terminal to answer", say)


def _declined(question: Question, why: str, say: Callable[[str, str], None]) -> Reply:
    message = on_one_line(shorten(question.message, MESSAGE_CHARACTERS_TOLD))
    say("tool", f"server '{question.server}' asked: {message} (declined: {why})")
    return Reply("decline")


@contextlib.asynccontextmanager
async def _opened(dialogue: Dialogue) -> AsyncGenerator[None]:
    async with dialogue.opened():
        try:
            yield
        except (Declined, Cancelled, asyncio.CancelledError):
            with contextlib.suppress(Cancelled):
                dialogue.write("\n")
            raise


def _checked(question: Question, redactor: Redactor) -> tuple[FormField, ...]:
    """The fields of a question that can be asked, without secrets of ours.

    Raises:
        FormError: it can't.
    """
    if len(question.message) > MESSAGE_CHARACTERS_MAX:
        raise FormError(f"its message has over {MESSAGE_CHARACTERS_MAX:,} characters")
    if question.url is None:
        return tuple(_without_secrets(field, redactor) for field in read_form(question.fields))
    if redactor.text(question.url) != question.url:
        raise FormError("its URL holds a secret of yours")
    if len(question.url) > URL_CHARACTERS_MAX:
        raise FormError(f"its URL has over {URL_CHARACTERS_MAX:,} characters")
    if _host(question.url) is None:
        raise FormError("its URL is not one that a browser may be given (http or https)")
    return ()


def _without_secrets(field: FormField, redactor: Redactor) -> FormField:
    """The field with its texts redacted, and no default that holds a secret.

    Raises:
        FormError: one of its choices does, and choosing it would send that.
    """
    redact = redactor.text
    if any(redact(choice.value) != choice.value for choice in field.choices):
        raise FormError("one of its choices holds a secret of yours")
    return replace(
        field,
        title=redact(field.title),
        description=redact(field.description),
        choices=tuple(replace(one, title=redact(one.title)) for one in field.choices),
        default=field.default if redactor.json(field.default) == field.default else None,
    )


def _host(url: str) -> str | None:
    """The host that a web address leads to; None where it is no such address."""
    if not _URL_TEXT.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None


async def _asked_to_visit(dialogue: Dialogue, question: Question, url: str) -> Reply:
    """Show where the server sends the user, who goes there or not.

    We never open, fetch or preview it (MCP 2025-11-25, "Elicitation", safe URL handling).
    """
    dialogue.write(_heading(question.server, "asks you to open a page") + quoted(question.message))
    dialogue.write(f"\n{url}\n\nhost: {_host(url)}\n{url_warnings(url)}")
    dialogue.write("Nothing has been opened. Open it yourself, if you trust the host.\n")
    done = await is_confirmed(dialogue, "Done there?", default=False)
    return Reply("accept" if done else "decline")


def _heading(server: str, does: str) -> str:
    return heading(f"server '{on_one_line(server)}'", does)
