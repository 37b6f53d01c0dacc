"""Requests at the terminal, from the checked profile to answers on stdout and the exit code.

Builds the concrete parts and joins them: the composition root behind `modules.app`.
"""

import asyncio
import functools
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.models_file import load_models
from config.schema import AgentProfile
from config.server_list import ServerList, secret_values
from config.settings import Places
from core.errors import CortexError, ExitCode, exit_code_of
from core.process.spawn import SpawnedServer
from core.turn import RunOutcome
from modules.cli.arguments import Arguments
from modules.cli.docs import PromptDocuments
from modules.cli.slash_commands import PromptCommands
from modules.composition import (
    ServerAccess,
    asking_leave,
    build_dispatcher,
    open_display,
    sandbox_limits,
)
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.sandbox import Sandbox
from modules.session.ids import resumed_session
from modules.session.provenance import provenance_policy
from modules.session.request import clean_request
from modules.session.stdin import Beside, StdinReader
from modules.terminal.answer import (
    one_line_of,
    print_answer,
    print_error_json,
    print_failure_line,
    print_json,
)
from modules.terminal.repl import GREETING, Repl, interrupting, piped_lines
from modules.terminal.streams import Complaints, StdoutLost, log_bug, writing_stdout
from modules.terminal.waits import Waits

marks = logging.getLogger("cortex_r.marks")
"""As in `modules.app`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run of the program begins with; `spawned` are servers that run already."""

    arguments: Arguments
    places: Places
    complaints: Complaints
    profile: AgentProfile
    servers: ServerList
    spawned: Mapping[str, SpawnedServer]


def answer(request: str | None, setting: Setting, waits: Waits) -> ExitCode:
    """Answer the request; without one, whatever is typed or piped in.

    What stands on stdin beside it goes with it. `waits` names what is waited for before there
    is a display.
    """
    beside = Beside()
    if request is not None and setting.arguments.request != "-":
        with waits.during("stdin", "what stdin gives"):
            beside = StdinReader(sys.stdin.fileno()).read(setting.arguments.stdin)
    interaction = Interaction(setting)
    # What is left is told in any case.
    if beside.note and not (beside.text and setting.arguments.quiet):
        interaction.progress.say("stdin", beside.note)
    gc.freeze()
    gc.enable()
    marks.debug("imported")
    return interaction.run(request, beside)


class Interaction:
    """One request, or the prompt, with the parts that answer it.

    Attributes:
        progress: Tells on stderr what goes on.
    """

    def __init__(self, setting: Setting) -> None:
        """Choose and join the concrete parts; nothing of them starts yet.

        Raises:
            SettingsError: models or servers are not configured as they have to be.
            UserError: no model can be chosen, or the session is not there.
        """
        arguments, places = setting.arguments, setting.places
        self._setting = setting
        self._arguments = arguments
        self._complaints = setting.complaints
        profile, servers = setting.profile, setting.servers
        self._disabled = tuple(spec.id for spec in servers.disabled)
        redactor = self._complaints.redactor
        redactor.learn(secret_values((*servers.specs, *servers.disabled)))
        display = open_display(
            sys.stderr, redactor, verbose=arguments.verbose, quiet=arguments.quiet
        )
        self.progress = display.progress
        memory_folder = places.home / profile.memory.storage.base_dir
        self._tell_session(profile, memory_folder)
        model = self._chosen_model(profile)
        if not arguments.quiet:
            for stage, notes in (("model", (model.reason, *model.notes)), ("mcp", servers.notes)):
                for note in notes:
                    self.progress.say(stage, note)
        sandbox = Sandbox(sandbox_limits(profile.sandbox), require=profile.sandbox.require)
        access = ServerAccess(arguments.allow_tool_changes, while_asking=sandbox.standing_still)
        self._dispatcher = build_dispatcher(servers.specs, places, display, access, setting.spawned)
        self._conversation = Conversation(
            profile,
            model,
            self._dispatcher,
            sandbox,
            memory_folder,
            self.progress,
            arguments.session,
            redactor,
            display.questions.ask_back if display.questions.is_attended() else None,
            provenance_policy(profile, servers.specs, places, arguments.approve),
            asking_leave(display.questions, sandbox.standing_still),
            [places.home / Path(folder).expanduser() for folder in profile.documents.folders],
        )

    def run(self, request: str | None, beside: Beside) -> ExitCode:
        """Answer the request; without one, whatever is typed or piped in."""
        work = self._interact() if request is None else self._answer_once(request, beside)
        try:
            return asyncio.run(work)
        finally:
            self.progress.end_waits()

    def _tell_session(self, profile: AgentProfile, memory_folder: Path) -> None:
        """Say which session `--session` means, before anything is done in a wrong one."""
        if self._arguments.session is None:
            return
        told = resumed_session(
            self._arguments.session,
            memory_folder,
            profile.memory.storage.structure,
            enabled=profile.memory.memory_service,
        )
        if told and not self._arguments.quiet:
            self.progress.say("memory", told)

    def _chosen_model(self, profile: AgentProfile) -> ModelManager:
        places = self._setting.places
        models = load_models(places.config_file("models.json"))
        with self.progress.during("model", "keys and models that may be there"):
            return choose_model(
                self._arguments.model,
                profile.llm,
                models,
                os.environ,
                self._complaints.redactor,
                home=places.home,
                max_cost=self._arguments.max_cost,
                max_tokens=self._arguments.max_tokens,
            )

    async def _answer_once(self, request: str, beside: Beside) -> ExitCode:
        conversation = self._conversation
        with interrupting(conversation.interrupt, signal.SIGINT, signal.SIGTERM):
            async with conversation:
                outcome = await conversation.ask(request, (beside.text,) if beside.text else ())
                code = self._report(outcome)
                marks.debug("answered")
        marks.debug("closed")
        return code

    async def _interact(self) -> ExitCode:
        """The prompt on a terminal, or a line a request from a pipe, until it ends or is ended.

        At a prompt Ctrl-C stops what is running. SIGTERM, and Ctrl-C where there is no prompt to
        go back to, end the program in good order: terminal, servers and session as after `exit`.
        """
        task = asyncio.current_task()
        commands = self._prompt_commands()

        def end() -> None:
            if task is not None:
                task.cancel()

        def interrupt() -> None:
            commands.interrupt()
            self._conversation.interrupt()

        is_typed = sys.stdin.isatty()
        converse = self._converse_at_prompt if is_typed else self._converse_by_pipe
        try:
            with (
                interrupting(interrupt if is_typed else end, signal.SIGINT),
                interrupting(end, signal.SIGTERM),
            ):
                async with self._conversation:
                    return await converse(commands)
        except asyncio.CancelledError:
            return self._complaints.fail("interrupted", ExitCode.INTERRUPTED)

    def _prompt_commands(self) -> PromptCommands:
        setting, progress = self._setting, self.progress
        documents = PromptDocuments(setting.places, setting.profile, os.environ, progress.say)

        async def manage_documents(words: str) -> ExitCode:
            with progress.during("docs", "your documents"):
                return await documents.run(words)

        return PromptCommands(
            self._dispatcher,
            progress.say,
            self._conversation.session_usage,
            self._conversation.session_activity,
            manage_documents,
            self._disabled,
        )

    async def _converse_at_prompt(self, commands: PromptCommands) -> ExitCode:
        from modules.terminal.prompt import typed_lines  # late: prompt_toolkit takes 0.1 s

        async def ask(line: str) -> ExitCode:
            if (code := await commands.run(line)) is not None:
                return code
            return self._report(await self._conversation.ask(clean_request(line)))

        progress, is_quiet = self.progress, self._arguments.quiet
        if not is_quiet:
            progress.say("loop", GREETING)
        await self._dispatcher.start_unlearned()  # the first request is still to be typed
        redact = self._complaints.redactor.text
        on_ctrl_c = functools.partial(progress.say, "loop", "Ctrl-D leaves")
        await self._repl(ask).run(typed_lines(self._setting.places.history_file, redact, on_ctrl_c))
        session = self._conversation.kept_session_id
        if not is_quiet and session is not None:
            progress.say("memory", f"--session {session} continues this session")
        return ExitCode.ANSWERED  # each answer told its own story; leaving is no failure

    async def _converse_by_pipe(self, commands: PromptCommands) -> ExitCode:
        async def ask(line: str) -> ExitCode:
            if (code := await commands.run(line)) is not None:
                if code != ExitCode.ANSWERED:
                    self._report_error("no answer: see stderr", code)
                return code
            outcome = await self._conversation.ask(clean_request(line))
            return self._report(outcome, is_line=True)

        repl = self._repl(functools.partial(self._ask_piped, ask))
        return await repl.run(_with_blank_answers(piped_lines(sys.stdin)))

    def _repl(self, ask: Callable[[str], Awaitable[ExitCode]]) -> Repl:
        def log(error: Exception) -> str:
            log_file = self._setting.places.log_file
            return log_bug(error, log_file, self._complaints.redactor.text)

        return Repl(ask, self._conversation.new_session, self.progress.say, log)

    async def _ask_piped(self, ask: Callable[[str], Awaitable[ExitCode]], line: str) -> ExitCode:
        """Answer a line; what it raises has a line on stdout, too."""
        try:
            return await ask(line)
        except StdoutLost:
            raise
        except CortexError as error:
            self._report_error(str(error), exit_code_of(error))
            raise
        except Exception:
            self._report_error("a bug in Cortex-R: see stderr", ExitCode.WORLD_FAILED)
            raise

    def _report_error(self, message: str, code: ExitCode) -> None:
        """Why a line could not be asked, in its answer's place; stderr is told by others."""
        message = self._complaints.redactor.text(message)
        with writing_stdout():
            if self._arguments.json:
                session, model = self._conversation.session_id or "", self._conversation.model_name
                print_error_json(message, code, session, model, sys.stdout)
            else:
                print_failure_line(message, sys.stdout)

    def _report(self, outcome: RunOutcome, *, is_line: bool = False) -> ExitCode:
        """Answer to stdout; why there is none, to stderr.

        For a request that was a line of a pipe a line goes to stdout in any case.
        """
        with writing_stdout():
            if self._arguments.json:
                session = self._conversation.session_id or ""
                print_json(outcome, session, self._conversation.model_name, sys.stdout)
            elif outcome.answer is not None:
                answer = one_line_of(outcome.answer) if is_line else outcome.answer
                print_answer(answer, sys.stdout)
            elif is_line:
                print_failure_line(self._complaints.redactor.text(outcome.message), sys.stdout)
        if outcome.answer is None:
            self._complaints.fail(outcome.message, outcome.exit_code)
        return outcome.exit_code


async def _with_blank_answers(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The lines; one without a request has an answer without a word, so that pairs stay."""
    async for line in lines:
        if not line.strip():
            with writing_stdout():
                sys.stdout.write("\n")
        yield line
