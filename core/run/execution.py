"""Who asks what in which trace: one frozen value that goes along with a request, whatever it does.

A door makes it: a command, the prompt, an HTTP request, a tool call of another agent. Within a run
it is the current one, so that calls, servers and log lines name the same trace. Ids are those of
the W3C's Trace Context (https://www.w3.org/TR/trace-context/), and OpenTelemetry shows spans under
the ids that are made here.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern, one_line

NAME_CHARACTERS: Final = 200
"""How long a user, a conversation, an intent or a value of the metadata may be."""

METADATA_MAX: Final = 16
KEY_CHARACTERS: Final = 64

TRACEPARENT_CHARACTERS: Final = 55
"""How long a `traceparent` of version 00 is; of later versions it is the beginning."""

TRACEPARENT_MAX: Final = 512
"""Longer ones are no such thing, whatever later versions put behind."""

TRACESTATE_CHARACTERS: Final = 512
TRACESTATE_ENTRIES: Final = 32
LONG_ENTRY_CHARACTERS: Final = 128
"""Entries longer than this are the first to go where a `tracestate` is too long (W3C 3.3.1.5)."""

_TRACEPARENT: Final = lazy_pattern(
    "(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)
_ENTRY: Final = lazy_pattern(
    r"(?P<key>[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)
_SAMPLED: Final = 1


@frozen
class ExecutionContext:
    """What a piece of work belongs to; made by `begin`, and by `child` for a part of it.

    Attributes:
        trace_id: of everything that the first caller's request has caused; 32 hexadecimal digits.
        span_id: of this piece of work; 16 hexadecimal digits.
        parent_id: the span id of what caused it; "" where nothing did.
        request_id: of the request, as its door names it.
        user: who asks; "" where there are no users.
        conversation: the caller's name for the conversation.
        session: the id of what is kept of it; "" until that is known.
        profile: by whose settings it is answered.
        intent: what perception made of the request; "" until then.
        step: the part of a graph that is worked on; "" outside of one.
        metadata: what the door knows besides, a few short texts with their names.
        tracestate: what other tracing systems want carried along.
        is_sampled: whether the caller may have recorded its part.
    """

    trace_id: str
    span_id: str
    request_id: str
    parent_id: str = ""
    user: str = ""
    conversation: str = ""
    session: str = ""
    profile: str = ""
    intent: str = ""
    step: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    tracestate: str = ""
    is_sampled: bool = True

    @property
    def traceparent(self) -> str:
        """What names this piece of work to whoever works for it (version 00)."""
        return f"00-{self.trace_id}-{self.span_id}-{_SAMPLED if self.is_sampled else 0:02x}"

    @property
    def carried(self) -> dict[str, str]:
        """`traceparent`, and `tracestate` where there is one: headers, or keys of MCP's `_meta`."""
        state = {"tracestate": self.tracestate} if self.tracestate else {}
        return {"traceparent": self.traceparent, **state}

    def child(self) -> "ExecutionContext":
        """The context of a part of this work, with a span id of its own."""
        return replace(self, span_id=_new_id(8), parent_id=self.span_id)

    def within(
        self, *, session: str | None = None, profile: str | None = None, intent: str | None = None
    ) -> "ExecutionContext":
        """The same work, of which more is known by now."""
        return replace(
            self,
            session=self.session if session is None else _short(session),
            profile=self.profile if profile is None else _short(profile),
            intent=self.intent if intent is None else _short(intent),
        )


def begin(
    traceparent: str | None = None,
    tracestate: str | None = None,
    *,
    request_id: str = "",
    user: str = "",
    conversation: str = "",
    session: str = "",
    profile: str = "",
    metadata: Mapping[str, str] | None = None,
) -> ExecutionContext:
    """The context of a request at its door: part of the caller's trace, else of a new one.

    A `traceparent` that is malformed counts as none, and so does a `tracestate` without a
    `traceparent`. Texts are put on one line and cut; of the metadata the first entries count.
    """
    caller = _caller(traceparent or "")
    trace_id, parent_id, is_sampled = caller or (_new_id(16), "", True)
    first = list((metadata or {}).items())[:METADATA_MAX]
    return ExecutionContext(
        trace_id,
        _new_id(8),
        _short(request_id) or _new_id(8),
        parent_id,
        _short(user),
        _short(conversation),
        _short(session),
        _short(profile),
        metadata=tuple((one_line(key, KEY_CHARACTERS), _short(text)) for key, text in first),
        tracestate=_carried_state(tracestate or "") if caller else "",
        is_sampled=is_sampled,
    )


def begin_of_process(environ: Mapping[str, str]) -> ExecutionContext:
    """The context of a request that this process was started for, or that is typed into it.

    Whoever started it hands its trace on in TRACEPARENT and TRACESTATE, as OpenTelemetry has it
    (https://opentelemetry.io/docs/specs/otel/context/env-carriers/).
    """
    return begin(environ.get("TRACEPARENT"), environ.get("TRACESTATE"))


def current() -> ExecutionContext | None:
    """The context of the work that is going on here; None outside of runs."""
    return _current.get()


@contextmanager
def working(on: ExecutionContext) -> Generator[ExecutionContext]:
    """Within the `with`, and in tasks that begin there, this context is the current one."""
    token = _current.set(on)
    try:
        yield on
    finally:
        _current.reset(token)


@contextmanager
def working_on_part(step: str = "") -> Generator[str]:
    """Within the `with`, a part of the current work goes on: a subtask, or a call; its span id.

    `step` names a subtask. Outside of runs there is nothing to be a part of, and the id is "".
    """
    if (whole := _current.get()) is None:
        yield ""
        return
    part = whole.child()
    with working(replace(part, step=step or part.step)):
        yield part.span_id


def current_ids() -> tuple[str, str]:
    """Trace id and span id of the current work; empty texts outside of runs."""
    context = _current.get()
    return ("", "") if context is None else (context.trace_id, context.span_id)


def current_step() -> str:
    """The part of a graph that is worked on; "" outside of one."""
    context = _current.get()
    return "" if context is None else context.step


def note_intent(intent: str) -> None:
    """From here on, for the rest of this task, the current context has this intent."""
    if (context := _current.get()) is not None:
        _current.set(context.within(intent=intent))


def _new_id(size_bytes: int) -> str:
    """A random id; one that is all zeros would be invalid."""
    while not any(drawn := os.urandom(size_bytes)):
        pass
    return drawn.hex()


def _short(text: str) -> str:
    return one_line(text, NAME_CHARACTERS)


def _caller(traceparent: str) -> tuple[str, str, bool] | None:
    """The caller's trace id, its span id, and whether it is sampled (W3C 3.2); None if malformed.

    Of versions that we don't know, the part that version 00 has is read.
    """
    found = _TRACEPARENT.match(traceparent) if len(traceparent) <= TRACEPARENT_MAX else None
    if found is None:
        return None
    version, trace_id, span_id, flags = found.groups()
    behind = traceparent[TRACEPARENT_CHARACTERS:]
    if version == "ff" or (behind and (version == "00" or not behind.startswith("-"))):
        return None
    if not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return trace_id, span_id, bool(int(flags, 16) & _SAMPLED)


def _carried_state(tracestate: str) -> str:
    """A `tracestate` as it goes on (W3C 3.3): whole entries, no more than is carried; "" if bad."""
    if tracestate.count(",") > 2 * TRACESTATE_ENTRIES:
        return ""
    entries = [entry for each in tracestate.split(",") if (entry := each.strip(" \t"))]
    keys: set[str] = set()
    for entry in entries:
        if (found := _ENTRY.fullmatch(entry)) is None or found["key"] in keys:
            return ""
        keys.add(found["key"])
    if len(entries) > TRACESTATE_ENTRIES:
        return ""
    if _length(entries) > TRACESTATE_CHARACTERS:
        entries = [entry for entry in entries if len(entry) <= LONG_ENTRY_CHARACTERS]
    while _length(entries) > TRACESTATE_CHARACTERS:
        del entries[-1]
    return ",".join(entries)


def _length(entries: list[str]) -> int:
    return len(",".join(entries))


_current: ContextVar[ExecutionContext | None] = ContextVar("execution", default=None)
