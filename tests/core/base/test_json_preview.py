"""The beginning of a value's JSON text: the same as that of the whole text, at any length."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.json_preview import json_start
from core.values import Json

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
