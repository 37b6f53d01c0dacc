"""The notes on a session's oldest exchanges: when they are made, kept, and what if they fail."""

from collections.abc import Sequence

import pytest

from core.base.redaction import Redactor
from core.errors import BudgetSpent, ModelUnavailable
from core.events import Event, Notice
from core.turn import Exchange, MemoryItem
from modules.memory.past import Past
from modules.memory.running_summary import RunningSummary
from modules.model_manager import ModelManager
from modules.models.scripted import Reply, ScriptedModel
from tests.doubles import FakeMemory

ROOM = 4_000
NOTES = "Asked for places; request 0 was about Oslo. Always answer in metric."


def talk(count: int) -> list[Exchange]:
    """Exchanges of 500 characters each."""
    return [Exchange(f"request {n} {'x' * 80}", f"answer {n} {'y' * 380}") for n in range(count)]


class Session:
    """A session's notes, the model that writes them, and what the user hears."""

    def __init__(self, *replies: Reply, memory: FakeMemory | None = None) -> None:
        self.script = ScriptedModel({"summary": replies})
        self.memory = memory or FakeMemory()
        self.heard: list[Event] = []
        redactor = Redactor({"API_KEY": "hush-hush-42"})

        async def listener(event: Event) -> None:
            self.heard.append(event)

        self.summary = RunningSummary(
            self.memory, "2026/11/24/session-1-abcdef", redactor, listener, clock=lambda: 9.0
        )

    async def past(self, history: list[Exchange]) -> Past:
        return await self.summary.past(history, ROOM, ModelManager(self.script))


async def test_what_fits_needs_no_model() -> None:
    session, history = Session(), talk(7)
    assert await session.past(history) == Past(tuple(history))
    assert not session.memory.items


async def test_the_oldest_go_into_notes_and_the_newest_stand_as_they_were_said() -> None:
    session, history = Session(NOTES), talk(10)
    past = await session.past(history)
    assert past.summary == NOTES
    assert past.left_out == 0
    assert past.turns == tuple(history[past.summarised :])
    assert 2 <= len(past.turns) <= 4
    (asked,) = session.script.requests
    assert "request 0 " in asked.prompt
    assert "request 9 " not in asked.prompt
    assert not session.heard


async def test_notes_are_kept_in_the_session_and_taken_over_into_later_ones() -> None:
    session, history = Session(NOTES), talk(10)
    covered = (await session.past(history)).summarised
    (item,) = session.memory.items
    assert item.metadata == {"summary": NOTES, "exchanges": covered}

    later = Session("Request 0: Oslo; request 7 too.", memory=session.memory)
    assert (await later.past(history)).summary == NOTES, "another process needs no model for it"
    past = await later.past(talk(16))
    assert past.summary == "Request 0: Oslo; request 7 too."
    assert past.summarised > covered
    (asked,) = later.script.requests
    assert NOTES in asked.prompt
    assert "request 1 " not in asked.prompt, "what is noted is not read again"


@pytest.mark.parametrize(
    "replies",
    [
        ["", ""],
        ["It was request 987654321."],
        [ModelUnavailable("nobody there")],
        [BudgetSpent("the run may use no more")],
    ],
    ids=["empty, twice", "invented", "outage", "budget"],
)
async def test_without_notes_the_oldest_are_left_out_and_that_is_said_once(
    replies: Sequence[Reply],
) -> None:
    session, history = Session(*replies), talk(10)
    past = await session.past(history)
    assert past.summary == ""
    assert past.turns == tuple(history[past.left_out :])
    assert past.left_out in (2, 3)
    assert await session.past(history) == past, "not asked again at once"
    (notice,) = session.heard
    assert isinstance(notice, Notice)
    assert "left out, without notes" in notice.text


async def test_notes_that_tell_of_what_was_taken_back_are_told_no_more() -> None:
    session, history = Session(NOTES, "Notes on other things."), talk(10)
    covered = (await session.past(history)).summarised
    taken = MemoryItem(
        timestamp=1, type="run_metadata", text="", metadata={"undone": 5.0, "left": covered - 1}
    )
    session.memory.add(taken)
    assert session.summary.told(history[: covered - 1], ROOM).summary == ""
    again = [*history[: covered - 1], *talk(3)]
    assert session.summary.told(again, ROOM).summary == "", "though there are as many again"


async def test_notes_are_written_early_where_that_is_wanted() -> None:
    session, history = Session(NOTES), talk(4)
    model = ModelManager(session.script)
    assert await session.summary.compact(history, ROOM, model)
    past = session.summary.told(history, ROOM)
    assert (past.summary, past.summarised, past.turns) == (NOTES, 3, tuple(history[3:]))
    assert not await session.summary.compact(history, ROOM, model), "there are all of them"


async def test_why_there_are_no_early_notes_is_told() -> None:
    session = Session(ModelUnavailable("nobody there"))
    assert not await session.summary.compact(talk(4), ROOM, ModelManager(session.script))
    (notice,) = session.heard
    assert isinstance(notice, Notice)
    assert notice.text == "there are no notes on this session's requests: nobody there"


async def test_secrets_don_t_get_into_notes() -> None:
    session = Session("The key is hush-hush-42.")
    past = await session.past([Exchange("it is hush-hush-42", "ok"), *talk(9)])
    assert "hush-hush-42" not in past.summary
    assert past.summary.startswith("The key is ")


@pytest.mark.parametrize(
    "metadata", [{"summary": 3}, {"summary": "x"}, {"summary": "x", "exchanges": 99}]
)
async def test_notes_that_can_t_be_this_sessions_are_not_believed(
    metadata: dict[str, str | int],
) -> None:
    item = MemoryItem(timestamp=1, type="run_metadata", text="", metadata={**metadata})
    session = Session(memory=FakeMemory([item]))
    assert await session.past(talk(3)) == Past(tuple(talk(3)))
