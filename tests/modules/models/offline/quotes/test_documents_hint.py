"""A question that names no documents is hinted at them if their index answers it, and only then."""

import asyncio

import pytest

from core.errors import ServerError
from core.mcp.hooks import OnProgress
from core.ports import DecisionInputs, PerceptionInputs
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import PerceptionResult
from core.values import JsonObject
from modules.models.offline.quotes.documents_hint import hint_at_documents
from modules.perception import run_perception
from modules.planning.prompt.decision import NO_TOOL_NEAR, decision_prompt
from tests.doubles import FakeDispatcher, FakeModel, FakeParts, context, profile, text_result
from tests.modules.models.offline.plans import INTEGER, TEXT
from tests.modules.models.offline.quotes.test_document_plans import document_tool

SEARCH = document_tool(
    "search_stored_documents",
    "Search the user's stored documents for passages that answer a question, with sources.",
    query=TEXT,
    top_k=INTEGER,
    mode=TEXT,
)
NAME = SEARCH.qualified_name
ADD = document_tool("add", "Add two numbers.", query=TEXT)
CAPITAL = "What is the capital of France?"
NOTICE = "What is the notice period?"
PROMPT = "prompts/decision_prompt_conservative.txt"


def passage(text: str, place: str = "lease.pdf, page 2") -> ToolResult:
    return text_result(
        f"Note: indexing goes on: 1 of 4 files\n1. {place} (score 1.00)\n{text}\n"
        "[Source: lease.pdf, ID: 15]\n\n2. a.md (score 0.10)\nNothing.\n[Source: a.md, ID: 2]"
    )


FOUND = passage("Three months are the period\nin which notice is to be given.")


async def perceived(
    request: str, found: ToolResult | Exception, model: str = "fake"
) -> tuple[PerceptionResult, list[tuple[str, JsonObject]]]:
    dispatcher = FakeDispatcher([SEARCH, ADD], {NAME: found})
    asked = context(
        FakeParts([], {}), request=request, dispatcher=dispatcher, model=FakeModel(name=model)
    )
    return await run_perception(asked), dispatcher.calls


def closes_without_a_tool(request: str, perception: PerceptionResult) -> bool:
    inputs = DecisionInputs(request, ToolCatalog([ADD]), perception)
    return NO_TOOL_NEAR in decision_prompt(inputs, PROMPT, profile()).text


@pytest.mark.parametrize(
    "found",
    [
        text_result("No passage of the documents fits the question."),
        text_result("There are no documents yet."),
        text_result("search failed", is_error=True),
        passage("The capital of the company is 2,000 euros."),
        ServerError("documents", "documents is down"),
    ],
)
async def test_a_question_that_the_documents_know_nothing_of_is_hinted_nowhere(
    found: ToolResult | Exception,
) -> None:
    perception, _ = await perceived(CAPITAL, found)
    assert perception.tool_hint is None
    assert perception.intent == "ask"
    assert closes_without_a_tool(CAPITAL, perception)


async def test_a_question_that_a_passage_has_the_words_of_is_hinted_at_the_documents() -> None:
    perception, calls = await perceived(NOTICE, FOUND)
    assert (perception.intent, perception.tool_hint) == ("ask_documents", SEARCH.name)
    assert perception.selected_servers == ["documents"]
    assert not closes_without_a_tool(NOTICE, perception)
    assert calls == [
        (NAME, {"input": {"query": "What is the notice period", "top_k": 3, "mode": "words"}})
    ]


async def test_a_word_by_itself_must_say_what_the_passage_is_about() -> None:
    question = "What is the wifi?"
    aside, _ = await perceived(question, passage("The wifi was down."))
    assert aside.tool_hint is None
    about, _ = await perceived(question, passage("Ask Ines.", "a.md, line 3, under House > Wifi"))
    assert about.tool_hint == SEARCH.name


@pytest.mark.parametrize(
    "request_text", ["What do my documents say about the notice period?", "add 5 and 7", "hello"]
)
async def test_the_index_is_asked_about_open_questions_alone(request_text: str) -> None:
    _, calls = await perceived(request_text, FOUND)
    assert calls == []


async def test_a_request_that_names_the_documents_is_hinted_at_them_whatever_they_hold() -> None:
    perception, _ = await perceived("What do my documents say about mice?", passage("Rent."))
    assert perception.tool_hint == SEARCH.name


async def test_offline_no_search_is_made_for_a_hint_that_no_prompt_holds() -> None:
    assert (await perceived(NOTICE, FOUND, model="offline"))[1] == []


async def test_an_index_that_takes_its_time_is_not_waited_for() -> None:
    class Silent(FakeDispatcher):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            return await asyncio.Future[ToolResult]()

    before = PerceptionResult(intent="ask")
    inputs = PerceptionInputs(NOTICE, {}, ToolCatalog([SEARCH]))
    assert await hint_at_documents(before, inputs, Silent([SEARCH], {}), seconds=0.01) == before
