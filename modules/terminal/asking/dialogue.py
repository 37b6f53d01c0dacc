"""A conversation with the person at the terminal while a run goes on: lines out, lines in.

Lines are typed with prompt_toolkit (`modules.terminal.prompt`, imported when the first one is).
What was typed before a question appeared is dropped, for it was not meant as an answer.
"""

import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Final, TextIO

HELD_TEXTS_MAX: Final = 1000
"""So much is held back while a question is open; of more, the oldest goes."""

LINE_CHARACTERS_MAX: Final = 16_384
"""A longer line is no answer."""


class Declined(Exception):
    """The user won't answer."""


class Commanded(Declined):
    """The user typed a command of the prompt in place of an answer."""

    def __init__(self, line: str) -> None:
        """`line` is what was typed."""
        super().__init__(line)
        self.line = line


class Cancelled(Exception):
    """The user went away from the question, or the terminal did."""


class Interrupted(Cancelled):
    """The user pressed Ctrl-C: whatever runs is to end, not only the question."""


class HeldStream:
    """A text stream that holds back what is written while a question is open."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.before_held: Callable[[], None] = lambda: None
        """Called when a question is about to be put, so that the line is empty."""
        self._held: deque[str] | None = None
        self._is_reserved = False
        self._dropped = 0

    def write(self, text: str) -> int:
        """Write now, above an open prompt, or when the question is answered."""
        if self._held is not None:
            self._dropped += len(self._held) == HELD_TEXTS_MAX
            self._held.append(text)
        elif _is_prompt_open():
            _prompt().do_above_prompt(lambda: self._write_now(text))
        else:
            self.stream.write(text)
        return len(text)

    def isatty(self) -> bool:
        """As of any stream."""
        try:
            return self.stream.isatty()
        except ValueError:  # closed
            return False

    def is_held(self) -> bool:
        """Whether a question or a prompt is open: no place for a line that is written over."""
        return (
            self._held is not None
            or self._is_reserved
            or _is_prompt_open()
            or _is_in_background(self.stream)
        )

    def flush(self) -> None:
        """As of any stream."""
        if self._held is None:
            self.stream.flush()

    def _write_now(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()

    @contextlib.contextmanager
    def reserved(self) -> Generator[None]:
        """While inside, nobody draws: the terminal's modes are about to be changed and restored."""
        self._is_reserved = True
        self.before_held()
        try:
            yield
        finally:
            self._is_reserved = False

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """While inside, only the one who asks writes, to `stream` itself."""
        self.before_held()
        self._held, self._dropped = deque(maxlen=HELD_TEXTS_MAX), 0
        try:
            yield
        finally:
            texts, self._held = self._held, None
            left_out = f"[loop] {self._dropped:,} earlier lines are not shown\n"
            self._write_now((left_out if self._dropped else "") + "".join(texts))


class Dialogue:
    """Where questions are put: a terminal to read from, and stderr to write to.

    Nothing is written or read outside of `opened`.
    """

    def __init__(
        self, stdin: TextIO, output: HeldStream, call_user: Callable[[], None] = lambda: None
    ) -> None:
        """`call_user` calls the person to the terminal."""
        self._stdin = stdin
        self._call_user = call_user
        self._output = output
        self._line_begun = ""

    def is_attended(self) -> bool:
        """Both ends are terminals, and we are in the foreground: else reading would stop us."""
        try:
            both = self._stdin.isatty() and self._output.stream.isatty()
            return both and os.tcgetpgrp(self._stdin.fileno()) == os.getpgrp()
        except (OSError, ValueError):  # closed
            return False

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Take the terminal, from an open prompt too, and give it back as it was."""
        try:
            self._call_user()
            with self._output.reserved():
                async with _prompt().prompt_aside(self._stdin):
                    with self._output.held():
                        yield
        except (OSError, ValueError) as error:  # the terminal was closed
            raise Cancelled from error

    def write(self, text: str) -> None:
        """Show printable text, its whole lines at once; a failure means that nobody can be asked.

        What stands behind the last line end is the prompt of the line that is read next.
        """
        lines, end, begun = text.rpartition("\n")
        whole = f"{self._line_begun}{lines}{end}" if end else ""
        self._line_begun = begun if end else f"{self._line_begun}{begun}"
        try:
            self._output.stream.write(whole)
            self._output.stream.flush()
        except (OSError, ValueError) as error:
            raise Cancelled from error

    async def read_line(self, *, hidden: bool = False, begun: str = "") -> str:
        """The next line, without its end; `hidden` ones do not show while they are typed.

        `begun` is a text that stands there to be changed.

        Raises:
            Declined: Ctrl-D.
            Interrupted: Ctrl-C.
            Cancelled: there is no terminal any more, or the line is too long for an answer.
        """
        prompt, self._line_begun = self._line_begun, ""
        stderr = self._output.stream
        try:
            line = await _prompt().typed_line(
                self._stdin, stderr, prompt, hidden=hidden, begun=begun
            )
        except KeyboardInterrupt:
            raise Interrupted from None
        except EOFError:
            raise Declined from None
        except (OSError, ValueError) as error:  # the terminal was closed
            raise Cancelled from error
        if len(line) > LINE_CHARACTERS_MAX:
            raise Cancelled
        return line


def _is_in_background(stream: TextIO) -> bool:
    """Whether another program has the terminal; a stream that is none is nobody's."""
    try:
        return os.tcgetpgrp(stream.fileno()) != os.getpgrp()
    except (OSError, ValueError):
        return False


def _is_prompt_open() -> bool:
    """Whether a line is being typed; without a prompt, no prompt_toolkit is imported for it."""
    return "prompt_toolkit" in sys.modules and _prompt().is_prompt_open()


def _prompt():
    """The module that types lines, imported when a question is put: prompt_toolkit takes 0.05 s."""
    from modules.terminal import prompt

    return prompt
