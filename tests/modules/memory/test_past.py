"""How much of a session's past a prompt has room for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ports import ModelTraits
from core.turn import Exchange
from modules.memory.past import (
    CUT_NOTE_CHARACTERS,
    exchange_characters,
    newest_within,
    room_characters,
)

EXCHANGES = st.lists(
    st.builds(Exchange, st.text(max_size=300), st.none() | st.text(max_size=900)), max_size=8
)


@pytest.mark.parametrize(
    ("traits", "characters"),
    [
        (ModelTraits(), 8_000),
        (ModelTraits(characters_per_token=3.5), 7_000),
        (ModelTraits(context_tokens=4_096), 4_096),
        (ModelTraits(context_tokens=1_000_000), 8_000),
    ],
)
def test_the_room_is_counted_in_the_models_own_tokens_within_its_context(
    traits: ModelTraits, characters: int
) -> None:
    assert room_characters(2_000, traits) == characters


def test_the_newest_stand_as_they_were_said() -> None:
    history = [Exchange("first " * 50, "a"), Exchange("second", "b"), Exchange("third", None)]
    assert newest_within(history, 100) == tuple(history[1:])


def test_the_last_is_there_however_long_it_is() -> None:
    asked, answered = "why? " * 60, "because " * 1_000
    (cut,) = newest_within([Exchange("first", "x"), Exchange(asked, answered)], 1_000)
    assert cut.request == asked
    assert cut.answer is not None
    assert cut.answer.startswith("because because")
    assert cut.answer.endswith("more characters left out]")


@given(EXCHANGES, st.integers(0, 2_000))
def test_the_newest_that_fit_are_there_and_only_a_single_one_is_cut(
    history: list[Exchange], room: int
) -> None:
    kept = newest_within(history, room)
    assert len(kept) >= min(1, len(history))
    assert sum(map(exchange_characters, kept)) <= max(room, 2 * CUT_NOTE_CHARACTERS + 16)
    if len(kept) > 1:
        assert kept == tuple(history[-len(kept) :])
