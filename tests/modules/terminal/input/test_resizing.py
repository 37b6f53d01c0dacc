"""A prompt on a terminal that is made narrower: how much lower its cursor stands."""

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.data_structures import Point
from prompt_toolkit.input import DummyInput
from prompt_toolkit.layout.screen import Char, Screen
from prompt_toolkit.output import DummyOutput

from modules.terminal.input.resizing import rows_gained


@pytest.mark.parametrize(
    ("rows", "columns", "gained"),
    [
        (["cortex-r> short"], 40, 0),
        (["cortex-r> a request of some length"], 20, 1),
        (["cortex-r> a request of some length"], 10, 3),
        (["x" * 70, "y" * 10], 30, 2),
        (["", "abc"], 30, 0),
        (["漢" * 20], 30, 1),
    ],
)
def test_each_line_above_the_cursor_is_broken_anew(
    rows: list[str], columns: int, gained: int
) -> None:
    session: PromptSession[str] = PromptSession(input=DummyInput(), output=DummyOutput())
    screen = Screen()
    for y, row in enumerate(rows):
        x = 0
        for character in row:
            screen.data_buffer[y][x] = cell = Char(character)
            x += cell.width
        screen.set_cursor_position(session.layout.current_window, Point(x=x, y=y))
    assert rows_gained(screen, session.app, columns) == gained
