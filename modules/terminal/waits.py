"""What is being waited for, by name and with the time that it has taken.

On a terminal it stands in a line that is written over, once it has taken 0.3 s. Elsewhere a
verbose run gets a line every 10 s. The event loop's clock drives it; where no loop runs yet, a
thread's does. `interrupting` says what Ctrl-C does meanwhile.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import seconds_text
from modules.terminal.streams import TextSink

SHOWN_AFTER_SECONDS: Final = 0.3
"""What takes less is no wait."""

SHOWN_EVERY_SECONDS: Final = 1.0
LOGGED_EVERY_SECONDS: Final = 10.0

_LATE_SECONDS: Final = 0.001
"""A timer that rings a little early would show the time before."""

_ERASE: Final = "\r\x1b[K"
"""Back to the first column, and erase to the end of the line (ECMA-48, EL)."""

_ERASE_BELOW: Final = "\x1b[J"
"""Erase to the end of the screen (ED)."""

_FREE_COLUMNS: Final = 3
"""At the end of a line: some terminals go on to the next behind the last, and ^C is echoed."""

Schedule: TypeAlias = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls back after so many seconds, and gives what prevents it."""


def can_erase(environ: Mapping[str, str]) -> bool:
    """Whether the terminal may be sent escape sequences: Emacs' shell and the like show them."""
    return environ.get("TERM", "") not in ("", "dumb")


def breaks_lines(environ: Mapping[str, str]) -> bool:
    """Whether the terminal breaks its lines anew when it is made narrower; xterm cuts them off."""
    return "XTERM_VERSION" not in environ or "TMUX" in environ


def terminal_columns() -> int:
    """The width of the terminal."""
    return _screen().screen_on(sys.stderr).width


def _screen():
    """What measures and cuts, imported when there is something to show: rich takes 0.06 s."""
    from modules.terminal import screen

    return screen


class LiveLine:
    """Shows one text at a time at the foot of a terminal; without one, nothing."""

    def __init__(
        self,
        terminal: TextSink | None,
        columns: Callable[[], int] = terminal_columns,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._terminal = terminal
        self._columns = columns
        self._breaks_lines = breaks_lines(environ)
        self._shown_columns = 0

    @property
    def is_live(self) -> bool:
        """Whether there is a terminal to show it."""
        return self._terminal is not None

    def show(self, text: str, end: str = "") -> None:
        """Write `text` over what is shown; it is printable, and cut to the terminal's width.

        The `end` is not cut before all of the text is.
        """
        if self._terminal is None:
            return
        screen, columns = _screen(), self._columns() - _FREE_COLUMNS
        begun = screen.fitting(text, columns - screen.columns_of(end))
        shown = screen.fitting(begun + end, columns)
        erasure, self._shown_columns = self._erasure(), screen.columns_of(shown)
        self._write(f"{erasure}{shown}")

    def clear(self) -> None:
        """Erase what is shown, so that a line of text can take its place."""
        if self._shown_columns:
            erasure, self._shown_columns = self._erasure(), 0
            self._write(erasure)

    def _erasure(self) -> str:
        """What erases the line. A terminal that was made narrower has broken it into rows."""
        if not (self._shown_columns and self._breaks_lines):
            return _ERASE
        rows = -(-self._shown_columns // max(1, self._columns()))
        return _ERASE if rows == 1 else f"\r\x1b[{rows - 1}A{_ERASE_BELOW}"

    def _write(self, text: str) -> None:
        if self._terminal is None:
            return
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):
            self._terminal = None


def scheduled(seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Schedule on the running loop, or on a thread where none runs."""
    try:
        return asyncio.get_running_loop().call_later(seconds, action).cancel
    except RuntimeError:
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()
        return timer.cancel


@frozen
class _Wait:
    stage: str
    text: str
    began: float
    at_once: bool = False
    """Shown before its time, and as it is: the text says how far it has come."""


class Waits:
    """All that is waited for at a moment; the newest that has taken long enough is named."""

    def __init__(
        self,
        stream: TextSink | None,
        log: Callable[[str, str], None],
        environ: Mapping[str, str] = os.environ,
        *,
        verbose: bool = False,
        quiet: bool = False,
        is_held: Callable[[], bool] = lambda: False,
        clock: Clock = time.monotonic,
        schedule: Schedule = scheduled,
    ) -> None:
        """Wait for nothing yet.

        `log` writes a line under a stage: every 10 s where it is wanted, or where the terminal
        can't erase. While `is_held` somebody else has the terminal, and nothing is written.
        """
        is_watched = stream is not None and stream.isatty() and not quiet
        self.live = LiveLine(stream if is_watched and can_erase(environ) else None, environ=environ)
        is_logged = (verbose or is_watched) and not self.live.is_live and not quiet
        self._log = log if is_logged and stream is not None else None
        self._is_held = is_held
        self._clock = clock
        self._schedule = schedule
        self._waits: dict[Hashable, _Wait] = {}
        self._logged: dict[Hashable, int] = {}
        self._cancel: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        """Held while anything is written; a thread may tick."""

    def begin(self, key: Hashable, stage: str, text: str, *, at_once: bool = False) -> None:
        """Something is waited for from now on; under a key that is there, only its text changes."""
        if self._log is None and not self.live.is_live:
            return
        with self.lock:
            known = self._waits.get(key)
            began = known.began if known is not None else self._clock()
            self._waits[key] = wait = _Wait(stage, text, began, at_once)
            if at_once and not self._is_held():
                self._show(wait, self._clock())
            self._go_on()

    def end(self, key: Hashable) -> None:
        """It is there."""
        with self.lock:
            self._logged.pop(key, None)
            if self._waits.pop(key, None) is not None:
                self._go_on()

    def end_all(self) -> None:
        """Nothing is waited for any more."""
        with self.lock:
            self._waits.clear()
            self._logged.clear()
            self._go_on()

    @contextmanager
    def during(self, stage: str, text: str) -> Generator[None]:
        """Name the wait inside."""
        key = object()
        self.begin(key, stage, text)
        try:
            yield
        finally:
            self.end(key)

    def tick(self) -> float | None:
        """Show what there is; gives in how many seconds there will be something else."""
        with self.lock:
            return self._on_terminal() if self.live.is_live else self._in_log()

    def _go_on(self) -> None:
        """Show what there is now, and be called when it changes."""
        with self.lock:
            self._cancel()
            if (seconds := self.tick()) is not None:
                self._cancel = self._schedule(seconds, self._go_on)

    def _on_terminal(self) -> float | None:
        now = self._clock()
        if not self._waits:
            self.live.clear()
            return None
        if self._is_held():
            return SHOWN_EVERY_SECONDS
        shown = [w for w in self._waits.values() if now - w.began >= SHOWN_AFTER_SECONDS]
        if shown:
            self._show(shown[-1], now)
        newest = now - next(reversed(self._waits.values())).began
        if newest < SHOWN_AFTER_SECONDS:
            return SHOWN_AFTER_SECONDS - newest + _LATE_SECONDS
        return SHOWN_EVERY_SECONDS - newest % SHOWN_EVERY_SECONDS + _LATE_SECONDS

    def _show(self, wait: _Wait, now: float) -> None:
        elapsed = now - wait.began
        text = wait.text if wait.at_once else f"waiting for {wait.text}"
        end = f" · {seconds_text(elapsed)}" if elapsed >= SHOWN_AFTER_SECONDS else ""
        self.live.show(f"[{wait.stage}] {text}", end)

    def _in_log(self) -> float | None:
        if self._log is None or not self._waits:
            return None
        key, newest = next(reversed(self._waits.items()))
        seconds = self._clock() - newest.began
        times = int(seconds // LOGGED_EVERY_SECONDS)
        if times > self._logged.get(key, 0):
            self._logged[key] = times
            text = f"still waiting for {newest.text}, {seconds_text(seconds)} so far"
            self._log(newest.stage, text)
        return LOGGED_EVERY_SECONDS - seconds % LOGGED_EVERY_SECONDS + _LATE_SECONDS


@contextmanager
def interrupting(action: Callable[[], object], *signals: signal.Signals) -> Generator[None]:
    """While inside, the signals call `action` instead of stopping the program.

    Afterwards they do what they did before; asyncio by itself would put Python's defaults there,
    not the handler by which `asyncio.run` cancels its main task. Main thread only.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in signals}
    for number in before:
        loop.add_signal_handler(number, action)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            if handler is not None:  # one that Python did not put there can't be put back
                signal.signal(number, handler)
