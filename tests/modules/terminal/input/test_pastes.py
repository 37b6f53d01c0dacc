"""Blocks that are shown folded."""

import pytest

from modules.terminal.input.pastes import CHARACTERS_SHOWN, LINES_SHOWN, Pastes


def lines(count: int, word: str = "x") -> str:
    return "\n".join(f"{word}{number}" for number in range(count))


@pytest.mark.parametrize("block", ["", "a\nb", lines(LINES_SHOWN), "x" * CHARACTERS_SHOWN])
def test_a_short_block_is_shown_as_it_is(block: str) -> None:
    assert Pastes().shown(block) == block


def test_ends_of_lines_become_those_of_requests() -> None:
    assert Pastes().shown("a\r\nb\rc") == "a\nb\nc"


def test_long_blocks_have_marks_of_their_own_and_come_back_whole() -> None:
    pastes = Pastes()
    first, other, long = lines(500), lines(500, "y"), "z" * 2_000
    marks = [pastes.shown(block) for block in (first, other, first, long)]
    assert marks == [
        "[pasted 500 lines]",
        "[pasted 500 lines, 2]",
        "[pasted 500 lines]",
        "[pasted 2,000 characters]",
    ]
    text = f"compare {marks[0]} with {marks[1]}"
    assert pastes.whole(text) == f"compare {first} with {other}"
    assert pastes.folded(pastes.whole(text)) == text
    assert pastes.whole("[pasted 7 lines]") == "[pasted 7 lines]"
    assert pastes.mark_before(text) == marks[1]
    assert pastes.mark_before(f"{text} ") == ""
