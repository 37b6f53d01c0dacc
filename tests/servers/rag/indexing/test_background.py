"""A step on a thread of its own: when it runs, and that no failure ends it."""

import logging
import threading

import pytest

from servers.rag.errors import EmbedderUnavailable
from servers.rag.indexing.background import Repeating
from tests.servers.rag.indexing.doubles import SOON_SECONDS, eventually


class Steps:
    """Plays a script: a value is what the step gives, an exception what it raises."""

    def __init__(self, *script: float | Exception | None) -> None:
        self._script = list(script)
        self.done = threading.Semaphore(0)

    def __call__(self) -> float | None:
        played = self._script.pop(0) if self._script else None
        self.done.release()
        if isinstance(played, Exception):
            raise played
        return played

    def wait(self, count: int = 1) -> bool:
        return all(self.done.acquire(timeout=SOON_SECONDS) for _ in range(count))


def test_it_runs_at_once_when_due_and_when_woken() -> None:
    steps = Steps(0.0, None)
    repeating = Repeating("working", steps)
    repeating.start()

    assert steps.wait(2)
    repeating.wake()
    assert steps.wait()
    repeating.close(SOON_SECONDS)


def test_a_failure_is_told_and_the_step_tried_again() -> None:
    steps = Steps(EmbedderUnavailable("ollama is not running"), EmbedderUnavailable("still"), None)
    repeating = Repeating("embedding", steps, retry_first_seconds=0.01)
    repeating.start()

    assert steps.wait(3)
    assert eventually(lambda: repeating.failure == "")
    repeating.close(SOON_SECONDS)


def test_the_fault_of_the_world_is_a_line_for_the_status() -> None:
    repeating = Repeating("embedding", Steps(EmbedderUnavailable("ollama is not running")))
    repeating.start()

    assert eventually(lambda: repeating.failure == "ollama is not running")
    repeating.close(SOON_SECONDS)


def test_a_fault_of_ours_goes_to_the_log_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    steps = Steps(ZeroDivisionError("oops"), None)
    with caplog.at_level(logging.ERROR):
        repeating = Repeating("indexing", steps, retry_first_seconds=0.01)
        repeating.start()
        assert steps.wait(2)
        repeating.close(SOON_SECONDS)

    assert "ZeroDivisionError: oops" in caplog.text


def test_it_is_closed_though_it_waits_for_its_next_attempt() -> None:
    steps = Steps(EmbedderUnavailable("down"))
    repeating = Repeating("embedding", steps, retry_first_seconds=600)
    repeating.start()
    assert steps.wait()

    repeating.close(SOON_SECONDS)

    assert "embedding" not in {thread.name for thread in threading.enumerate()}


def test_closing_what_never_started_does_nothing() -> None:
    Repeating("idle", Steps()).close(0)
