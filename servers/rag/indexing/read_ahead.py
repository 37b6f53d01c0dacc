"""Does the slow half of some work on another thread, a bounded number of items ahead."""

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_LOOK_SECONDS = 0.2


def read_ahead(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], ahead: int
) -> Generator[ResultT]:
    """What `work` makes of each item, in order; at most `ahead` results wait to be taken.

    The generator must be closed when it is left early: the thread then ends after the item that
    it is at, which is not waited for. An exception of `work` or `items` is raised here.
    """
    results: queue.Queue[ResultT | _End] = queue.Queue(maxsize=ahead)
    left = threading.Event()

    def hand_over(result: "ResultT | _End") -> None:
        while not left.is_set():
            with suppress(queue.Full):
                results.put(result, timeout=_LOOK_SECONDS)
                break

    def run() -> None:
        end = _End()
        try:
            for item in items:
                if left.is_set():
                    break
                hand_over(work(item))
        except Exception as error:  # noqa: BLE001 - raised again where the results are taken
            end.error = error
        hand_over(end)

    threading.Thread(target=run, name="reading ahead", daemon=True).start()
    try:
        while not isinstance(result := results.get(), _End):
            yield result
        if result.error is not None:
            raise result.error
    finally:
        left.set()


class _End:
    """No more results, and why if that is not for want of items."""

    error: Exception | None = None
