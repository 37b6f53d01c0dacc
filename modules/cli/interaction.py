"""From the checked profile to an answer on stdout and the exit code: one request at the terminal.

Builds the concrete parts, which `modules.conversation` joins.
`modules.cli.interactive` puts many requests to the same parts.
"""

import asyncio
import gc
import logging
import os
import shlex
import signal
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from config.schema import AgentProfile
from config.server_list import ServerList, secret_values
from config.settings import Places
from core.base.frozen import frozen
from core.errors import ExitCode, UsageError
from core.events import Emit, Event, ModelAnswered, RunStarted, SubtaskEvent
from core.process.server import SpawnedServer
from core.run.answer import INTERRUPTED
from core.team.graph import TaskGraph
from core.turn import OWN_KNOWLEDGE, RunOutcome
from modules.cli.command_line import Arguments, is_lone_word
from modules.cli.composition import asking_leave, build_dispatcher, guide_for, open_display
from modules.cli.event_stream import EventWriter
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.models.choosing.names import FLAG_ORIGIN
from modules.models.offline.welcome import asks_for_help
from modules.models.serving.budget import FREE
from modules.planning.answer_schema import read_answer_schema
from modules.planning.demands import Demands
from modules.sandbox import Sandbox, limits_of
from modules.session.ids import find_session, kept_sessions, resumed_session
from modules.session.request import Beside, StdinReader
from modules.team.entry import TeamEntry
from modules.terminal.answer import (
    UNFINISHED_LABEL,
    one_line_of,
    print_answer,
    print_failure_line,
    print_json,
)
from modules.terminal.display.pictures import Pictures
from modules.terminal.streams import Complaints, typed_answer, writing_stdout
from modules.terminal.waits import Waits, interrupting, let_interrupts_raise
from modules.trace.telemetry import open_telemetry

marks = logging.getLogger("cortex_r.marks")
"""As in `modules.app`."""


ALLOW_ALL = "To say yes beforehand to what it needs, as far as is known:"
"""Stands before the command line that does."""

MODELS_WAITED_FOR = "keys and models that may be there"


@frozen
class Setting:
    """What a run of the program begins with; `spawned` are servers that run already."""

    arguments: Arguments
    places: Places
    complaints: Complaints
    profile: AgentProfile
    servers: ServerList
    spawned: Mapping[str, SpawnedServer]
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def profile_file(self) -> Path:
        """The profile that was named, else the usual one."""
        return self.arguments.profile or self.places.config_file("profiles.yaml")


def chosen_model(
    setting: Setting,
    environ: Mapping[str, str],
    flag_origin: str = FLAG_ORIGIN,
    name: str | None = None,
) -> ModelManager:
    """The model of the command line, else of the profile; raises as `choose_model`.

    `flag_origin` is what named the model, for messages; `name` goes before the command line's.
    """
    arguments = setting.arguments
    return choose_model(
        name or arguments.model,
        setting.profile.llm,
        setting.places,
        environ,
        setting.complaints.redactor,
        max_cost=arguments.max_cost,
        max_tokens=arguments.max_tokens,
        seed=arguments.seed,
        flag_origin=flag_origin,
        idle_seconds=setting.profile.models.idle_seconds,
    )


def without_seed(seed: int | None, model: ModelManager) -> str | None:
    """Which of the models take no seed, where one was asked for."""
    names = [each.model.name for each in model.models if not each.model.traits.takes_seed]
    if seed is None or not names:
        return None
    return f"--seed has no effect on {' and '.join(names)}, which takes none"


def answer(
    request: str, setting: Setting, waits: Waits, graph: TaskGraph | None = None
) -> ExitCode:
    """Answer the request, with what stands on stdin beside it; by the user's graph, where given.

    `waits` names what is waited for before there is a display.
    """
    beside = Beside()
    if setting.arguments.request != "-":
        with waits.during("stdin", "what stdin gives"):
            beside = StdinReader(sys.stdin.fileno()).read(setting.arguments.stdin)
    interaction = Interaction(setting)
    is_meant = bool(setting.arguments.prompt or beside.text or asks_for_help(request))
    if interaction.may_cost and is_lone_word(request) and not is_meant:
        _ask_about(request, interaction)
    if isinstance(file := setting.arguments.graph, Path):
        from modules.team.writing import load_graph  # late: few requests bring a graph

        graph = load_graph(file)
    # What is left is told in any case.
    if beside.note and not (beside.text and setting.arguments.quiet):
        interaction.progress.say("stdin", beside.note)
    return interaction.run(_answer(interaction, request, beside, graph))


def _ask_about(word: str, interaction: "Interaction") -> None:
    """Ask the person at the terminal whether a model is to see a lone word.

    Raises:
        UsageError: it is not, or nobody can be asked.
    """
    model = interaction.conversation.model.name
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(
            f"'{word}' is no command, and a lone word is not sent to {model}, which may cost\n"
            f"agent.py -p {word} sends it; agent.py --help lists the commands"
        )
    interaction.progress.end_waits()
    question = f"'{word}' is no command. Send it to {model} as a request? [y/N] "
    with suppress(EOFError):
        if typed_answer(question, sys.stderr).lower() in ("y", "yes"):
            return
    raise UsageError("nothing was sent; agent.py --help lists the commands")


async def _answer(
    interaction: "Interaction", request: str, beside: Beside, graph: TaskGraph | None
) -> ExitCode:
    conversation, texts = interaction.conversation, (beside.text,) if beside.text else ()
    with interrupting(conversation.interrupt, signal.SIGINT, signal.SIGTERM):
        async with conversation:
            interaction.progress.begin_request()
            outcome = await conversation.ask(request, texts, graph=graph)
            code = interaction.report(outcome)
            marks.debug("answered")
    marks.debug("closed")
    return code


class Interaction:
    """The parts that answer requests, joined; nothing of them is started yet.

    Attributes:
        setting: what the run began with.
        progress: tells on stderr what goes on.
        dispatcher: the servers.
        conversation: answers requests.
        telemetry: sends runs to a collector, where that is asked for.
        questions: asks the person at the terminal, where one can be asked.
        may_cost: whether a request may cost money, as far as that is known at once.
    """

    def __init__(self, setting: Setting) -> None:
        """Choose and join the concrete parts.

        Raises:
            SettingsError: models or servers are not configured as they have to be.
            UserError: no model can be chosen, or the session is not there.
        """
        self.setting = setting
        arguments, places = setting.arguments, setting.places
        profile, servers = setting.profile, setting.servers
        redactor = setting.complaints.redactor
        redactor.learn(secret_values(servers.everyone))
        redactor.mask(profile.memory.mask)
        display = open_display(
            sys.stderr,
            redactor,
            verbose=arguments.verbose,
            quiet=arguments.quiet,
            notify=profile.terminal.notify,
            pictures=Pictures(places.cache / "pictures", os.environ),
        )
        self.progress = display.progress
        demands = self._demands()
        session_id = self._chosen_session(profile.memory_folder(places.home))
        with self.progress.during("model", MODELS_WAITED_FOR):
            model = chosen_model(setting, setting.environ)
        self.may_cost = any(chosen.own_price != FREE for chosen in model.models)
        if not arguments.quiet:
            for stage, notes in (("model", (model.reason, *model.notes)), ("mcp", servers.notes)):
                for note in notes:
                    self.progress.say(stage, note)
            if (unseeded := without_seed(arguments.seed, model)) is not None:
                self.progress.say("model", unseeded)
        self._planner = ""
        self.telemetry = None
        if profile.trace.is_exported(setting.environ):
            self.telemetry = open_telemetry(profile, setting.environ, redactor, self.progress.say)
        sandbox = Sandbox(
            limits_of(profile.sandbox),
            require=profile.sandbox.require,
            tell=self._remark_on_sandbox,
        )
        self.dispatcher = build_dispatcher(
            servers.specs,
            places,
            display,
            spawned=setting.spawned,
            allow_tool_changes=arguments.allow_tool_changes,
            while_asking=sandbox.standing_still,
        )
        self.questions = questions = display.questions
        self.conversation = Conversation(
            profile,
            places,
            model,
            self.dispatcher,
            sandbox,
            self._listener(),
            session_id,
            redactor,
            ask_user=questions.ask_back if questions and questions.is_attended() else None,
            ask_leave=asking_leave(
                questions, sandbox.standing_still, lambda: self.conversation.policy, redactor
            ),
            approve=arguments.approve,
            demands=demands,
            guide=None if arguments.no_instructions else guide_for(places, questions),
            team=TeamEntry(
                lambda name: chosen_model(
                    setting, setting.environ, "team.roles in the profile", name
                ),
                questions.ask_for if questions is not None else None,
                places.home,
            ),
            warn=partial(self.progress.say, "tool"),
        )

    def run(self, work: Coroutine[None, None, ExitCode]) -> ExitCode:
        """Do what there is to do, now that all is imported and joined."""
        gc.freeze()
        gc.enable()
        marks.debug("imported")
        let_interrupts_raise()
        return asyncio.run(self._waited_for(work))

    async def _waited_for(self, work: Coroutine[None, None, ExitCode]) -> ExitCode:
        """Give the terminal back before the loop closes: a signal would then find a closed pipe."""
        try:
            return await work
        finally:
            if self.telemetry is not None:
                await self.telemetry.close()
            self.progress.end_waits()

    def report(self, outcome: RunOutcome, *, is_line: bool = False) -> ExitCode:
        """Answer to stdout; why there is none, to stderr.

        For a request that was a line of a pipe a line goes to stdout in any case.
        """
        complaints = self.setting.complaints
        allowing = self._allowing(outcome)
        self.progress.end_waits()  # a server that still starts outlives an interrupted run
        with writing_stdout():
            if self.setting.arguments.json:
                session, model = self.conversation.session.id or "", self._answered_by(outcome)
                whole = replace(outcome, message="\n".join((outcome.message, *allowing)))
                print_json(whole, session, model, sys.stdout, complaints.redactor)
            elif outcome.answer is not None:
                text = one_line_of(outcome.answer) if is_line else outcome.answer
                print_answer(text, sys.stdout, self.conversation.document_folders)
            elif is_line:
                print_failure_line(complaints.redactor.text(outcome.message), sys.stdout)
        if outcome.grounded is False and not self.setting.arguments.json:
            self.progress.say_beside_answer(OWN_KNOWLEDGE)
        if outcome.answer is None:
            complaints.fail(self._with_draft_shown(outcome), outcome.exit_code)
            for line in allowing:
                complaints.tell(line, is_command=True)
        return outcome.exit_code

    def _allowing(self, outcome: RunOutcome) -> tuple[str, ...]:
        """How to say yes, in one go, to what a run without an answer could ask nobody about."""
        if outcome.answer is not None or not outcome.rules_wanted:
            return ()
        rules = [word for rule in outcome.rules_wanted for word in ("--approve", rule)]
        program, *words = self.setting.arguments.typed or ("agent.py",)
        return ALLOW_ALL, f"  {shlex.join([program, *rules, *words])}"

    def _with_draft_shown(self, outcome: RunOutcome) -> str:
        """Why there is no answer; on a terminal the unfinished one is laid out before it."""
        if not (outcome.unfinished and sys.stderr.isatty()):
            return outcome.message
        draft = self.setting.complaints.redactor.text(outcome.unfinished)
        with suppress(OSError):  # nobody listens to the complaints
            folders = self.conversation.document_folders
            print_answer(draft, sys.stderr, folders, UNFINISHED_LABEL)
        return INTERRUPTED

    def _answered_by(self, outcome: RunOutcome) -> str:
        """The model that wrote the last plan; where there is no answer, at least who was to.

        Empty where no model was asked: the page that helps is nobody's.
        """
        chosen = self.conversation.model.name if outcome.answer is None else ""
        return self._planner or chosen

    async def _note_planner(self, event: Event) -> None:
        """Remember who wrote the newest plan of a run."""
        while isinstance(event, SubtaskEvent):
            event = event.event
        match event:
            case RunStarted():
                self._planner = ""
            case ModelAnswered(model, "decision"):
                self._planner = model
            case _:
                pass

    def _listener(self) -> Emit:
        """Who hears of a run's events: the display, and before it who else wants them."""
        setting = self.setting
        listeners: list[Emit] = [self.progress]
        if setting.arguments.json:
            listeners.insert(0, self._note_planner)
        if setting.arguments.output == "stream-json":
            redactor, prompts = setting.complaints.redactor, setting.profile.trace.prompts
            listeners.insert(0, EventWriter(sys.stdout, redactor, tells_prompts=prompts))
        if self.telemetry is not None:
            listeners.insert(0, self.telemetry.listener())
        if len(listeners) == 1:
            return self.progress

        async def all_of_them(event: Event) -> None:
            for listener in listeners:
                await listener(event)

        return all_of_them

    def _remark_on_sandbox(self, text: str) -> None:
        if not self.setting.arguments.quiet:
            self.progress.say("sandbox", text)

    def _demands(self) -> Demands:
        """What the command line demands of requests.

        Raises:
            UsageError: the file of --json-schema holds none.
        """
        arguments = self.setting.arguments
        schema = None
        if arguments.json_schema is not None:
            schema = read_answer_schema(arguments.json_schema)
        return Demands(schema, arguments.timeout, arguments.chosen_tools)

    def _chosen_session(self, memory_folder: Path) -> str | None:
        """The session that the command line means; told before anything is done in a wrong one."""
        arguments, memory = self.setting.arguments, self.setting.profile.memory
        session_id, structure = arguments.session, memory.storage.structure
        if memory.memory_service and arguments.resume is not None:
            session_id = find_session(arguments.resume, memory_folder, structure)
        elif memory.memory_service and arguments.goes_on:
            kept = kept_sessions(memory_folder, structure)
            session_id = kept[0] if kept else None
            if session_id is None:
                self.progress.say("memory", "no session is kept yet: a new one begins")
        elif arguments.resume is not None or arguments.goes_on:
            raise UsageError(
                "memory is off (memory_service, or --no-memory): leave out --continue and --resume"
            )
        if session_id is None:
            return None
        redact = self.setting.complaints.redactor.text
        named = arguments.session or ""
        if "/" not in named and redact(named) != named:
            raise UsageError(
                "the name of the session holds a secret, or what memory.mask matches, and would "
                "stand in the name of its file: choose another"
            )
        told = resumed_session(session_id, memory_folder, structure, enabled=memory.memory_service)
        if not arguments.quiet:
            if told:
                self.progress.say("memory", told)
            elif arguments.session is None:
                self.progress.say("memory", f"continues the session {session_id}")
        return session_id
