"""Lines typed with prompt_toolkit: requests at the prompt, and answers to questions.

No other file imports prompt_toolkit, and none imports this one before a line is typed: it takes
0.1 s. All is shown on stderr, for stdout carries answers only.
"""

import asyncio
import contextlib
import os
import signal
import sys
import termios
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from pathlib import Path
from typing import Final, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_or_none, in_terminal, run_in_terminal
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output import create_output
from prompt_toolkit.utils import is_dumb_terminal

from core.base.files import make_private_folder, open_private
from modules.terminal.input.repl import PROMPT, piped_lines, read_chunk
from modules.terminal.waits import breaks_lines

_LOCAL_MODES: Final = 3
"""The place of the local modes in what `termios.tcgetattr` gives."""


def is_prompt_open() -> bool:
    """Whether a line is being typed."""
    prompt = get_app_or_none()
    return prompt is not None and prompt.is_running


def do_above_prompt(write: Callable[[], None]) -> None:
    """Call `write` soon, with the open prompt erased, and draw that anew below."""
    run_in_terminal(write)


@contextlib.asynccontextmanager
async def prompt_aside(stdin: TextIO) -> AsyncGenerator[None]:
    """Put an open prompt aside for questions; keys between two of them wait for the next.

    What was typed before goes to nobody, and so does what is left over.

    Raises:
        OSError, ValueError: there is no terminal.
    """
    async with in_terminal():
        keyboard = create_input(stdin)
        with contextlib.nullcontext() if is_dumb_terminal() else keyboard.raw_mode():
            with contextlib.suppress(termios.error):  # it was closed; who reads it is told
                termios.tcflush(stdin, termios.TCIFLUSH)
            try:
                yield
            finally:
                clear_typeahead(keyboard)


async def typed_line(stdin: TextIO, stderr: TextIO, prompt: str, *, hidden: bool = False) -> str:
    """A line, without its end; a `hidden` one does not show while it is typed.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        EOFError: Ctrl-D, or the terminal is gone.
        OSError, ValueError: there is no terminal.
    """
    if is_dumb_terminal():
        return await _plainly_typed_line(stdin, stderr, prompt, hidden=hidden)
    session: PromptSession[str] = PromptSession(
        input=create_input(stdin),
        output=create_output(stderr),
        input_processors=[_Hidden()] if hidden else None,
        history=InMemoryHistory(),
        enable_suspend=True,
    )
    return await session.prompt_async(prompt, handle_sigint=False)


async def typed_lines(
    history_file: Path | None, redact: Callable[[str], str], on_ctrl_c: Callable[[], None]
) -> AsyncIterator[str]:
    """Lines typed at a terminal, with editing and history; ends at Ctrl-D.

    Ctrl-C at the prompt clears the line and calls `on_ctrl_c`, Ctrl-Z suspends the program.
    `redact` goes over each line before it is written to `history_file`, if there is one. On a
    terminal that can't move its cursor (`TERM=dumb`) the terminal's own editing has to do.
    """
    if is_dumb_terminal():
        async for line in _plainly_typed_lines():
            yield line
        return
    session: PromptSession[str] = PromptSession(
        history=kept_history(history_file, redact),
        output=create_output(stdout=sys.stderr),
        enable_suspend=True,
    )

    def redraw() -> None:
        _redraw_when_resized(session.app)

    while True:
        try:
            # Here Ctrl-C is a key. The signal is the caller's: prompt_toolkit would take its
            # handler away, and leave Python's own between prompt and request.
            yield await session.prompt_async(PROMPT, pre_run=redraw, handle_sigint=False)
        except KeyboardInterrupt:
            on_ctrl_c()
        except EOFError:
            return


def kept_history(file: Path | None, redact: Callable[[str], str]) -> History:
    """Lines typed before, kept for this user alone; only in memory where they can't be written."""
    if file is None:
        return InMemoryHistory()
    try:
        make_private_folder(file.parent)
        os.close(open_private(file, os.O_WRONLY | os.O_APPEND))
    except OSError:
        return InMemoryHistory()
    return _KeptHistory(file, redact)


class _KeptHistory(FileHistory):
    def __init__(self, file: Path, redact: Callable[[str], str]) -> None:
        super().__init__(str(file))
        self._redact = redact

    def store_string(self, string: str) -> None:
        # A full disk takes a line from the next run, not the prompt from this one.
        with contextlib.suppress(OSError):
            super().store_string(self._redact(string))


class _Hidden(Processor):
    """Shows nothing of a line, not even how long it is."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        return Transformation([], lambda place: 0, lambda place: 0)


async def _plainly_typed_lines() -> AsyncIterator[str]:
    lines = piped_lines(sys.stdin)
    line: str | None = ""
    while line is not None:
        sys.stderr.write(PROMPT)
        sys.stderr.flush()
        if (line := await anext(lines, None)) is not None:
            yield line


async def _plainly_typed_line(stdin: TextIO, stderr: TextIO, prompt: str, *, hidden: bool) -> str:
    """A line as the terminal itself lets people edit it."""
    stderr.write(prompt)
    stderr.flush()
    with _no_echo(stdin) if hidden else contextlib.nullcontext():
        line = await read_chunk(stdin.fileno())
    if hidden:
        stderr.write("\n")
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


@contextlib.contextmanager
def _no_echo(terminal: TextIO) -> Generator[None]:
    before, mode = termios.tcgetattr(terminal), termios.tcgetattr(terminal)
    mode[_LOCAL_MODES] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # it was closed
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _redraw_when_resized(prompt: "Application[str]") -> None:
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
