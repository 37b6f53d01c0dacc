"""Plain questions on a small handbook, through the real chunker, index and search by words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.rag.chunking.chunker import chunk_document
from servers.rag.index.index import Index
from servers.rag.library.wording import passages_text
from servers.rag.passages import DocumentEntry
from servers.rag.search.searcher import Searcher
from servers.reading.source import Extracted
from tests.modules.models.offline.plans import Outcome
from tests.modules.models.offline.quotes.document_questions import ANSWERED, HANDBOOK, NEVER, OPEN
from tests.modules.models.offline.quotes.test_document_plans import bench


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    index = Index.open(Path(tmp_path_factory.mktemp("index")), "")
    for file, text in HANDBOOK.items():
        extracted = Extracted(text)
        chunks = tuple(chunk_document(extracted))
        entry = DocumentEntry(file, file, "indexed", len(text), 0, len(chunks))
        index.replace_document(entry, file, extracted, chunks)
    index.tidy()
    yield Searcher(index)
    index.close()


async def ask(question: str, searcher: Searcher) -> Outcome:
    found = searcher.search(question)
    notes = [found.note] if found.note else []
    return await bench(passages_text(found.passages, notes)).run(question)


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
async def test_a_sentence_that_answers_is_quoted_and_otherwise_passages_are_shown(
    question: str, answer: str, searcher: Searcher
) -> None:
    outcome = await ask(question, searcher)
    assert outcome.declined == (answer == ""), (outcome.answer, outcome.text)
    assert answer in outcome.answer
    assert not outcome.declined or "can't tell" in outcome.text


@pytest.mark.parametrize("question", OPEN)
async def test_what_no_sentence_answers_gets_no_answer(question: str, searcher: Searcher) -> None:
    outcome = await ask(question, searcher)
    assert outcome.declined, outcome.answer
    assert outcome.called == ["search_stored_documents"]
    assert "can't tell" in outcome.text or "nothing in your documents fits it" in outcome.text


@pytest.mark.parametrize("question", NEVER)
async def test_what_asks_about_the_present_the_user_or_the_agent_is_not_put_to_documents(
    question: str, searcher: Searcher
) -> None:
    outcome = await ask(question, searcher)
    assert outcome.declined, outcome.answer
    assert outcome.called == []
    assert "search_stored_documents" not in outcome.text


async def test_passages_are_shown_as_such_with_their_sources(searcher: Searcher) -> None:
    outcome = await ask("how do I heat up the steam box?", searcher)
    first, heading, place, text, *_, last = outcome.text.splitlines()
    assert "can't tell" in first
    assert heading == "The nearest passages:"
    assert place.startswith("machines.txt, line ")
    assert "steam box reaches 98 degrees" in text
    assert "agent.py models" in last
