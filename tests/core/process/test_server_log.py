"""What a server writes to stderr: kept without secrets, and bounded."""

import itertools
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from core.base.redaction import Redactor
from core.process.server import last_log_line
from core.process.server_log import (
    LOG_BYTES_KEPT,
    LOG_BYTES_MAX,
    LOG_BYTES_PER_SECOND,
    ServerLog,
    trim_log,
)

REDACT: Callable[[str], str] = Redactor({"A_KEY": "the-key-itself"}).text
BOUND_SECONDS = 10.0


def logged(path: Path, *pieces: bytes) -> bytes:
    """What the log holds after a server has written these pieces and ended."""
    log = ServerLog(path, REDACT)
    with os.fdopen(log.stderr, "wb", buffering=0) as stderr:
        for piece in pieces:
            stderr.write(piece)
    log.wait()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"one\ntwo\n"], b"one\ntwo\n"),
        ([b"no end"], b"no end"),
        ([b"a the-key-itself b\n"], b"a [redacted A_KEY] b\n"),
        ([b"a the-ke", b"y-itself b\n"], b"a [redacted A_KEY] b\n"),
        ([b"x" * 100_000 + b"the-key-", b"itself\n"], b"x" * 100_000 + b"[redacted A_KEY]\n"),
        ([b"caf\xe9 \xff\n"], b"caf\xe9 \xff\n"),
        ([], b""),
    ],
)
def test_what_a_server_writes_stands_in_its_log_without_secrets(
    pieces: list[bytes], text: bytes, tmp_path: Path
) -> None:
    assert logged(tmp_path / "s.log", *pieces) == text


def test_a_private_key_that_comes_line_by_line_is_none_of_the_log(tmp_path: Path) -> None:
    lines = [
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"MIIEvQIBADANBg",
        b"-----END RSA PRIVATE KEY-----",
    ]
    text = logged(tmp_path / "s.log", b"before\n", *(line + b"\n" for line in lines), b"after\n")
    assert b"MIIE" not in text
    assert text.startswith(b"before\n")
    assert text.endswith(b"after\n")


def test_a_line_without_end_is_written_when_nothing_follows(tmp_path: Path) -> None:
    written = threading.Event()

    def seen(text: str) -> str:
        written.set()
        return text

    log = ServerLog(tmp_path / "s.log", seen)
    with os.fdopen(log.stderr, "wb", buffering=0) as stderr:
        stderr.write(b"listening on")
        assert written.wait(BOUND_SECONDS), "it waits for more"
    log.wait()
    assert log.path.read_bytes() == b"listening on"


def test_a_log_is_of_this_user_alone_and_begins_empty(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "s.log"
    logged(path, b"first\n")
    path.chmod(0o644)
    assert logged(path, b"second\n") == b"second\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_flood_blocks_nobody_and_keeps_its_end(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "s.log", REDACT, clock=lambda: 0.0)
    with os.fdopen(log.stderr, "wb", buffering=0) as stderr:
        for _ in range(200):
            stderr.write(b"a line of a flood\n" * 3_000)
        stderr.write(b"the last words\n")
    log.wait()
    assert last_log_line(log.path) == "the last words"
    text = log.path.read_bytes()
    assert b"bytes left out]" in text
    assert len(text) < 2 * LOG_BYTES_PER_SECOND


def test_a_log_that_grows_slowly_is_kept_in_bounds_while_it_grows(tmp_path: Path) -> None:
    seconds = itertools.count()
    log = ServerLog(tmp_path / "s.log", REDACT, clock=lambda: float(next(seconds)))
    with os.fdopen(log.stderr, "wb", buffering=0) as stderr:
        for _ in range(3 * LOG_BYTES_MAX // 60_000):
            stderr.write(b"a line\n" * (60_000 // 7))
        stderr.write(b"the last words\n")
    log.wait()
    assert LOG_BYTES_KEPT / 2 < log.path.stat().st_size <= LOG_BYTES_MAX
    assert last_log_line(log.path) == "the last words"


def test_a_full_disk_costs_the_log_not_the_server(tmp_path: Path) -> None:
    (tmp_path / "s.log").symlink_to("/dev/full")
    log = ServerLog(tmp_path / "s.log", REDACT)
    with os.fdopen(log.stderr, "wb", buffering=0) as stderr:
        for _ in range(10):
            stderr.write(b"a line\n" * 10_000)
    log.wait()


def test_a_log_that_has_outgrown_its_bound_keeps_its_end(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_bytes(b"first\n" + b"line\n" * (LOG_BYTES_MAX // 5) + b"last words\n\n")
    trim_log(log)
    assert LOG_BYTES_KEPT - 100 < log.stat().st_size <= LOG_BYTES_KEPT
    assert log.read_bytes().startswith(b"line\n")
    assert last_log_line(log) == "last words"


def test_a_small_log_is_left_alone_and_an_absent_one_is_no_error(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_bytes(b"text\n")
    trim_log(log)
    trim_log(tmp_path / "absent.log")
    assert log.read_bytes() == b"text\n"
    assert last_log_line(tmp_path / "absent.log") is None
