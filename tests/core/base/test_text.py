"""Words of others on one line, in sentences, and near to what was meant."""

import pytest

from core.base.text import clause, edit_distance, near_names, sentence


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
