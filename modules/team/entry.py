"""Where a conversation meets its team: what is loaded when a request wants it, and not before."""

from collections.abc import Callable
from pathlib import Path

from config.settings import SettingsError
from core.base.frozen import frozen
from core.context import AgentContext, Parts
from core.errors import UsageError
from core.ports import Dispatcher, RequestRun
from core.team.graph import TaskGraph
from modules.model_manager import ModelManager
from modules.team.choosing import WORTH_A_LOOK_CHARACTERS, choose_action
from modules.team.needs import AskPerson


@frozen
class TeamEntry:
    """What a team has from outside, and the ways to it.

    Attributes:
        model_named: chooses a model that a role names.
        ask_person: puts to the user what a part of a request needs of a person.
        home: CORTEX_HOME; None where no workflows are kept.
    """

    model_named: Callable[[str], ModelManager] | None = None
    ask_person: AskPerson | None = None
    home: Path | None = None

    def named_workflow(self, request: str) -> TaskGraph | None:
        """The graph of the kept workflow that a request names; None if it names none.

        Raises:
            UsageError: there is no such workflow, a value is missing or wrong, or its file is.
        """
        from modules.team.workflow import named_graph

        try:
            return None if self.home is None else named_graph(request, self.home)
        except SettingsError as error:
            raise UsageError(str(error)) from error

    def with_workflows(
        self,
        tools: Dispatcher,
        whole: Callable[[], AgentContext],
        model: ModelManager,
        make_parts: Callable[..., Parts],
    ) -> Dispatcher:
        """The tools with the workflows that the user keeps, which run inside the run of `whole`."""
        from modules.team.composite import with_workflows_inside

        if self.home is None:
            return tools
        team = self.model_named, self.ask_person
        return with_workflows_inside(tools, self.home, team, whole, model, make_parts)

    async def check(self, context: AgentContext, graph: TaskGraph) -> None:
        """Make sure that the team can do the user's graph.

        A tool that nobody knows may be one of a server that was not needed so far.

        Raises:
            UsageError: it can't.
        """
        from modules.team.roles import Team

        team = Team(context.agent_profile.team, context.dispatcher)
        while wrong := team.problems(graph):
            if not await context.dispatcher.learn_more():
                raise UsageError(f"the graph can't run: {'; '.join(wrong)}")

    def run(
        self,
        context: AgentContext,
        model: ModelManager,
        make_parts: Callable[..., Parts],
        graph: TaskGraph | None,
    ) -> RequestRun:
        """A run that may go in parts: by the user's graph, else by one that is written for it."""
        from modules.team.writing import run_in_parts

        return run_in_parts(context, model, make_parts, self.model_named, self.ask_person, graph)


def may_have_parts(context: AgentContext) -> bool:
    """Whether a graph may be written for a request; most are too short for it."""
    request, mode = context.user_input, context.agent_profile.strategy.graph
    if mode == "auto" and len(request) < WORTH_A_LOOK_CHARACTERS:
        return False
    reads_text = context.model.traits.reads_text
    return choose_action(request, mode, reads_text=reads_text).action == "graph"
