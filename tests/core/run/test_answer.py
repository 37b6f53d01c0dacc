"""Sources behind an answer: which documents and pages are named, and when the answer does it."""

from dataclasses import replace

import pytest

from core.events import collect
from core.loop import AgentLoop
from core.turn import FinalAnswer, FurtherProcessing, RunOutcome, ToolCall
from core.values import Json
from tests.doubles import FakeParts, context, planned

PAGE = "The harbour was built in 1782, and widened twice."


def call(result: Json, **arguments: Json) -> ToolCall:
    return ToolCall("web.read", dict(arguments), ok=True, result=result, seconds=0.1)


async def run(fakes: FakeParts) -> RunOutcome:
    return await collect(AgentLoop(context(fakes)).run())


@pytest.mark.parametrize(
    ("result", "arguments", "sources"),
    [
        ("Tides… [Source: sea/tides.md, ID: tides_3]", {}, "sea/tides.md"),
        (
            "a [Source: a.md, ID: 1]\nb [Source: b.md, ID: 2]\n[Source: a.md, ID: 3]",
            {},
            "a.md; b.md",
        ),
        (PAGE, {"url": "https://example.org/harbour"}, "https://example.org/harbour"),
        (PAGE, {"input": {"url": "https://example.org/h"}}, "https://example.org/h"),
        (PAGE, {"url": "file:///etc/passwd"}, None),
        (PAGE, {"path": "notes.txt"}, None),
        (5, {"url": "https://example.org/count"}, None),
    ],
)
async def test_an_answer_names_the_documents_and_pages_it_comes_from(
    result: Json, arguments: dict[str, Json], sources: str | None
) -> None:
    answer = FinalAnswer("In 1782.", (replace(call(result), arguments=arguments),))
    outcome = await run(planned(a=answer))
    assert outcome.answer == ("In 1782." if sources is None else f"In 1782.\n\nSources: {sources}")


async def test_sources_that_the_answer_names_itself_are_not_repeated() -> None:
    text = "In 1782, says harbour.md."
    answer = FinalAnswer(text, (call("x [Source: docs/harbour.md, ID: 1]"),))
    outcome = await run(planned(a=answer))
    assert outcome.answer == text


async def test_sources_of_an_earlier_step_count_too() -> None:
    found = FurtherProcessing("t", (call("x [Source: a.md, ID: 1]"),))
    fakes = planned(a=found, b=FinalAnswer("Yes."))
    outcome = await run(fakes)
    assert outcome.answer == "Yes.\n\nSources: a.md"


@pytest.mark.parametrize(
    ("answer", "names_it"),
    [
        ("In 1782.", False),
        ("The harbour is old.", False),
        ("See https://example.org/harbour.", True),
        ("So example.org says.", True),
        ("So notexample.org says.", False),
    ],
)
async def test_a_page_is_named_by_its_address_or_host_and_not_by_chance(
    answer: str, names_it: bool
) -> None:
    reading = (call(PAGE, url="https://example.org/harbour"),)
    fakes = planned(a=FinalAnswer(answer, reading))
    outcome = await run(fakes)
    assert (outcome.answer == answer) == names_it
