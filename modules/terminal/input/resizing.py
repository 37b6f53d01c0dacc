"""An open prompt on a terminal that is resized."""

import asyncio
import os
import signal

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Screen

from modules.terminal.display.region import breaks_lines


def redraw_when_resized(prompt: "Application[str]") -> None:
    """Leave nothing of the old prompt on a terminal that is resized, until the prompt is closed.

    prompt_toolkit takes the old prompt away from where the cursor was in it. A terminal that is
    made narrower breaks its lines into more rows, so that the cursor stands lower, and the
    beginning stays. Called when the prompt is about to open: prompt_toolkit's own handler is put
    in place right after that.
    """
    loop = asyncio.get_running_loop()
    prompt.terminal_size_polling_interval = None  # it would do the same as that handler

    def resized() -> None:
        screen, renderer = prompt.renderer.last_rendered_screen, prompt.renderer
        if screen is not None and breaks_lines(os.environ):
            columns = prompt.output.get_size().columns
            prompt.output.cursor_up(rows_gained(screen, prompt, columns))
        renderer.erase(leave_alternate_screen=False)
        renderer.request_absolute_cursor_position()
        prompt.invalidate()

    def take_over() -> None:
        if prompt.is_running:
            loop.add_signal_handler(signal.SIGWINCH, resized)

    loop.call_soon(take_over)


def rows_gained(screen: Screen, prompt: "Application[str]", columns: int) -> int:
    """How much lower the cursor stands once the lines above it are broken at so many columns."""
    cursor = screen.get_cursor_position(prompt.layout.current_window)
    above = sum(max(1, -(-_width(screen, row) // columns)) for row in range(cursor.y))
    return above + cursor.x // columns - cursor.y


def _width(screen: Screen, row: int) -> int:
    """How many columns of a row are written."""
    cells = screen.data_buffer[row].items()
    return max((column + cell.width for column, cell in cells if cell.char.strip()), default=0)
