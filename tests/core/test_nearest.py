"""Near names: how far two words are apart, and which are worth proposing."""

import pytest

from core.base.nearest import edit_distance, near_names


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
