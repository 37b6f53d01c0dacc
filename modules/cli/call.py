"""`call`: one tool called by hand, on the one server that has it."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from config.servers import CALL_TIMEOUT_SECONDS, ServerSpec, plan_name
from core.dispatch.known_tools import ShippedToolCache
from core.errors import CallRefused, ExitCode, ServerError, ToolTimeout, UsageError
from core.events import ToolCallFinished, ToolCallProgress, ToolCallStarted
from core.session import MultiMCP
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import ToolCall
from core.values import JsonObject
from modules.cli.call_arguments import read_input, read_pairs
from modules.cli.mcp_list import NOTHING_CONFIGURED
from modules.cli.parser import command_parser, read_words, seconds
from modules.cli.result_output import call_document, result_text, write_output
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.planning.prompt.stubs import tool_signature
from modules.terminal.progress import Progress

_HELP: Final = """\
Call one tool, with no model involved. Only the server that has it is started.

A value of key=value is read by the tool's schema: as a number, true or false, JSON where an
array or object belongs, else as text. key:=JSON is JSON whatever the schema says.

The result goes to stdout: text as it is, anything else as JSON; of an image or a sound a line
that describes it, and --output writes it. With --json it is one object: tool, ok, is_error,
value, content, structured, seconds, omitted_bytes, error.

examples:
  agent.py call add a=5 b=7
  agent.py call math.int_list_to_exponential_sum numbers='[73, 78]'
  agent.py call add --input '{"a": 5, "b": 7}'
  echo '{"a": 5, "b": 7}' | agent.py call add --input - --json | jq .value"""

_CALL_ID: Final = 1


def parse(words: Sequence[str], program: str) -> argparse.Namespace:
    """Read the words behind `call`; raises as `read_words`."""
    parser = command_parser(program, "call", _HELP)
    parser.add_argument("tool", metavar="TOOL", help="a tool's name, or server.tool")
    parser.add_argument(
        "pairs", metavar="key=value", nargs="*", default=[], help="arguments of the tool"
    )
    parser.add_argument(
        "--input", metavar="JSON", help="all arguments as one JSON object; - reads it from stdin"
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write images, sounds and other data here"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"how long the call may take (as configured, else {CALL_TIMEOUT_SECONDS:g})",
    )
    parser.set_defaults(run=call)
    found = read_words(parser, words, is_mixed=True)
    if found.input is not None and found.pairs:
        parser.error("arguments come from --input or as key=value pairs, not both")
    if (odd := next((pair for pair in found.pairs if "=" not in pair), None)) is not None:
        parser.error(f"'{odd}' is not of the form key=value")
    return found


def call(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Call the tool and print its result; a tool's error goes to stderr and is code 4.

    Raises:
        UsageError: no such tool, or arguments that don't fit it; nothing was sent.
        ServerError: the server did not start, died, or did not answer in time.
        StorageError: the output file can't be written.
    """
    name: str = found.tool
    output: Path | None = found.output
    around.tell_notes(to_users=True)
    given = read_input(found.input, sys.stdin.buffer) if found.input is not None else None
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"--output {output}: there is no folder {output.parent}")
    if not around.servers.specs and not around.servers.disabled:
        raise UsageError(f"there is no tool '{name}': {NOTHING_CONFIGURED}")
    return around.run(_call(name, given, found.pairs, output, found.timeout, around))


async def _call(
    name: str,
    given: JsonObject | None,
    pairs: Sequence[str],
    output: Path | None,
    limit_seconds: float | None,
    around: Surroundings,
) -> ExitCode:
    options = around.options
    chosen = _choose(name, around)
    display = display_for(around)
    if chosen.unknown and not options.quiet:
        names = ", ".join(chosen.unknown)
        display.progress.say("mcp", f"tools not known yet, and so not looked at: {names}")
    specs = [_with_timeout(spec, limit_seconds) for spec in chosen.specs]
    is_named = len(specs) == 1
    async with opened(specs, around, display, tries_all=is_named) as dispatcher:
        try:
            await dispatcher.initialize()
            tool = await _find(name, dispatcher)
            name = tool.qualified_name
            arguments = _bound(tool, given, pairs, dispatcher)
            sending = _Call(tool, arguments, dispatcher, display.progress, is_told=options.verbose)
            result, took = await sending.send()
        except ServerError as error:
            told = _with_limit(error, chosen.specs, limit_seconds)
            if options.json:
                around.print_json(call_document(name, None, None, around.redactor.text(str(told))))
            raise told from error
        return _report(output, tool, result, took, around)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The servers to look at, and the ids of those that were left alone though they might do."""

    specs: Sequence[ServerSpec]
    unknown: Sequence[str] = ()


def _choose(name: str, around: Surroundings) -> _Choice:
    """The server that the name gives, else those whose cached tools have it, else all."""
    prefix, dot, _ = name.partition(".")
    everyone = (*around.servers.specs, *around.servers.disabled)
    named = [spec for spec in everyone if plan_name(spec.id) == plan_name(prefix)] if dot else []
    if named and named[0] in around.servers.disabled:
        raise UsageError(f"server '{named[0].id}' is disabled {named[0].origin}; enable it there")
    if named:
        return _Choice(named)
    cache = ShippedToolCache(around.places.cache)
    known = {spec.id: cache.load(spec) for spec in around.servers.specs}
    owners = [
        spec
        for spec in around.servers.specs
        if any(name in (tool.name, tool.identifier) for tool in known[spec.id] or ())
    ]
    if owners:
        unknown = [
            spec.id
            for spec in around.servers.specs
            if known[spec.id] is None and spec.problem is None
        ]
        return _Choice(owners, unknown)
    return _Choice(around.servers.specs)


def _with_timeout(spec: ServerSpec, seconds: float | None) -> ServerSpec:
    if seconds is None:
        return spec
    return replace(spec, call_timeout_seconds=seconds, tool_timeout_seconds={})


def _with_limit(
    error: ServerError, specs: Sequence[ServerSpec], seconds: float | None
) -> ServerError:
    """The error; a limit that came from the command line is said to stand there."""
    if not isinstance(error, ToolTimeout) or seconds is None:
        return error
    text = str(error)
    for spec in specs:
        text = text.replace(f"(call_timeout_seconds of '{spec.id}' {spec.origin})", "(--timeout)")
    return ToolTimeout(error.server, text)


async def _find(name: str, dispatcher: MultiMCP) -> ToolSpec:
    """The tool of that name.

    Raises:
        UsageError: there is none, or there are several, or it was left out.
        ServerError: there is none, but a server that may have it failed to start.
    """
    if (tool := dispatcher.catalog.get(name)) is not None:
        return tool
    if failures := list(dispatcher.failures.values()):
        told = "\n".join(map(str, failures))
        raise ServerError(failures[0].server, f"{told}\nso '{name}' was not found")
    try:
        return dispatcher.resolve(name)
    except CallRefused as error:
        is_strange = not dispatcher.catalog.has_name(name) and not dispatcher.catalog.nearest(name)
        tip = "; `mcp tools` shows what there is" if is_strange else ""
        raise UsageError(f"{error}{tip}") from error


def _bound(
    tool: ToolSpec, given: JsonObject | None, pairs: Sequence[str], dispatcher: MultiMCP
) -> JsonObject:
    """The arguments as the server wants them.

    Raises:
        UsageError: they don't fit; the message names the argument and shows the signature.
    """
    try:
        return tool.bind_raw(given if given is not None else read_pairs(pairs, tool))
    except (CallRefused, UsageError) as error:
        signature = tool_signature(tool, dispatcher.catalog.plan_name(tool))
        raise UsageError(f"{error}\n{signature}") from error


@dataclass(frozen=True, slots=True)
class _Call:
    """One call about to be sent; its progress is told, and with `is_told` the call itself."""

    tool: ToolSpec
    arguments: JsonObject
    dispatcher: MultiMCP
    progress: Progress
    is_told: bool

    async def send(self) -> tuple[ToolResult, float]:
        """The result, and the seconds that it took on a running server.

        Raises:
            UsageError: the tool is not what the cache said any more, or JSON can't carry the
                arguments.
            ServerError: as `MultiMCP.call_tool`.
        """
        name = self.tool.qualified_name
        try:
            await self.dispatcher.prepare(self.tool)
            if self.is_told:
                await self.progress(ToolCallStarted(_CALL_ID, name, self.arguments))
            begun = time.perf_counter()
            with self.progress.during("tool", name):
                result = await self.dispatcher.send(self.tool, self.arguments, self._on_progress)
            seconds = time.perf_counter() - begun
        except CallRefused as error:
            raise UsageError(str(error)) from error
        if self.is_told:
            outcome = result.text if result.is_error else result.value
            call = ToolCall(name, self.arguments, not result.is_error, outcome, seconds)
            await self.progress(ToolCallFinished(_CALL_ID, call))
        return result, seconds

    def _on_progress(self, done: float, total: float | None, message: str | None) -> None:
        event = ToolCallProgress(_CALL_ID, self.tool.qualified_name, done, total, message)
        self.progress.tell(event)


def _report(
    output: Path | None, tool: ToolSpec, result: ToolResult, seconds: float, around: Surroundings
) -> ExitCode:
    """The result where it belongs."""
    error = result_text(result) or "(no text)" if result.is_error else None
    if around.options.json:
        around.print_json(call_document(tool.qualified_name, result, seconds, error))
    if error is not None:
        message = f"'{tool.qualified_name}' answered with an error: {error}"
        return around.complaints.fail(message, ExitCode.TOOL_FAILED)
    if output is not None:
        for line in write_output(result, output):
            if not around.options.quiet:
                around.complaints.say("tool", line)
    elif not around.options.json:
        around.print(result_text(result))
    return ExitCode.ANSWERED
