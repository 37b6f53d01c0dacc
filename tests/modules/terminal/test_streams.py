"""A bug of ours: one line for the user, the traceback for the log."""

import io
import logging
import stat
import sys
from pathlib import Path

import pytest

from core.run.execution import begin, working
from modules.terminal.streams import (
    MAX_MESSAGE_CHARACTERS,
    Complaints,
    LogHandler,
    log_bug,
)
from tests.doubles import Terminal


def bug(message: str) -> Exception:
    try:
        raise OverflowError(message)
    except OverflowError as error:
        return error


def test_the_traceback_goes_to_a_log_of_this_user_alone_and_one_line_names_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "home" / "logs" / "cortex-r.log"
    told = log_bug(bug("too\nlarge"), file, str)
    assert told == f"a bug in Cortex-R: OverflowError: too large; details: {file}"
    log_bug(bug("again"), file, str)
    text = file.read_text(encoding="utf-8")
    assert text.count("Traceback (most recent call last)") == 2
    assert "in bug\n    raise OverflowError(message)" in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_message_is_broken_at_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a/path/that/is/longer/than/a/line/of/the/terminal"
    message = f"the profile names no model that is there: {path}\nsay which"
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        monkeypatch.setattr(sys, "stderr", stream)
        Complaints({}).tell(message)
    assert pipe.getvalue() == f"{message}\n"
    assert terminal.getvalue().splitlines() == [
        "the profile names no model that is",
        "there:",
        path,
        "say which",
    ]


def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("before\n", encoding="utf-8")
    file.chmod(0o644)
    log_bug(bug("x"), file, str)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text(encoding="utf-8").startswith("before\n")


def test_no_secret_is_told_or_kept_and_no_message_fills_the_screen(tmp_path: Path) -> None:
    file = tmp_path / "log"
    told = log_bug(bug("hush " + "x" * 10_000), file, lambda text: text.replace("hush", "*"))
    assert told.startswith("a bug in Cortex-R: OverflowError: * xxx")
    assert len(told) < MAX_MESSAGE_CHARACTERS + 200
    assert "hush" not in file.read_text(encoding="utf-8")


def test_where_no_log_can_be_written_the_traceback_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (None, tmp_path / "file" / "log", tmp_path):
        told = log_bug(bug("x"), place, str)
        assert told.startswith("a bug in Cortex-R: OverflowError: x; details: \n")
        assert told.rstrip().endswith("OverflowError: x")


def test_what_any_logger_warns_of_is_one_line_and_its_traceback_is_for_the_log(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    file = tmp_path / "log"
    logger = logging.Logger("of a library")
    logger.addHandler(LogHandler(lambda: file, lambda text: text.replace("hush", "*"), told.append))
    logger.info("passing")
    logger.warning("a hush %s\nin two lines", "word")
    assert not file.exists()
    logger.error("task failed", exc_info=bug("hush"))
    assert told == [
        "[log] a * word in two lines",
        f"[log] task failed: OverflowError: *; details: {file}",
    ]
    text = file.read_text(encoding="utf-8")
    assert "task failed\nTraceback" in text
    assert "hush" not in text


def test_what_goes_wrong_within_a_run_names_its_trace_in_the_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    with working(begin()) as work:
        log_bug(bug("x"), file, str)
    log_bug(bug("y"), file, str)
    first, second = (line for line in file.read_text("utf-8").splitlines() if " UTC" in line)
    assert first.endswith(f" UTC, trace {work.trace_id}")
    assert second.endswith(" UTC")
