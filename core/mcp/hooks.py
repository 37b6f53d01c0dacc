"""What a server may say of its own accord, and who is told: logs, new tools, questions.

Questions are MCP's elicitation (2025-11-25, "Elicitation"): a message and a flat JSON Schema of
what is asked for.
"""

from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Literal, TypeAlias

from core.base.frozen import frozen
from core.values import Json, JsonObject

OnProgress: TypeAlias = Callable[[float, float | None, str | None], None]
"""Hears of progress on one call: done so far, total where it is known, and a message."""


@frozen
class Question:
    """What a server asks the user while it works on a call.

    `fields` is the JSON Schema of an object of simple values (text, numbers, booleans, choices).
    Where `url` is set, the user is asked to go there instead, and there are no fields.
    """

    server: str
    message: str
    fields: JsonObject = field(default_factory=dict[str, Json])
    url: str | None = None


@frozen
class Reply:
    """What the user made of a question; `content` fits its fields where it was accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject | None = None


Ask: TypeAlias = Callable[[Question], Coroutine[None, None, Reply]]


async def decline(question: Question) -> Reply:
    """Answer for a user who isn't there."""
    return Reply("decline")


def _tell_nobody(*_: str) -> None:
    """Keep it."""


@frozen
class SessionHooks:
    """Who hears what a server says of its own accord; by default nobody.

    `on_log` gets server id, level and text. `on_tools_changed` hears that the tool list may have
    changed. `ask` puts a question to the user; while one is open, no call of the server times out.
    """

    on_log: Callable[[str, str, str], None] = _tell_nobody
    on_tools_changed: Callable[[], None] = _tell_nobody
    ask: Ask = decline
