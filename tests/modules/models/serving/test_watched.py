"""A request to a model that is ended from outside: what had been written is told and kept."""

import asyncio
from pathlib import Path

import pytest

from core.events import Event, ModelAsked, ModelFailed, ModelWriting
from core.ports import TextDelta
from modules.trace.spans import runs_of
from tests.modules.models.serving.doubles import HeldModel
from tests.modules.talks import conversation

WRITTEN = [
    (("```python\nasync def solve():\n    return 'FINAL_ANSWER: It is", " a wallaby"),
     "It is a wallaby"),
    (("FINAL_ANSWER: It is a wallaby",), "It is a wallaby"),
    (("The quokka is", " a wallaby"), "The quokka is a wallaby"),
    (("```python\nasync def solve():\n    x = await tools.look()",), ""),
]  # fmt: skip


@pytest.mark.parametrize(("pieces", "shown"), WRITTEN)
async def test_what_was_written_so_far_is_shown_as_unfinished_and_kept(
    pieces: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    model, heard = HeldModel(), list[Event]()
    model.put(*map(TextDelta, pieces))

    async def listen(event: Event) -> None:
        heard.append(event)
        if isinstance(event, ModelWriting) and event.text == "".join(pieces):
            assert talk.interrupt()

    async with asyncio.timeout(10), conversation(tmp_path, model, listen) as talk:
        outcome = await talk.ask("what is a quokka?")
        items = await talk.session.load()
    assert (outcome.status, outcome.answer, outcome.exit_code) == ("interrupted", None, 130)
    assert outcome.unfinished == shown
    told = f"; unfinished, as far as it was written:\n\n{shown}" if shown else ""
    assert outcome.message == f"interrupted before there was an answer{told}"
    (cut,) = (event for event in heard if isinstance(event, ModelFailed))
    assert (cut.is_cut, cut.purpose, cut.reply) == (True, "decision", "".join(pieces))
    kept = items[-1].metadata
    assert (kept["status"], kept["message"]) == ("interrupted", outcome.message)
    calls = kept["model_calls"]
    assert isinstance(calls, list)
    assert isinstance(call := calls[0], dict)
    assert (call["model"], call["purpose"], call["trouble"]) == ("held", "decision", "interrupted")
    assert model.under_way == 0


async def test_a_request_that_said_nothing_yet_is_in_the_trace_too(tmp_path: Path) -> None:
    model = HeldModel()

    async def listen(event: Event) -> None:
        if isinstance(event, ModelAsked):
            talk.interrupt()

    async with asyncio.timeout(10), conversation(tmp_path, model, listen) as talk:
        outcome = await talk.ask("what is a quokka?")
        items = await talk.session.load()
    assert outcome.message == "interrupted before there was an answer"
    (run,) = runs_of(items)
    cut = next(span for span in run.children if span.kind == "retry")
    assert (cut.name, cut.state, cut.note) == ("held: decision", "failed", "interrupted")
