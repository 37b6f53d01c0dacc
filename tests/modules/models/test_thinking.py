"""Thinking is told from the reply wherever the deltas cut the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ports import TextDelta, ThinkingDelta
from modules.models.thinking import BLANKS_MAX, ThinkingSplitter


def split(*pieces: str, opened: bool = False) -> tuple[str, str]:
    """Thinking and text."""
    splitter = ThinkingSplitter(opened=opened)
    deltas = [delta for piece in pieces for delta in splitter.feed(piece)] + splitter.end()
    assert all(delta.text for delta in deltas)
    return (
        "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta)),
        "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
    )


@pytest.mark.parametrize(
    ("text", "thinking", "reply"),
    [
        ("plain", "", "plain"),
        ("<think>why</think>\n\nso", "why", "so"),
        ("\n <thinking>why</thinking>so", "why", "so"),
        ("<think>a</thinking>b</think>c", "a</thinking>b", "c"),
        ("<think>never ends", "never ends", ""),
        ("<think></think>x", "", "x"),
        ("so <think>no</think>", "", "so <think>no</think>"),
        ("<thin", "", "<thin"),
        ("  <b>x", "", "  <b>x"),
        ("<think>a</thi", "a</thi", ""),
        ("<think>a</think>  b </think> c", "a", "b </think> c"),
        ("", "", ""),
    ],
)
def test_thinking_is_what_stands_between_the_tags_at_the_beginning(
    text: str, thinking: str, reply: str
) -> None:
    assert split(text) == (thinking, reply)
    assert split(*text) == (thinking, reply)


PIECES = st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "<", "th", " ", "a"])


@settings(max_examples=40)
@given(st.lists(PIECES, max_size=12).map("".join), st.lists(st.integers(1, 9), max_size=30))
def test_it_does_not_matter_how_the_text_is_cut(text: str, cuts: list[int]) -> None:
    pieces, rest = list[str](), text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert split(*pieces, rest) == split(text)


def test_a_text_whose_prompt_opened_the_thinking_begins_within_it() -> None:
    assert split("why</th", "ink>so", opened=True) == ("why", "so")


def test_thinking_comes_as_it_is_written() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("<think>a") == [ThinkingDelta("a")]
    assert splitter.feed("b") == [ThinkingDelta("b")]


def test_blanks_are_not_waited_through_for_ever() -> None:
    assert ThinkingSplitter().feed(" " * (BLANKS_MAX + 1)) == [TextDelta(" " * (BLANKS_MAX + 1))]
