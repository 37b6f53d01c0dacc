"""Words of others on one line, in sentences, and near to what was meant."""

import re

import pytest

from core.base.text import (
    clause,
    counted,
    edit_distance,
    lazy_pattern,
    listed,
    near_names,
    one_line,
    seconds_text,
    sentence,
    shorten,
    size_text,
)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("", "mcp", 3),
        ("doctr", "doctor", 1),
        ("modles", "models", 2),
        ("kitten", "sitting", 3),
        ("docks", "docs", 1),
    ],
)
def test_the_distance_counts_characters_put_in_taken_out_and_replaced(
    one: str, other: str, distance: int
) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == distance


def test_only_near_names_are_proposed_the_nearest_first() -> None:
    assert near_names("wether", ["clock", "feather", "weather"]) == ["weather", "feather"]
    assert near_names("nope", ["math", "documents"]) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no host", "no host."),
        ("no host.", "no host."),
        ("no host..", "no host."),
        ("which one?", "which one?"),
        ("cut off…", "cut off…"),
        ("(as it says.)", "(as it says.)"),
        ("no host; ", "no host."),
    ],
)
def test_a_sentence_ends_with_one_mark(text: str, shown: str) -> None:
    assert sentence(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("no host.", "no host"), ("no host", "no host"), ("cut off…", "cut off…")]
)
def test_a_clause_ends_without_a_full_stop(text: str, shown: str) -> None:
    assert clause(text) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc\r\n", "a b c"),
        ("", ""),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("a " + " " * 100_000 + "b", "a…"),
    ],
)
def test_a_line_is_one_line_and_bounded(text: str, line: str) -> None:
    assert one_line(text, 10) == line


def test_what_can_not_be_seen_or_moves_a_cursor_is_marked() -> None:
    assert one_line("a\x1b[2J\u202eb\tc") == "a\ufffd[2J\ufffdb c"


def test_a_short_text_is_whole_and_a_long_one_ends_in_an_ellipsis() -> None:
    assert shorten("four", 4) == "four"
    assert shorten("a longer text", 9) == "a longer…"
    assert shorten("a longer text", 10) == "a longer…"
    assert shorten("a longer text", 11) == "a longer t…"


def test_of_many_names_the_first_are_told_and_the_number_of_the_others() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 1_003) == "a, b, c and 1,000 more"


def test_one_thing_is_no_things() -> None:
    assert [counted(number, "tool") for number in (0, 1, 2_103)] == [
        "0 tools",
        "1 tool",
        "2,103 tools",
    ]


@pytest.mark.parametrize(
    ("size_bytes", "told"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (4_700_000_000, "4.7 GB")],
)
def test_sizes_are_told_in_powers_of_ten(size_bytes: int, told: str) -> None:
    assert size_text(size_bytes) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.38, "0.3 s"), (1.9, "1 s"), (59, "59 s"), (60, "1 min"), (125, "2 min 5 s")],
)
def test_times_are_told_in_minutes_and_seconds(seconds: float, told: str) -> None:
    assert seconds_text(seconds) == told


def test_a_lazy_pattern_works_as_one_that_is_compiled_at_once() -> None:
    for made in (re.compile, lazy_pattern):
        pattern = made(r"(?P<word>[a-z]+)!", re.IGNORECASE)
        assert [found["word"] for found in pattern.finditer("Oh! no")] == ["Oh"]
        assert pattern.sub("?", "Oh!") == "?"
        assert pattern.fullmatch("Oh! no") is None
        assert pattern.groups == 1


def test_a_lazy_pattern_is_compiled_at_its_first_use() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.search("")
