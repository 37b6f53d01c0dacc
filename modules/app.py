"""The composition root: builds the concrete parts, runs them, and turns errors into exit codes.

The order of things is what makes a one-shot run fast: read the configuration, spawn the servers
that the request needs, and only then import the engine. So imports stand in the functions that
need them.
"""

import functools
import gc
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from config.models_file import load_models
from config.schema import AgentProfile, load_profile
from config.server_list import ServerList, secret_values, server_list
from config.settings import Places, SettingsError, find_places
from core.errors import CortexError, ExitCode, UsageError, UserError, exit_code_of
from core.version import __version__
from modules.cli.arguments import Arguments, parse_arguments
from modules.cli.finding import find_command
from modules.session.request import clean_request, read_request
from modules.terminal.streams import Complaints, LogHandler, StdoutLost, log_bug, writing_stdout

if TYPE_CHECKING:
    from core.ports import TextInput
    from core.process.spawn import SpawnedServer
    from core.session import MultiMCP
    from core.turn import RunOutcome
    from modules.cli.slash_commands import PromptCommands
    from modules.conversation import Conversation
    from modules.session.stdin import Beside
    from modules.terminal.progress import Progress
    from modules.terminal.waits import Waits

marks = logging.getLogger("cortex_r.marks")
"""Says at debug level when a stage of the start-up is passed; `make bench` listens."""


def run_agent(argv: Sequence[str]) -> int:
    """Run the agent on `argv` (without the program's name) and give its exit code.

    Never raises, except `SystemExit` for `--help`, `--version` and unknown options.
    """
    # Collecting while a thousand modules are imported finds nothing and costs a tenth.
    gc.disable()
    places: Places | None = None
    complaints = Complaints(os.environ)
    redact = complaints.redactor.text
    handler = LogHandler(lambda: places.log_file if places else None, redact, complaints.tell)
    logging.getLogger().addHandler(handler)
    program = Path(sys.argv[0]).name or "agent.py"
    try:
        if (words := find_command(argv, program)) is not None:
            from modules.cli.parser import parse_command
            from modules.cli.run import run_command

            with writing_stdout():
                command = parse_command(words, program)
            places = find_places(os.environ)
            return int(run_command(command, places, complaints, os.environ))
        with writing_stdout():
            arguments = parse_arguments(argv, __version__, program)
        places = find_places(os.environ)
        return int(_run(arguments, places, complaints))
    except (SettingsError, UserError) as error:
        return int(complaints.fail(str(error), ExitCode.BAD_USAGE))
    except (CortexError, StdoutLost) as error:
        return int(complaints.fail(str(error), ExitCode.WORLD_FAILED))
    except KeyboardInterrupt:
        return int(complaints.fail("interrupted", ExitCode.INTERRUPTED))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is logged and told
        log_file = places.log_file if places is not None else None
        told = log_bug(error, log_file, redact)
        return int(complaints.fail(told, ExitCode.WORLD_FAILED))
    finally:
        logging.getLogger().removeHandler(handler)


def _run(arguments: Arguments, places: Places, complaints: Complaints) -> ExitCode:
    request = None
    if arguments.stdin == "never" and arguments.request in (None, "-"):
        raise UsageError(
            "--no-stdin leaves nothing to answer; give the request as an argument: "
            'agent.py --no-stdin "add 5 and 7"'
        )
    if arguments.request == "-":
        request = read_request(sys.stdin.buffer)
    elif arguments.request is not None:
        request = clean_request(arguments.request)
    profile_file = arguments.profile or places.config_file("profiles.yaml")
    profile = load_profile(profile_file)
    servers = server_list(profile, places, profile_file, arguments.mcp_config, os.environ)
    spawned = _spawn_early(request, servers, places)
    marks.debug("spawned")
    try:
        beside = _beside(request, arguments, complaints)
        run = _Run(arguments, places, complaints, profile_file, profile, servers, spawned)
        return run.answer(request, beside)
    finally:
        _end_unused(spawned)


def _early_waits(arguments: Arguments, complaints: Complaints) -> "Waits":
    """Names what is waited for before there is a display."""
    from modules.terminal.waits import Waits

    verbose, quiet = arguments.verbose, arguments.quiet
    return Waits(sys.stderr, complaints.say, os.environ, verbose=verbose, quiet=quiet)


def _beside(request: str | None, arguments: Arguments, complaints: Complaints) -> "Beside | None":
    """What stdin holds beside a request."""
    if request is None or arguments.request == "-":
        return None
    from modules.session.stdin import StdinReader

    with _early_waits(arguments, complaints).during("stdin", "what stdin gives"):
        return StdinReader(sys.stdin.fileno()).read(arguments.stdin)


def _spawn_early(
    request: str | None, servers: ServerList, places: Places
) -> "dict[str, SpawnedServer]":
    if request is None:
        return {}
    from core.dispatch.start_failures import StartFailures
    from modules.prespawn import prespawn

    failures = StartFailures(places.failures_file)
    return prespawn(request, servers.specs, places.server_logs, failures)


def _end_unused(spawned: "dict[str, SpawnedServer]") -> None:
    """End what nobody adopted; servers that were in use have ended before, in good order."""
    if not spawned:
        return
    from core.process.grace import StopGrace
    from core.process.spawn import terminate

    for server in spawned.values():
        terminate(server, StopGrace(stdin_seconds=0))


class _Run:
    """One request, or the prompt, from the checked profile to the exit code."""

    def __init__(
        self,
        arguments: Arguments,
        places: Places,
        complaints: Complaints,
        profile_file: Path,
        profile: AgentProfile,
        servers: ServerList,
        spawned: "dict[str, SpawnedServer]",
    ) -> None:
        """Keep what the run begins with."""
        self._arguments = arguments
        self._places = places
        self._complaints = complaints
        self._profile_file = profile_file
        self._profile = profile
        self._servers = servers
        self._spawned = spawned
        self._disabled = tuple(spec.id for spec in servers.disabled)

    def answer(self, request: str | None, beside: "Beside | None" = None) -> ExitCode:
        """Answer the request; without one, whatever is typed or piped in.

        What stands on stdin `beside` it goes with it.
        """
        import asyncio

        conversation, dispatcher, progress = self._build()
        # What is left is told in any case.
        if beside is not None and beside.note and not (beside.text and self._arguments.quiet):
            progress.say("stdin", beside.note)
        gc.freeze()
        gc.enable()
        marks.debug("imported")
        if request is not None:
            texts = (beside.text,) if beside is not None and beside.text is not None else ()
            work = self._answer_once(conversation, request, texts)
        else:
            work = self._interact(conversation, dispatcher, progress)
        try:
            return asyncio.run(work)
        finally:
            progress.end_waits()

    def _build(self) -> "tuple[Conversation, MultiMCP, Progress]":
        """Choose and join the concrete parts."""
        arguments, places = self._arguments, self._places
        with _early_waits(arguments, self._complaints).during("loop", "its own parts to load"):
            from modules.composition import (
                ServerAccess,
                build_dispatcher,
                open_display,
                sandbox_limits,
            )
            from modules.conversation import Conversation
            from modules.model_manager import choose_model
            from modules.sandbox import Sandbox
            from modules.session.provenance import asking_leave, provenance_policy

        profile, servers = self._profile, self._servers
        redactor, verbose = self._complaints.redactor, arguments.verbose
        redactor.learn(secret_values((*servers.specs, *servers.disabled)))
        display = open_display(sys.stderr, redactor, verbose=verbose, quiet=arguments.quiet)
        progress = display.progress
        memory_folder = places.home / profile.memory.storage.base_dir
        self._tell_session(profile, memory_folder, progress)
        models = load_models(places.config_file("models.json"))
        with progress.during("model", "keys and models that may be there"):
            model = choose_model(
                arguments.model,
                profile.llm,
                models,
                os.environ,
                redactor,
                home=places.home,
                max_cost=arguments.max_cost,
                max_tokens=arguments.max_tokens,
            )
        if not arguments.quiet:
            progress.say("model", model.reason)
            for note in model.notes:
                progress.say("model", note)
            for note in servers.notes:
                progress.say("mcp", note)
        sandbox = Sandbox(sandbox_limits(profile.sandbox), require=profile.sandbox.require)
        access = ServerAccess(arguments.allow_tool_changes, while_asking=sandbox.standing_still)
        dispatcher = build_dispatcher(servers.specs, places, display, access, self._spawned)
        conversation = Conversation(
            profile,
            model,
            dispatcher,
            sandbox,
            memory_folder,
            progress,
            arguments.session,
            redactor,
            display.questions.ask_back if display.questions.is_attended() else None,
            provenance_policy(profile, servers.specs, places, arguments.approve),
            asking_leave(display.questions, sandbox.standing_still),
            [places.home / Path(folder).expanduser() for folder in profile.documents.folders],
        )
        return conversation, dispatcher, progress

    def _tell_session(
        self, profile: AgentProfile, memory_folder: Path, progress: "Progress"
    ) -> None:
        """Say which session `--session` means, before anything is done in a wrong one."""
        if self._arguments.session is None:
            return
        from modules.session.resumed import resumed_session

        told = resumed_session(
            self._arguments.session,
            memory_folder,
            profile.memory.storage.structure,
            enabled=profile.memory.memory_service,
        )
        if told and not self._arguments.quiet:
            progress.say("memory", told)

    async def _answer_once(
        self, conversation: "Conversation", request: str, texts: "tuple[TextInput, ...]"
    ) -> ExitCode:
        import signal

        from modules.terminal.repl import interrupting

        with interrupting(conversation.interrupt, signal.SIGINT, signal.SIGTERM):
            async with conversation:
                outcome = await conversation.ask(request, texts)
                code = self._report(conversation, outcome)
                marks.debug("answered")
        marks.debug("closed")
        return code

    async def _interact(
        self, conversation: "Conversation", dispatcher: "MultiMCP", progress: "Progress"
    ) -> ExitCode:
        """The prompt on a terminal, or a line a request from a pipe, until it ends or is ended.

        At a prompt Ctrl-C stops what is running. SIGTERM, and Ctrl-C where there is no prompt to
        go back to, end the program in good order: terminal, servers and session as after `exit`.
        """
        import asyncio
        import signal

        from modules.cli.docs import PromptDocuments
        from modules.cli.slash_commands import PromptCommands
        from modules.terminal.repl import interrupting

        task = asyncio.current_task()
        documents = PromptDocuments(self._places, self._profile_file, os.environ, progress.say)

        async def manage_documents(words: str) -> ExitCode:
            with progress.during("docs", "your documents"):
                return await documents.run(words)

        commands = PromptCommands(
            dispatcher,
            progress.say,
            conversation.session_usage,
            conversation.session_activity,
            manage_documents,
            self._disabled,
        )

        def end() -> None:
            if task is not None:
                task.cancel()

        def interrupt() -> None:
            commands.interrupt()
            conversation.interrupt()

        typed = sys.stdin.isatty()
        try:
            with (
                interrupting(interrupt if typed else end, signal.SIGINT),
                interrupting(end, signal.SIGTERM),
            ):
                async with conversation:
                    return await self._converse(conversation, dispatcher, commands, progress)
        except asyncio.CancelledError:
            return self._complaints.fail("interrupted", ExitCode.INTERRUPTED)

    async def _converse(
        self,
        conversation: "Conversation",
        dispatcher: "MultiMCP",
        commands: "PromptCommands",
        progress: "Progress",
    ) -> ExitCode:
        from modules.terminal.repl import GREETING, Repl, piped_lines

        is_piped = not sys.stdin.isatty()

        async def ask(line: str) -> ExitCode:
            if (code := await commands.run(line)) is not None:
                if is_piped and code != ExitCode.ANSWERED:
                    self._report_error(conversation, "no answer: see stderr", code)
                return code
            outcome = await conversation.ask(clean_request(line))
            return self._report(conversation, outcome, is_line=is_piped)

        asking = functools.partial(self._ask_piped, conversation, ask) if is_piped else ask
        repl = Repl(asking, conversation.new_session, progress.say, self._log_bug)
        if is_piped:
            return await repl.run(self._with_blank_answers(piped_lines(sys.stdin)))
        from modules.terminal.prompt import typed_lines

        if not self._arguments.quiet:
            progress.say("loop", GREETING)
        await dispatcher.start_unlearned()  # the first request is still to be typed
        redact = self._complaints.redactor.text
        on_ctrl_c = functools.partial(progress.say, "loop", "Ctrl-D leaves")
        await repl.run(typed_lines(self._places.history_file, redact, on_ctrl_c))
        if not self._arguments.quiet and (session := conversation.kept_session_id) is not None:
            progress.say("memory", f"--session {session} continues this session")
        return ExitCode.ANSWERED  # each answer told its own story; leaving is no failure

    async def _ask_piped(
        self,
        conversation: "Conversation",
        ask: Callable[[str], Awaitable[ExitCode]],
        line: str,
    ) -> ExitCode:
        """Answer a line; what it raises has a line on stdout, too."""
        try:
            return await ask(line)
        except StdoutLost:
            raise
        except CortexError as error:
            self._report_error(conversation, str(error), exit_code_of(error))
            raise
        except Exception:
            bug = "a bug in Cortex-R: see stderr"
            self._report_error(conversation, bug, ExitCode.WORLD_FAILED)
            raise

    def _log_bug(self, error: Exception) -> str:
        return log_bug(error, self._places.log_file, self._complaints.redactor.text)

    async def _with_blank_answers(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """The lines; one without a request has an answer without a word, so that pairs stay."""
        async for line in lines:
            if not line.strip():
                with writing_stdout():
                    sys.stdout.write("\n")
            yield line

    def _report_error(self, conversation: "Conversation", message: str, code: ExitCode) -> None:
        """Why a line could not be asked, in its answer's place; stderr is told by others."""
        from modules.terminal.answer import print_error_json, print_failure_line

        message = self._complaints.redactor.text(message)
        with writing_stdout():
            if self._arguments.json:
                session, model = conversation.session_id or "", conversation.model_name
                print_error_json(message, code, session, model, sys.stdout)
            else:
                print_failure_line(message, sys.stdout)

    def _report(
        self, conversation: "Conversation", outcome: "RunOutcome", *, is_line: bool = False
    ) -> ExitCode:
        """Answer to stdout; why there is none, to stderr.

        For a request that was a line of a pipe a line goes to stdout in any case.
        """
        from modules.terminal.answer import (
            one_line_of,
            print_answer,
            print_failure_line,
            print_json,
        )

        with writing_stdout():
            if self._arguments.json:
                session = conversation.session_id or ""
                print_json(outcome, session, conversation.model_name, sys.stdout)
            elif outcome.answer is not None:
                answer = one_line_of(outcome.answer) if is_line else outcome.answer
                print_answer(answer, sys.stdout)
            elif is_line:
                print_failure_line(self._complaints.redactor.text(outcome.message), sys.stdout)
        if outcome.answer is None:
            self._complaints.fail(outcome.message, outcome.exit_code)
        return outcome.exit_code
