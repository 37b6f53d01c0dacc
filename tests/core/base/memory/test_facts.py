"""Facts that are kept, replaced and forgotten, in a file that others write too."""

import json
import stat
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings

from core.base.memory.facts import FACTS_FILE, FACTS_MAX, FactError, FactStore, OlderFact
from core.base.redaction import Redactor
from core.values import Json
from tests.modules.session.json_values import JSON_VALUES

SECRET = "hunter2-hunter2"  # noqa: S105 - made up


def store(folder: Path, *moments: float) -> FactStore:
    times = iter(moments)
    return FactStore(folder, Redactor({"API_TOKEN": SECRET}), lambda: next(times, 99.0))


def texts(facts: FactStore) -> list[str]:
    return [fact.text for fact in facts.all()]


def test_facts_are_kept_for_this_user_alone(tmp_path: Path) -> None:
    facts = store(tmp_path / "memory", 10.0)
    assert facts.all() == ()
    kept = facts.keep("remember that I'm vegetarian.", "s-1")
    assert (kept.text, kept.when, kept.session_id, kept.older) == (
        "I'm vegetarian",
        10.0,
        "s-1",
        (),
    )
    assert store(tmp_path / "memory").all() == (kept,)
    assert stat.S_IMODE(facts.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(facts.path.parent.stat().st_mode) == 0o700


def test_a_newer_fact_replaces_an_older_one_and_both_dates_stand(tmp_path: Path) -> None:
    facts = store(tmp_path, 10.0, 20.0, 30.0)
    first = facts.keep("I live in Oslo")
    facts.keep("I like tea")
    newer = facts.keep("I moved to Rome")
    assert newer.fact_id == first.fact_id
    assert newer.older == (OlderFact("I live in Oslo", 10.0),)
    assert texts(facts) == ["I like tea", "I moved to Rome"]
    assert facts.keep("i moved to rome.") == newer


def test_only_so_many_older_texts_stay(tmp_path: Path) -> None:
    facts = store(tmp_path)
    *_, kept = [facts.keep(f"I live in {city}") for city in "ABCDEFGH"]
    assert [old.text[-1] for old in kept.older] == ["G", "F", "E", "D", "C"]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ("I'm vegetarian", "I'm vegetarian"),
        ("that I am vegetarian", "I'm vegetarian"),
        ("vegetarian", "I'm vegetarian"),
        ("my diet", "I'm vegetarian"),
        ("where I live home", "I live in Rome"),
        ("my wife's birthday", "My wife's birthday is May 3"),
        ("My wife's birthday is May 3.", "My wife's birthday is May 3"),
    ],
)
def test_a_fact_is_forgotten_by_its_words(tmp_path: Path, words: str, gone: str) -> None:
    facts = store(tmp_path)
    said = ["I'm vegetarian", "I live in Rome", "My wife's birthday is May 3", "my name is Anna"]
    for text in said:
        facts.keep(text)
    assert [fact.text for fact in facts.forget(words)] == [gone]
    assert texts(facts) == [text for text in said if text != gone]
    assert gone not in facts.path.read_text()


def test_a_fact_is_forgotten_by_its_id_with_all_that_it_replaced(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.keep("I live in Oslo")
    kept = facts.keep("I live in Rome")
    facts.forget(kept.fact_id)
    assert "Oslo" not in facts.path.read_text()
    assert facts.all() == ()


def test_an_older_text_is_forgotten_alone(tmp_path: Path) -> None:
    facts = store(tmp_path, 1.0, 2.0)
    facts.keep("I live in Oslo")
    facts.keep("I live in Rome")
    assert [(fact.text, fact.when) for fact in facts.forget("Oslo")] == [("I live in Oslo", 1.0)]
    assert texts(facts) == ["I live in Rome"]
    assert "Oslo" not in facts.path.read_text()


@pytest.mark.parametrize("words", ["the moon", "everything", "", "that I am", "?"])
def test_what_fits_no_fact_forgets_none(tmp_path: Path, words: str) -> None:
    facts = store(tmp_path)
    facts.keep("I live in Oslo")
    assert facts.forget(words) == ()
    assert texts(facts) == ["I live in Oslo"]


def test_several_facts_that_fit_are_named_and_kept(tmp_path: Path) -> None:
    facts = store(tmp_path)
    one = facts.keep("I like green tea")
    facts.keep("my favorite tea is black")
    with pytest.raises(FactError, match=f"several facts fit.*{one.fact_id}.*black"):
        facts.forget("tea")
    assert len(facts.all()) == 2


def test_facts_are_found_by_words(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.keep("I like green tea")
    facts.keep("I live in Rome")
    assert [fact.text for fact in facts.find("teas")] == ["I like green tea"]
    assert [fact.text for fact in facts.find("home")] == ["I live in Rome"]
    assert len(facts.find("me")) == 2
    assert facts.find("coffee") == ()


def test_what_is_no_fact_is_refused(tmp_path: Path) -> None:
    facts = store(tmp_path)
    with pytest.raises(FactError, match="nothing to remember"):
        facts.keep(" remember that . ")
    with pytest.raises(FactError, match="at most 500 characters"):
        facts.keep("x " * 400)
    assert not facts.path.exists()


def test_secrets_are_masked_before_they_are_written(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.keep(f"remember that my token is {SECRET}")
    assert SECRET not in facts.path.read_text()
    assert texts(facts) == ["my token is [redacted API_TOKEN]"]


def test_there_are_only_so_many_facts(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.keep("I live in Oslo")
    document = json.loads(facts.path.read_text())
    document["facts"] += [
        {"fact_id": f"{number:06x}", "text": f"fact {number}", "when": 1.0}
        for number in range(FACTS_MAX - 1)
    ]
    facts.path.write_text(json.dumps(document))
    with pytest.raises(FactError, match="forget some first"):
        facts.keep("I like tea")
    assert facts.keep("I live in Rome").older


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (b"", []),
        (b"[", []),
        (b"\xff\xfe", []),
        (b'{"facts": {}}', []),
        (b"[" * 100_000, []),
        (b'{"facts": [{"fact_id": "aa", "text": "I ski", "when": 1}, 7]}', ["I ski"]),
        (b'{"facts": [{"fact_id": "../x", "text": "I ski", "when": 1}]}', []),
        (b'{"facts": [{"fact_id": "aa", "text": "\\ud800", "when": 1}]}', []),
        (b'{"facts": [{"fact_id": "aa", "text": "I ski", "when": NaN}]}', []),
    ],
)
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes, left: list[str]) -> None:
    facts = store(tmp_path)
    facts.path.write_bytes(content)
    assert texts(facts) == left
    (aside,) = tmp_path.glob(f"{FACTS_FILE}.damaged-99*")
    assert aside.read_bytes() == content
    assert aside.name in facts.notes[0]
    facts.keep("I like tea")
    assert texts(facts) == [*left, "I like tea"]


@settings(deadline=None)
@given(JSON_VALUES)
def test_no_value_in_the_file_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, value: Json
) -> None:
    facts = store(tmp_path_factory.mktemp("memory"))
    facts.path.write_text(json.dumps({"facts": [value, {"fact_id": "a", "text": value}]}))
    facts.all()
    facts.keep("I like tea")
    assert texts(facts)[-1] == "I like tea"


def test_a_later_versions_file_is_left_alone(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.path.write_text('{"format": 2, "facts": []}')
    with pytest.raises(FactError, match="later version"):
        facts.keep("I like tea")
    assert facts.path.read_text() == '{"format": 2, "facts": []}'


def test_a_folder_in_its_place_is_an_error_of_the_system(tmp_path: Path) -> None:
    facts = store(tmp_path)
    facts.path.mkdir()
    with pytest.raises(OSError):  # noqa: PT011 - which, depends on the system
        facts.all()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, get_context("spawn")) as processes:
        list(processes.map(keep_twenty, [tmp_path] * 3, range(3)))
    assert len(texts(store(tmp_path))) == 60


def keep_twenty(folder: Path, process: int) -> None:
    for number in range(20):
        store(folder).keep(f"I like number {process} {number}")
