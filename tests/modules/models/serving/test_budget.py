"""How many tokens a model may write, where several say so."""

import pytest

from core.ports import ModelRequest
from modules.models.serving.budget import output_limit


@pytest.mark.parametrize(
    ("text", "hard", "entry", "thinking", "limit"),
    [
        (None, None, None, 0, None),
        (None, None, None, 1000, None),
        (100, None, None, 0, 100),
        (100, None, None, 1000, 1100),
        (100, 50, None, 1000, 50),
        (100, 500, None, 1000, 500),
        (100, 5000, None, 1000, 1100),
        (100, 5000, 600, 1000, 600),
        (None, 500, 600, 1000, 500),
        (None, 700, 600, 1000, 600),
    ],
)
def test_room_to_think_comes_on_top_of_the_text_and_under_what_is_final(
    text: int | None, hard: int | None, entry: int | None, thinking: int, limit: int | None
) -> None:
    request = ModelRequest("text", "x", max_output_tokens=text, hard_output_tokens=hard)
    assert output_limit(request, entry, thinking) == limit
