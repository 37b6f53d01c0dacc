"""Searching the memory: 100,000 items of made-up sessions, as the server and as the agent does it.

An exchange is five items, as the recorder writes them: a request, a call, two outputs, an answer.
Its words are drawn by Zipf's law. A search of the library looks at all session files first, and at
the time of all but the first nothing has changed. Beside it, what there would be without an index:
reading all sessions and looking for the words in each request and answer.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from core.base.memory.exchanges import DatedExchange, read_session
from core.base.memory.indexed import INDEX_FOLDER
from servers.memory.library import MemoryLibrary
from servers.memory.options import MemoryOptions
from servers.rag.index.reader import find_by_words
from tests.benchmarks.table import Row, at_most
from tests.core.base.memory.session_files import items_of, write_session

ITEMS, SESSIONS = 100_000, 2_000
VOCABULARY, REQUEST_WORDS, ANSWER_WORDS = 50_000, 10, 60
QUESTIONS, QUESTION_WORDS, ANSWERS = 60, 5, 5
SEED = 11
AIM_MS = 50


def measure(home: Path, items: int = ITEMS, sessions: int = SESSIONS) -> list[Row]:
    """Words, by the library and by the reader."""
    chance = Random(SEED)  # noqa: S311 - data, not secrets
    names = [f"w{number:x}" for number in range(VOCABULARY)]
    shares = [1 / (number + 2.7) for number in range(VOCABULARY)]

    def words(count: int) -> str:
        return " ".join(chance.choices(names, shares, k=count))

    example = DatedExchange(1.0, words(REQUEST_WORDS), words(ANSWER_WORDS), ("add",))
    per_session = items // sessions // len(items_of(example, "s"))
    requests: list[str] = []
    for number in range(sessions):
        exchanges = [
            DatedExchange(time.time() - chance.random() * 1e8, words(10), words(60), ("add",))
            for _ in range(per_session)
        ]
        requests.append(exchanges[0].request)
        session_id = f"2026/{number % 12 + 1:02}/{number % 28 + 1:02}/session-{number}-abcdef"
        write_session(home, session_id, exchanges)
    asked = [" ".join(each.split()[:QUESTION_WORDS]) for each in chance.sample(requests, QUESTIONS)]
    library = MemoryLibrary(MemoryOptions(folder=home, embedder="none"))
    first = _times(lambda query: library.search(query, ANSWERS, "words"), asked[:1])
    whole = _times(lambda query: library.search(query, ANSWERS, "words"), asked)
    index = home / INDEX_FOLDER
    reader = _times(lambda query: find_by_words(index, query, ANSWERS), asked)
    library.close()
    plain = _times(lambda query: _without_index(home, query), asked[:3])
    total = sessions * per_session * len(items_of(example, "s"))
    return [
        Row(f"{total:,} items in {sessions:,} sessions, first search", f"{first[0]:.1f} s"),
        Row("searched by the server", _middle(whole), _under(whole)),
        Row("  its share of a search without an index", _share(whole, plain)),
        Row("searched by the agent's reader", _middle(reader), _under(reader)),
        Row("  its share of a search without an index", _share(reader, plain)),
        Row("  that, reading all sessions", f"{statistics.median(plain):.1f} s"),
    ]


def _times(search: Callable[[str], object], queries: list[str]) -> list[float]:
    """Seconds of each."""
    times: list[float] = []
    for query in queries:
        began = time.perf_counter()
        found = search(query)
        times.append(time.perf_counter() - began)
        assert found
    return times


def _without_index(folder: Path, query: str) -> list[DatedExchange]:
    """The exchanges that hold most of the words."""
    wanted = {*query.split()}
    found = [
        (len(wanted & {*each.request.split(), *(each.answer or "").split()}), place, each)
        for place, path in enumerate(folder.rglob("session-*.json"))
        for each in read_session(path).exchanges
    ]
    return [each for *_, each in sorted(found, key=lambda one: (-one[0], one[1]))[:ANSWERS]]


def _middle(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.1f} ms, worst {max(seconds) * 1000:.1f}"


def _under(seconds: list[float]) -> str:
    return at_most(statistics.median(seconds) * 1000, AIM_MS, " ms")


def _share(seconds: list[float], plain: list[float]) -> str:
    return f"{statistics.median(seconds) / statistics.median(plain):.4f}"
