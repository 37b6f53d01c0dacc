"""One fuzzed run of a plan: what its tools answer, when it is cancelled, what must hold then."""

import asyncio
import json
from dataclasses import dataclass
from typing import get_args

from hypothesis import strategies as st

from core.errors import CallRefused, ServerLost, ToolTimeout, WorldError
from core.tools.catalog import ToolCatalog
from core.tools.content import ImageBlock, LinkBlock, ResourceBlock, TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import ActionResult, FailureKind, FinalAnswer, FurtherProcessing, Plan, PlanFailed
from core.values import Json, JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.language import MAX_MESSAGE_CHARACTERS
from modules.sandbox.limits import MAX_TOOL_ERROR_CHARACTERS, MIB
from modules.terminal.streams import printable
from tests.doubles import tool
from tests.modules.sandbox.fuzz_plans import ODD_TEXTS
from tests.modules.sandbox.sandbox_tools import CATALOG, spec

LIMITS = SandboxLimits(
    cpu_seconds=0.05,
    wall_seconds=5,
    memory_bytes=64 * MIB,
    printed_bytes=2_000,
    result_bytes=20_000,
    argument_bytes=20_000,
    tool_result_bytes=20_000,
)
ENDLESS_SECONDS = 30.0
"""Bound on one run; its own limits are far below."""

MAX_FAILURE_CHARACTERS = max(MAX_MESSAGE_CHARACTERS, MAX_TOOL_ERROR_CHARACTERS)
NEVER_CANCELLED = -1

SHOWN = {
    "strings_to_chars_to_int": ["string"],
    "int_list_to_exponential_sum": ["numbers"],
    "sin": ["a"],
    "cos": ["a"],
    "search_stored_documents": ["query"],
    "duckduckgo_search_results": ["query"],
    "convert_webpage_url_into_markdown": ["url"],
}
"""Tools of the plans that the prompts show, with their parameters."""

_KNOWN = ToolCatalog(
    [
        tool("add", a="number", b="number"),
        tool("multiply", a="integer", b="integer"),
        spec("echo", ["value"]),
        spec("fail", ["how"]),
        *(spec(name, fields) for name, fields in SHOWN.items()),
        *(other for other in CATALOG if other.server != "math"),
    ]
)
TOOLS = _KNOWN.offering(known for known in _KNOWN if known.server != "docs")
"""Typed and untyped tools; those of one server are known but not on offer."""


@dataclass(frozen=True)
class Answer:
    """What a tool does: a result or an exception, after so many turns of the event loop."""

    outcome: ToolResult | CallRefused | WorldError
    turns: int = 0


@dataclass(frozen=True)
class Case:
    """One run: the plan, the answers in the order of calls (the last for all further calls).

    The run is cancelled after `cancel_after` turns of the event loop, if that is 0 or more.
    """

    plan: str
    answers: tuple[Answer, ...]
    cancel_after: int = NEVER_CANCELLED


def values() -> st.SearchStrategy[Json]:
    """JSON of any shape, hostile texts and numbers among it."""
    texts = st.text(st.characters(), max_size=30) | st.sampled_from(ODD_TEXTS)
    leaves: st.SearchStrategy[Json] = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), texts,
        st.sampled_from([10**4299, -(2**63), "x" * 30_000, [[]] * 30_000]),
    )  # fmt: skip
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    )


def results() -> st.SearchStrategy[ToolResult]:
    """Results as servers send them, and as they should not."""
    text = st.text(st.characters(), max_size=40) | st.sampled_from(ODD_TEXTS)
    json_text = values().map(lambda value: json.dumps(value, default=str))
    blocks = st.one_of(
        (text | json_text).map(TextBlock),
        text.map(lambda data: ImageBlock(data, "image/png")),
        text.map(lambda uri: ResourceBlock(uri, text=uri)),
        text.map(LinkBlock),
    )
    return st.builds(
        ToolResult,
        st.lists(blocks, max_size=3).map(tuple),
        st.none() | values().map(_structured),
        st.sampled_from([False] * 4 + [True]),
    )


def _structured(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {"result": value}


def answers() -> st.SearchStrategy[Answer]:
    """What tools do, errors that the dispatcher raises included."""
    text = st.sampled_from(ODD_TEXTS) | st.text(max_size=20)
    errors = st.one_of(
        text.map(CallRefused),
        text.map(lambda message: ToolTimeout("math", message)),
        text.map(lambda message: ServerLost("math", message)),
    )
    return st.builds(Answer, results() | results() | errors, st.integers(0, 5))


def cases(plans: st.SearchStrategy[str]) -> st.SearchStrategy[Case]:
    """Runs of these plans; some are cancelled."""
    cancelled = st.sampled_from([NEVER_CANCELLED] * 12 + [0, 2, 5, 20])
    return st.builds(Case, plans, st.lists(answers(), min_size=1, max_size=4).map(tuple), cancelled)


async def survive(case: Case, sandbox: Sandbox) -> ActionResult | None:
    """Run a case and assert all that must hold; the plan's end, None if it was cancelled.

    Raises:
        BaseException: anything that the host raised, which it never should.
    """
    script = _Script(case.answers)
    async with asyncio.timeout(ENDLESS_SECONDS):
        running = asyncio.ensure_future(run_plan(Plan(case.plan), TOOLS, script, sandbox))
        if case.cancel_after != NEVER_CANCELLED:
            await _turns(case.cancel_after)
            running.cancel()
        try:
            result = await running
        except asyncio.CancelledError:
            assert case.cancel_after != NEVER_CANCELLED
            assert script.open_calls == 0
            return None
    assert script.open_calls == 0
    _assert_sound(result, script)
    return result


class _Script:
    """Answers calls from a list, and sees to it that only good ones arrive."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        self._answers = answers
        self.sent = 0
        self.open_calls = 0

    async def __call__(self, called: ToolSpec, arguments: JsonObject) -> ToolResult:
        """Give the next answer."""
        answer = self._answers[min(self.sent, len(self._answers) - 1)]
        self.sent += 1
        self.open_calls += 1
        try:
            assert TOOLS.lookup(called.qualified_name) is called
            assert len(json.dumps(arguments)) <= 7 * LIMITS.argument_bytes  # six for \uXXXX
            await _turns(answer.turns)
            if isinstance(answer.outcome, Exception):
                raise answer.outcome
            return answer.outcome
        finally:
            self.open_calls -= 1


async def _turns(count: int) -> None:
    """Let the event loop go round so often."""
    for _ in range(count):
        await asyncio.sleep(0)


def _assert_sound(result: ActionResult, script: _Script) -> None:
    assert isinstance(result, FinalAnswer | FurtherProcessing | PlanFailed)
    assert len(result.calls) == script.sent <= LIMITS.tool_calls
    offered = {known.qualified_name for known in TOOLS}
    for call in result.calls:
        assert call.tool in offered | {*result.found}
        json.dumps(call.arguments)
        assert len(json.dumps(call.result).encode()) <= 7 * LIMITS.tool_result_bytes
        assert call.seconds >= 0
    if not isinstance(result, PlanFailed):
        assert result.text
        printable(result.text).encode()
        return
    failure = result.failure
    assert failure.kind in get_args(FailureKind)
    assert len(failure.message) <= MAX_FAILURE_CHARACTERS
    assert len(failure.line_text or "") <= MAX_MESSAGE_CHARACTERS
    assert failure.line is None or failure.line >= 1
    printable(str(failure)).encode()
