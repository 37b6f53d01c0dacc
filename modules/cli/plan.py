"""`plan`: the graph or the plan that would answer a request; nothing of it is run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.schema import GraphMode
from core.base.text import counted
from core.errors import ExitCode
from core.events import ActionChosen
from core.ports import DecisionInputs
from core.team.graph import TaskGraph
from core.values import JsonObject
from modules.cli.parser import (
    add_graph_options,
    add_instructions_option,
    command_parser,
    read_words,
    with_graph_files,
)
from modules.cli.prompt import chosen_model, conversing
from modules.cli.surroundings import Options, Surroundings
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.offline.welcome import asks_for_help
from modules.planning.by_hand import WrittenPlan
from modules.session.request import clean_request
from modules.team.choosing import parts_by_words
from modules.team.roles import roles_of
from modules.team.run import Chosen
from modules.team.writing import GraphWriter, graph_text, graph_yaml, load_graph
from modules.terminal.answer import plain_json
from modules.trace.text import graph_mermaid

_HELP: Final = """\
Show how a request would be answered, and run nothing: the graph of its subtasks, where it has parts
that are planned by themselves, else the one plan. A model is asked as for the request itself.

A graph that was saved with --yaml can be changed, and run: agent.py --graph FILE.yaml "REQUEST".
With --json it is one object: action, reason, plan, graph and notes.

examples:
  agent.py plan "compare the lease with the house rules and the law, and write a summary"
  agent.py plan --yaml "factorial of 12 and 15% of 80, then add them" > sums.yaml
  agent.py plan --graph sums.yaml --mermaid"""

ONE_PLAN: Final = "one plan answers this, and there is no graph to print; --graph asks for one"
NOTHING_TO_PLAN: Final = "nothing is planned for this: it gets the page of agent.py help"


@dataclass
class Planned:
    """What was planned for a request.

    Attributes:
        chosen: whether it is a graph or one plan, and why.
        source: the plan; None where there is a graph.
        message: why there is neither.
        exit_code: what stands for that.
    """

    chosen: Chosen
    source: str | None = None
    message: str = ""
    exit_code: ExitCode = ExitCode.ANSWERED

    @property
    def why(self) -> str:
        """Why it is a graph or a plan, and what was changed in it, in lines."""
        return "\n".join((self.chosen.action.reason, *self.chosen.notes))


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `plan`; raises as `read_words`."""
    parser = command_parser(program, "plan", _HELP)
    parser.add_argument("request", metavar="REQUEST", nargs="*", help="as it would be typed")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--yaml", action="store_true", help="the graph as a file for --graph")
    form.add_argument("--mermaid", action="store_true", help="the graph as a flow chart (Mermaid)")
    add_graph_options(parser)
    parser.add_argument("--model", metavar="NAME", help="the model that plans")
    add_instructions_option(parser)
    parser.set_defaults(run=show_plan, parser=parser)
    return read_words(parser, with_graph_files(words))


async def planned(conversation: Conversation, request: str, mode: GraphMode) -> Planned:
    """What the conversation would run for a request, as `strategy.graph` has it.

    Raises:
        StorageError, UsageError: as `Conversation.ask`.
    """
    done = Planned(Chosen(ActionChosen("plan", "")))

    async def write_graph(inputs: DecisionInputs) -> TaskGraph | None:
        writer = GraphWriter(inputs, mode, conversation.profile.team)
        done.chosen = await writer.choose(conversation.model)
        return done.chosen.graph

    written = WrittenPlan(write_graph)
    outcome = await conversation.ask(request, by_hand=written)
    done.source = None if written.plan is None else written.plan.source
    done.message, done.exit_code = outcome.message, outcome.exit_code
    if done.source is None and mode != "never" and not conversation.model.traits.reads_text:
        graph = parts_by_words(request)
        if done.chosen.graph is None and graph is not None:
            action = ActionChosen("graph", "the request names its parts")
            done.chosen = Chosen(action, graph, ("no model is connected that could do them",))
    return done


def show_plan(around: Surroundings) -> ExitCode:
    """Print the graph or the plan.

    Raises:
        UserError: the model can't be used, or the graph's file is wrong.
    """
    around.tell_notes(to_users=True)
    options = around.options
    request = clean_request(" ".join(options.request)) if options.request else ""
    if isinstance(options.graph, Path):
        graph = load_graph(options.graph, roles_of(around.profile.team))
        return _tell(Planned(Chosen(ActionChosen("graph", "the file says so"), graph)), around)
    if not request:
        options.parser.error("give a request, or a graph: --graph FILE.yaml")
    if asks_for_help(request):
        return around.complaints.fail(NOTHING_TO_PLAN, ExitCode.BAD_USAGE)
    # Chosen before the event loop starts: Ctrl-C ends a wait for the keyring at once here.
    return around.run(_plan(request, chosen_model(around, options.model), around))


async def _plan(request: str, model: ModelManager, around: Surroundings) -> ExitCode:
    mode: GraphMode = around.options.graph or around.profile.strategy.graph
    profile = around.profile.with_strategy(graph=mode)
    async with conversing(around, model, profile) as conversation:
        done = await planned(conversation, request, mode)
    return _tell(done, around)


def _tell(done: Planned, around: Surroundings) -> ExitCode:
    """The graph or the plan to stdout, as it is wanted; why it is so to stderr."""
    graph, options = done.chosen.graph, around.options
    if graph is None and done.source is None:
        return around.complaints.fail(done.message, done.exit_code)
    what = "one plan" if graph is None else counted(len(graph.ids), "subtask")
    around.remark("plan", f"{what}: {done.why}" if done.why else what)
    if options.json:
        around.print_json(_document(done))
        return ExitCode.ANSWERED
    if graph is None and (options.yaml or options.mermaid):
        return around.complaints.fail(ONE_PLAN, ExitCode.NO_ANSWER)
    if graph is None:
        around.print((done.source or "").strip())
    else:
        form = graph_yaml if options.yaml else graph_mermaid if options.mermaid else graph_text
        around.print(form(graph).rstrip("\n"))
    return ExitCode.ANSWERED


def _document(done: Planned) -> JsonObject:
    graph = done.chosen.graph
    return {
        "action": "plan" if graph is None else "graph",
        "reason": done.chosen.action.reason,
        "plan": done.source,
        "graph": None if graph is None else plain_json(graph),
        "notes": [*done.chosen.notes],
    }
