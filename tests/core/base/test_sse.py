"""The parser of event streams: what the standard says, however the bytes arrive, and the caps."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.sse import (
    EVENT_ID_BYTES_MAX,
    RETRY_DIGITS_MAX,
    EventParser,
    EventTooLong,
    ServerSentEvent,
)

CAP = 1_000_000

ENDS = (b"\r", b"\n", b"\r\n", b"\n\n")
FIELDS = (b"data", b"data: x", b"id:7", b"id", b"event: e", b"retry:5", b": note", b":", b" ")
ODD = (b"\xef\xbb\xbf", b"\0", "é\u2028".encode(), b"\xff", b"\x0b\x0c\x85")
PIECES = st.sampled_from([*ENDS, *FIELDS, *ODD])


def read(*chunks: bytes) -> list[ServerSentEvent]:
    parser = EventParser(CAP)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def read_slowly(stream: bytes) -> list[ServerSentEvent]:
    """The standard's rules on the whole stream at once, as plainly as they can be written."""
    events: list[ServerSentEvent] = []
    data, kind, number = b"", b"", b""
    for line in re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        if not line:
            if data:
                name = kind.decode("utf-8", "replace") or "message"
                events.append(ServerSentEvent(data[:-1], name, number))
            data, kind = b"", b""
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            data += value + b"\n"
        if name == b"event":
            kind = value
        if name == b"id" and b"\0" not in value:
            number = value
    return events


@given(st.lists(PIECES, max_size=40), st.lists(st.integers(0, 9), max_size=60))
def test_events_are_those_of_the_standard_however_the_stream_is_cut(
    pieces: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(pieces)
    parser, found, rest = EventParser(CAP), list[ServerSentEvent](), stream
    for cut in cuts:
        found += parser.feed(rest[:cut])
        rest = rest[cut:]
    found += parser.feed(rest)
    assert found == read_slowly(stream)


@given(st.binary(max_size=200), st.integers(1, 7))
def test_no_bytes_break_the_parser(stream: bytes, size: int) -> None:
    chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert read(*chunks) == read_slowly(stream)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata:b\ndata:  c\n\n", [ServerSentEvent(b"a\nb\n c")]),
        (
            b"event: ping\ndata: 1\n\ndata: 2\n\n",
            [ServerSentEvent(b"1", "ping"), ServerSentEvent(b"2")],
        ),
        (b"data\n\ndata\ndata\n\n", [ServerSentEvent(b""), ServerSentEvent(b"\n")]),
        (
            b"id: 1\ndata: a\n\ndata: b\n\n",
            [ServerSentEvent(b"a", id=b"1"), ServerSentEvent(b"b", id=b"1")],
        ),
        (
            b"id: 1\ndata: a\n\nid\ndata: b\n\n",
            [ServerSentEvent(b"a", id=b"1"), ServerSentEvent(b"b")],
        ),
        (b"id: 1\0\ndata: a\n\n", [ServerSentEvent(b"a")]),
        (b": a comment\nother: x\n\n", []),
        (b"data: never ended\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [ServerSentEvent(b"a")]),
        (b"\n\xef\xbb\xbfdata: a\n\n", []),
    ],
    ids=[
        "lines",
        "types",
        "empty",
        "id stays",
        "id emptied",
        "NUL",
        "no data",
        "cut",
        "mark",
        "late mark",
    ],
)
def test_a_stream_is_read_as_the_standard_says(
    stream: bytes, events: list[ServerSentEvent]
) -> None:
    assert read(stream) == events


def test_a_priming_event_names_where_to_resume_and_when() -> None:
    parser = EventParser(CAP)
    assert list(parser.feed(b"id: 9\nretry: 500\ndata: \n\n")) == [ServerSentEvent(b"", id=b"9")]
    assert (parser.last_event_id, parser.retry_ms, parser.blocks) == (b"9", 500, 1)


def test_an_id_without_data_counts_once_its_block_has_ended() -> None:
    parser = EventParser(CAP)
    assert list(parser.feed(b"id: 9\n")) == []
    assert parser.last_event_id == b""
    assert list(parser.feed(b"\n")) == []
    assert parser.last_event_id == b"9"


@pytest.mark.parametrize(
    ("retry", "milliseconds"),
    [
        ("20", 20),
        ("007", 7),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 5000, int("9" * RETRY_DIGITS_MAX)),
    ],
)
def test_a_retry_is_digits_or_nothing(retry: str, milliseconds: int | None) -> None:
    parser = EventParser(CAP)
    assert list(parser.feed(f"retry: {retry}\n".encode())) == []
    assert parser.retry_ms == milliseconds


def test_an_id_that_no_header_could_hold_is_none() -> None:
    line = b"id: " + b"x" * (EVENT_ID_BYTES_MAX + 1)
    assert read(b"id: 1\n" + line + b"\ndata: a\n\n") == [ServerSentEvent(b"a")]


def test_a_restart_drops_the_part_and_keeps_the_place() -> None:
    parser = EventParser(CAP)
    assert list(parser.feed(b"id: 1\ndata: a\n\nid: 2\nevent: x\ndata: ha\r")) == [
        ServerSentEvent(b"a", id=b"1")
    ]
    parser.restart()
    assert parser.last_event_id == b"1"
    assert list(parser.feed(b"\xef\xbb\xbfdata: b\n\n")) == [ServerSentEvent(b"b", id=b"1")]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: 12345\n"],
        [b"data: 1\n", b"data: 2\n", b"data: 3\n", b"data: 4\n", b"data: 5\n", b"data: 6\n"],
        [b": 12", b"34", b"56", b"789"],
        [b"data: 12", b"34567\n\n"],
    ],
    ids=["line", "data", "part of a line", "line in two"],
)
def test_what_is_over_the_cap_is_refused_as_soon_as_it_is_known(chunks: list[bytes]) -> None:
    parser = EventParser(10)
    for chunk in chunks[:-1]:
        assert list(parser.feed(chunk)) == []
    with pytest.raises(EventTooLong, match="10 bytes"):
        list(parser.feed(chunks[-1]))


def test_the_events_before_one_over_the_cap_still_count() -> None:
    feed = EventParser(10).feed(b"data: 1\n\ndata: 2\n\ndata: 3456789\n\n")
    assert [next(feed), next(feed)] == [ServerSentEvent(b"1"), ServerSentEvent(b"2")]
    with pytest.raises(EventTooLong):
        next(feed)


def test_events_up_to_the_cap_come_for_ever() -> None:
    parser = EventParser(10)
    for _ in range(100):
        assert list(parser.feed(b"data:123\n: x\n\n")) == [ServerSentEvent(b"123")]


def test_a_long_event_in_small_pieces_takes_time_in_proportion() -> None:
    # 80,000 pieces: copying what came before at each of them would outlast the test's time.
    payload = b"x" * 8_000_000
    stream = b"data: " + payload + b"\n\n"
    parser = EventParser(len(stream))
    found = [
        event for i in range(0, len(stream), 100) for event in parser.feed(stream[i : i + 100])
    ]
    assert found == [ServerSentEvent(payload)]


def test_a_line_that_tells_an_error_counts_where_it_is_asked_for() -> None:
    stream = b'error: {"code": 400}\n\n'
    parser = EventParser(CAP, takes_error_lines=True)
    assert [*parser.feed(stream)] == [ServerSentEvent(b'{"code": 400}', "error")]
    assert read(stream) == []
    assert parser.has_fields


@pytest.mark.parametrize(
    ("stream", "has_fields"),
    [
        (b"data: 1\n", True),
        (b": note\n", True),
        (b"retry: 5\n", True),
        (b"upstream: down\n", False),
    ],
)
def test_a_stream_is_told_from_another_text_by_its_fields(stream: bytes, has_fields: bool) -> None:
    parser = EventParser(CAP)
    assert [*parser.feed(stream)] == []
    assert parser.has_fields is has_fields
