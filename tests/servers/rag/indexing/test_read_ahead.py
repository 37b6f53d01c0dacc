"""Work done ahead on another thread."""

import threading
from contextlib import closing

import pytest

from servers.rag.indexing.read_ahead import read_ahead

SOON_SECONDS = 10.0


def test_results_come_in_order() -> None:
    assert list(read_ahead(lambda n: n * n, range(100), ahead=3)) == [n * n for n in range(100)]


def test_no_more_is_done_ahead_than_allowed() -> None:
    begun = threading.Semaphore(0)

    def work(number: int) -> int:
        begun.release()
        return number

    with closing(read_ahead(work, range(100), ahead=2)) as results:
        next(results)
        # One was taken, two wait, and a fourth is done but finds no room.
        assert all(begun.acquire(timeout=SOON_SECONDS) for _ in range(4))
        assert not begun.acquire(timeout=0.05)


def test_an_exception_is_raised_where_the_results_are_taken() -> None:
    results = read_ahead(lambda n: 1 // n, [1, 0], ahead=2)

    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_leaving_early_ends_the_thread() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        return number

    before = set(threading.enumerate())
    with closing(read_ahead(work, range(1000), ahead=1)) as results:
        next(results)
        mine = set(threading.enumerate()) - before
    for thread in mine:
        thread.join(SOON_SECONDS)

    assert not any(thread.is_alive() for thread in mine)
    assert len(done) <= 3
