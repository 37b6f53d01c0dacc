"""Requests in parts, through a whole conversation: each subtask is a run of its own."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from config.schema import AgentProfile, BudgetsSection, RoleEntry, SecuritySection, TeamSection
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.dispatch.known_tools import ToolCache
from core.errors import SpentBudget, UsageError
from core.events import (
    ActionChosen,
    Answered,
    Emit,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    ModelAsked,
    ModelWriting,
    Notice,
    RoleChosen,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallProgress,
    ToolCallRefused,
)
from core.ports import AskUser, ModelReply, ModelRequest, ModelTraits
from core.run.execution import begin, working
from core.session import MultiMCP
from core.team.graph import Subtask, TaskGraph
from core.tools.spec import ToolSpec
from core.turn import ModelPurpose, RunOutcome, Usage
from core.values import JsonObject
from modules.conversation import Conversation
from modules.memory.statistics import memory_statistics
from modules.model_manager import ModelManager
from modules.models.scripted import PacedReply, Reply, ScriptedModel
from modules.models.serving.budget import RunLimits
from modules.sandbox import Sandbox
from modules.session.kept import KeptSessions
from modules.team.entry import TeamEntry
from modules.team.needs import AskPerson
from modules.trace.decisions import board_of, decisions_of
from modules.trace.spans import runs_of
from tests.core.dispatch.fixture_servers import server
from tests.doubles import profile

FIRST = Subtask("first", "find the first fact")
SECOND = Subtask("second", "find the second fact")
BOTH = Subtask("both", "say what {{first}} and {{second}} have in common", expected="one sentence")
GRAPH = TaskGraph("compare two facts", (FIRST, SECOND, BOTH))

Answer = str | ModelReply | PacedReply


def plan(body: str) -> str:
    return f"async def solve():\n    {body}"


def answer(text: str) -> str:
    return plan(f"return {'FINAL_ANSWER: ' + text!r}")


ENOUGH = '{"verdict": "satisfied", "reason": "all is there", "missing": []}'


class Played:
    """A conversation whose model answers by what is asked, and the events of its runs."""

    def __init__(
        self,
        folder: Path,
        replies: Callable[[str], str | ModelReply],
        *,
        calls: int = 20,
        limits: RunLimits | None = None,
        paced: Sequence[Answer] = (),
        servers: MultiMCP | None = None,
        security: SecuritySection | None = None,
        person: AskPerson | None = None,
        home: Path | None = None,
        team: TeamSection | None = None,
        others: Mapping[str, ScriptedModel] | None = None,
        ruling: str = "",
        judged: Sequence[str] = (ENOUGH,),
        budgets: BudgetsSection | None = None,
        base: AgentProfile | None = None,
        ask_user: AskUser | None = None,
        traits: ModelTraits | None = None,
    ) -> None:
        def reply(request: ModelRequest) -> str | ModelReply:
            return replies(request.prompt)

        self.others = others or {}
        self.events: list[Event] = []
        self.completed = asyncio.Event()
        self.heard: Emit | None = None
        text = [*([ruling] if ruling else []), *judged]
        queues: Mapping[ModelPurpose, Sequence[Reply]] = {
            "decision": [*paced, *([reply] * calls)],
            "text": text,
        }
        self.model = ScriptedModel(queues, traits=traits)
        self.talk = Conversation(
            (base or profile()).model_copy(
                update={
                    "team": team or TeamSection(),
                    "budgets": budgets or BudgetsSection(),
                    "security": security or SecuritySection(),
                }
            ),
            Places(ROOT, folder),
            ModelManager(self.model, limits=limits or RunLimits()),
            servers or MultiMCP([server("able")]),
            Sandbox(),
            self._hear,
            team=TeamEntry(self._chosen, person, home),
            ask_user=ask_user,
        )

    def _chosen(self, name: str) -> ModelManager:
        if name not in self.others:
            raise UsageError(f"there is no model '{name}'")
        return ModelManager(self.others[name])

    async def _hear(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, SubtaskChanged) and event.state == "completed":
            self.completed.set()
        if self.heard is not None:
            await self.heard(event)

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def inner(self) -> list[Event]:
        """The events of the parts."""
        return [event.event for event in self.events if isinstance(event, SubtaskEvent)]

    async def ask(self, graph: TaskGraph = GRAPH) -> RunOutcome:
        async with self.talk:
            return await self.talk.ask(graph.goal, graph=graph)


def by_words(**replies: str) -> Callable[[str], str]:
    """The reply whose name (with spaces) stands last in the prompt, where the request does."""

    def reply(prompt: str) -> str:
        places = {name: prompt.rfind(name.replace("_", " ")) for name in replies}
        return replies[max(places, key=places.__getitem__)]

    return reply


FACT = plan("""return 'FINAL_ANSWER: {"roof": {"colour": "%s"}}'""")


async def test_a_team_s_board_is_kept_with_the_session_and_tells_who_contradicts(
    tmp_path: Path,
) -> None:
    two = TaskGraph("tell of the roof", (FIRST, SECOND))
    replies = by_words(first_fact=FACT % "red", second_fact=FACT % "blue")
    nobody = '{"best": 0, "reason": "both may be"}'
    await (played := Played(tmp_path, replies, ruling=nobody)).ask(two)
    items = await played.talk.session.load()
    board = {(each.topic, each.key): each for each in board_of(items)}
    assert board["mission", "request"].value == "tell of the roof"
    assert board["progress", "second"].value == "completed"
    assert board["facts", "roof.colour"].value in ("red", "blue")
    told = board["blockers", "facts.roof.colour"].value
    assert told.startswith("nobody can say which is right: «")
    assert {"red", "blue"} <= {*re.findall(r"\w+", told)}
    messages = [event.message.kind for event in played.events if isinstance(event, MessageSent)]
    assert sorted(messages) == ["result", "result", "task", "task"]
    assert [run.request for run in decisions_of(items)] == ["tell of the roof"]


async def test_a_contradiction_is_told_to_the_parts_that_follow_and_with_the_answer(
    tmp_path: Path,
) -> None:
    end = Subtask("end", "describe the roof by {{first}} and {{second}}")
    replies = by_words(
        first_fact=FACT % "red",
        second_fact=FACT % "blue",
        describe_the_roof=answer("It is red."),
    )
    ruling = '{"best": 1, "reason": "it looked"}'
    played = Played(tmp_path, replies, ruling=ruling)
    graph = TaskGraph("tell of the roof", (FIRST, SECOND, end))
    outcome = await played.ask(graph)
    told = "the reviewer says so"
    asked = [each.prompt for each in played.model.requests if "describe the roof" in each.prompt]
    assert "With the request came contradictions (" in asked[0]
    assert told in asked[0]
    assert outcome.answer is not None
    assert told in outcome.answer
    assert outcome.graph is not None
    assert told in outcome.graph.notes["roof.colour"]
    (notice,) = [e.text for e in played.events if isinstance(e, Notice) and e.source == "team"]
    assert notice.startswith("workers disagree about roof.colour: «")


async def test_a_contradiction_that_no_reviewer_decides_is_asked(tmp_path: Path) -> None:
    asked = list[str]()

    async def ask(question: str) -> str:
        asked.append(question)
        return "2"

    replies = by_words(first_fact=FACT % "red", second_fact=FACT % "blue")
    nobody = '{"best": 0, "reason": "both may be"}'
    played = Played(tmp_path, replies, ruling=nobody, ask_user=ask)
    outcome = await played.ask(TaskGraph("tell of the roof", (FIRST, SECOND)))
    (question,) = asked
    assert question.startswith("Workers disagree about roof.colour; which number is right?")
    assert outcome.graph is not None
    assert outcome.graph.notes["roof.colour"].endswith("the user says so")


JOINED = plan('return f"FINAL_ANSWER: {first} meets {second}"')


async def test_parts_run_and_what_they_give_is_a_variable_of_the_part_that_needs_it(
    tmp_path: Path,
) -> None:
    replies = by_words(first_fact=answer("one"), second_fact=answer("two"), common=JOINED)
    played = Played(tmp_path, replies, calls=3)
    outcome = await played.ask()
    assert (outcome.status, outcome.answer) == ("done", "one meets two")
    assert outcome.graph is not None
    assert outcome.graph.is_complete
    assert outcome.usage.model_calls == 4, "three plans and the judgement"
    assert [step.number for step in outcome.steps] == [1, 1, 1]
    assert isinstance(played.events[0], RunStarted)
    assert [type(event) for event in played.events[1:3]] == [ActionChosen, GraphPlanned]
    assert [type(event) for event in played.events[-2:]] == [Answered, RunFinished]
    told = played.of(SubtaskEvent)
    assert {event.subtask for event in told if isinstance(event, SubtaskEvent)} == {*GRAPH.ids}
    assert "The result should be: one sentence" in played.model.requests[-2].prompt


async def test_a_part_that_only_comes_after_others_is_told_of_their_results(
    tmp_path: Path,
) -> None:
    end = Subtask("end", "write a report about both", after=("first", "second"))
    replies = by_words(first_fact=answer("12"), second_fact=answer("two"), about_both=answer("x"))
    played = Played(tmp_path, replies)
    outcome = await played.ask(TaskGraph("compare", (FIRST, SECOND, end)))
    assert outcome.answer == "x"
    asked = played.model.requests[2].prompt
    assert "report about both\n\nResults of what came before: first = 12, second." in asked
    assert ">>\ntwo\n<<" in asked


async def test_a_part_is_told_nothing_of_parts_that_it_does_not_need(tmp_path: Path) -> None:
    replies = by_words(first_fact=answer("pear"), second_fact=answer("plum"), common=JOINED)
    played = Played(tmp_path, replies)
    await played.ask()
    prompts = [request.prompt for request in played.model.requests]
    assert all("pear" not in prompt and "plum" not in prompt for prompt in prompts[:2])
    assert "pear" in prompts[2]
    assert "plum" in prompts[2]


async def test_a_part_that_failed_is_told_why_when_it_is_tried_again(tmp_path: Path) -> None:
    def replies(prompt: str) -> str:
        return answer("mended") if "earlier_failure" in prompt else plan("return nothing")

    graph = TaskGraph("one", (FIRST,))
    outcome = await Played(tmp_path, replies, calls=30).ask(graph)
    assert outcome.answer == "mended"


async def test_a_part_that_fails_leaves_the_best_that_was_found(tmp_path: Path) -> None:
    replies = by_words(first_fact=answer("one"), second_fact=plan("return nothing"), common=JOINED)
    outcome = await Played(tmp_path, replies, calls=40).ask()
    assert (outcome.status, outcome.answer) == ("no_answer", None)
    assert "second: " in outcome.message
    assert "1 part of 3 finished; first gave: one" in outcome.message
    assert outcome.graph is not None
    assert outcome.graph.states == {"first": "completed", "second": "failed", "both": "blocked"}


async def test_after_a_failure_another_role_tries_also_with_a_model_that_plans_the_same_again(
    tmp_path: Path,
) -> None:
    def replies(prompt: str) -> str:
        return plan("return nothing") if "a team's ann" in prompt else answer("42")

    ann = RoleEntry(purpose="Knows the first fact to find.")
    same = ModelTraits(deterministic=True)
    played = Played(tmp_path, replies, team=TeamSection(roles={"ann": ann}), traits=same)
    outcome = await played.ask(TaskGraph("one", (FIRST,)))
    assert outcome.answer == "42"
    assert outcome.graph is not None
    assert outcome.graph.roles == {"first": "ann, generalist"}
    assert played.of(RoleChosen)[1:] == [RoleChosen("first", "generalist", "ann failed at it")]


async def test_that_there_is_no_answer_is_said_once_also_where_a_part_said_it(
    tmp_path: Path,
) -> None:
    graph = TaskGraph("why", (Subtask("a", "first fact"),))
    replies = by_words(first_fact=plan("return nothing"))
    outcome = await Played(tmp_path, replies, calls=40).ask(graph)
    assert outcome.status == "no_answer"
    assert outcome.message.count("No answer: ") == 1
    assert outcome.message.startswith("No answer: a: ")


async def test_several_results_that_nobody_needs_are_all_the_answer(tmp_path: Path) -> None:
    replies = by_words(first_fact=answer("one"), second_fact=answer("two"))
    outcome = await Played(tmp_path, replies).ask(TaskGraph("two facts", (FIRST, SECOND)))
    assert outcome.answer == "**first**\n\none\n\n**second**\n\ntwo"


async def test_an_interruption_ends_all_parts_and_keeps_what_is_done(tmp_path: Path) -> None:
    never = PacedReply(ModelReply(answer("late")), after=3_000)
    played = Played(tmp_path, by_words(first_fact=answer("one")), paced=[answer("one"), never])
    async with played.talk:
        asked = asyncio.create_task(played.talk.ask(GRAPH.goal, graph=GRAPH))
        await asyncio.wait_for(played.completed.wait(), 20)
        assert played.talk.interrupt()
        outcome = await asked
    assert (outcome.status, outcome.answer) == ("interrupted", None)
    assert outcome.graph is not None
    assert outcome.graph.states["both"] == "cancelled"
    assert [*outcome.graph.results.values()] == ["one"]


async def test_what_a_part_was_writing_when_it_was_interrupted_is_told_and_kept_as_unfinished(
    tmp_path: Path,
) -> None:
    long = PacedReply(ModelReply(answer("It is a wallaby" + " and so on" * 1_000)), seconds=300)
    replies = by_words(first_fact=answer("one"))
    played, interrupted = Played(tmp_path, replies, paced=[answer("one"), long]), asyncio.Event()

    async def watch(event: Event) -> None:
        inner = event.event if isinstance(event, SubtaskEvent) else event
        if isinstance(inner, ModelWriting) and "wallaby" in inner.text:
            interrupted.set()
            played.talk.interrupt()

    played.heard = watch
    row = TaskGraph("in a row", (FIRST, Subtask("next", "then that", after=("first",))))
    async with asyncio.timeout(20), played.talk:
        outcome = await played.talk.ask(row.goal, graph=row)
        items = await played.talk.session.load()
    assert interrupted.is_set()
    assert outcome.status == "interrupted"
    assert "1 part of 2 finished; first gave: one" in outcome.message
    _, _, unfinished = outcome.message.partition("\n\nUnfinished, as far as it was written:\n\n")
    assert unfinished.startswith("**next**\n\nIt is a wallaby")
    assert items[-1].metadata["message"] == outcome.message


async def test_all_parts_pay_from_one_budget(tmp_path: Path) -> None:
    def replies(_: str) -> ModelReply:
        return ModelReply(answer("one"), Usage(model_calls=1, input_tokens=60_000))

    graph = TaskGraph("in a row", (FIRST, Subtask("next", "then that", after=("first",)),
                                   Subtask("last", "at the end", after=("next",))))  # fmt: skip
    played = Played(tmp_path, replies, limits=RunLimits(max_tokens=100_000))
    outcome = await played.ask(graph)
    assert outcome.status == "no_answer"
    assert outcome.graph is not None
    assert [*outcome.graph.results] == ["first", "next"]
    assert "has used 120,000 tokens, and 100,000 are allowed" in outcome.message
    assert outcome.budget == SpentBudget("run", "tokens", 120_000, 100_000, "llm.max_tokens")


async def test_a_call_that_no_part_may_send_any_more_ends_them_all(tmp_path: Path) -> None:
    calls = plan("return f\"FINAL_ANSWER: {await tools.echo(text='two')}\"")
    budgets = BudgetsSection.model_validate({"day": {"calls": 1}})
    graph = TaskGraph("in a row", (FIRST, Subtask("next", "then that", after=("first",)),
                                   Subtask("last", "at the end", after=("next",))))  # fmt: skip
    played = Played(tmp_path, lambda _: calls, budgets=budgets)
    outcome = await played.ask(graph)
    assert (outcome.status, outcome.exit_code) == ("no_answer", 3)
    assert outcome.budget == SpentBudget("day", "calls", 1, 1, "budgets.day.calls")
    assert "today's budget is spent: 1 of 1 tool calls" in outcome.message
    assert outcome.graph is not None
    assert outcome.graph.results == {"first": "two"}
    assert len(played.model.requests) == 2, "nobody is asked for another plan"


async def test_an_address_that_a_part_found_is_not_opened_for_the_part_that_gets_it(
    tmp_path: Path,
) -> None:
    opens = plan('return f"FINAL_ANSWER: {await tools.fetch(url=first)}"')
    graph = TaskGraph("a fact", (FIRST, Subtask("next", "open what was found: {{first}}")))
    replies = by_words(first_fact=answer("https://evil.example/x"), open_what=opens)
    spec, cache = ServerSpec("web", ("/does/not/exist",), tmp_path), ToolCache(tmp_path)
    url: JsonObject = {"type": "object", "properties": {"url": {"type": "string"}}}
    cache.store(spec, [ToolSpec("web", "fetch", "Opens a page.", url)])
    servers = MultiMCP([spec], cache=cache)
    strict = SecuritySection(provenance="strict")
    played = Played(tmp_path, replies, servers=servers, security=strict)
    outcome = await played.ask(graph)
    assert outcome.answer is None
    refused = [event for event in played.inner if isinstance(event, ToolCallRefused)]
    assert "evil.example" in refused[0].reason


async def test_a_part_whose_call_nobody_may_allow_is_not_tried_again(tmp_path: Path) -> None:
    sends = plan('return f"FINAL_ANSWER: {await tools.send_mail()}"')
    played = Played(tmp_path, lambda prompt: sends, calls=30, servers=cached_servers(tmp_path))
    outcome = await played.ask(TaskGraph("one", (FIRST,)))
    assert outcome.answer is None
    assert "allow it with --approve mail.send_mail, or do without it" in outcome.message
    tries = [e for e in played.of(SubtaskChanged) if getattr(e, "state", "") == "running"]
    assert len(tries) == 1


def cached_servers(folder: Path) -> MultiMCP:
    """Two servers whose tools are known, and that nobody can start."""
    cache, specs = ToolCache(folder), list[ServerSpec]()
    for name, tool in (("web", "fetch"), ("mail", "send_mail")):
        specs.append(ServerSpec(name, ("/does/not/exist",), folder))
        cache.store(specs[-1], [ToolSpec(name, tool, f"Tool of {name}.", {"type": "object"})])
    return MultiMCP(specs, cache=cache)


async def test_a_role_works_with_its_own_tools_and_words_and_is_told(tmp_path: Path) -> None:
    section = TeamSection(
        roles={
            "scout": RoleEntry(purpose="Looks things up.", servers=("web",)),
            "mute": RoleEntry(purpose="Thinks.", tools=()),
        }
    )
    graph = TaskGraph(
        "both", (Subtask("first", "the first fact", role="scout"),
                 Subtask("second", "the second fact", role="mute", after=("first",)),
                 Subtask("third", "the third fact", after=("second",)))
    )  # fmt: skip
    replies = by_words(first_fact=answer("1"), second_fact=answer("2"), third_fact=answer("3"))
    played = Played(tmp_path, replies, servers=cached_servers(tmp_path), team=section)
    outcome = await played.ask(graph)
    assert outcome.answer == "3"
    scout, mute, whole, _ = (request.prompt for request in played.model.requests)
    assert "You are a team's scout. Looks things up." in scout
    assert "fetch(" in scout
    assert "send_mail(" not in scout
    assert "fetch(" not in mute
    assert "of a team" not in whole
    assert "fetch(" in whole
    assert "send_mail(" in whole
    assert played.of(RoleChosen) == [
        RoleChosen("first", "scout", "the subtask names it"),
        RoleChosen("second", "mute", "the subtask names it"),
        RoleChosen("third", "generalist", "no other role fits"),
    ]
    assert outcome.graph is not None
    assert outcome.graph.roles == {"first": "scout", "second": "mute", "third": "generalist"}
    sent = [event.message for event in played.of(MessageSent) if isinstance(event, MessageSent)]
    assert [(m.kind, m.correlation) for m in sent[:3]] == [
        ("task", "first"), ("result", "first"), ("task", "second"),
    ]  # fmt: skip


async def test_a_graph_that_the_team_can_not_do_is_not_begun(tmp_path: Path) -> None:
    played = Played(tmp_path, by_words(), servers=cached_servers(tmp_path))
    wrong = Subtask("first", "send it", role="writer", tools=("send_mail",))
    with pytest.raises(UsageError, match="no role can do it: writer, which it names, may not use"):
        await played.ask(TaskGraph("one", (wrong,)))
    assert not played.model.requests


async def test_a_committee_votes_and_the_answer_says_who_disagrees(tmp_path: Path) -> None:
    roles = {name: RoleEntry(purpose="Knows the first fact to find.") for name in ("ann", "bob")}

    def replies(prompt: str) -> str:
        return answer("41") if "a team's bob" in prompt else answer("42")

    section = TeamSection(pattern="committee", roles=roles)
    played = Played(tmp_path, replies, team=section)
    outcome = await played.ask(TaskGraph("one", (FIRST,)))
    assert outcome.answer == "42\n\n(first: coordinator decides: 2 of 3 agree; bob says: 41)"
    assert outcome.graph is not None
    assert outcome.graph.roles == {"first": "ann, bob, generalist"}
    assert outcome.usage.model_calls == 4


async def test_a_committee_s_members_have_names_in_the_trace_and_figures_in_statistics(
    tmp_path: Path,
) -> None:
    roles = {name: RoleEntry(purpose="Knows the first fact to find.") for name in ("ann", "bob")}

    def replies(prompt: str) -> ModelReply:
        body = plan("return nothing") if "a team's bob" in prompt else answer("42")
        return ModelReply(body, Usage(model_calls=1, input_tokens=60))

    section = TeamSection(pattern="committee", roles=roles)
    played = Played(tmp_path, replies, team=section, calls=40)
    await played.ask(TaskGraph("one", (FIRST,)))
    (run,) = runs_of(await played.talk.session.load())
    (part,) = [span for span in run.children if span.kind == "subtask"]
    assert part.name == "first · ann, bob, generalist"
    members = {each.name: each for each in part.children}
    assert {name: each.state for name, each in members.items()} == {
        "ann": "ok",
        "bob": "failed",
        "generalist": "ok",
    }
    plans = sum(each.kind == "plan" for each in members["bob"].children)
    assert members["bob"].tokens == plans * 60
    kept = KeptSessions(played.talk.profile, tmp_path, lambda _stage, text: pytest.fail(text))
    done = {each.role: each for each in memory_statistics(kept, 1).roles}
    assert {name: (each.tries, each.answered) for name, each in done.items()} == {
        "ann": (1, 1),
        "bob": (1, 0),
        "generalist": (1, 1),
    }
    assert (done["ann"].tokens, done["bob"].tokens) == (60, plans * 60)


TWO_PARTS = """{"action": "graph", "reason": "two facts", "subtasks": [
    {"id": "first", "description": "find the first fact"},
    {"id": "second", "description": "find the second fact"}]}"""


async def test_the_request_that_writes_a_graph_is_told_traced_and_counted_at_any_length(
    tmp_path: Path,
) -> None:
    def replies(prompt: str) -> ModelReply:
        writes = "You are the planning step" in prompt
        return ModelReply(TWO_PARTS if writes else answer("1"), Usage(1, 100))

    always = profile().with_strategy(graph="always")
    played = Played(tmp_path, replies, base=always)
    async with played.talk:
        outcome = await played.talk.ask("tea?")
    assert outcome.graph is not None
    assert outcome.usage.model_calls == 4
    kinds = [type(event) for event in played.events]
    assert kinds[:4] == [RunStarted, ModelAsked, ModelAnswered, ActionChosen]
    (run,) = runs_of(await played.talk.session.load())
    asked = [span for span in run.children if span.kind == "model"]
    assert next(span.tokens for span in asked) == 100
    assert run.tokens == 300


async def test_a_committee_that_is_split_asks_the_model_who_is_right(tmp_path: Path) -> None:
    roles = {name: RoleEntry(purpose="Knows the first fact to find.") for name in ("ann", "bob")}

    def replies(prompt: str) -> str:
        return next((answer(name) for name in roles if f"a team's {name}" in prompt), answer("me"))

    section = TeamSection(pattern="committee", roles=roles)
    played = Played(tmp_path, replies, team=section, ruling='{"best": 2, "reason": "sure"}')
    outcome = await played.ask(TaskGraph("one", (FIRST,)))
    assert outcome.answer == (
        "bob\n\n(first: reviewer decides: sure; ann says: ann; generalist says: me)"
    )
    assert outcome.usage.model_calls == 5


async def test_the_limit_of_a_role_ends_its_subtask_and_no_other(tmp_path: Path) -> None:
    def replies(prompt: str) -> ModelReply:
        body = plan("return nothing") if "a team's poor" in prompt else answer("one")
        return ModelReply(body, Usage(model_calls=1, input_tokens=60))

    poor = RoleEntry(purpose="Has little.", max_tokens=100)
    graph = TaskGraph("two", (Subtask("first", "the fact", role="poor"), SECOND))
    played = Played(tmp_path, replies, team=TeamSection(roles={"poor": poor}))
    outcome = await played.ask(graph)
    assert outcome.graph is not None
    assert outcome.graph.states == {"first": "failed", "second": "completed"}
    assert "the role's own limit is reached: 120 tokens" in outcome.graph.reasons["first"]


async def test_a_role_has_a_model_of_its_own_that_is_paid_from_the_same_budget(
    tmp_path: Path,
) -> None:
    own = RoleEntry(purpose="Thinks hard.", model="deep")
    usage = Usage(model_calls=1, input_tokens=90_000)
    deep = ScriptedModel({"decision": [ModelReply(answer("from the deep"), usage)]}, name="deep")
    first = Subtask("first", "the fact", role="thinker")
    graph = TaskGraph("two", (first, Subtask("second", "use {{first}}"), SECOND_AFTER))
    played = Played(
        tmp_path,
        lambda prompt: ModelReply(answer("at last"), Usage(model_calls=1, input_tokens=60_000)),
        team=TeamSection(roles={"thinker": own}),
        others={"deep": deep},
        limits=RunLimits(max_tokens=100_000),
    )
    outcome = await played.ask(graph)
    assert outcome.graph is not None
    assert outcome.graph.results == {"first": "from the deep", "second": "at last"}
    assert "has used 150,000 tokens, and 100,000 are allowed" in outcome.message
    assert outcome.usage.tokens == 150_000
    assert outcome.usage_by_model["deep"].tokens == 90_000


SECOND_AFTER = Subtask("third", "and then", after=("second",))


async def test_a_model_that_can_not_be_had_costs_the_subtask_of_its_role(tmp_path: Path) -> None:
    played = Played(tmp_path, by_words(second_fact=answer("two")), team=TeamSection(
        roles={"thinker": RoleEntry(purpose="Thinks.", model="deap")}
    ))  # fmt: skip
    graph = TaskGraph("two", (Subtask("first", "the fact", role="thinker"), SECOND))
    outcome = await played.ask(graph)
    assert outcome.graph is not None
    assert outcome.graph.states == {"first": "failed", "second": "completed"}
    assert outcome.graph.reasons["first"] == "the model of thinker: there is no model 'deap'"


async def test_an_answer_that_is_judged_to_want_more_is_planned_anew_with_what_is_done(
    tmp_path: Path,
) -> None:
    more = '{"verdict": "need_more", "reason": "half", "missing": ["the price"]}'
    other = """{"reason": "ask for it", "subtasks": [
      {"id": "price", "description": "find the price"},
      {"id": "whole", "description": "say {{first}} and {{price}}"}]}"""
    replies = by_words(
        first_fact=answer("one"),
        second_fact=answer("two"),
        common=JOINED,
        The_JSON_object=other,
        find_the_price=answer("9"),
        first_and=plan('return f"FINAL_ANSWER: {first} costs 9"'),
    )
    played = Played(tmp_path, replies, judged=(more, ENOUGH))
    outcome = await played.ask()
    assert outcome.answer == "one costs 9"
    judged = [event for event in played.events if isinstance(event, Judged)]
    assert [event.verdict for event in judged] == ["need_more", "satisfied"]
    assert outcome.graph is not None
    assert outcome.graph.attempts["first"] == 1
    began = [e.subtask.id for e in played.events
             if isinstance(e, SubtaskChanged) and e.state == "running"]  # fmt: skip
    assert began.count("first") == 1, "what is done is not done again"


NO_WAY = '{"reason": "no way", "subtasks": []}'


@pytest.mark.parametrize(
    ("judged", "verdict", "told"),
    [
        (
            '{"verdict": "need_more", "reason": "half", "missing": ["the price"]}',
            "need_more",
            "No answer: what was found is incomplete: half. Missing: the price.",
        ),
        (
            '{"verdict": "blocked", "reason": "the shop is shut", "missing": []}',
            "blocked",
            "No answer: it can't be had: the shop is shut.",
        ),
    ],
)
async def test_an_answer_that_is_judged_not_to_be_enough_is_told_and_is_no_success(
    tmp_path: Path, judged: str, verdict: str, told: str
) -> None:
    replies = by_words(first_fact=answer("one"), The_JSON_object=NO_WAY)
    played = Played(tmp_path, replies, judged=(judged,))
    outcome = await played.ask(TaskGraph("a fact", (FIRST,)))
    assert (outcome.status, outcome.exit_code, outcome.verdict) == ("no_answer", 3, verdict)
    assert (outcome.answer, outcome.rejected_answer) == (None, "one")
    assert outcome.message == f"{told}\n\nWhat was found:\n\none"
    assert not any(isinstance(event, Answered) for event in played.events)


async def test_an_answer_that_is_judged_to_be_enough_says_so(tmp_path: Path) -> None:
    replies = by_words(first_fact=answer("one"))
    outcome = await Played(tmp_path, replies).ask(TaskGraph("a fact", (FIRST,)))
    assert (outcome.status, outcome.answer, outcome.verdict) == ("done", "one", "satisfied")


KEPT = """description: Finds a fact about a thing.
parameters: {thing: {}}
steps:
  - {id: one, do: "find a fact about {{thing}}"}
  - {id: two, do: "shorten {{one}}"}
"""


async def test_a_plan_calls_a_kept_workflow_whose_parts_pay_from_its_budget(tmp_path: Path) -> None:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "facts.yaml").write_text(KEPT)
    calls = plan("return f\"FINAL_ANSWER: got {await tools.facts(thing='pears')}\"")
    replies = by_words(
        use_the_pears=calls, fact_about_pears=answer("they are green"), shorten=answer("green")
    )
    allowed = SecuritySection(approvals="never")
    played = Played(tmp_path, replies, home=tmp_path, security=allowed)
    async with played.talk:
        outcome = await played.talk.ask("use the pears")
    assert outcome.answer == "got green"
    assert outcome.usage.model_calls >= 3
    progress = [e.message for e in played.events if isinstance(e, ToolCallProgress)]
    assert "two completed" in progress


async def test_a_request_that_names_a_kept_workflow_runs_it(tmp_path: Path) -> None:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "facts.yaml").write_text(KEPT)
    replies = by_words(fact_about_pears=answer("they are green"), shorten=answer("green"))
    played = Played(tmp_path, replies, home=tmp_path)
    async with played.talk:
        outcome = await played.talk.ask("run the workflow facts with thing=pears")
        assert outcome.answer == "green"
        with pytest.raises(UsageError, match="did you mean facts"):
            await played.talk.ask("run the workflow fact")
    assert [e.action for e in played.events if isinstance(e, ActionChosen)] == ["workflow"]


async def test_each_try_of_a_part_is_a_part_of_the_run_s_trace(tmp_path: Path) -> None:
    replies = by_words(first_fact=answer("one"), second_fact=answer("two"), common=JOINED)
    played = Played(tmp_path, replies)
    with working(begin()) as work:
        await played.ask()
    began = [
        event for event in (*played.events[:1], *played.inner) if isinstance(event, RunStarted)
    ]
    assert {event.trace_id for event in began} == {work.trace_id}
    assert began[0].span_id == work.span_id
    assert len({event.span_id for event in began}) == 4
    asked = [event.span_id for event in played.inner if isinstance(event, ModelAsked)]
    answered = [event.span_id for event in played.inner if isinstance(event, ModelAnswered)]
    assert sorted(asked) == sorted(answered)
    assert len({*asked} - {event.span_id for event in began}) == 3
