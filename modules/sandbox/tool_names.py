"""Which offered tools a name may have been meant for that is none.

Only for messages: no tool is ever called by a name that isn't exactly one of its own. Names are
compared as people read them, so that case, accents, full-width letters, letters of other
alphabets that look Latin, and characters that nobody sees make no difference.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from core.catalog import NEAREST_NAMES_SHOWN, ToolCatalog
from core.tool_spec import as_identifier

MAX_NAME_CHARACTERS: Final = 300
"""Longer names are cut before they are compared, which takes the square of their length."""

NEARNESS: Final = 0.5
"""From which likeness on (difflib's ratio) a tool is worth proposing for a name of a tool."""

NEARNESS_OF_ANY_NAME: Final = 0.6
"""The same for a name that need not have been meant for a tool at all."""

_LOOK_LATIN: Final = str.maketrans(
    # Cyrillic, then Greek (Unicode Technical Standard 39, confusables)
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u04bb\u051b\u051d\u0501"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u03c5\u03c7",
    "aeopcxyijshqwdaopviktux",
)


def nearest_tools(tools: ToolCatalog, name: str) -> list[str]:
    """The names of tools on offer that look most like `name`, as `mcp.call_tool` takes them."""
    own = (known for tool in tools for known in (tool.name, tool.identifier) if known in tools)
    qualified = (
        known
        for tool in tools
        for known in (tool.qualified_name, f"{as_identifier(tool.server)}.{tool.identifier}")
    )
    return _nearest(name, [*own, *qualified], NEARNESS)


def plan_hint(tools: ToolCatalog, name: str) -> str:
    """What to add to an error about an unknown name: "; did you mean tools.add?", or nothing."""
    near = _nearest(name, [tools.plan_name(tool) for tool in tools], NEARNESS_OF_ANY_NAME)
    return f"; did you mean {', '.join(f'tools.{known}' for known in near)}?" if near else ""


def shown_name(name: str) -> str:
    """A name in quotes; with escapes where it isn't plain ASCII and may look like another."""
    cut = name[:MAX_NAME_CHARACTERS]
    return f"'{cut}'" if cut.isascii() and cut.isprintable() else ascii(cut)


def _nearest(name: str, known: Iterable[str], nearness: float) -> list[str]:
    read: dict[str, str] = {}
    for candidate in known:
        read.setdefault(_as_read(candidate), candidate)
    near = difflib.get_close_matches(_as_read(name), read, NEAREST_NAMES_SHOWN, nearness)
    return [read[candidate] for candidate in near]


def _as_read(name: str) -> str:
    """The name as it looks to someone who reads over it."""
    return "".join(_letters(name[:MAX_NAME_CHARACTERS]))


def _letters(name: str) -> Iterator[str]:
    for letter in unicodedata.normalize("NFKD", name).casefold().translate(_LOOK_LATIN):
        if unicodedata.category(letter) not in ("Mn", "Cf") and not letter.isspace():
            yield letter
