"""A few tools for sandbox tests, answered in process: no server, no network."""

import asyncio
import json
from collections.abc import Iterable

from core.errors import CallRefused, ToolTimeout
from core.ports import CallTool, OnRepaired, RunPlan
from core.run.working_memory import WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import ActionResult, Plan, PlanFailure
from core.values import Json, JsonObject
from modules.action import as_written, run_plan
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult

TEST_TIMEOUT_SECONDS = 10
"""Bound on everything that a test waits for."""


def spec(
    name: str, parameters: Iterable[str], *, server: str = "math", wrap: bool = True
) -> ToolSpec:
    """A tool whose parameters are all required; `wrap` puts them in `input`, as ours do."""
    inner: JsonObject = {
        "type": "object",
        "properties": {parameter: {} for parameter in parameters},
        "required": list(parameters),
    }
    schema: JsonObject = {"type": "object", "properties": {"input": inner}, "required": ["input"]}
    return ToolSpec(server, name, f"{name}.", schema if wrap else inner)


CATALOG = ToolCatalog(
    [
        spec("add", "ab"),
        spec("remainder", "ab"),
        spec("echo", ["value"]),
        spec("fail", ["how"]),
        spec("meet", ["who"]),
        spec("find", ["query"], server="web", wrap=False),
        spec("find", ["query"], server="docs", wrap=False),
        spec("get-page", ["url"], server="web", wrap=False),
    ]
)


def answer(value: Json) -> ToolResult:
    """A result as our servers give it: structured, and the same as text."""
    return ToolResult((TextBlock(json.dumps({"result": value})),), {"result": value})


class Tools:
    """Answers the catalogue's tools and records what was sent, in order."""

    def __init__(self, meeting: int = 2) -> None:
        """`meet` answers when `meeting` calls of it are open at once, and not before."""
        self.sent: list[tuple[str, JsonObject]] = []
        self.cancelled: list[str] = []
        self.started = asyncio.Event()
        self._barrier = asyncio.Barrier(meeting)

    async def __call__(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        self.sent.append((tool.qualified_name, arguments))
        self.started.set()
        inner = arguments.get("input", arguments)
        assert isinstance(inner, dict)
        try:
            return await self._answer(tool, inner)
        except asyncio.CancelledError:
            self.cancelled.append(tool.qualified_name)
            raise

    async def _answer(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        match tool.name, arguments:
            case "add", {"a": int() | float() as a, "b": int() | float() as b}:
                return answer(a + b)
            case "remainder", {"a": int() as a, "b": int() as b}:
                return answer(a % b)
            case "echo", {"value": value}:
                return answer(value)
            case "meet", {"who": who}:
                await self._barrier.wait()
                return answer(who)
            case "fail", {"how": "error"}:
                return ToolResult((TextBlock("the disk is full"),), is_error=True)
            case "fail", {"how": "refused"}:
                raise CallRefused("fail() is switched off")
            case "fail", {"how": "timeout"}:
                raise ToolTimeout("math", "math did not answer in 30 s")
            case "fail", _:
                raise KeyError("a bug in the dispatcher")
            case _:
                return answer(f"{tool.qualified_name}: {json.dumps(arguments)}")


class Answers:
    """Answers every call with one result."""

    def __init__(self, result: ToolResult) -> None:
        self._result = result

    async def __call__(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        return self._result


async def run(
    plan: str,
    call: CallTool | None = None,
    limits: SandboxLimits | None = None,
    offered: ToolCatalog = CATALOG,
) -> SandboxResult:
    """Run one plan in a sandbox of its own."""
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits) as sandbox:
        return await sandbox.run(plan, offered, call or Tools())


def acting(sandbox: Sandbox) -> RunPlan:
    """The action step with this sandbox; plans go in as written, as nothing before is a wall."""

    async def act(
        plan: Plan,
        tools: ToolCatalog,
        call: CallTool,
        on_repaired: OnRepaired | None = None,
        memory: WorkingMemory | None = None,
    ) -> ActionResult:
        return await run_plan(
            plan, tools, call, sandbox, on_repaired, prepare=as_written, memory=memory
        )

    return act


async def failed(
    plan: str, call: CallTool | None = None, limits: SandboxLimits | None = None
) -> PlanFailure:
    """The failure of one plan; it must fail."""
    failure = (await run(plan, call, limits)).failure
    assert failure is not None
    return failure


def solve(*lines: str) -> str:
    """A plan of one async function with these lines; the first is line 2 of the plan."""
    return "\n".join(["async def solve():", *(f"    {line}" for line in lines)])
