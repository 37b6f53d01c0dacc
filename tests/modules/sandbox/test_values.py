"""Values at the sandbox's border: always JSON, always bounded."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.values import Json
from modules.sandbox.values import NotJson, TooLarge, to_json

MAX_BYTES = 10_000

utf8_text = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | utf8_text
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(utf8_text, inner),
    max_leaves=20,
)
anything = st.recursive(
    scalars | st.binary() | st.complex_numbers() | st.text() | st.frozensets(scalars),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(scalars, inner),
    max_leaves=20,
)


@settings(max_examples=40, deadline=None)
@given(json_values)
def test_json_passes_unchanged(value: Json) -> None:
    assert to_json(value, max_bytes=10**9) == value


@settings(max_examples=40, deadline=None)
@given(anything, st.integers(0, 200))
def test_anything_becomes_json_within_the_bound_or_is_refused(
    value: object, max_bytes: int
) -> None:
    try:
        rebuilt = to_json(value, max_bytes=max_bytes)
    except (NotJson, TooLarge):
        return
    text = json.dumps(rebuilt, ensure_ascii=False, separators=(",", ":"))
    escapes = text.count("\\") * 6
    assert len(text.encode()) <= max_bytes + escapes + 8


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({1, 2}, "a set"),
        (b"x", "a bytes"),
        (1j, "a complex"),
        (object(), "an object"),
        ([[{"k": object}]], "a type"),
        ({(1, 2): 3}, "a dict with a tuple as key"),
    ],
)
def test_what_json_cannot_hold_is_named(value: object, kind: str) -> None:
    with pytest.raises(NotJson, match=kind):
        to_json(value, max_bytes=MAX_BYTES)


def test_a_lone_surrogate_is_replaced() -> None:
    assert to_json("a\ud800b", max_bytes=MAX_BYTES) == "a?b"


def test_an_integer_that_text_cannot_hold_is_too_large() -> None:
    huge = 10**4400
    for value in (huge, -huge, {huge: 1}, [huge]):  # no parameters: pytest would print them
        with pytest.raises(TooLarge, match="4300 digits"):
            to_json(value, max_bytes=MAX_BYTES)


def test_deep_nesting_is_too_large_and_so_are_cycles() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(TooLarge, match="levels"):
        to_json(cycle, max_bytes=MAX_BYTES)
