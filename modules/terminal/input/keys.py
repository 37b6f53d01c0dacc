"""What keys do at the prompt beyond what prompt_toolkit has them do."""

import os
import shlex
from collections.abc import Callable
from shutil import which
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import (
    Condition,
    emacs_mode,
    has_focus,
    has_selection,
    is_searching,
    vi_insert_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from modules.terminal.input.pastes import Pastes
from modules.terminal.input.repl import WayOut

_EDITORS: Final = (
    "/usr/bin/editor",
    "/usr/bin/nano",
    "/usr/bin/pico",
    "/usr/bin/vi",
    "/usr/bin/emacs",
)
"""What prompt_toolkit falls back on."""

NO_EDITOR: Final = "no editor could be started: say in $VISUAL or $EDITOR which to use"

_TYPING: Final = has_focus(DEFAULT_BUFFER) & ~is_searching


def has_editor() -> bool:
    """Whether one of those that prompt_toolkit tries is there; it does not tell."""
    named = [os.environ.get(name, "") for name in ("VISUAL", "EDITOR")]
    try:
        programs = [words[0] for words in map(shlex.split, named) if words]
    except ValueError:  # a quote that nothing closes
        return False
    return any(map(which, (*programs, *_EDITORS)))


def prompt_keys(
    pastes: Pastes,
    way_out: WayOut,
    tell: Callable[[str], None],
    can_edit: Callable[[], bool] = has_editor,
) -> KeyBindings:
    """New lines, folded pastes, the editor, and Ctrl-C; `tell` says why there is no editor."""
    keys = KeyBindings()
    _add_line_keys(keys)
    _add_paste_keys(keys, pastes)

    @keys.add("c-g", filter=_TYPING & ~has_selection)
    def _edit(event: KeyPressEvent) -> None:
        if can_edit():
            event.app.create_background_task(_edited(event.current_buffer, pastes))
        else:
            tell(NO_EDITOR)

    @keys.add("c-c", filter=_TYPING)
    def _cancel(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
            way_out.stay()
        elif not way_out.goes_on():
            event.app.exit(exception=EOFError, style="class:aborting")

    return keys


def _add_line_keys(keys: KeyBindings) -> None:
    @keys.add("enter", filter=_TYPING)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("tab", filter=_TYPING)
    def _complete(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.complete_next()
        else:
            _complete_at_once(buffer)

    @keys.add("c-j", filter=_TYPING & (emacs_mode | vi_insert_mode))
    @keys.add("escape", "enter", filter=_TYPING & emacs_mode)
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("escape", "escape", filter=_TYPING & emacs_mode)
    def _clear(event: KeyPressEvent) -> None:
        event.current_buffer.reset()


def _add_paste_keys(keys: KeyBindings, pastes: Pastes) -> None:
    @Condition
    def is_behind_mark() -> bool:
        return bool(pastes.mark_before(get_app().current_buffer.document.text_before_cursor))

    @keys.add(Keys.BracketedPaste, filter=_TYPING)
    def _paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.shown(event.data))

    @keys.add("backspace", filter=_TYPING & is_behind_mark & ~has_selection)
    def _take_away(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        mark = pastes.mark_before(buffer.document.text_before_cursor)
        buffer.delete_before_cursor(len(mark))


def _complete_at_once(buffer: Buffer) -> None:
    """Put in what is certain, and propose the rest.

    Not on a thread: a Tab that comes while one still looks would be lost.
    """
    found = [*buffer.completer.get_completions(buffer.document, CompleteEvent())]
    if len(found) == 1:
        buffer.apply_completion(found[0])
    elif found:
        buffer.insert_text(get_common_complete_suffix(buffer.document, found))
        buffer.start_completion()


async def _edited(buffer: Buffer, pastes: Pastes) -> None:
    """Have the text changed in the user's editor ($VISUAL, $EDITOR), whole."""
    buffer.text = pastes.whole(buffer.text)
    await buffer.open_in_editor()
    buffer.text = pastes.folded(buffer.text)
    buffer.cursor_position = len(buffer.text)
