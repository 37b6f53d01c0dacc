"""Sums that several writers add to: none is lost, and what can't be read is told."""

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BudgetScope, StorageError
from modules.models.serving.ledger import NOTHING, Keys, Ledger, Spent, Sums

USER: Keys = {"user": "", "day": "2026-11-26"}

FIGURES = st.builds(
    Spent,
    tokens=st.integers(0, 10**12),
    cost=st.integers(0, 1000).map(float),
    calls=st.integers(0, 50),
    seconds=st.integers(0, 1000).map(float),
)
KEYS = st.fixed_dictionaries(
    {"user": st.just("")},
    optional={
        "day": st.sampled_from(["2026-11-26", "2026-11-27"]),
        "conversation": st.sampled_from(["a", "b"]),
    },
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), KEYS, FIGURES), max_size=12))
def test_in_any_order_two_writers_lose_nothing_and_each_day_and_conversation_has_its_own_sum(
    adds: list[tuple[bool, dict[BudgetScope, str], Spent]],
) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spent"
        with closing(Ledger(file)) as one, closing(Ledger(file)) as other:
            expected: dict[tuple[str, str], Spent] = {}
            for is_one, keys, spent in adds:
                for scope, key in keys.items():
                    expected[scope, key] = expected.get((scope, key), NOTHING) + spent
                sums, _ = (one if is_one else other).add(keys, spent)
                assert sums == {scope: expected[scope, key] for scope, key in keys.items()}
        with closing(Ledger(file)) as anew:
            for (scope, key), spent in expected.items():
                keys = _key(scope, key)
                assert anew.read(keys) == dict.fromkeys(keys, spent)


def _key(scope: str, key: str) -> dict[BudgetScope, str]:
    scopes: list[BudgetScope] = ["conversation", "user", "day"]
    return {each: key for each in scopes if each == scope}


def _add_often(file: Path, times: int) -> None:
    with closing(Ledger(file)) as ledger:
        for _ in range(times):
            ledger.add(USER, Spent(tokens=3, calls=1))


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "home" / "spent"
    spawned = multiprocessing.get_context("spawn")
    running = [spawned.Process(target=_add_often, args=(file, 40)) for _ in range(2)]
    for each in running:
        each.start()
    for each in running:
        each.join(30)
    assert [each.exitcode for each in running] == [0, 0]
    assert Ledger(file).read(USER) == dict.fromkeys(USER, Spent(tokens=240, calls=80))


def test_of_writers_at_once_none_gets_a_call_too_many(tmp_path: Path) -> None:
    paid: list[bool] = []

    def call() -> None:
        with closing(Ledger(tmp_path / "spent")) as ledger:
            for _ in range(5):
                paid.append(ledger.add(USER, Spent(tokens=1), _under_seven)[1])

    def _under_seven(sums: Sums) -> bool:
        return sums["day"].calls < 7

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(paid), paid.count(True)) == (20, 7)
    assert Ledger(tmp_path / "spent").read(USER)["day"] == Spent(tokens=20, calls=7)


def test_its_files_are_the_users_alone_and_reading_makes_none(tmp_path: Path) -> None:
    file = tmp_path / "home" / "spent"
    with closing(Ledger(file)) as ledger:
        assert ledger.read(USER) == dict.fromkeys(USER, NOTHING)
        assert not file.parent.exists()
        ledger.add(USER, Spent(tokens=1))
        modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()}
        assert set(modes.values()) == {0o600}
        assert "spent" in modes


def _garbled(file: Path) -> None:
    file.write_bytes(b"tokens: 12\n" * 1000)


def _of_something_else(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE notes (text)")


def _of_a_later_version(file: Path) -> None:
    with closing(Ledger(file)) as ledger:
        ledger.add(USER, Spent(tokens=1))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 7")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_garbled, "file is not a database; put a copy"),
        (_of_something_else, "a database of something else; put a copy"),
        (_of_a_later_version, "of format 7, of another version of Cortex-R"),
    ],
)
def test_a_file_that_is_none_is_an_error_and_stays_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None], told: str
) -> None:
    file = tmp_path / "spent"
    damage(file)
    before = file.read_bytes()
    with closing(Ledger(file)) as ledger, pytest.raises(StorageError, match=told):
        ledger.add(USER, Spent(tokens=1))
    with closing(Ledger(file)) as ledger, pytest.raises(StorageError, match=str(file)):
        ledger.read(USER)
    assert file.read_bytes() == before


def test_a_file_that_is_held_is_waited_for_and_then_told(tmp_path: Path) -> None:
    file = tmp_path / "spent"
    with closing(Ledger(file)) as ledger:
        ledger.add(USER, Spent(tokens=1))
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with (
            closing(Ledger(file, lock_seconds=0.01)) as ledger,
            pytest.raises(StorageError, match="database is locked; see that"),
        ):
            ledger.add(USER, Spent(tokens=1))
        holder.execute("ROLLBACK")
    assert Ledger(file).read(USER)["user"].tokens == 1


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "spent").mkdir()
    with pytest.raises(StorageError, match="unable to open"):
        Ledger(tmp_path / "spent").add(USER, Spent(tokens=1))


def test_a_file_that_is_moved_away_begins_anew_also_for_who_has_it_open(tmp_path: Path) -> None:
    file = tmp_path / "spent"
    with closing(Ledger(file)) as ledger:
        ledger.add(USER, Spent(tokens=5))
        for each in tmp_path.glob("spent*"):
            each.rename(tmp_path / f"old-{each.name}")
        assert ledger.add(USER, Spent(tokens=1))[0]["user"].tokens == 1
    assert Ledger(file).read(USER)["user"].tokens == 1


def _add_and_die(file: Path) -> None:
    Ledger(file).add(USER, Spent(tokens=9))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_writer_loses_nothing_that_was_added(tmp_path: Path) -> None:
    file = tmp_path / "spent"
    killed = multiprocessing.get_context("spawn").Process(target=_add_and_die, args=(file,))
    killed.start()
    killed.join(30)
    assert killed.exitcode == -signal.SIGKILL
    assert Ledger(file).read(USER)["user"].tokens == 9
