"""Sessions as requests and answers, from items in memory or from a session's file."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Final, Protocol

from core.base.files import read_regular
from core.base.frozen import frozen
from core.base.json_text import Json, json_start
from core.base.memory.session_json import MAX_FILE_BYTES, elements_of

TITLE: Final = "title"
"""Key of the metadata under which a session's title stands; the last one counts."""

UNDONE: Final = "undone"
"""Key of the metadata under which it stands when the request was asked that counts no more."""

SERVER: Final = "server"
"""Key of the metadata of a call under which the server stands that has the tool."""

CALLS_NAMED: Final = 4
"""So many calls of a request are named, the last ones."""

ARGUMENT_CHARACTERS: Final = 60
"""How much of each argument stands there."""

ARGUMENTS_NAMED: Final = 6

GROUNDED: Final = "grounded"
"""Key of the metadata of a run's last item under which it stands that its answer is not."""

LEFT: Final = "left"
"""Beside it, how many exchanges before that one count."""


class SessionItem(Protocol):
    """What is asked here of an item, which has more."""

    @property
    def timestamp(self) -> float:
        """Unix time in seconds."""
        ...

    @property
    def type(self) -> str:
        """One of `core.turn.MemoryItemType`."""
        ...

    @property
    def user_query(self) -> str | None:
        """The request that it begins or answers."""
        ...

    @property
    def final_answer(self) -> str | None:
        """The answer, of an item that brings one."""
        ...

    @property
    def tool_name(self) -> str | None:
        """The tool, of a call."""
        ...

    @property
    def tool_args(self) -> Mapping[str, Json] | None:
        """What the tool was called with."""
        ...

    @property
    def success(self) -> bool | None:
        """Whether a call gave what was asked of it."""
        ...

    @property
    def metadata(self) -> Mapping[str, Json]:
        """All else that is known of it."""
        ...


@frozen
class DatedExchange:
    """A request and its answer, None if it got none; `asked_at` is Unix time in seconds.

    `tools` are the names of those that were called for it, each once, and `calls` the last that
    succeeded, as a plan would write them. The user has taken back what is `undone`. The answer is
    from a model's own knowledge where it is not `grounded`.
    """

    asked_at: float
    request: str
    answer: str | None
    tools: tuple[str, ...] = ()
    undone: bool = False
    calls: tuple[str, ...] = ()
    grounded: bool = True


@frozen
class SessionText:
    """What a session's file tells; `session_id` is empty where no item says it."""

    session_id: str
    title: str
    exchanges: tuple[DatedExchange, ...]


def dated_exchanges(
    items: Iterable[SessionItem], *, with_undone: bool = False
) -> tuple[DatedExchange, ...]:
    """The session's requests with their answers, in the order in which they were asked.

    What was taken back is left out, unless `with_undone`. A `final_answer` item answers the request
    that it names (`user_query`), else the last one before it. A call belongs to the last request
    before it.
    """
    found: list[DatedExchange] = []
    open_places: dict[str, int] = {}  # of requests without an answer
    for item in items:
        if item.type == "run_metadata" and item.user_query is not None:
            open_places[item.user_query] = len(found)
            found.append(DatedExchange(item.timestamp, item.user_query, None))
        elif item.type == "run_metadata" and UNDONE in item.metadata:
            _take_back(found, item.metadata[UNDONE])
        elif item.type == "run_metadata" and item.metadata.get(GROUNDED) is False and found:
            found[-1] = replace(found[-1], grounded=False)
        elif item.type in ("tool_call", "tool_output") and item.tool_name and found:
            found[-1] = _with_call(found[-1], item, item.tool_name)
        elif item.type == "final_answer" and item.final_answer is not None:
            asked = item.user_query
            if asked is None and found and found[-1].answer is None:
                asked = found[-1].request
            if asked in open_places:
                place = open_places.pop(asked)
                found[place] = replace(found[place], answer=item.final_answer)
            elif asked is not None:
                found.append(DatedExchange(item.timestamp, asked, item.final_answer))
    return tuple(each for each in found if with_undone or not each.undone)


def _with_call(exchange: DatedExchange, item: SessionItem, tool: str) -> DatedExchange:
    """The exchange with a call that was made for it, or with what that gave."""
    if item.type == "tool_call":
        tools = dict.fromkeys((*exchange.tools, tool))
        return replace(exchange, tools=tuple(tools))
    if not item.success or SERVER not in item.metadata:  # a plan is kept like a tool, of none
        return exchange
    calls = dict.fromkeys((*exchange.calls, _call_text(tool, item.tool_args or {})))
    return replace(exchange, calls=tuple(calls)[-CALLS_NAMED:])


def _call_text(name: str, given: Mapping[str, Json]) -> str:
    """`factorial(a=6)`."""
    if [*given] == ["input"] and isinstance(inner := given["input"], dict):
        given = inner  # the wrapper that servers of ours have around all arguments
    shown = [
        f"{key[:ARGUMENT_CHARACTERS]}={json_start(value, ARGUMENT_CHARACTERS)}"
        for key, value in islice(given.items(), ARGUMENTS_NAMED)
    ]
    more = ["…"] if len(given) > ARGUMENTS_NAMED else []
    return f"{name}({', '.join([*shown, *more])})"


def _take_back(found: list[DatedExchange], asked_at: Json) -> None:
    """Mark the last exchange that was asked then, and counts."""
    for place in reversed(range(len(found))):
        if found[place].asked_at == asked_at and not found[place].undone:
            found[place] = replace(found[place], undone=True)
            return


def title_of(items: Iterable[SessionItem]) -> str:
    """What the user calls the session; empty where it has no title."""
    title = ""
    for item in items:
        if item.type == "run_metadata" and isinstance(given := item.metadata.get(TITLE), str):
            title = given
    return title


def read_session(path: Path, bytes_max: int = MAX_FILE_BYTES) -> SessionText:
    """The session in a file; items that can't be read are left out, and nothing is repaired.

    Raises:
        FileTooLarge: the file has more than `bytes_max`.
        OSError: it can't be read.
    """
    return session_text(read_regular(path, bytes_max))


def session_text(data: bytes) -> SessionText:
    """The session in what a file holds; see `read_session`."""
    elements, _ = elements_of(data)
    items = [_FileItem.of(each) for each in elements if isinstance(each, dict)]
    named = (item.session_id for item in items if item.session_id)
    return SessionText(next(named, ""), title_of(items), dated_exchanges(items))


@frozen
class _FileItem:
    """An item as a file has it; a field of another type than it should have counts as missing."""

    timestamp: float
    type: str
    user_query: str | None
    final_answer: str | None
    tool_name: str | None
    tool_args: Mapping[str, Json] | None
    success: bool | None
    session_id: str | None
    metadata: Mapping[str, Json]

    @classmethod
    def of(cls, found: dict[str, Json]) -> "_FileItem":
        metadata, arguments = found.get("metadata"), found.get("tool_args")
        return cls(
            _seconds(found.get("timestamp")),
            _text(found.get("type")) or "",
            _text(found.get("user_query")),
            _text(found.get("final_answer")),
            _text(found.get("tool_name")),
            arguments if isinstance(arguments, dict) else None,
            found.get("success") is True,
            _text(found.get("session_id")),
            metadata if isinstance(metadata, dict) else {},
        )


def _text(value: Json) -> str | None:
    """A text that can be written anywhere: a lone surrogate becomes a question mark."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _seconds(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        seconds = float(value)
    except OverflowError:
        return 0.0
    return seconds if isfinite(seconds) else 0.0
