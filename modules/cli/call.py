"""`call`: one tool called by hand, on the one server that has it."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.servers import CALL_TIMEOUT_SECONDS, ServerSpec, plan_name
from core.dispatch.known_tools import ToolCache
from core.errors import CallRefused, ExitCode, ServerError, ToolTimeout, UsageError
from core.events import ToolCallFinished, ToolCallProgress, ToolCallStarted
from core.session import MultiMCP
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import ToolCall
from core.values import JsonObject
from modules.cli.call_arguments import read_input, read_pairs
from modules.cli.composition import opened
from modules.cli.mcp_list import NOTHING_CONFIGURED
from modules.cli.parser import command_parser, read_words, seconds
from modules.cli.result_output import call_document, result_text, write_output
from modules.cli.surroundings import Options, Surroundings
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


def parse(words: Sequence[str], program: str) -> Options:
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
        "--output",
        metavar="FILE",
        dest="data_file",
        type=Path,
        help="write images, sounds and other data here",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"how long the call may take (as configured, else {CALL_TIMEOUT_SECONDS:g})",
    )
    parser.set_defaults(run=call)
    found = read_words(parser, words)
    if found.input is not None and found.pairs:
        parser.error("arguments come from --input or as key=value pairs, not both")
    if (odd := next((pair for pair in found.pairs if "=" not in pair), None)) is not None:
        parser.error(f"'{odd}' is not of the form key=value")
    return found


def call(around: Surroundings) -> ExitCode:
    """Call the tool and print its result; a tool's error goes to stderr and is code 4.

    Raises:
        UsageError: no such tool, or arguments that don't fit it; nothing was sent.
        ServerError: the server did not start, died, or did not answer in time.
        StorageError: the output file can't be written.
    """
    options = around.options
    output: Path | None = options.data_file
    around.tell_notes(to_users=True)
    given = read_input(options.input, sys.stdin.buffer) if options.input is not None else None
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"--output {output}: there is no folder {output.parent}")
    if not around.servers.everyone:
        raise UsageError(f"there is no tool '{options.tool}': {NOTHING_CONFIGURED}")
    return around.run(_call(given, around))


async def _call(given: JsonObject | None, around: Surroundings) -> ExitCode:
    options = around.options
    name: str = options.tool
    limit_seconds: float | None = options.timeout
    specs, unknown = _choose(name, around)
    if unknown:
        around.remark("mcp", f"tools not known yet, and so not looked at: {', '.join(unknown)}")
    limited = [_with_timeout(spec, limit_seconds) for spec in specs]
    async with opened(limited, around, tries_all=len(specs) == 1) as (dispatcher, display):
        try:
            await dispatcher.initialize()
            tool = await _find(name, dispatcher)
            name = tool.qualified_name
            arguments = _bound(tool, given, options.pairs, dispatcher)
            result, took = await _sent(tool, arguments, dispatcher, display.progress, options)
        except ServerError as error:
            told = _with_limit(error, specs, limit_seconds)
            if options.json:
                around.print_json(call_document(name, None, None, around.redactor.text(str(told))))
            raise told from error
        return _report(tool, result, took, around)


def _choose(name: str, around: Surroundings) -> tuple[Sequence[ServerSpec], Sequence[str]]:
    """The server that the name gives, else those whose cached tools have it, else all.

    With the ids of those that are left alone though they might have it too.
    """
    prefix, dot, _ = name.partition(".")
    servers = around.servers
    if dot:
        for spec in servers.everyone:
            if plan_name(spec.id) == plan_name(prefix):
                return [around.enabled(spec)], ()
    cache = ToolCache(around.places.cache)
    known = {spec.id: cache.load(spec) for spec in servers.specs}
    owners = [
        spec
        for spec in servers.specs
        if any(name in (tool.name, tool.identifier) for tool in known[spec.id] or ())
    ]
    if not owners:
        return servers.specs, ()
    unknown = [one.id for one in servers.specs if known[one.id] is None and one.problem is None]
    return owners, unknown


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


async def _sent(
    tool: ToolSpec,
    arguments: JsonObject,
    dispatcher: MultiMCP,
    progress: Progress,
    options: Options,
) -> tuple[ToolResult, float]:
    """The call's result, and the seconds that it took on a running server.

    Raises:
        UsageError: the tool is not what the cache said any more, or JSON can't carry the
            arguments.
        ServerError: as `MultiMCP.call_tool`.
    """
    name = tool.qualified_name

    def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.tell(ToolCallProgress(_CALL_ID, name, done, total, message))

    try:
        await dispatcher.prepare(tool)
        if options.verbose:
            progress.tell(ToolCallStarted(_CALL_ID, name, arguments))
        begun = time.perf_counter()
        with progress.during("tool", name):
            result = await dispatcher.send(tool, arguments, on_progress)
        took = time.perf_counter() - begun
    except CallRefused as error:
        raise UsageError(str(error)) from error
    if options.verbose:
        outcome = result.error_text if result.is_error else result.value
        call = ToolCall(name, arguments, not result.is_error, outcome, took)
        progress.tell(ToolCallFinished(_CALL_ID, call))
    return result, took


def _report(tool: ToolSpec, result: ToolResult, took: float, around: Surroundings) -> ExitCode:
    """The result where it belongs."""
    output: Path | None = around.options.data_file
    error = result.error_text or "(no text)" if result.is_error else None
    if around.options.json:
        around.print_json(call_document(tool.qualified_name, result, took, error))
    if error is not None:
        message = f"'{tool.qualified_name}' answered with an error: {error}"
        return around.complaints.fail(message, ExitCode.TOOL_FAILED)
    if output is not None:
        for line in write_output(result, output):
            around.remark("tool", line)
    elif not around.options.json:
        around.print(result_text(result))
    return ExitCode.ANSWERED
