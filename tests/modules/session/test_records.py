"""Items as JSON text: what JSON lacks is written so that any tool can read it."""

import json
import math

from hypothesis import given, settings

from core.values import Json
from modules.session.records import shorten, storable
from tests.modules.session.json_values import JSON_VALUES, strict_json


@settings(deadline=None)
@given(JSON_VALUES)
def test_what_is_storable_stays_as_it_is(value: Json) -> None:
    stored = storable(value)
    assert storable(stored) == stored
    strict_json(json.dumps(stored, ensure_ascii=False).encode())


def test_values_that_json_lacks_become_text() -> None:
    assert storable([math.inf, -math.inf, math.nan, 1.5, True, None, 7]) == [
        "Infinity",
        "-Infinity",
        "NaN",
        1.5,
        True,
        None,
        7,
    ]
    assert storable({"a\ud800": "b\udfff"}) == {"a\ufffd": "b\ufffd"}
    assert storable(16**5_000) == "0x1" + "0" * 5_000


def test_deep_nesting_is_cut() -> None:
    deep: Json = "bottom"
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in json.dumps(storable(deep))
    while isinstance(deep, list):  # taken apart level by level, or freeing it would recurse
        deep = deep.pop()


def test_shorten_says_how_long_the_text_was() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcdef" * 1_000, 3) == "abc… [shortened; 6,000 characters in all]"
