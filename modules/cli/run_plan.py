"""`run-plan`: a plan by hand, checked, repaired and run as the loop would run it."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from config.schema import AgentProfile
from config.servers import ServerSpec
from core.context import SubtaskStatus
from core.errors import ExitCode, ServerError, UsageError
from core.ports import CallTool
from core.provenance.guard import AskLeave, Provenance, ProvenanceGuard
from core.provenance.known import Known, ProvenancePolicy
from core.run.calls import RunCalls
from core.session import MultiMCP
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import Plan
from core.values import JsonObject
from modules.action import run_plan
from modules.cli.command import RunPlanFile
from modules.cli.run_plan_file import may_call_tools
from modules.cli.run_plan_output import PlanReport, failure_text, plan_document
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.composition import sandbox_limits
from modules.sandbox import Sandbox, SandboxResult
from modules.session.provenance import asking_leave, provenance_policy
from modules.terminal.progress import Progress

_NOTES = {
    "final_answer": "",
    "further_processing": "a run would go on with this text: it is to be processed further",
    "asked_back": "a run would put this question to you, and go on with your answer",
    "value": "a run would not take this value: it does not begin with FINAL_ANSWER:",
}


async def run_plan_by_hand(
    command: RunPlanFile, source: str, around: Surroundings, profile: AgentProfile
) -> ExitCode:
    """Run the plan and print its answer; why there is none goes to stderr.

    The addresses and paths in the plan count as the user's words; a call that may change something
    waits for a yes all the same, for a plan may be anybody's.

    Raises:
        UsageError: `--tools` names no server, or one that is disabled; nothing was run.
        UserError: the profile's `sandbox.require` names a wall that doesn't stand here.
    """
    chosen = _chosen(command.servers, around)
    specs = chosen if await asyncio.to_thread(may_call_tools, source) else ()
    display = display_for(around, command.options)
    limits, required = sandbox_limits(profile.sandbox), profile.sandbox.require
    sandbox = _WatchedSandbox(limits, require=required)
    waiting = sandbox.standing_still
    async with (
        sandbox,
        opened(
            specs,
            around,
            command.options,
            display,
            while_asking=waiting,
            tries_all=command.servers is not None,
        ) as dispatcher,
    ):
        await dispatcher.initialize()
        for error in dispatcher.failures.values():
            await display.progress.notice(str(error))
        policy = provenance_policy(profile, around.servers.specs, around.places, command.approve)
        run = _HandRun(
            dispatcher,
            sandbox,
            display.progress,
            _guard(source, dispatcher, policy, asking_leave(display.questions, waiting)),
            is_quiet=command.options.quiet,
        )
        report = await run.run(source)
    return _tell(command, report, around, display.progress)


def _chosen(names: Sequence[str] | None, around: Surroundings) -> Sequence[ServerSpec]:
    """The servers whose tools are offered: all that are on, or those that were named."""
    if names is None:
        return around.servers.specs
    specs = [around.find(name) for name in names]
    for spec in specs:
        if spec in around.servers.disabled:
            raise UsageError(f"server '{spec.id}' is disabled {spec.origin}; enable it there")
    return specs


def _guard(
    source: str, dispatcher: MultiMCP, policy: ProvenancePolicy, ask: AskLeave
) -> ProvenanceGuard:
    """What checks the plan's calls: addresses, say, that it has from a page."""
    known = Known(policy)
    guard = ProvenanceGuard(Provenance(known, ask), lambda: dispatcher.catalog, [])
    known.user_said(source)
    return guard


class _WatchedSandbox(Sandbox):
    """Keeps what became of the newest plan: the action step passes on its verdict alone."""

    newest: SandboxResult | None = None

    async def run(
        self,
        plan: str,
        tools: ToolCatalog,
        call: CallTool,
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> SandboxResult:
        """As `Sandbox.run`."""
        self.newest = await super().run(plan, tools, call, texts)
        return self.newest


class _HandContext:
    """As much of a run's context as its calls need; nobody follows the subtasks."""

    def __init__(self, dispatcher: MultiMCP) -> None:
        self.dispatcher = dispatcher

    def log_subtask(self, tool_name: str, status: SubtaskStatus = "pending") -> None:
        """A call begins."""

    def update_subtask_status(self, tool_name: str, status: SubtaskStatus) -> None:
        """A call has ended."""


class _HandRun:
    """One plan with the tools of a dispatcher, told as the loop tells it."""

    def __init__(
        self,
        dispatcher: MultiMCP,
        sandbox: _WatchedSandbox,
        progress: Progress,
        guard: ProvenanceGuard,
        *,
        is_quiet: bool,
    ) -> None:
        self._dispatcher = dispatcher
        self._sandbox = sandbox
        self._progress = progress
        self._is_quiet = is_quiet
        self._guard = guard
        self._calls = RunCalls(_HandContext(dispatcher), guard=guard)
        self._repairs: tuple[str, ...] = ()
        self._is_world_down = bool(dispatcher.failures)

    async def run(self, source: str) -> PlanReport:
        """Check, repair and run it."""
        self._guard.known.plan_written(source)
        began = time.perf_counter()
        result = await run_plan(
            Plan(source), self._dispatcher.catalog, self._call, self._sandbox, self._on_repaired
        )
        seconds = time.perf_counter() - began
        ran = self._sandbox.newest
        value, printed = (ran.value, ran.printed) if ran is not None else (None, "")
        return PlanReport(result, value, printed, self._repairs, seconds, self._is_world_down)

    async def _call(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        try:
            return await self._calls.send(tool, arguments, self._progress)
        except ServerError:
            self._is_world_down = True
            raise

    async def _on_repaired(self, repairs: tuple[str, ...]) -> None:
        """Tell it before the plan runs: what follows is what the repaired plan does."""
        self._repairs = repairs
        if not self._is_quiet:
            self._progress.say("plan", f"repaired: {'; '.join(repairs)}")


def _tell(
    command: RunPlanFile, report: PlanReport, around: Surroundings, progress: Progress
) -> ExitCode:
    """The answer where it belongs, and everything else on stderr."""
    if not command.options.quiet:
        for stage, text in _remarks(report, is_verbose=command.options.verbose):
            progress.say(stage, text)
    if command.options.json:
        around.print_json(plan_document(report, around.redactor))
    elif report.answer is not None:
        around.print(report.answer)
    if report.failure is None:
        return report.exit_code
    name = "stdin" if command.file == "-" else command.file
    return around.complaints.fail(failure_text(report.failure, name), report.exit_code)


def _remarks(report: PlanReport, *, is_verbose: bool) -> list[tuple[str, str]]:
    """What is worth a progress line: stage and text."""
    # A stage before each line: none that a plan prints may look like one of ours.
    lines = report.printed.removesuffix("\n").split("\n") if report.printed else []
    remarks = [("printed", line) for line in lines]
    if is_verbose:
        remarks.append(("sandbox", f"the plan took {report.seconds * 1000:.0f} ms"))
    if report.verdict is not None and (note := _NOTES[report.verdict]):
        remarks.append(("plan", note))
    return remarks
