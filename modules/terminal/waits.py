"""What is being waited for, by name and with the time that it has taken.

On a terminal it stands in rows that are written over, within 0.3 s. Elsewhere a
verbose run gets a line every 10 s. The event loop's clock drives it; where no loop runs yet, a
thread's does. `interrupting` says what Ctrl-C does meanwhile.
"""

import asyncio
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import seconds_text
from core.errors import ExitCode
from modules.terminal.display.keyboard import Keyboard
from modules.terminal.display.region import DIM, Region, Row, can_erase, row
from modules.terminal.streams import TextSink

SHOWN_AFTER_SECONDS: Final = 0.25
"""What takes less is no wait, unless it is one of several: nothing is silent for over 0.3 s."""

SILENT_AFTER_SECONDS: Final = 3.0
"""After so long it is said that nothing comes any more of what was coming."""

SHOWN_EVERY_SECONDS: Final = 0.2
"""How often times and marks of what is waited for move on."""

FRAME_SECONDS: Final = 0.1
"""Rows are drawn no oftener, however much happens."""

_MARKS: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
LOGGED_EVERY_SECONDS: Final = 10.0

_LATE_SECONDS: Final = 0.001
"""A timer that rings a little early would show the time before."""

Schedule: TypeAlias = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls back after so many seconds, and gives what prevents it."""


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

    has_row: bool = True
    """False where other rows tell of it."""

    told_at: float | None = None
    """When something last came of what comes in pieces."""

    def silence(self, now: float) -> str:
        """For how long nothing came of what comes in pieces; empty where that is short."""
        seconds = now - (now if self.told_at is None else self.told_at)
        return f", nothing for {seconds_text(seconds)}" if seconds >= SILENT_AFTER_SECONDS else ""


def mark_at(seconds: float) -> str:
    """What turns while something goes on."""
    return _MARKS[int(seconds / SHOWN_EVERY_SECONDS) % len(_MARKS)]


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
        rows: Callable[[float], Sequence[Row]] = lambda now: (),
    ) -> None:
        """Wait for nothing yet.

        `rows` are shown above what is waited for, as they are at a time of the `clock`.

        `log` writes a line under a stage: every 10 s where it is wanted, or where the terminal
        can't erase. While `is_held` somebody else has the terminal, and nothing is written.
        """
        is_watched = stream is not None and stream.isatty() and not quiet
        self.live = Region(stream if is_watched and can_erase(environ) else None, environ=environ)
        is_logged = (verbose or is_watched) and not self.live.is_live and not quiet
        self._log = log if is_logged and stream is not None else None
        self._is_held = is_held
        self._clock = clock
        self._schedule = schedule
        self._rows = rows
        self._waits: dict[Hashable, _Wait] = {}
        self._logged: dict[Hashable, int] = {}
        self._drawn = -math.inf
        self._in_run = False
        self._busy_since = -math.inf
        self._keyboard = Keyboard(self.live.clear, self._go_on) if self.live.is_live else None
        self._cancel: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        """Held while anything is written; a thread may tick."""

    def begin_run(self) -> None:
        """Rows that are shown stay from now on until `end_all`, or a run would seem to jump."""
        if not self._in_run and not self._waits:
            self._busy_since = self._clock()
        self._in_run = True

    def begin(
        self,
        key: Hashable,
        stage: str,
        text: str,
        *,
        at_once: bool = False,
        has_row: bool = True,
        in_pieces: bool = False,
    ) -> None:
        """Something is waited for from now on; under a key that is there, only its text changes.

        `in_pieces`: one has come just now, and it is told when no other does for a while.
        """
        if self._log is None and not self.live.is_live:
            return
        with self.lock:
            known, now = self._waits.get(key), self._clock()
            began = known.began if known is not None else now
            if not self._in_run and not self._waits:
                self._busy_since = began
            self._waits[key] = _Wait(
                stage, text, began, at_once, has_row, now if in_pieces else None
            )
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
            self._in_run = False
            self._go_on()

    def make_room(self) -> None:
        """Take the rows away, and let the terminal do as it does by itself."""
        with self.lock:
            self.live.clear()
            if self._keyboard is not None:
                self._keyboard.give_back()

    def redraw(self) -> None:
        """Show the rows as they are now, if any are shown, whenever that was done before."""
        self._drawn = -math.inf
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
        if not self._waits and not (self._in_run and self.live.is_shown):
            self.make_room()
            return None
        if self._is_held():
            return SHOWN_EVERY_SECONDS
        busy = now - self._busy_since
        at_once = any(wait.at_once for wait in self._waits.values())
        if not (at_once or self.live.is_shown or busy >= SHOWN_AFTER_SECONDS):
            return SHOWN_AFTER_SECONDS - busy + _LATE_SECONDS
        if (due := self._drawn + FRAME_SECONDS - now) > 0:
            return due + _LATE_SECONDS
        self._draw(now)
        newest = now - next(reversed(self._waits.values())).began if self._waits else 0.0
        return SHOWN_EVERY_SECONDS - newest % SHOWN_EVERY_SECONDS + _LATE_SECONDS

    def _draw(self, now: float) -> None:
        self._drawn = now
        if self._in_run and self._keyboard is not None:
            self._keyboard.take()
        rows = [*self._rows(now)]
        told = [wait for wait in self._waits.values() if wait.has_row]
        named = [wait for wait in told if wait.at_once or now - wait.began >= SHOWN_AFTER_SECONDS]
        named = named or (told if not rows else [])
        if named:
            rows.append(_row_of(named[-1], now))
        self.live.show(rows)

    def _in_log(self) -> float | None:
        if self._log is None or not self._waits:
            return None
        key, newest = next(reversed(self._waits.items()))
        now = self._clock()
        seconds = now - newest.began
        times = int(seconds // LOGGED_EVERY_SECONDS)
        if times > self._logged.get(key, 0):
            self._logged[key] = times
            text = f"still waiting for {newest.text}, {seconds_text(seconds)} so far"
            text += newest.silence(now)
            self._log(newest.stage, text)
        return LOGGED_EVERY_SECONDS - seconds % LOGGED_EVERY_SECONDS + _LATE_SECONDS


def _row_of(wait: _Wait, now: float) -> Row:
    elapsed = now - wait.began
    text = wait.text if wait.at_once else f"waiting for {wait.text}"
    end = f" · {seconds_text(elapsed)}" if elapsed >= SHOWN_AFTER_SECONDS else ""
    end += wait.silence(now)
    return row((f"[{wait.stage}]", DIM), f" {mark_at(elapsed)} {text}", end=end)


def is_cut_by_interrupt(work: Callable[[], object]) -> bool:
    """Do what blocks the event loop, the writing of a text; whether Ctrl-C has ended it at once.

    For `interrupting`, which a loop must be free for. Another Ctrl-C does what it did before, so
    that it breaks off nothing here. Main thread only.
    """
    before = signal.getsignal(signal.SIGINT)

    def cut(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        raise KeyboardInterrupt

    try:
        try:
            signal.signal(signal.SIGINT, cut)
            work()
        finally:
            signal.signal(signal.SIGINT, before)
    except KeyboardInterrupt:
        return True
    return False


def end_at_interrupt() -> None:
    """From now on Ctrl-C ends the process at once: it has nothing to close, before work or after.

    Only while `interrupting` it does not. An exception could come at any place, and be lost or
    break off another's handling. Main thread only.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(ExitCode.INTERRUPTED)


def let_interrupts_raise() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, as Python has it, unless it is ignored.

    `asyncio.run` cancels its main task at Ctrl-C only where it finds it so.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interrupting(action: Callable[[], object], *signals: signal.Signals) -> Generator[None]:
    """While inside, the signals call `action` instead of stopping the program.

    Afterwards they do what they did before. With handlers of asyncio's there would be a moment at
    the end in which Ctrl-C raised KeyboardInterrupt, wherever the program is. Main thread only.
    """
    loop = asyncio.get_running_loop()

    def call(*_: object) -> None:
        loop.call_soon_threadsafe(action)

    before = {number: signal.signal(number, call) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # one that Python did not put there can't be put back
                signal.signal(number, handler)
