"""Answers to questions, typed with prompt_toolkit, and what is done about an open prompt.

Nothing imports this before a line is typed: prompt_toolkit takes 0.1 s. All is shown on stderr,
for stdout carries answers only.
"""

import asyncio
import contextlib
import os
import select
import sys
import termios
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar, copy_context
from typing import Final, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none, in_terminal
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.input.typeahead import clear_typeahead, get_typeahead, store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output import create_output
from prompt_toolkit.utils import is_dumb_terminal

from modules.terminal.input.repl import read_chunk
from modules.terminal.input.typeahead import mark_pastes

_LOCAL_MODES: Final = 3
"""The place of the local modes in what `termios.tcgetattr` gives."""

_SETTLED_SECONDS: Final = 0.05
"""A terminal hands on a long text in pieces; the next one comes sooner than that."""

_IS_BRIEF: Final = ContextVar("is_brief", default=False)
"""Whether an open prompt is put aside for a text that is written at once."""


class PromptKeyboard(Vt100Input):
    """Keys of a prompt above which texts may be written; meanwhile the terminal stays raw.

    The terminal itself would take a Ctrl-D that comes then, and hand it on as Ctrl-@.
    """

    def cooked_mode(self) -> contextlib.AbstractContextManager[None]:
        """As of any keyboard, for an editor, say, which takes longer."""
        return contextlib.nullcontext() if _IS_BRIEF.get() else super().cooked_mode()


def is_prompt_open() -> bool:
    """Whether a line is being typed."""
    prompt = get_app_or_none()
    return prompt is not None and prompt.is_running


def do_above_prompt(write: Callable[[], None]) -> None:
    """Call `write` soon, with the open prompt erased, and draw that anew below."""

    async def above() -> None:
        async with in_terminal():
            write()

    context = copy_context()
    context.run(_IS_BRIEF.set, True)
    asyncio.get_running_loop().create_task(above(), context=context)


async def pending_keys(keyboard: Vt100Input) -> list[KeyPress]:
    """The keys that were pressed and nobody has read; none while another program has the terminal.

    Raises:
        OSError, ValueError: there is no terminal.
    """
    keys: list[KeyPress] = []
    terminal = keyboard.fileno()
    while os.tcgetpgrp(terminal) == os.getpgrp() and not keyboard.closed:
        if not select.select([terminal], [], [], 0)[0]:
            break
        while select.select([terminal], [], [], 0)[0] and not keyboard.closed:
            keys += keyboard.read_keys()
        await asyncio.sleep(_SETTLED_SECONDS)
    return keys


@contextlib.asynccontextmanager
async def prompt_aside(stdin: TextIO) -> AsyncGenerator[None]:
    """Put an open prompt aside for questions; keys between two of them wait for the next.

    What was typed before is no answer: it waits for the next prompt. What is left over goes to
    nobody.

    Raises:
        OSError, ValueError: there is no terminal.
    """
    was_open = is_prompt_open()
    async with in_terminal():
        keyboard = Vt100Input(stdin)
        with contextlib.nullcontext() if is_dumb_terminal() else keyboard.raw_mode():
            ahead = get_typeahead(keyboard)  # what came with the line that began the run
            with contextlib.suppress(OSError, ValueError):  # it was closed; who reads it is told
                ahead += await pending_keys(keyboard)
            with contextlib.suppress(termios.error):
                termios.tcflush(stdin, termios.TCIFLUSH)  # half a line, where the terminal edits
            try:
                yield
            finally:
                clear_typeahead(keyboard)
                store_typeahead(keyboard, [] if was_open else ahead)
                mark_pastes(sys.stderr)


async def typed_line(
    stdin: TextIO, stderr: TextIO, prompt: str, *, hidden: bool = False, begun: str = ""
) -> str:
    """A line, without its end; a `hidden` one does not show while it is typed.

    `begun` stands in it to be changed; on a dumb terminal nothing does.

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
    return await session.prompt_async(prompt, default=begun, handle_sigint=False)


class _Hidden(Processor):
    """Shows nothing of a line, not even how long it is."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        return Transformation([], lambda place: 0, lambda place: 0)


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
