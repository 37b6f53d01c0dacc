"""A conversation with the person at the terminal while a run goes on: lines out, lines in.

The terminal's own line editing has to do (a terminal driver's "canonical mode"): it needs no
import, and works on every terminal. Two things differ from a shell's `read`. Ctrl-C ends the line
instead of sending a signal, so that the terminal is put back before the run ends; and what was
typed before the question appeared is dropped, for it was not meant as an answer.
"""

import asyncio
import contextlib
import os
import signal
import sys
import termios
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TextIO, TypeAlias

HELD_TEXTS_MAX = 1000
"""So much is held back while a question is open; of more, the oldest goes."""

LINE_BYTES_MAX = 16_384
"""A longer line is no answer; terminal drivers cut lines at 4,096 bytes or earlier."""

_CTRL_C = b"\x03"
_LOCAL_MODES = 3
_CONTROL_CHARACTERS = 6
_Mode: TypeAlias = list[int | list[bytes | int]]
"""What `termios.tcgetattr` gives."""


class Declined(Exception):
    """The user won't answer."""


class Cancelled(Exception):
    """The user went away from the question, or the terminal did."""


class Interrupted(Cancelled):
    """The user pressed Ctrl-C: whatever runs is to end, not only the question."""


class Console(Protocol):
    """Where questions are put. Nothing is written or read outside of `opened`."""

    def is_attended(self) -> bool:
        """Whether somebody is there to answer."""
        ...

    def opened(self) -> AbstractAsyncContextManager[None]:
        """While inside, nobody else writes to the terminal or reads from it."""
        ...

    def write(self, text: str) -> None:
        """Show text; it has been made printable."""
        ...

    async def read_line(self, *, hidden: bool = False) -> str:
        """The next line, without its end; `hidden` ones do not show while they are typed.

        Raises:
            Declined: Ctrl-D.
            Interrupted: Ctrl-C.
            Cancelled: there is no terminal any more, or the line is too long for an answer.
        """
        ...


class HeldStream:
    """A text stream that holds back what is written while a question is open."""

    def __init__(self, stream: TextIO) -> None:
        """Write through at first."""
        self.stream = stream
        self.before_held: Callable[[], None] = lambda: None
        """Called when a question is about to be put, so that the line is empty."""
        self._held: deque[str] | None = None
        self._dropped = 0

    def write(self, text: str) -> int:
        """Write now, above an open prompt, or when the question is answered."""
        if self._held is None:
            return self._written_above(text) if _is_prompt_open() else self.stream.write(text)
        self._dropped += len(self._held) == HELD_TEXTS_MAX
        self._held.append(text)
        return len(text)

    def isatty(self) -> bool:
        """As of any stream."""
        try:
            return self.stream.isatty()
        except ValueError:  # closed
            return False

    def is_held(self) -> bool:
        """Whether a question or a prompt is open: no place for a line that is written over."""
        return self._held is not None or _is_prompt_open()

    def flush(self) -> None:
        """As of any stream."""
        if self._held is None:
            self.stream.flush()

    def _written_above(self, text: str) -> int:
        """Write where the prompt stands, which goes on below; else it is torn in two."""
        from prompt_toolkit.application import run_in_terminal

        def write() -> None:
            with contextlib.suppress(OSError, ValueError):
                self.stream.write(text)
                self.stream.flush()

        run_in_terminal(write)
        return len(text)

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """While inside, only the one who asks writes, to `stream` itself."""
        self.before_held()
        self._held, self._dropped = deque(maxlen=HELD_TEXTS_MAX), 0
        try:
            yield
        finally:
            texts, self._held = self._held, None
            note = (
                f"[loop] {self._dropped:,} earlier lines are not shown\n" if self._dropped else ""
            )
            with contextlib.suppress(OSError, ValueError):
                self.stream.write(note + "".join(texts))
                self.stream.flush()


class TerminalConsole:
    """The real one: a terminal's descriptor to read from, and stderr to write to."""

    def __init__(self, descriptor: int, output: HeldStream) -> None:
        """Touch nothing yet."""
        self._terminal = descriptor
        self._output = output
        self._input = descriptor
        self._mode: _Mode | None = None
        self._line_shown = ""

    def is_attended(self) -> bool:
        """Both ends are terminals, and we are in the foreground: else reading would stop us."""
        try:
            both = os.isatty(self._terminal) and self._output.stream.isatty()
            return both and self._is_in_foreground()
        except (OSError, ValueError):  # closed
            return False

    def _is_in_foreground(self) -> bool:
        return os.tcgetpgrp(self._terminal) == os.getpgrp()

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Take the terminal, from an open prompt too, and give it back as it was."""
        async with _no_prompt():
            with self._output.held(), self._own_input(), self._line_mode(), self._resumable():
                yield

    def write(self, text: str) -> None:
        """Write to stderr; where that fails nobody can be asked."""
        self._line_shown = f"{self._line_shown}{text}".rpartition("\n")[2]
        try:
            self._output.stream.write(text)
            self._output.stream.flush()
        except (OSError, ValueError) as error:
            raise Cancelled from error

    async def read_line(self, *, hidden: bool = False) -> str:
        """Wait for a line while the event loop stays free."""
        with self._no_echo() if hidden else contextlib.nullcontext():
            line = await self._line()
        self._line_shown = ""
        if hidden:
            self.write("\n")
        return line.decode("utf-8", "replace").rstrip("\r\n")

    async def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            try:
                chunk = await _read(self._input)
            except OSError as error:  # the terminal was closed
                raise Cancelled from error
            if not chunk and not line:
                raise Declined
            line += chunk
            if _CTRL_C in chunk:
                raise Interrupted
            if len(line) > LINE_BYTES_MAX:
                raise Cancelled
            if not chunk:
                break
        return line

    @contextlib.contextmanager
    def _own_input(self) -> Generator[None]:
        """Read by a descriptor of our own: asyncio knows one reader for each."""
        try:
            self._input = os.dup(self._terminal)
        except OSError as error:
            raise Cancelled from error
        try:
            yield
        finally:
            os.close(self._input)
            self._input = self._terminal

    @contextlib.contextmanager
    def _line_mode(self) -> Generator[None]:
        try:
            before, mode = termios.tcgetattr(self._terminal), termios.tcgetattr(self._terminal)
        except termios.error as error:  # it was closed
            raise Cancelled from error
        mode[_LOCAL_MODES] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG
        mode[_CONTROL_CHARACTERS][termios.VINTR] = os.fpathconf(self._terminal, "PC_VDISABLE")
        mode[_CONTROL_CHARACTERS][termios.VEOL] = _CTRL_C
        self._set(mode)
        try:
            termios.tcflush(self._terminal, termios.TCIFLUSH)
            yield
        finally:
            self._mode = None
            with contextlib.suppress(termios.error):  # it was closed
                termios.tcsetattr(self._terminal, termios.TCSANOW, before)

    @contextlib.contextmanager
    def _no_echo(self) -> Generator[None]:
        mode = termios.tcgetattr(self._terminal)
        mode[_LOCAL_MODES] &= ~termios.ECHO
        self._set(mode)
        try:
            yield
        finally:
            mode[_LOCAL_MODES] |= termios.ECHO
            with contextlib.suppress(termios.error):
                self._set(mode)

    def _set(self, mode: _Mode) -> None:
        self._mode = mode
        termios.tcsetattr(self._terminal, termios.TCSANOW, mode)

    @contextlib.contextmanager
    def _resumable(self) -> Generator[None]:
        """Put mode and prompt back when the program goes on after Ctrl-Z: shells change both."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCONT, self._resume)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGCONT)

    def _resume(self) -> None:
        with contextlib.suppress(OSError, ValueError, termios.error):
            # In the background, touching the terminal would stop us again.
            if self._mode is not None and self._is_in_foreground():
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._mode)
                self._output.stream.write(f"\r{self._line_shown}")
                self._output.stream.flush()


def _is_prompt_open() -> bool:
    """Whether a line is being typed; without a prompt, no prompt_toolkit is imported for it."""
    if "prompt_toolkit" not in sys.modules:
        return False
    from prompt_toolkit.application import get_app_or_none

    prompt = get_app_or_none()
    return prompt is not None and prompt.is_running


@contextlib.asynccontextmanager
async def _no_prompt() -> AsyncGenerator[None]:
    """Put an open prompt aside; without one, no prompt_toolkit is imported for it."""
    if "prompt_toolkit" not in sys.modules:
        yield
        return
    from prompt_toolkit.application import in_terminal

    async with in_terminal():
        yield


async def _read(descriptor: int) -> bytes:
    """What can be read next; a thread that waited for it could not be ended."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, LINE_BYTES_MAX)
