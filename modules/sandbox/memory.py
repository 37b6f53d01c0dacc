"""A run's working memory at the sandbox's border: given to a plan, read back when that has ended.

What a plan left is written as JSON where the plan ran, under its limits. What comes of it may be
the work of hostile code, like all that leaves the sandbox.
"""

import json
from typing import cast

from core.base.text import one_line, size_text
from core.run.working_memory import (
    MEMORY,
    MEMORY_BYTES,
    NAME_CHARACTERS,
    NAMES_MAX,
    WorkingMemory,
    item,
)
from core.values import Json, JsonObject
from modules.sandbox.values import NotFinite, NotJson, TooLarge, to_json

REASON_CHARACTERS = 200
"""How much is told of why a value is not kept."""

UNREAD = "what the last plan put there: the plan was stopped before it could be read"
"""What is lost with the worker."""

_OWN = f'what the last plan put into a `{MEMORY}` of its own: write {MEMORY}["name"] = value'
_TOO_MANY = f"more than {NAMES_MAX} names"
_NAMELESS = f"a value whose name is no text of at most {NAME_CHARACTERS} characters"
_NO_ROOM = f"there is no room for it, {MEMORY} takes {size_text(MEMORY_BYTES)} in all"


def left_memory(found: object) -> WorkingMemory:
    """What a plan left, from what the guest tells of it.

    That is whether the plan's `memory` is the dict that it was given, then for each name there its
    value as JSON, or why there is none.

    Raises:
        NotJson: it is no such thing: the plan meddled with it.
    """
    if not isinstance(found, list) or not found:
        raise NotJson("a memory in another form")
    is_ours, *entries = cast("list[object]", found)
    values: JsonObject = {}
    lost = [] if is_ours else [_OWN]
    room = MEMORY_BYTES
    for entry in entries[:NAMES_MAX]:
        match entry:
            case [str(name), str(text), None] if len(name) <= NAME_CHARACTERS:
                size = len(text.encode("utf-8", "replace"))
                try:
                    values[name] = _parsed(text, room - size)
                except (TooLarge, NotJson, NotFinite, ValueError, RecursionError) as refused:
                    lost.append(_told(name, str(refused)))
                if size <= room:
                    room -= size  # for a value that is refused too: it was work
            case [str(name), None, str(why)] if len(name) <= NAME_CHARACTERS:
                lost.append(_told(name, why))
            case _:
                lost.append(_NAMELESS)
    if len(entries) > NAMES_MAX:
        lost.append(_TOO_MANY)
    return WorkingMemory(values, tuple(dict.fromkeys(lost)))


def _parsed(text: str, left_bytes: int) -> Json:
    """A value from its JSON; what is too deep or dense is refused, and what leaves no room."""
    if left_bytes < 0:
        raise TooLarge(_NO_ROOM)
    return to_json(json.loads(text), max_bytes=2 * MEMORY_BYTES, finite=True)


def _told(name: str, why: str) -> str:
    return f"{item(name)}: {one_line(why, REASON_CHARACTERS)}"
