"""Requests one after the other: typed at the prompt, or a line each from a pipe."""

import asyncio
import functools
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from core.base.redaction import EXTRA_NAME, is_little_but_a_key
from core.errors import CortexError, ExitCode, exit_code_of
from core.turn import RunOutcome
from modules.cli.first_run import OFFER, answered, first_words
from modules.cli.interaction import Interaction, Setting
from modules.cli.prompt_commands.bottom_line import BottomLine
from modules.cli.prompt_commands.command import Ask, AtPrompt
from modules.cli.prompt_commands.dispatch import COMMANDS_AT_PROMPT, PromptCommands
from modules.session.request import clean_request
from modules.terminal.answer import print_error_json, print_failure_line
from modules.terminal.input.codes import end_cut_text
from modules.terminal.input.repl import GREETING, Leaving, Repl, WayOut, piped_lines
from modules.terminal.input.typeahead import keeping_typeahead
from modules.terminal.streams import StdoutLost, log_bug, writing_stdout
from modules.terminal.waits import (
    can_erase,
    end_at_interrupt,
    interrupting,
    is_cut_by_interrupt,
)

if TYPE_CHECKING:
    from modules.terminal.input.prompt import TypedAhead


def converse(setting: Setting) -> ExitCode:
    """Answer whatever is typed or piped in, until it ends."""
    requests = _Requests(Interaction(setting))
    return requests.interaction.run(requests.answer_all())


class _Requests:
    """The requests of one process, and the commands among them."""

    def __init__(self, interaction: Interaction) -> None:
        self.interaction = interaction
        self._setting = interaction.setting
        self._conversation = interaction.conversation
        self._say = interaction.progress.say
        self._at = AtPrompt(
            self._setting,
            self._conversation,
            interaction.dispatcher,
            self._setting.environ,
            interaction.progress.during,
            self._say,
            show_code=interaction.progress.show_code,
        )
        self._commands = PromptCommands(self._at, COMMANDS_AT_PROMPT)
        if interaction.questions is not None:
            interaction.questions.is_command = self._commands.knows
        self._bottom = BottomLine(self._at)
        self._ahead: TypedAhead | None = None
        self._is_interrupted = self._has_left = False
        leaves = "Ctrl-C once more leaves, and so does Ctrl-D"
        self._way_out = WayOut(functools.partial(self._say, "loop", leaves))

    async def answer_all(self) -> ExitCode:
        """The prompt on a terminal, or a line a request from a pipe, until it ends or is ended.

        At a prompt Ctrl-C stops what is running. A second one meanwhile, SIGTERM, and Ctrl-C
        where there is no prompt to go back to, end the program in good order: terminal, servers
        and session as after `exit`.
        """
        task = asyncio.current_task()

        def end() -> None:
            # Its ending is not broken off by another Ctrl-C.
            if task is not None and not task.cancelling():
                task.cancel()

        def interrupt() -> None:
            if self._is_interrupted:
                end()
            self._is_interrupted = self._conversation.interrupt() or self._commands.interrupt()
            # Between two prompts Ctrl-C is no key, but a signal.
            if not (self._is_interrupted or self._way_out.goes_on()):
                self._has_left = True
                end()

        is_typed = sys.stdin.isatty()
        try:
            end_at_interrupt()
            with (
                interrupting(interrupt if is_typed else end, signal.SIGINT),
                interrupting(end, signal.SIGTERM),
                keeping_typeahead() if is_typed and can_erase(os.environ) else nullcontext(),
            ):
                async with self._conversation:
                    return await (self._typed() if is_typed else self._piped())
        except asyncio.CancelledError:
            if self._has_left:
                return ExitCode.ANSWERED
            return self._setting.complaints.fail("interrupted", ExitCode.INTERRUPTED)

    async def _typed(self) -> ExitCode:
        # Late: prompt_toolkit takes 0.1 s.
        from modules.terminal.input.prompt import TypedAhead, Typing, edited_code, typed_lines

        self._at.is_typed = True
        self.interaction.progress.reword = lambda stage, text: (
            text if stage == "help" else self._commands.reworded(text)  # which names both
        )
        self._setting.complaints.reword = self._commands.reworded
        self._at.edit = edited_code
        is_quiet = self._setting.arguments.quiet
        if not is_quiet:
            self._say("loop", GREETING)
            await self._recall()
        if (told := None if is_quiet else first_words(self._at)) is not None:
            self._say("config", told)
        await self.interaction.dispatcher.start_unlearned()  # the first request is yet to be typed
        is_kept = self._setting.profile.memory.memory_service
        self._ahead = TypedAhead(sys.stdin)
        typing = Typing(
            self._ahead,
            self._setting.places.history_file if is_kept else None,
            self._without_secrets,
            self._way_out,
            functools.partial(self._say, "loop"),
            self._commands.candidates,
            self._bottom.parts,
            self._next_text,
            vi_keys=self._setting.profile.terminal.keys == "vi",
        )
        lines = typed_lines(typing)
        if told == OFFER:
            lines = answered(self._at, lines)
        try:
            await self._repl(self._ask_typed).run(lines)
        finally:  # Ctrl-C between two prompts leaves, too
            session = self._conversation.session.kept_id
            if not is_quiet and session is not None:
                self._say("memory", f"--session {session} continues this session")
        return ExitCode.ANSWERED  # each answer told its own story; leaving is no failure

    async def _recall(self) -> None:
        """Show how the session ended that goes on."""
        session_id = self._conversation.session.id
        if session_id is None or not self._setting.profile.memory.memory_service:
            return
        if recap := await asyncio.to_thread(self._at.kept.recap, session_id):
            self._say("memory", f"the last of {session_id}\n{recap}")

    async def _piped(self) -> ExitCode:
        return await self._repl(self._ask_piped).run(self._with_blank_answers())

    def _repl(self, ask: Callable[[str], Awaitable[ExitCode]]) -> Repl:
        def log(error: Exception) -> str:
            log_file = self._setting.places.log_file
            return log_bug(error, log_file, self._setting.complaints.redactor.text)

        return Repl(ask, self._say, log)

    async def _ask_typed(self, line: str) -> ExitCode:
        """Answer a line; a command that is typed at a question of its run is done behind it."""
        code, questions = await self._answer_typed(line), self.interaction.questions
        while questions is not None and (command := questions.take_command()):
            code = await self._answer_typed(command)
        return code

    async def _answer_typed(self, line: str) -> ExitCode:
        self._is_interrupted = False
        try:
            outcome = await self._done(line)
            if isinstance(outcome, ExitCode):
                return outcome
            if outcome.answer is not None and not outcome.steps and outcome.graph is None:
                # No plan has made it: it is the page that helps.
                outcome = replace(outcome, answer=self._commands.reworded(outcome.answer))
            if is_cut_by_interrupt(functools.partial(self.interaction.report, outcome)):
                end_cut_text(sys.stdout)
                self._say("loop", "the answer was cut here; /save FILE keeps all of it")
                return ExitCode.INTERRUPTED
            return outcome.exit_code
        finally:
            self._is_interrupted = False
            self.interaction.progress.end_waits()  # what goes on has no row beside a prompt
            await self._bottom.look()

    def _without_secrets(self, line: str) -> str:
        """A line as the history of lines keeps it."""
        if is_little_but_a_key(line):
            return f"[redacted {EXTRA_NAME}]"
        return self._setting.complaints.redactor.text(line)

    async def _done(self, line: str) -> ExitCode | RunOutcome:
        """What a command or a request comes to; what is typed meanwhile is for the next prompt."""
        try:
            done = await self._commands.run(line)
            return done if isinstance(done, ExitCode) else await self._asked(done)
        finally:
            if self._ahead is not None:
                await self._ahead.collect()

    async def _asked(self, ask: Ask) -> RunOutcome:
        request = clean_request(ask.request)
        self._at.last_request = ask.request
        self.interaction.progress.begin_request()
        return await self._conversation.ask(request, by_hand=ask.by_hand, graph=ask.graph)

    def _next_text(self) -> str:
        """What the prompt that is about to open begins with; a server may be waited for still."""
        self.interaction.progress.make_room()
        text, self._at.next_text = self._at.next_text, ""
        return text

    async def _ask_piped(self, line: str) -> ExitCode:
        """Answer a line; what a command or an error has to say has a line on stdout, too."""
        try:
            done = await self._commands.run(line)
            if isinstance(done, Ask):
                return self.interaction.report(await self._asked(done), is_line=True)
            if done != ExitCode.ANSWERED:
                self._report_error("no answer: see stderr", done)
            else:
                self._report_nothing()  # what the command says stands on stderr
            return done
        except (StdoutLost, Leaving):
            raise
        except CortexError as error:
            self._report_error(str(error), exit_code_of(error))
            raise
        except asyncio.CancelledError:
            self._report_error("interrupted", ExitCode.INTERRUPTED)
            raise
        except Exception:
            self._report_error("a bug in Cortex-R: see stderr", ExitCode.WORLD_FAILED)
            raise

    def _report_error(self, message: str, code: ExitCode) -> None:
        """Why a line could not be asked, in its answer's place; stderr is told by others."""
        message = self._setting.complaints.redactor.text(message)
        with writing_stdout():
            if self._setting.arguments.json:
                session, model = self._conversation.session.id or "", self._conversation.model.name
                print_error_json(message, code, session, model, sys.stdout)
            else:
                print_failure_line(message, sys.stdout)

    async def _with_blank_answers(self) -> AsyncIterator[str]:
        """The lines; one without a request has an answer without a word, so that pairs stay."""
        async for line in piped_lines(sys.stdin):
            if not line.strip():
                self._report_nothing()
            yield line

    def _report_nothing(self) -> None:
        """An answer without a word, for a line that asked nothing."""
        self.interaction.report(RunOutcome("done", answer="", message=""), is_line=True)
