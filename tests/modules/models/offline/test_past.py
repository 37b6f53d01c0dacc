"""Requests to the long-term memory without a model: which tool is called, with what."""

import pytest

from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.turn import PerceptionResult
from modules.models.offline.past import memory_call
from modules.models.offline.planner import plan
from tests.doubles import tool
from tests.modules.models.offline.plans import MATH_TOOLS

MEMORY = (
    tool("search_memory", "memory", query="string"),
    tool("remember", "memory", text="string"),
    tool("recall", "memory", subject="string"),
    tool("forget", "memory", fact="string"),
)
TOOLS = ToolCatalog([*MATH_TOOLS, *MEMORY])


@pytest.mark.parametrize(
    ("request_text", "name", "arguments"),
    [
        ("remember that I'm vegetarian", "recall", {"subject": "I'm vegetarian"}),
        ("Please remember: my dog is called Rex.", "recall", {"subject": "my dog is called Rex"}),
        ("remember that I'm vegan and my name is Al", "recall", {}),
        ("what do you know about me?", "recall", {}),
        ("what do you know about my diet?", "recall", {"subject": "my diet"}),
        ("forget that I'm vegetarian", "forget", {"fact": "I'm vegetarian"}),
        ("what did I ask about leases last week?", "search_memory", {"query": "leases"}),
        ("search my memory for the lease", "search_memory", {"query": "the lease"}),
        ("when did I ask about the lease?", "search_memory", {"query": "the lease"}),
        ("when did we last talk about otters", "search_memory", {"query": "otters"}),
        ("what did you answer about leases yesterday?", "search_memory", {"query": "leases"}),
        ("what did you find out about otters", "search_memory", {"query": "otters"}),
        ("have I ever asked you about taxes?", "search_memory", {"query": "taxes"}),
        ("did we already talk about the lease", "search_memory", {"query": "the lease"}),
        ("have we spoken about otters?", "search_memory", {"query": "otters"}),
    ],
)
def test_what_is_meant_for_the_memory_calls_its_tool(
    request_text: str, name: str, arguments: dict[str, str]
) -> None:
    call = memory_call(request_text, TOOLS)
    assert call is not None
    assert (call.tool.name, call.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "request_text",
    [
        "add 5 and 7", "what was the first thing I asked?", "what do my documents say of memory?",
        "remember", "remember to call Bob", "forget it", "forget everything", "I like it",
        "I live in Oslo.", "always answer in metric", "how much memory does a plan have?",
        "I live in Oslo, what is 5 + 7?",
        "search the web for memory foam", "what did the report say about leases?",
    ],
)  # fmt: skip
def test_what_is_not_is_left_to_others(request_text: str) -> None:
    assert memory_call(request_text, TOOLS) is None


def test_without_the_server_nothing_is_called() -> None:
    assert memory_call("remember that I'm vegetarian", ToolCatalog(MATH_TOOLS)) is None


DOCUMENTS = tool("search_stored_documents", "documents", query="string")


@pytest.mark.parametrize(
    ("request_text", "subject"),
    [
        ("what is my name?", "name"),
        ("What's my favourite tea?", "favourite tea"),
        ("what car do I have?", "car"),
        ("what car do I drive?", "car"),
        ("what tea do I prefer?", "tea"),
        ("who is my dentist?", "dentist"),
        ("where do I live?", "live"),
        ("when is my birthday?", "birthday"),
    ],
)
def test_a_question_about_the_user_is_answered_from_facts(request_text: str, subject: str) -> None:
    tools = ToolCatalog([*TOOLS, DOCUMENTS])
    source = plan(DecisionInputs(request_text, tools, PerceptionResult()))
    assert f"recall(subject={subject!r})" in source


def test_a_question_about_something_else_is_none_for_the_facts() -> None:
    tools = ToolCatalog([*MATH_TOOLS, *MEMORY, DOCUMENTS])
    for request in ("what is the notice period?", "who wrote Hamlet?"):
        assert "recall" not in plan(DecisionInputs(request, tools, PerceptionResult()))
