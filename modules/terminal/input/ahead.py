"""What was typed while something went on: text that the next prompt begins with.

No Enter in it sends anything, for a pasted text has one at the end of each line.
"""

import contextlib
from collections.abc import Iterable
from typing import TextIO

from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from modules.terminal.input.pastes import Pastes
from modules.terminal.input.repl import MAX_LINE_BYTES
from modules.terminal.prompt import PromptKeyboard, pending_keys


class TypedAhead:
    """The keyboard of the prompt, and the keys that came while no prompt was open."""

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
