"""Sessions as documents: one chunk an exchange."""

from pathlib import Path

import pytest

from core.base.memory.exchanges import DatedExchange
from core.base.memory.indexed import PastExchange, past_exchange
from servers.memory.sessions import SessionExtractor, cut_by_exchange
from servers.reading.source import ExtractionError
from tests.core.base.memory.session_files import write_session

LEASE = DatedExchange(10.0, "when does the lease end?", "In May.\n\n[\n{}\n", ("search",))
ROOF = DatedExchange(20.0, "is the roof\nred?", None)
DAY = "2026/11/24/session-1-abcdef"


def exchanges_in(folder: Path, path: Path) -> list[PastExchange | None]:
    extracted = SessionExtractor(folder).extract(path)
    chunks = cut_by_exchange(extracted).chunks
    assert all(chunk.text == extracted.markdown[chunk.start : chunk.end] for chunk in chunks)
    return [past_exchange(chunk.headings, chunk.text) for chunk in chunks]


def test_each_exchange_is_a_chunk(tmp_path: Path) -> None:
    path = write_session(tmp_path, DAY, [LEASE, ROOF, DatedExchange(30.0, " ", "?")], "Houses")
    assert exchanges_in(tmp_path, path) == [
        PastExchange(DAY, "Houses", LEASE),
        PastExchange(DAY, "Houses", ROOF),
    ]


def test_a_copy_goes_by_its_own_name_and_a_flat_file_by_its_sessions(tmp_path: Path) -> None:
    path = write_session(tmp_path, DAY, [LEASE])
    copy = path.rename(tmp_path / "copy.json")
    assert exchanges_in(tmp_path, copy) == [PastExchange("copy", "", LEASE)]
    flat = copy.rename(tmp_path / "session-1-abcdef.json")
    assert exchanges_in(tmp_path, flat) == [PastExchange(DAY, "", LEASE)]


def test_a_damaged_or_empty_session_gives_what_there_is(tmp_path: Path) -> None:
    path = write_session(tmp_path, DAY, [LEASE, ROOF])
    path.write_bytes(path.read_bytes()[:-30])
    assert exchanges_in(tmp_path, path) == [PastExchange(DAY, "", LEASE)]
    path.write_bytes(b"\xff")
    assert exchanges_in(tmp_path, path) == []


def test_what_is_no_file_is_an_error_of_this_file(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match="can't be read"):
        SessionExtractor(tmp_path).extract(tmp_path)
