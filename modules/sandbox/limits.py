"""What bounds a plan, and the values that tell where it stands.

`modules.sandbox.session` gives the states, `modules.sandbox.pool` acts on them.
"""

from collections.abc import Mapping
from typing import TypeAlias

from core.base.frozen import frozen
from core.run.working_memory import WorkingMemory
from core.tools.spec import ToolSpec
from core.turn import PlanFailure, ToolCall
from core.values import Json, JsonObject

MAX_TOOL_CALLS_PER_PLAN = 5
"""Tool calls that one plan may send, unless a `SandboxLimits` says otherwise."""

MAX_TOOL_ERROR_CHARACTERS = 4000
"""Longest error of a tool call, refusals included, that a plan, its retry and the memory see."""

KIB = 1024
MIB = 1024 * KIB

MAX_SEARCHES_PER_PLAN = 5
"""How often a plan may search for tools; a search is no tool call."""

MAX_TOOLS_FOUND = 20
"""Most tools that one search gives."""

MAX_SEARCH_CHARACTERS = 500
"""Longest words of a search."""


@frozen
class SandboxLimits:
    """Bounds of one plan. Every one is enforced outside of the plan's reach.

    Attributes:
        cpu_seconds: Time the plan itself computes, in seconds; waiting for tools is free. It is
            taken by the clock on the wall: on a busy machine a plan gets less done in it.
        wall_seconds: Time from the start of `run` to its end, in seconds, tool waits included.
        memory_bytes: Memory of the plan's instance, in bytes; some 40 MB of it are CPython's own.
        recursion_depth: Calls within calls.
        printed_bytes: Text printed, in bytes of UTF-8.
        result_bytes: Size of the returned value, in bytes of JSON.
        source_bytes: The plan's text, in bytes of UTF-8.
        tool_calls: Number of tool calls sent.
        tool_calls_at_once: Number of tool calls open at the same time; more wait their turn.
        argument_bytes: Size of all arguments of one tool call, in bytes of JSON.
        tool_result_bytes: Size of one tool result, in bytes of JSON; a larger one is an error of
            that call. It is held as plan value, record and memory item.
    """

    cpu_seconds: float = 5.0
    wall_seconds: float = 120.0
    memory_bytes: int = 256 * MIB
    recursion_depth: int = 1000
    printed_bytes: int = 64 * KIB
    result_bytes: int = 1 * MIB
    source_bytes: int = 12 * KIB
    tool_calls: int = MAX_TOOL_CALLS_PER_PLAN
    tool_calls_at_once: int = MAX_TOOL_CALLS_PER_PLAN
    argument_bytes: int = 1 * MIB
    tool_result_bytes: int = 4 * MIB


@frozen
class SandboxResult:
    """What became of one plan.

    `value` is what `solve()` returned (None on failure), `printed` its output, `calls` the tool
    calls that were sent, in order of start, `found` the qualified names of the tools that it
    searched for and found, `memory` what is in working memory then, None if the plan left it alone.
    `begins_own` says that the text of the value, or of what was printed where there is no value,
    begins with a verdict that the plan's own source has.
    """

    value: Json
    printed: str
    calls: tuple[ToolCall, ...]
    failure: PlanFailure | None
    found: tuple[str, ...] = ()
    memory: WorkingMemory | None = None
    begins_own: bool = False


@frozen
class RequestedCall:
    """A tool call that the plan made and that has passed every check; `call_id` is the plan's.

    `raw` calls (`mcp.call_tool`) get content blocks instead of the plain value.
    """

    call_id: int
    tool: ToolSpec
    arguments: JsonObject
    raw: bool


@frozen
class CallOutcome:
    """How a tool call ended, as the plan gets it: plain JSON within bounds, or an error."""

    value: Json = None
    error: str | None = None


@frozen
class Waiting:
    """The plan can't go on: send `calls`, then settle any of `pending` (all calls still open).

    After `timer_seconds` it can go on without any. What is `settled` already is given at once.
    """

    calls: tuple[RequestedCall, ...]
    pending: frozenset[int]
    timer_seconds: float | None
    settled: Mapping[int, CallOutcome]


@frozen
class Finished:
    """The plan ended, with a value or a failure; `begins_own` as in `SandboxResult`."""

    value: Json = None
    failure: PlanFailure | None = None
    begins_own: bool = False


PlanState: TypeAlias = Waiting | Finished
"""What is known of a plan whenever it halts."""
