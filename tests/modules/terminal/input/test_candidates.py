"""What `@path` may become, and what fits below the prompt."""

from pathlib import Path

import pytest

from modules.terminal.input.bottom_line import bottom_text
from modules.terminal.input.candidates import (
    FILES_PROPOSED,
    Part,
    attached_word,
    path_candidates,
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("what is in @", "@"),
        ("what is in @no/te", "@no/te"),
        ('read @"my no', '@"my no'),
        ('read @"my notes.txt" ', None),
        ("mail me@host", None),
        ("@a then b", None),
        ("one\n@b", "@b"),
        ("", None),
    ],
)
def test_the_word_behind_an_at_is_found(text: str, word: str | None) -> None:
    assert attached_word(text) == word


def test_files_and_folders_are_proposed_hidden_ones_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "my list.txt").touch()
    (tmp_path / "nothing.md").touch()
    (tmp_path / ".hidden").touch()

    def found(word: str) -> list[str]:
        return [candidate.text for candidate in path_candidates(word, tmp_path)]

    assert found("@") == ["@Notes/", "@nothing.md"]
    assert found("@n") == ["@Notes/", "@nothing.md"]
    assert found("@.h") == ["@.hidden"]
    assert found("@Notes/") == ['@"Notes/my list.txt"']
    assert found('@"Notes/my') == ['@"Notes/my list.txt"']
    assert found("@gone/") == []
    assert found("@\0") == []


def test_names_that_have_it_in_their_midst_come_behind_those_that_begin_so(tmp_path: Path) -> None:
    for name in ("2026-report.pdf", "Report.md", "reporting.txt", "other.txt", ".report"):
        (tmp_path / name).touch()
    found = [candidate.text for candidate in path_candidates("@report", tmp_path)]
    assert found == ["@Report.md", "@reporting.txt", "@2026-report.pdf"]


def test_no_more_entries_are_proposed_than_can_be_looked_through(tmp_path: Path) -> None:
    for number in range(FILES_PROPOSED + 5):
        (tmp_path / f"f{number}").touch()
    assert len(path_candidates("@f", tmp_path)) == FILES_PROPOSED


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (80, "gemini · Cortex-R · 漢字 · $0.01"),
        (20, "gemini · 漢字"),
        (6, "gemini"),
        (3, "gem"),
        (0, ""),
    ],
)
def test_the_line_below_fits_its_columns(columns: int, shown: str) -> None:
    parts = [Part("gemini", 0), Part("Cortex-R", 3), Part("", 1), Part("漢字", 1), Part("$0.01", 2)]
    assert bottom_text(parts, columns) == shown
