"""Which verdict is the plan's own: one that its source has, where the text that it gives begins.

Before a plan is read by the interpreter, a token that nobody can guess is put in front of each
verdict in its source. Text that begins with a verdict and has no token there came from elsewhere:
from a tool, a page, a text of the user, in whatever way the plan has taken or put it together. All
that leaves the plan loses its tokens.
"""

import re
import secrets
from dataclasses import replace
from typing import Final

from core.run.working_memory import WorkingMemory
from core.turn import VERDICTS, PlanFailure
from core.values import Json, JsonObject

TOKEN_BYTES: Final = 8

_WORDS: Final = re.compile("|".join(verdict.removesuffix(":") for verdict in VERDICTS))


class OwnWords:
    """The verdicts in one plan's source, told from the same words of anybody else."""

    def __init__(self) -> None:
        """Choose the token; a name with it is a name still."""
        self._token = f"v{secrets.token_hex(TOKEN_BYTES)}_"

    def marked(self, source: str) -> str:
        """The source with the token in front of each verdict; lines keep their numbers."""
        return _WORDS.sub(lambda found: self._token + found.group(), source)

    def begin(self, value: Json) -> bool:
        """Whether the text of a value begins with a verdict that the plan's source has.

        The text is that which `modules.action.format_result` makes of it.
        """
        match value:
            case str():
                return value.lstrip().startswith(self._token)
            case list():
                first = next((item for item in value if not _is_blank(item)), None)
                return isinstance(first, str) and self.begin(first)
            case {"result": str(text)}:
                return self.begin(text)
            case _:
                return False

    def text(self, text: str) -> str:
        """The text without tokens."""
        return text.replace(self._token, "")

    def value(self, value: Json) -> Json:
        """The value without tokens in its texts and names; itself where it holds none."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return self.object(value)
            case _:
                return value

    def object(self, value: JsonObject) -> JsonObject:
        """As `value`."""
        return {self.text(name): self.value(part) for name, part in value.items()}

    def memory(self, left: WorkingMemory) -> WorkingMemory:
        """What a plan leaves for others, without tokens."""
        return WorkingMemory(self.object(left.values), tuple(map(self.text, left.lost)))

    def failure(self, failure: PlanFailure | None) -> PlanFailure | None:
        """A failure, without tokens in its message."""
        if failure is None:
            return None
        line = failure.line_text
        shown = None if line is None else self.text(line)
        return replace(failure, message=self.text(failure.message), line_text=shown)


def _is_blank(item: Json) -> bool:
    return isinstance(item, str) and not item.strip()
