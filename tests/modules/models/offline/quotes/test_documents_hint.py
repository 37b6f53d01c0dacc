"""A question that names no documents is hinted at them if their index answers it, and only then."""

import asyncio
from pathlib import Path

import pytest

from core.errors import ServerError
from core.mcp.hooks import OnProgress
from core.ports import DecisionInputs, PerceptionInputs
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import DOCUMENTS_FIT, PerceptionResult
from core.values import JsonObject
from modules.models.offline.quotes.documents_hint import hint_at_documents
from modules.perception import run_perception
from modules.planning.prompt.decision import DOCUMENTS_FIRST, NO_TOOL_NEAR, decision_prompt
from servers.rag.index.index import Index
from servers.rag.index.schema import INDEX_FILE
from tests.doubles import FakeDispatcher, FakeModel, FakeParts, context, profile, text_result
from tests.modules.models.offline.plans import INTEGER, TEXT
from tests.modules.models.offline.quotes.test_document_plans import document_tool
from tests.servers.rag.index.made import FINGERPRINT, put

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
    assert (perception.intent, perception.tool_hint) == (DOCUMENTS_FIT, SEARCH.name)
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


GARDEN = (
    "Giving up a plot: the notice period is six weeks, in writing, to the committee.",
    "Die Kündigungsfrist für eine Parzelle beträgt sechs Wochen.",
    "The gate is locked at dusk from October to March.",
)


async def hinted(folder: Path, request: str) -> tuple[PerceptionResult, list[object]]:
    """With the index in that folder, and a server that knows all; what the server was asked."""
    dispatcher = FakeDispatcher([SEARCH, ADD], {NAME: FOUND})
    asked = context(FakeParts([], {}), request=request, dispatcher=dispatcher)
    perception = await run_perception(asked, index_folder=folder)
    return perception, [*dispatcher.calls]


@pytest.mark.parametrize(
    ("request_text", "fits"),
    [
        ("What is the notice period for giving up a plot?", True),
        ("tell me about the notice period of plots, please", True),
        ("Kündigungsfrist für eine Parzelle?", True),
        ("When is the gate locked?", True),
        ("What is the capital of France?", False),
        ("Who wrote Faust?", False),
        ("Write a haiku about autumn", False),
        ("In what period did dinosaurs give birth to mammals?", False),
        ("x" * 500_000, False),
    ],
)
async def test_an_index_says_itself_whether_it_has_the_words_and_no_server_is_asked(
    request_text: str, fits: bool, tmp_path: Path
) -> None:
    index = Index.open(tmp_path, FINGERPRINT)
    put(index, "garden.md", *GARDEN)
    for number in range(12):
        put(index, f"log-{number}.md", f"Line {number} of a log on other things.")
    index.close()
    perception, calls = await hinted(tmp_path, request_text)
    assert (perception.intent == DOCUMENTS_FIT) is fits
    assert calls == []
    prompt = decision_prompt(
        DecisionInputs(request_text, ToolCatalog([SEARCH, ADD]), perception), PROMPT, profile()
    ).text
    assert (DOCUMENTS_FIRST.format(tool=SEARCH.name) in prompt) is fits
    assert not (fits and NO_TOOL_NEAR in prompt)


async def test_while_there_is_no_index_the_server_is_asked(tmp_path: Path) -> None:
    perception, calls = await hinted(tmp_path, NOTICE)
    assert (perception.intent, len(calls)) == (DOCUMENTS_FIT, 1)


async def test_a_broken_index_hints_at_nothing(tmp_path: Path) -> None:
    (tmp_path / INDEX_FILE).write_bytes(b"no index of ours")
    perception, _ = await hinted(tmp_path, NOTICE)
    assert perception.tool_hint is None
