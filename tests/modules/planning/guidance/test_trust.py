"""What is remembered of texts: by path and content, whatever the file holds."""

import os
import stat
from pathlib import Path

import pytest

from modules.planning.guidance.trust import ENTRIES_MAX, TrustStore

FILE, OTHER = Path("/p/AGENTS.md"), Path("/q/AGENTS.md")


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "home" / "trusted.json", lambda: 5.0)


def test_yes_and_no_hold_for_the_path_and_the_content(store: TrustStore, tmp_path: Path) -> None:
    assert store.verdict(FILE, "a") is None
    store.decide(FILE, "a", is_trusted=True)
    store.decide(OTHER, "a", is_trusted=False)
    assert (store.verdict(FILE, "a"), store.verdict(OTHER, "a")) == (True, False)
    assert store.verdict(FILE, "b") is None
    file = tmp_path / "home" / "trusted.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert TrustStore(file).verdict(FILE, "a") is True


def test_what_is_forgotten_is_asked_again(store: TrustStore) -> None:
    store.decide(FILE, "a", is_trusted=True)
    assert store.forget(FILE)
    assert not store.forget(FILE)
    assert store.verdict(FILE, "a") is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"format": 2, "texts": {}}', '{"format": 1, "texts": []}'),
        '{"format": 1, "texts": {"/p/AGENTS.md": true}}',
        '{"format": 1, "texts": {"/p/AGENTS.md": {"sha256": "a", "trusted": "yes", "at": 1}}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_trusts_nothing_and_is_set_aside(text: str, tmp_path: Path) -> None:
    file = tmp_path / "trusted.json"
    file.write_text(text, encoding="utf-8")
    store = TrustStore(file, lambda: 5.0)
    assert store.verdict(FILE, "a") is None
    store.decide(FILE, "a", is_trusted=True)
    assert store.verdict(FILE, "a") is True
    assert (tmp_path / "trusted.json.damaged-5").read_text("utf-8") == text


def test_a_pipe_in_its_place_is_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trusted.json")
    assert TrustStore(tmp_path / "trusted.json").verdict(FILE, "a") is None


def test_only_so_much_is_remembered(store: TrustStore, tmp_path: Path) -> None:
    entry = '{"sha256": "a", "trusted": true, "at": 1}'
    texts = ", ".join(f'"/{number}": {entry}' for number in range(ENTRIES_MAX))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trusted.json").write_text(f'{{"format": 1, "texts": {{{texts}}}}}')
    store.decide(FILE, "a", is_trusted=True)
    assert len(store.decisions()) == ENTRIES_MAX
    assert store.verdict(Path("/0"), "a") is None
    assert store.verdict(FILE, "a") is True
