"""What is being waited for, by name and with the time that it has taken.

On a terminal it stands in the line that is written over, once it has taken 0.3 s. Elsewhere a
verbose run gets a line every 10 s. The event loop's clock drives it; where there is no loop yet, a
thread does.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

from modules.terminal.live_line import LiveLine, Terminal, can_erase

SHOWN_AFTER_SECONDS: Final = 0.3
"""What takes less is no wait."""

SHOWN_EVERY_SECONDS: Final = 1.0
LOGGED_EVERY_SECONDS: Final = 10.0

_LATE_SECONDS: Final = 0.001
"""A timer that rings a little early would show the time before."""

Schedule: TypeAlias = Callable[[float, Callable[[], None]], Callable[[], None] | None]
"""Calls back after so many seconds, and gives what prevents it; None where nothing would."""


class Watched(Terminal, Protocol):
    """A text stream that somebody may watch."""

    def isatty(self) -> bool:
        """Whether a person reads it."""
        ...


@dataclass(frozen=True, slots=True)
class _Wait:
    stage: str
    text: str
    began: float
    at_once: bool = False
    """Shown before its time, and as it is: the text says how far it has come."""


def waits_on(
    stream: Watched | None,
    log: Callable[[str, str], None],
    environ: Mapping[str, str],
    *,
    verbose: bool,
    quiet: bool,
) -> "Waits":
    """What names waits on this stream, for what begins before there is a display of a run.

    `log` writes a line under a stage.
    """
    is_live, is_logged = ways_to_tell(stream, environ, verbose=verbose, quiet=quiet)
    live = LiveLine(stream, is_terminal=is_live)
    return Waits(live, log if is_logged else None)


def ways_to_tell(
    stream: Watched | None, environ: Mapping[str, str], *, verbose: bool, quiet: bool
) -> tuple[bool, bool]:
    """Whether waits stand in a line that is written over, and whether in lines every 10 s.

    A terminal that can't erase gets lines too.
    """
    if stream is None or quiet:
        return False, False
    is_watched = stream.isatty()
    is_live = is_watched and can_erase(environ)
    return is_live, (verbose or is_watched) and not is_live


def in_event_loop(seconds: float, action: Callable[[], None]) -> Callable[[], None] | None:
    """Schedule on the running loop; where none runs, nothing is."""
    try:
        return asyncio.get_running_loop().call_later(seconds, action).cancel
    except RuntimeError:
        return None


class Waits:
    """All that is waited for at a moment; the newest that has taken long enough is named."""

    def __init__(
        self,
        live: LiveLine,
        log: Callable[[str, str], None] | None = None,
        *,
        is_held: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        schedule: Schedule = in_event_loop,
    ) -> None:
        """Wait for nothing yet.

        `log` writes a line under a stage, where it is wanted and `live` is no terminal. While
        `is_held` somebody else has the terminal, and nothing is written.
        """
        self._live = live
        self._log = log
        self._is_held = is_held
        self._clock = clock
        self._schedule = schedule
        self._waits: dict[Hashable, _Wait] = {}
        self._logged: dict[Hashable, int] = {}
        self._cancel: Callable[[], None] | None = None
        self.lock = threading.RLock()
        """Held while anything is written; a thread may tick."""

    def begin(self, key: Hashable, stage: str, text: str, *, at_once: bool = False) -> None:
        """Something is waited for from now on; under a key that is there, only its text changes."""
        if self._log is None and not self._live.is_live:
            return
        with self.lock:
            known = self._waits.get(key)
            began = known.began if known is not None else self._clock()
            self._waits[key] = wait = _Wait(stage, text, began, at_once)
            if at_once and not self._is_held():
                self._show(wait, self._clock())
            self._go_on()

    def rename(self, key: Hashable, text: str) -> None:
        """It turns out to be something else; nothing where it has ended."""
        with self.lock:
            if (known := self._waits.get(key)) is not None:
                self._waits[key] = replace(known, text=text, at_once=False)

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

    def tick(self) -> float | None:
        """Show what there is; gives in how many seconds there will be something else."""
        with self.lock:
            return self._on_terminal() if self._live.is_live else self._in_log()

    @contextmanager
    def during(self, stage: str, text: str) -> Generator[None]:
        """Name the wait inside, on the event loop."""
        key = object()
        self.begin(key, stage, text)
        try:
            yield
        finally:
            self.end(key)

    @contextmanager
    def blocking(self, stage: str, text: str) -> Generator[None]:
        """Name the wait inside, where no event loop runs yet."""
        ended = threading.Event()

        def tick_on() -> None:
            seconds: float | None = SHOWN_AFTER_SECONDS
            while not ended.wait(seconds):
                seconds = self.tick()

        thread = threading.Thread(target=tick_on, name="cortex-waits", daemon=True)
        with self.during(stage, text):
            if self._waits:
                thread.start()
            try:
                yield
            finally:
                ended.set()
                if thread.is_alive():
                    thread.join()

    def _go_on(self) -> None:
        """Show what there is now, and be called when it changes."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        seconds = self.tick()
        if seconds is not None:
            self._cancel = self._schedule(seconds, self._go_on)

    def _on_terminal(self) -> float | None:
        now = self._clock()
        if not self._waits:
            self._live.clear()
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
        end = f" · {_elapsed(elapsed)}" if elapsed >= SHOWN_AFTER_SECONDS else ""
        self._live.show(f"[{wait.stage}] {text}", end)

    def _in_log(self) -> float | None:
        if self._log is None or not self._waits:
            return None
        key, newest = next(reversed(self._waits.items()))
        seconds = self._clock() - newest.began
        times = int(seconds // LOGGED_EVERY_SECONDS)
        if times > self._logged.get(key, 0):
            self._logged[key] = times
            text = f"still waiting for {newest.text}, {_elapsed(seconds)} so far"
            self._log(newest.stage, text)
        return LOGGED_EVERY_SECONDS - seconds % LOGGED_EVERY_SECONDS + _LATE_SECONDS


def _elapsed(seconds: float) -> str:
    """`0.3 s`, `12 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{int(seconds * 10) / 10:g} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
