"""The composition root: builds the concrete parts, runs them, and turns errors into exit codes.

The order of things is what makes a one-shot run fast: read the profile with YAML alone, spawn
the servers that the request needs, and only then import what is heavy. So imports stand in the
functions that need them.
"""

import contextlib
import functools
import gc
import logging
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from config.settings import Places, SettingsError, find_places, read_document
from core.errors import CortexError, ExitCode, UserError
from core.version import __version__
from modules.arguments import Arguments, parse_arguments
from modules.redaction import Redactor
from modules.request import clean_request, read_request
from modules.terminal.safe_text import printable

if TYPE_CHECKING:
    from core.spawn import SpawnedServer
    from core.turn import RunOutcome
    from modules.conversation import Conversation
    from modules.terminal.progress import Progress

logger = logging.getLogger("cortex_r")
marks = logging.getLogger("cortex_r.marks")
"""Says at debug level when a stage of the start-up is passed; `make bench` listens."""


class _StdoutLost(Exception):
    """stdout is closed or full: no answer can be given any more, so even the prompt ends."""


def run_agent(argv: Sequence[str]) -> int:
    """Run the agent on `argv` (without the program's name) and give its exit code.

    Never raises, except `SystemExit` for `--help`, `--version` and unknown options.
    """
    # Collecting while a thousand modules are imported finds nothing and costs a tenth.
    gc.disable()
    places: Places | None = None
    try:
        with _writing_stdout():
            arguments = parse_arguments(argv, __version__, Path(sys.argv[0]).name or "agent.py")
        places = find_places(os.environ)
        return int(_run(arguments, places))
    except (SettingsError, UserError) as error:
        return _fail(str(error), ExitCode.BAD_USAGE)
    except (CortexError, _StdoutLost) as error:
        return _fail(str(error), ExitCode.WORLD_FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except Exception as error:
        where = _log_to_file(places)
        logger.exception("unexpected error")
        return _fail(
            f"a bug in Cortex-R: {type(error).__name__}: {error}; details: {where}",
            ExitCode.WORLD_FAILED,
        )


def _run(arguments: Arguments, places: Places) -> ExitCode:
    request = None
    if arguments.request == "-":
        request = read_request(sys.stdin.buffer)
    elif arguments.request is not None:
        request = clean_request(arguments.request)
    profile_file = arguments.profile or places.config_file("profiles.yaml")
    document = read_document(profile_file)
    spawned = _spawn_early(request, document, profile_file, places)
    marks.debug("spawned")
    try:
        return _run_with_servers(arguments, places, request, document, profile_file, spawned)
    finally:
        _end_unused(spawned)


def _spawn_early(
    request: str | None, document: Mapping[str, object], profile_file: Path, places: Places
) -> "dict[str, SpawnedServer]":
    if request is None:
        return {}
    from modules.prespawn import prespawn

    return prespawn(request, document, places.root, profile_file, places.server_logs)


def _end_unused(spawned: "dict[str, SpawnedServer]") -> None:
    """End what nobody adopted; servers that were in use have ended before, in good order."""
    if not spawned:
        return
    from core.spawn import StopGrace, terminate

    for server in spawned.values():
        terminate(server, StopGrace(stdin_seconds=0))


def _run_with_servers(
    arguments: Arguments,
    places: Places,
    request: str | None,
    document: Mapping[str, object],
    profile_file: Path,
    spawned: "dict[str, SpawnedServer]",
) -> ExitCode:
    import asyncio

    from modules.terminal.progress import Progress

    loudness = "verbose" if arguments.verbose else "quiet" if arguments.quiet else "normal"
    progress = Progress(sys.stderr, loudness, Redactor(os.environ))
    conversation = _build(arguments, places, document, profile_file, spawned, progress)
    gc.freeze()
    gc.enable()
    marks.debug("imported")
    if request is not None:
        return asyncio.run(_answer_once(conversation, request, arguments))
    return asyncio.run(_interact(conversation, arguments, places, progress))


def _build(
    arguments: Arguments,
    places: Places,
    document: Mapping[str, object],
    profile_file: Path,
    spawned: "dict[str, SpawnedServer]",
    progress: "Progress",
) -> "Conversation":
    """Choose and join the concrete parts."""
    from config.settings import check_profile, load_models
    from core.session import MultiMCP
    from core.tool_cache import ToolCache
    from modules.conversation import Conversation
    from modules.model_manager import choose_model
    from modules.sandbox import Sandbox, SandboxLimits

    profile = check_profile(document, profile_file)
    models = load_models(places.config_file("models.json"))
    model = choose_model(arguments.model, profile.llm.text_generation, models, os.environ)
    if not arguments.quiet:
        progress.say("model", model.reason)
    dispatcher = MultiMCP(
        [server.spec(places.root, profile_file.parent) for server in profile.mcp_servers],
        cache=ToolCache(places.cache),
        log_folder=places.server_logs,
        spawned=spawned,
        on_notice=progress.notice,
        on_waiting=progress.waiting,
    )
    return Conversation(
        profile,
        model,
        dispatcher,
        Sandbox(SandboxLimits(**profile.sandbox.model_dump())),
        places.home / profile.memory.storage.base_dir,
        progress,
        arguments.session,
    )


async def _answer_once(
    conversation: "Conversation", request: str, arguments: Arguments
) -> ExitCode:
    import signal

    from modules.terminal.repl import interrupting

    with interrupting(conversation.interrupt, signal.SIGINT, signal.SIGTERM):
        async with conversation:
            outcome = await conversation.ask(request)
            code = _report(conversation, outcome, arguments)
            marks.debug("answered")
    marks.debug("closed")
    return code


async def _interact(
    conversation: "Conversation", arguments: Arguments, places: Places, progress: "Progress"
) -> ExitCode:
    """The prompt on a terminal, or a line a request from a pipe, until it ends or is ended.

    At a prompt Ctrl-C stops the running request. SIGTERM, and Ctrl-C where there is no prompt to
    go back to, end the program in good order: terminal, servers and session as after `exit`.
    """
    import asyncio
    import signal

    from modules.terminal.repl import interrupting

    task = asyncio.current_task()

    def end() -> None:
        if task is not None:
            task.cancel()

    typed = sys.stdin.isatty()
    try:
        with (
            interrupting(conversation.interrupt if typed else end, signal.SIGINT),
            interrupting(end, signal.SIGTERM),
        ):
            async with conversation:
                return await _converse(conversation, arguments, places, progress)
    except asyncio.CancelledError:
        return ExitCode(_fail("interrupted", ExitCode.INTERRUPTED))


async def _converse(
    conversation: "Conversation", arguments: Arguments, places: Places, progress: "Progress"
) -> ExitCode:
    from modules.terminal.repl import GREETING, Repl, piped_lines, typed_lines

    async def ask(request: str) -> ExitCode:
        outcome = await conversation.ask(clean_request(request))
        return _report(conversation, outcome, arguments)

    repl = Repl(ask, conversation.new_session, progress.say)
    if not sys.stdin.isatty():
        return await repl.run(piped_lines(sys.stdin))
    if not arguments.quiet:
        progress.say("loop", GREETING)
    redact = Redactor(os.environ).text
    on_ctrl_c = functools.partial(progress.say, "loop", "Ctrl-D leaves")
    await repl.run(typed_lines(places.history_file, redact, on_ctrl_c))
    if not arguments.quiet and (session := conversation.kept_session_id) is not None:
        progress.say("memory", f"--session {session} continues this session")
    return ExitCode.ANSWERED  # each answer told its own story; leaving is no failure


def _report(conversation: "Conversation", outcome: "RunOutcome", arguments: Arguments) -> ExitCode:
    """Answer to stdout; why there is none, to stderr."""
    from modules.terminal.answer import print_answer, print_json

    with _writing_stdout():
        if arguments.json:
            print_json(outcome, conversation.session_id or "", conversation.model_name, sys.stdout)
        elif outcome.answer is not None:
            print_answer(outcome.answer, sys.stdout)
    if outcome.answer is None:
        _fail(outcome.message, outcome.exit_code)
    return outcome.exit_code


@contextlib.contextmanager
def _writing_stdout() -> Generator[None]:
    """While inside, what is written to stdout arrives, or `_StdoutLost` says why not."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout once more at exit; what is left in it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise _StdoutLost("stdout was closed before the answer was written") from error
        raise _StdoutLost(
            f"the answer can't be written to stdout: {error.strerror or error}"
        ) from error


def _fail(message: str, code: ExitCode) -> int:
    """One message on stderr, without secrets; a closed stderr changes nothing."""
    try:
        sys.stderr.write(f"{printable(Redactor(os.environ).text(message))}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    return int(code)


def _log_to_file(places: Places | None) -> str:
    """Let the logger append to the log file and say where that is; stderr if it can't be."""
    if places is None:
        return "above"
    try:
        places.log_file.parent.mkdir(parents=True, exist_ok=True)
        logger.addHandler(logging.FileHandler(places.log_file, encoding="utf-8"))
    except OSError:
        return "above"
    logger.propagate = False
    return str(places.log_file)
