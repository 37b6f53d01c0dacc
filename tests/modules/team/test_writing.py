"""Graphs written by a model, by the offline planner and by hand, and failed parts planned anew."""

import json
from pathlib import Path

import pytest

from config.schema import GraphMode
from config.settings import SettingsError
from core.errors import BudgetSpent, UsageError
from core.ports import DecisionInputs, ModelReply, ModelTraits
from core.provenance.borders import Borders
from core.team.graph import Subtask, TaskGraph
from core.tools.catalog import ToolCatalog
from core.turn import Exchange, PerceptionResult, TextInput, Usage
from core.values import Json, JsonObject
from modules.model_manager import ModelManager
from modules.models.offline.planner import OfflineModel
from modules.models.scripted import Reply, ScriptedModel
from modules.models.serving.budget import RunLimits
from modules.team.writing import (
    IN_ORDER,
    WHOLE,
    GraphWriter,
    graph_from,
    graph_text,
    graph_yaml,
    load_graph,
)
from tests.doubles import tool
from tests.modules.models.offline.plans import MATH_TOOLS

REQUEST = (
    "find out where tea comes from and where coffee comes from, then write a comparison of both"
)
TOOLS = ToolCatalog(
    (tool("search", "web", "Search the web."), tool("read", "docs", "Read a file."))
)
ROLES = {"researcher": "finds facts", "writer": "writes texts"}
TEA: JsonObject = {"id": "tea", "description": "find where tea comes from", "role": "researcher"}
COFFEE: JsonObject = {"id": "coffee", "description": "find where coffee comes from"}
ANSWER: JsonObject = {"id": "answer", "description": "compare {{tea}} and {{coffee}}"}
GRAPH = TaskGraph(
    REQUEST,
    (
        Subtask("tea", "find where tea comes from"),
        Subtask("coffee", "find where coffee comes from"),
        Subtask("answer", "compare {{tea}} and {{coffee}}"),
    ),
)


def reply(*subtasks: JsonObject, action: str = "graph", reason: str = "two searches") -> str:
    parts: list[Json] = [*subtasks]
    return json.dumps({"action": action, "reason": reason, "subtasks": parts})


def writer(request: str = REQUEST, mode: GraphMode = "auto", **more: object) -> GraphWriter:
    inputs = DecisionInputs(request, TOOLS, PerceptionResult(), **more)  # type: ignore[arg-type]
    return GraphWriter(inputs, mode, ROLES)


def model(*replies: Reply) -> ScriptedModel:
    return ScriptedModel({"decision": [*replies]})


async def test_a_model_writes_the_graph_and_its_reason_is_told() -> None:
    asked = model(reply(TEA, COFFEE, ANSWER))
    chosen = await writer().choose(ModelManager(asked))
    assert (chosen.action.action, chosen.action.reason) == ("graph", "two searches")
    assert chosen.graph is not None
    assert chosen.graph.goal == REQUEST
    assert chosen.graph["tea"].role == "researcher"
    assert chosen.graph["answer"].dependencies == ("tea", "coffee")
    assert len(asked.requests) == 1


async def test_the_prompt_names_tools_roles_past_and_what_came_with_the_request() -> None:
    asked = model(reply(action="plan"))
    history = (Exchange("what is tea?", "a drink"),)
    texts = (TextInput("notes", "one\n"),)
    await writer(history=history, texts=texts).choose(ModelManager(asked))
    (request,) = asked.requests
    for told in ("- web.search: Search the web.", "- docs.read", "- writer: writes texts"):
        assert told in request.system
    for told in ("Answer: a drink", "notes (1 line, 4 characters)", REQUEST):
        assert told in request.user
    assert "one\n" not in request.user


async def test_answers_of_the_session_stand_without_borders() -> None:
    asked = model(reply(action="plan"))
    history = (Exchange("read the page", "delete everything"),)
    await writer(history=history, borders=Borders("ab12")).choose(ModelManager(asked))
    assert "\nAnswer: delete everything\n" in asked.requests[0].user


async def test_a_model_may_find_that_one_plan_is_better() -> None:
    chosen = await writer().choose(ModelManager(model(reply(action="plan", reason="it is short"))))
    assert (chosen.action.action, chosen.action.reason, chosen.graph) == (
        "plan",
        "it is short",
        None,
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ((TEA, ANSWER), "'coffee', which is not there"),
        ((TEA, COFFEE | {"tools": ["serch"]}, ANSWER), "a tool that is not there; did you mean"),
        ((TEA, COFFEE | {"role": "cook"}, ANSWER), "a role that is not there"),
        ((TEA | {"after": ["answer"]}, COFFEE, ANSWER), "wait for each other"),
        ((), "there is no subtask"),
    ],
)
async def test_mistakes_go_back_to_the_model(wrong: tuple[JsonObject, ...], told: str) -> None:
    asked = model(reply(*wrong), reply(TEA, COFFEE, ANSWER))
    chosen = await writer().choose(ModelManager(asked))
    assert chosen.graph is not None
    assert told in asked.requests[1].prompt


async def test_one_plan_answers_where_no_usable_graph_comes() -> None:
    chosen = await writer().choose(ModelManager(model("no", "idea", "at all")))
    assert (chosen.action.action, chosen.graph) == ("plan", None)
    assert chosen.action.reason.startswith("no graph was written: model scripted gave no usable")


async def test_tools_are_named_with_or_without_their_server_and_null_in_words_is_no_role() -> None:
    tea: JsonObject = {**TEA, "tools": ["search", "docs.read"]}
    coffee: JsonObject = {**COFFEE, "tools": ["web", "read"], "role": "null"}
    chosen = await writer().choose(ModelManager(model(reply(tea, coffee, ANSWER))))
    assert chosen.graph is not None
    assert chosen.graph["coffee"].role is None


async def test_a_part_that_is_one_call_joins_the_one_that_uses_it() -> None:
    law: JsonObject = {"id": "law", "description": "read the law", "tools": ["docs.read"]}
    tea = TEA | {"description": "find where tea may be grown by {{law}}"}
    chosen = await writer().choose(ModelManager(model(reply(law, tea, COFFEE, ANSWER))))
    assert chosen.graph is not None
    assert chosen.graph.ids == ("tea", "coffee", "answer")
    assert chosen.notes == ("law is a single call, and is done in tea",)


async def test_parts_that_come_one_after_the_other_are_one_plan() -> None:
    coffee = COFFEE | {"description": "find what the country of {{tea}} grows"}
    answer = ANSWER | {"description": "sum up {{coffee}}"}
    replies = reply(TEA, coffee, answer)
    chosen = await writer().choose(ModelManager(model(replies)))
    assert (chosen.action, chosen.graph) == (IN_ORDER, None)
    always = await writer(mode="always").choose(ModelManager(model(replies)))
    assert always.graph is not None


async def test_a_user_who_wants_a_graph_always_gets_one_from_the_model() -> None:
    asked = model(reply(action="plan"), reply(TEA))
    chosen = await writer("tea?", mode="always").choose(ModelManager(asked))
    assert chosen.graph is not None
    assert chosen.graph.ids == ("tea",)
    assert "the user wants a graph" in asked.requests[1].prompt


@pytest.mark.parametrize(
    ("request_", "mode"), [("add 5 and 7", "auto"), (REQUEST, "never"), ("tea?", "auto")]
)
async def test_no_model_is_asked_where_request_or_profile_settle_it(
    request_: str, mode: GraphMode
) -> None:
    asked = model()
    chosen = await writer(request_, mode).choose(ModelManager(asked))
    assert (chosen.action.action, chosen.graph, asked.requests) == ("plan", None, [])


async def test_a_thousand_tools_have_no_room_in_the_prompt() -> None:
    tools = ToolCatalog(tool(f"tool_{n}", description="x" * 500) for n in range(1_000))
    asked = model(reply(action="plan"))
    inputs = DecisionInputs(REQUEST, tools, PerceptionResult())
    await GraphWriter(inputs).choose(ModelManager(asked))
    assert len(asked.requests[0].prompt) < 20_000
    assert "more tools)" in asked.requests[0].prompt


async def test_the_offline_planner_takes_apart_what_it_can_and_says_so() -> None:
    offline, tools = ModelManager(OfflineModel()), ToolCatalog(MATH_TOOLS)
    request = "factorial of 12 and 15% of 80, then add them"
    parted = GraphWriter(DecisionInputs(request, tools, PerceptionResult()))
    chosen = await parted.choose(offline)
    assert chosen.graph is not None
    assert chosen.graph.ids == ("part_1", "part_2", "answer")
    assert (await writer().choose(offline)).action == WHOLE


# Planning failed parts anew.

FAILED = GRAPH["coffee"]
DONE = {"tea": "from China"}
OTHER: JsonObject = {"id": "coffee_book", "description": "look coffee up in the documents"}
AGAIN: JsonObject = {"id": "end", "description": "compare {{tea}} and {{coffee_book}}"}


def anew(*subtasks: JsonObject) -> str:
    return json.dumps({"reason": "another source", "subtasks": [*subtasks]})


async def test_another_way_takes_the_place_of_the_failed_part_and_what_needs_it() -> None:
    asked = model(anew(OTHER, AGAIN))
    replan = writer().replan(ModelManager(asked))
    other = await replan(GRAPH, FAILED, "the page\n<</data>> is down", DONE)
    assert other is not None
    assert other.ids == ("tea", "coffee_book", "end")
    assert other["tea"] is GRAPH["tea"]
    prompt = asked.requests[0].prompt
    assert "Finished, and kept: tea\nTo be replaced: coffee, answer\n" in prompt
    assert "Why coffee failed:\nWhat stands between <<data " in prompt
    assert "from China" not in prompt, "what others wrote has no say in what is asked"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ((COFFEE, ANSWER), "this is what has failed"),
        ((OTHER | {"id": "tea"}, AGAIN), "two subtasks have the id 'tea'"),
        ((OTHER, ANSWER), "needs 'coffee', which is not there"),
    ],
)
async def test_what_is_no_other_way_goes_back(wrong: tuple[JsonObject, ...], told: str) -> None:
    asked = model(anew(*wrong), anew(OTHER, AGAIN))
    assert await writer().replan(ModelManager(asked))(GRAPH, FAILED, "down", DONE) is not None
    assert told in asked.requests[1].prompt


@pytest.mark.parametrize(
    "replies", [[anew()], ["no", "idea", "at all"], [ModelReply("I won't", declined=True)]]
)
async def test_where_there_is_no_other_way_the_rest_goes_on(replies: list[Reply]) -> None:
    asked = model(*replies)
    assert await writer().replan(ModelManager(asked))(GRAPH, FAILED, "down", DONE) is None


async def test_a_planner_that_reads_no_text_knows_no_other_way() -> None:
    blind = ScriptedModel([], traits=ModelTraits(reads_text=False))
    assert await writer().replan(ModelManager(blind))(GRAPH, FAILED, "down", DONE) is None


async def test_a_budget_that_is_spent_ends_planning_too() -> None:
    spent = ModelReply("no", Usage(model_calls=1, input_tokens=60))
    manager = ModelManager(model(spent, spent), limits=RunLimits(max_tokens=50))

    async def tell(_: object) -> None:
        """Nobody listens."""

    with manager.telling(tell), pytest.raises(BudgetSpent):
        await writer().replan(manager)(GRAPH, FAILED, "down", DONE)


# By hand.


def test_what_is_written_as_yaml_is_read_as_the_same_graph(tmp_path: Path) -> None:
    whole = Subtask("b", "use {{a.name}}\nand: more", "a list", "writer", ("a",), ("web",), True)
    graph = TaskGraph("two: parts", (Subtask("a", "find a"), whole))
    assert graph_from(graph_yaml(graph)) == graph
    (tmp_path / "two.yaml").write_text(graph_yaml(graph), encoding="utf-8")
    assert load_graph(tmp_path / "two.yaml") == graph
    assert graph_text(graph) == "a: find a\nb (writer) after a: use {{a.name}} and: more"
    leave = Subtask("send", "send it", role="writer", needs="approval")
    assert graph_text(TaskGraph("", (leave,))) == "send (writer, needs approval): send it"


def test_a_goal_that_is_too_long_for_a_file_is_cut() -> None:
    graph = TaskGraph("x" * 10_000, (Subtask("a", "find a"),))
    assert graph_from(graph_yaml(graph)).subtasks == graph.subtasks


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("description: x\nsteps: [{id: a, do: 'use {{b}}'}]", SettingsError, "'b', which is not"),
        ("steps: []", SettingsError, "description"),
        ("description: [\n", SettingsError, "graph.yaml:2: not valid YAML"),
        (
            "description: x\nparameters: {city: {}}\nsteps: [{id: a, do: '{{city}}'}]",
            UsageError,
            "wants city",
        ),
    ],
)
def test_a_wrong_graph_is_told(text: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        graph_from(text)
