"""What is counted in a message before it is parsed: values, keys and digits, but not in texts."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.json_text import (
    INTEGER_DIGITS_MAX,
    MESSAGE_DIGITS_MAX,
    MESSAGE_PARTS_MAX,
    SLICE_BYTES,
    at_once,
    excess,
    json_start,
)
from core.values import Json

PARTS = "more than 200,000 values and keys"
DIGITS = "integers of more than 1,000,000 digits in all"


def found(data: bytes) -> str | None:
    """What there is too much of."""
    return at_once(excess(data))


def listed(count: int, value: bytes) -> bytes:
    return b'{"a":[' + b",".join([value] * count) + b"]}"


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda: listed(MESSAGE_PARTS_MAX - 3, b"0"), None),
        (lambda: listed(MESSAGE_PARTS_MAX + 1, b"0"), PARTS),
        (lambda: listed(MESSAGE_PARTS_MAX + 1, b'"text"'), PARTS),
        (lambda: listed(MESSAGE_PARTS_MAX // 2, b'{"a":0}'), PARTS),
        (lambda: listed(MESSAGE_PARTS_MAX // 2 + 1, b"[]"), PARTS),
        (lambda: listed(MESSAGE_DIGITS_MAX // 4_000 - 1, b"1" * 4_000), None),
        (lambda: listed(MESSAGE_DIGITS_MAX // 4_000 + 1, b"1" * 4_000), DIGITS),
        (lambda: listed(MESSAGE_DIGITS_MAX // 20 + 1, b"9" * 20), DIGITS),
        (lambda: listed(190_000, b"-9223372036854775808"), None),
        (lambda: listed(190_000, b"0.30000000000000004"), None),
        (lambda: listed(1, b"1" * INTEGER_DIGITS_MAX), None),
        (
            lambda: listed(1, b"1" * (INTEGER_DIGITS_MAX + 1)),
            "an integer of more than 4,300 digits",
        ),
    ],
)
def test_values_keys_and_digits_are_bounded(make: Callable[[], bytes], refusal: str | None) -> None:
    assert found(make()) == refusal


@pytest.mark.parametrize("piece", ["1,2;[3]:{", '"', "\\", '\\"', "\n", "7", "\\\\u0041", "é,"])
def test_what_stands_in_a_text_does_not_count_however_long_it_is(piece: str) -> None:
    text = piece * (3 * SLICE_BYTES // len(piece.encode()))
    assert found(json.dumps({"a": text}, ensure_ascii=False).encode()) is None
    assert found(json.dumps({text: 1}).encode()) is None


@given(
    st.lists(st.text('a"\\,[{:1'), max_size=8),
    st.integers(-8, 8),
    st.integers(0, 3),
)
def test_a_slice_ends_anywhere_and_the_count_stays_right(
    texts: list[str], shift: int, backslashes: int
) -> None:
    start = json.dumps(
        {"a": ["\\" * backslashes + "x" * (SLICE_BYTES - 12 + shift), *texts]}
    ).encode()
    at_most = MESSAGE_PARTS_MAX - 4 - len(texts)
    assert found(start[:-2] + b",0" * at_most + b"]}") is None
    assert found(start[:-2] + b",0" * (at_most + 10) + b"]}") == PARTS


@pytest.mark.parametrize("before", range(SLICE_BYTES - 30, SLICE_BYTES + 30, 7))
def test_an_integer_that_is_cut_by_the_end_of_a_slice_is_counted_whole(before: int) -> None:
    start = b'{"a":"' + b"x" * before + b'","b":['
    assert found(start + b"1" * INTEGER_DIGITS_MAX + b"]}") is None
    assert found(start + b"1" * (INTEGER_DIGITS_MAX + 1) + b"]}") is not None


def test_a_long_message_is_counted_in_slices() -> None:
    data = b'{"a":"' + b"x" * (10 * SLICE_BYTES) + b'"}'
    assert sum(1 for _ in excess(data)) == 11


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=40)
@given(VALUES, st.integers(0, 60))
def test_it_is_the_beginning_of_the_whole_text(value: Json, characters: int) -> None:
    whole = json.dumps(value, ensure_ascii=False)
    cut = f"{whole[:characters]}…" if len(whole) > characters else whole
    assert json_start(value, characters) == cut
    assert json_start(value, len(whole)) == whole


def test_what_json_cannot_write_shows_as_an_ellipsis() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert json_start(deep, 500) == "[" * 100 + "…" + "]" * 100
    assert json_start([10**5000, 1], 500) == "[…, 1]"


def test_no_more_of_a_value_is_read_than_is_shown() -> None:
    class Watched(list[Json]):
        read = 0

        def __iter__(self) -> Iterator[Json]:
            for item in super().__iter__():
                self.read += 1
                yield item

    watched = Watched([1] * 1_000)
    assert json_start(watched, 9) == "[1, 1, 1,…"
    assert watched.read < 10


@pytest.mark.parametrize("value", ["\x1b[2J\n", {"a\n": "\r"}])
def test_it_stands_on_one_line(value: Json) -> None:
    assert json_start(value, 100).isprintable()
