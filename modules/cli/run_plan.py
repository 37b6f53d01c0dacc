"""`run-plan`: a plan by hand, checked, repaired and run as the loop would run it."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.context import ProgressStatus
from core.errors import ExitCode, ServerError
from core.ports import CallTool
from core.provenance.guard import Provenance, ProvenanceGuard
from core.provenance.known import Known
from core.provenance.permissions import Permissions
from core.run.calls import RunCalls
from core.session import MultiMCP
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    ActionResult,
    Plan,
    PlanFailed,
    PlanFailure,
)
from core.values import Json, JsonObject
from modules.action import format_result, run_plan
from modules.cli.composition import asking_leave, opened
from modules.cli.parser import add_approve_option, command_parser, read_words
from modules.cli.result_output import shown_value
from modules.cli.run_plan_file import may_call_tools, read_plan
from modules.cli.surroundings import Options, Surroundings
from modules.provenance_policy import provenance_policy
from modules.sandbox import Sandbox, SandboxResult, limits_of
from modules.terminal.answer import call_document, plain_json, result_told
from modules.terminal.progress import Progress
from modules.terminal.streams import json_safe

_HELP = """\
Run a plan by hand: checked, repaired and run in the sandbox as a model's plan would be, with the
limits of the profile. No model is asked, and nothing is kept. A plan is Python with a solve():

  async def solve():
      total = await tools.add(a=5, b=7)
      return f"FINAL_ANSWER: {total}"

Servers are started where the plan may call tools; --tools offers those of some servers only. A call
of a tool that may change something waits for your yes, and is refused where nobody is there to say
it, but for tools named by --approve.

The answer goes to stdout, without its prefix; so does text for FURTHER_PROCESSING_REQUIRED:, and
any other value, with a note on stderr. Repairs, tool calls, what the plan prints and why it failed
go to stderr. With --json it is one object, also of a plan that failed: ok, verdict (final_answer,
further_processing, value or null), answer, value, printed, calls, repairs, failure (kind,
message, line, text), seconds, exit_code.

Exits with 0 for an answer, 3 for a plan that failed or returned nothing, 1 where that was the
doing of a server or of the sandbox, 2 for a file that is no plan.

examples:
  agent.py run-plan plan.py
  agent.py run-plan plan.py --tools math --json | jq .answer
  agent.py run-plan plan.py --approve files.write_file
  agent.py run-plan - < plan.py"""

_NOTES = {
    "final_answer": "",
    "further_processing": "a run would go on with this text: it is to be processed further",
    "asked_back": "a run would put this question to you, and go on with your answer",
    "no_answer": "a run would end without an answer, and say this",
    "value": "a run would not take this value: it does not begin with FINAL_ANSWER:",
}

Verdict: TypeAlias = Literal[
    "final_answer", "further_processing", "asked_back", "no_answer", "value"
]


@frozen
class PlanReport:
    """A plan that has ended.

    `value` is what `solve()` returned, `printed` what it printed, `repairs` what was repaired
    before, `seconds` wall time from the check to the end. `is_world_down` says that a
    server of the plan did not start or did not answer.
    """

    result: ActionResult
    value: Json
    printed: str
    repairs: tuple[str, ...]
    seconds: float
    is_world_down: bool

    @property
    def verdict(self) -> Verdict | None:
        """What kind of answer it is; None if the plan failed or returned nothing.

        A value without a prefix is an answer to somebody who tries a plan out.
        """
        kind, _ = result_told(self.result)
        if kind != "failed":
            return kind
        return "value" if self.failure is None else None

    @property
    def answer(self) -> str | None:
        """What belongs on stdout."""
        _, text = result_told(self.result)
        match self.verdict:
            case None:
                return None
            case "value":
                return shown_value(self.value)
            case _:
                return text

    @property
    def failure(self) -> PlanFailure | None:
        """Why there is no answer."""
        if not isinstance(self.result, PlanFailed):
            return None
        failure = self.result.failure
        return None if failure.kind == "no_verdict" and self._says_something() else failure

    @property
    def exit_code(self) -> ExitCode:
        """3 if the plan gives no answer, 1 if it isn't to blame: a server that is down, say."""
        if self.verdict == "no_answer":
            return ExitCode.NO_ANSWER
        if (failure := self.failure) is None:
            return ExitCode.ANSWERED
        blameless = failure.kind == "crash" or (failure.kind == "tool" and self.is_world_down)
        return ExitCode.WORLD_FAILED if blameless else ExitCode.NO_ANSWER

    def _says_something(self) -> bool:
        """Whether there is a value that lacks nothing but a prefix."""
        if self.value is None:
            return False
        text = format_result(self.value).strip()
        return bool(text) and not text.startswith((FINAL_ANSWER, FURTHER_PROCESSING))


def failure_text(failure: PlanFailure, name: str) -> str:
    """Why the plan of that name failed, and the line where it did, with its number.

    Further lines of a message are indented: none may look like a line of ours.
    """
    message = failure.message.replace("\n", "\n  ")
    if failure.line is None:
        return f"{name}: the plan failed ({failure.kind}): {message}"
    told = f"{name}:{failure.line}: the plan failed ({failure.kind}): {message}"
    return f"{told}\n  {failure.line} | {failure.line_text or ''}".rstrip()


def plan_document(report: PlanReport, redactor: Redactor) -> JsonObject:
    """The report as JSON; numbers that JSON lacks stand as text, and no secret in the failure."""
    failure: JsonObject | None = None
    if (failed := report.failure) is not None:
        told: JsonObject = {"kind": failed.kind, "message": failed.message}
        failure = redactor.object(told | {"line": failed.line, "text": failed.line_text})
    return {
        "ok": report.exit_code == ExitCode.ANSWERED,
        "verdict": report.verdict,
        "answer": report.answer,
        "value": json_safe(report.value),
        "printed": report.printed,
        "calls": [plain_json(call_document(call)) for call in report.result.calls],
        "repairs": [*report.repairs],
        "failure": failure,
        "seconds": round(report.seconds, 6),
        "exit_code": int(report.exit_code),
    }


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `run-plan`; raises as `read_words`."""
    parser = command_parser(program, "run-plan", _HELP)
    parser.add_argument("file", metavar="FILE", help="the plan, Python text; - reads it from stdin")
    parser.add_argument(
        "--tools",
        metavar="SERVER,...",
        type=_names,
        help="offer the tools of these servers only; '' offers none",
    )
    add_approve_option(parser)
    parser.set_defaults(run=run_plan_by_hand)
    return read_words(parser, words, is_mixed=False)


def _names(text: str) -> tuple[str, ...]:
    """The names between commas, each once; spaces around them are no part of a name."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def run_plan_by_hand(around: Surroundings) -> ExitCode:
    """Run the plan and print its answer; why there is none goes to stderr.

    The addresses and paths in the plan count as the user's words; a call that may change something
    waits for a yes all the same, for a plan may be anybody's.

    Raises:
        UsageError: the plan can't be read, or `--tools` names no server, or one that is disabled;
            nothing was run.
        UserError: the profile's `sandbox.require` names a wall that doesn't stand here.
    """
    around.tell_notes(to_users=True)
    # Read before the event loop starts: Ctrl-C ends a read of stdin at once here.
    bytes_max = around.profile.sandbox.source_bytes
    source = read_plan(around.options.file, sys.stdin.buffer, bytes_max)
    return around.run(_run_plan_by_hand(source, around))


async def _run_plan_by_hand(source: str, around: Surroundings) -> ExitCode:
    profile, options = around.profile, around.options
    chosen = _chosen(options.tools, around)
    specs = chosen if await asyncio.to_thread(may_call_tools, source) else ()
    sandbox = _WatchedSandbox(
        limits_of(profile.sandbox),
        require=profile.sandbox.require,
        tell=partial(around.remark, "sandbox"),
    )
    waiting, is_named = sandbox.standing_still, options.tools is not None
    servers = opened(specs, around, while_asking=waiting, tries_all=is_named)
    async with sandbox, servers as (dispatcher, display):
        await dispatcher.initialize()
        for error in dispatcher.failures.values():
            await display.progress.notice(str(error))
        policy = provenance_policy(profile, around.servers.specs, around.places, options.approve)
        redactor, say = around.redactor, partial(display.progress.say, "tool")
        provenance = Provenance(
            Known(policy),
            asking_leave(display.questions, waiting, lambda: policy, redactor),
            Permissions(around.places.permissions_file, profile.agent.id, redactor, say),
        )
        guard = _guard(source, dispatcher, provenance)
        report = await _report_on(source, dispatcher, sandbox, guard, display.progress, around)
    return _tell(report, around)


def _chosen(names: Sequence[str] | None, around: Surroundings) -> Sequence[ServerSpec]:
    """The servers whose tools are offered: all that are on, or those that were named."""
    if names is None:
        return around.servers.specs
    return [around.enabled(around.find(name)) for name in names]


def _guard(source: str, dispatcher: MultiMCP, provenance: Provenance) -> ProvenanceGuard:
    """What checks the plan's calls: addresses, say, that it has from a page."""
    guard = ProvenanceGuard(provenance, lambda: dispatcher.catalog, [])
    guard.known.user_said(source)
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
        memory: Mapping[str, Json] = MappingProxyType({}),
    ) -> SandboxResult:
        """As `Sandbox.run`."""
        self.newest = await super().run(plan, tools, call, texts, memory)
        return self.newest


class _HandContext:
    """As much of a run's context as its calls need; nobody follows the subtasks."""

    def __init__(self, dispatcher: MultiMCP) -> None:
        self.dispatcher = dispatcher

    def log_subtask(self, tool_name: str, status: ProgressStatus = "pending") -> None:
        """A call begins."""

    def update_subtask_status(self, tool_name: str, status: ProgressStatus) -> None:
        """A call has ended."""


async def _report_on(
    source: str,
    dispatcher: MultiMCP,
    sandbox: _WatchedSandbox,
    guard: ProvenanceGuard,
    progress: Progress,
    around: Surroundings,
) -> PlanReport:
    """Check, repair and run the plan; its calls are told as the loop tells them."""
    calls = RunCalls(_HandContext(dispatcher), guard=guard)
    is_world_down = bool(dispatcher.failures)
    repaired: tuple[str, ...] = ()

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        nonlocal is_world_down
        try:
            return await calls.send(tool, arguments, progress)
        except ServerError:
            is_world_down = True
            raise

    async def on_repaired(repairs: tuple[str, ...]) -> None:
        """Tell it before the plan runs: what follows is what the repaired plan does."""
        nonlocal repaired
        repaired = repairs
        if not around.options.quiet:
            progress.say("plan", f"repaired: {'; '.join(repairs)}")

    guard.known.plan_written(source)
    began = time.perf_counter()
    ran = await run_plan(Plan(source), dispatcher.catalog, call, sandbox, on_repaired)
    result = calls.heeding_no(ran)
    took = time.perf_counter() - began
    progress.tell_calls(str(result.failure) if isinstance(result, PlanFailed) else "")
    newest = sandbox.newest
    value, printed = (newest.value, newest.printed) if newest is not None else (None, "")
    return PlanReport(result, value, printed, repaired, took, is_world_down)


def _tell(report: PlanReport, around: Surroundings) -> ExitCode:
    """The answer where it belongs, and everything else on stderr."""
    # A stage before each line: none that a plan prints may look like one of ours.
    for line in report.printed.removesuffix("\n").split("\n") if report.printed else ():
        around.remark("printed", line)
    if around.options.verbose:
        around.remark("sandbox", f"the plan took {report.seconds * 1000:.0f} ms")
    if report.verdict is not None and (note := _NOTES[report.verdict]):
        around.remark("plan", note)
    if around.options.json:
        around.print_json(plan_document(report, around.redactor))
    elif report.answer is not None:
        around.print(report.answer)
    if report.failure is None:
        return report.exit_code
    name = "stdin" if around.options.file == "-" else around.options.file
    return around.complaints.fail(failure_text(report.failure, name), report.exit_code)
