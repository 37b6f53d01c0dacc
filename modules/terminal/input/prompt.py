"""The prompt: requests typed at a terminal, with history, completion, and a line below.

It is imported when a prompt is to open: prompt_toolkit takes 0.1 s. All is shown on stderr, for
stdout carries answers only.
"""

import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from core.base.frozen import frozen
from core.base.text import one_line
from core.errors import UsageError
from modules.terminal.input.bottom_line import bottom_text
from modules.terminal.input.candidates import Candidates, Part, attached_word, path_candidates
from modules.terminal.input.history import kept_history
from modules.terminal.input.keys import NO_EDITOR, has_editor, prompt_keys
from modules.terminal.input.pastes import Pastes
from modules.terminal.input.repl import MAX_LINE_BYTES, PROMPT, WayOut, piped_lines
from modules.terminal.input.resizing import redraw_when_resized
from modules.terminal.input.typeahead import lending_terminal, mark_pastes
from modules.terminal.prompt import PromptKeyboard, pending_keys
from modules.terminal.streams import printable
from modules.terminal.waits import interrupting

MENU_ROWS: Final = 6
"""So many rows are kept free for what could be typed, while a command or a path is."""

TOLD_CHARACTERS: Final = 80
"""How much is told of a candidate."""

CONTINUED: Final = f"{'…':>{len(PROMPT) - 1}} "
"""Stands before every line of a request but the first."""

_STYLE: Final = Style.from_dict(
    {
        "bottom-toolbar": "noreverse dim",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)
"""No colour of our own: those of the terminal show on light and on dark."""


def _no_parts() -> Sequence[Part]:
    return ()


class TypedAhead:
    """The keyboard of the prompt, and the keys that came while no prompt was open.

    They make the text that the next prompt begins with. No Enter in it sends anything, for a pasted
    text has one at the end of each line.
    """

    def __init__(self, stdin: TextIO) -> None:
        """Nothing was typed so far."""
        self.keyboard = PromptKeyboard(stdin)
        self._keys: list[KeyPress] = []

    async def collect(self) -> None:
        """Take what was typed until now, for the next prompt."""
        self._keys += get_typeahead(self.keyboard)  # what came with the line that was sent
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            self._keys += await pending_keys(self.keyboard)

    def take(self, pastes: Pastes) -> str | None:
        """The text that the keys make; None where they leave, by Ctrl-D with nothing before it."""
        keys, self._keys = self._keys, []
        return _text_of(keys, pastes)


def _text_of(keys: Iterable[KeyPress], pastes: Pastes) -> str | None:
    """What the keys make of an empty line; those that move about in it do nothing."""
    text, is_folded = "", False
    for press in keys:
        if len(text) > MAX_LINE_BYTES:  # no request any more
            break
        match press.key:
            case Keys.BracketedPaste:
                shown = pastes.shown(press.data)
                text, is_folded = text + shown, is_folded or shown == pastes.mark_before(shown)
            case Keys.ControlM | Keys.ControlJ:
                text += "\n"
            case Keys.ControlH:
                text = text[: -len(pastes.mark_before(text)) or -1]
            case Keys.ControlU:
                text = text[: text.rfind("\n") + 1]
            case Keys.ControlD if not text:
                return None
            case str() as character if len(character) == 1 and character.isprintable():
                text += character
            case _:
                pass
    text = text.strip("\n")
    return text if is_folded else pastes.shown(text)


@frozen
class Typing:
    """How a prompt is to be, and what it asks others for.

    `ahead` has what was typed before it opens. `redact` goes over each request before it is
    written to `history_file`, if there is one. `candidates` are asked for on a thread. `bottom` is
    what stands below, and `next_text` what the next prompt has from the beginning. `way_out` is
    what Ctrl-C asks at an empty prompt. `tell` says a line above the prompt.
    """

    ahead: TypedAhead
    history_file: Path | None
    redact: Callable[[str], str]
    way_out: WayOut
    tell: Callable[[str], None]
    candidates: Candidates = field(default=lambda text: (0, []))
    bottom: Callable[[], Sequence[Part]] = _no_parts
    next_text: Callable[[], str] = str
    vi_keys: bool = False


async def typed_lines(typing: Typing) -> AsyncIterator[str]:
    """Requests typed at a terminal, each of one or more lines; ends at Ctrl-D, or Ctrl-C twice.

    Ctrl-C clears what was typed; Ctrl-Z suspends the program. On a terminal that can't move its
    cursor (`TERM=dumb`) the terminal's own editing has to do.
    """
    if is_dumb_terminal():
        async for line in plainly_typed_lines(typing.ahead):
            yield line
        return
    pastes, way_out = Pastes(), typing.way_out
    session: PromptSession[str] = PromptSession(
        history=kept_history(typing.history_file, typing.redact, pastes.whole),
        input=typing.ahead.keyboard,
        output=create_output(stdout=sys.stderr),
        enable_suspend=True,
        multiline=True,
        prompt_continuation=CONTINUED,
        key_bindings=prompt_keys(pastes, way_out, typing.tell),
        editing_mode=EditingMode.VI if typing.vi_keys else EditingMode.EMACS,
        completer=_Completer(typing.candidates),
        complete_while_typing=_is_completed_while_typed,
        complete_in_thread=True,
        reserve_space_for_menu=MENU_ROWS,
        bottom_toolbar=lambda: bottom_text(typing.bottom(), _columns(session)),
        style=_STYLE,
        tempfile_suffix=".md",
    )

    session.default_buffer.on_text_changed += way_out.stay

    def begin() -> None:
        way_out.stay()
        redraw_when_resized(session.app)

    while (ahead := typing.ahead.take(pastes)) is not None:
        try:
            begun = "\n".join(filter(None, (typing.next_text(), ahead)))
            # Here Ctrl-C is a key. The signal is the caller's: prompt_toolkit would take its
            # handler away, and leave Python's own between prompt and request.
            line = await session.prompt_async(
                PROMPT, default=begun, pre_run=begin, handle_sigint=False
            )
        except EOFError:
            return
        mark_pastes(sys.stderr)
        yield pastes.whole(line)


async def edited_code(code: str) -> str:
    """Python as the user's editor ($VISUAL, $EDITOR) leaves it; the same where that fails.

    Ctrl-C meanwhile is the editor's.

    Raises:
        UnicodeDecodeError: what was saved is not UTF-8.
        UsageError: there is no editor.
    """
    if not has_editor():
        raise UsageError(NO_EDITOR)
    buffer = Buffer(document=Document(code), tempfile_suffix=".py")
    with interrupting(lambda: None, signal.SIGINT), lending_terminal():
        await buffer.open_in_editor()
    return buffer.text


async def plainly_typed_lines(ahead: TypedAhead) -> AsyncIterator[str]:
    """Lines as the terminal itself lets people edit them; a backslash at the end goes on.

    What was typed ahead can't be put into the line: it is told, and an empty line sends it.
    """
    lines = piped_lines(sys.stdin)
    begun, line = "", ""
    while line is not None and (kept := ahead.take(Pastes())) is not None:
        if kept:
            told = "typed meanwhile; Enter alone sends it, another line takes its place"
            sys.stderr.write(f"[loop] {told}:\n{printable(kept)}\n")
        sys.stderr.write(CONTINUED if begun else PROMPT)
        sys.stderr.flush()
        if (line := await anext(lines, None)) is not None:
            if line.endswith("\\"):
                begun += f"{line[:-1]}\n"
                continue
            yield f"{begun}{line}" or kept
            begun = ""
    if begun:
        yield begun


@Condition
def _is_completed_while_typed() -> bool:
    """For commands, and for files behind an @; who writes a sentence is left in peace."""
    before = get_app().current_buffer.document.text_before_cursor
    return (before.startswith("/") and "\n" not in before) or attached_word(before) is not None


def _columns(session: "PromptSession[str]") -> int:
    return session.app.output.get_size().columns - 1


class _Completer(Completer):
    """Files behind an @, else what commands propose."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        if (word := attached_word(before)) is not None:
            replaced, found = len(word), path_candidates(word, Path.cwd())
        else:
            replaced, found = self._candidates(before)
        for each in found:
            told = one_line(each.told, TOLD_CHARACTERS)
            yield Completion(each.text, -replaced, display_meta=told or None)
