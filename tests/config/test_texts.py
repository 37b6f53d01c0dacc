"""JSON and YAML as people write them: what is read, what is refused, in linear time."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.texts import (
    MAX_NESTING_LEVELS,
    TextProblem,
    has_comments,
    load_commented_json,
    load_json,
    load_yaml,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // one\n "b": 2}', {"a": 1, "b": 2}),
        ('/* head */ {"a": [1, 2, ], /* , */ }', {"a": [1, 2]}),
        ('{"a": "// no /* comment */ ,]",}', {"a": "// no /* comment */ ,]"}),
        ('{"a": "\\"// x", } // end', {"a": '"// x'}),
        ("[1, /**/ ]", [1]),
        ("[1 /***/, 2]//", [1, 2]),
        ('{"a": 1, // ,}\n}', {"a": 1}),
    ],
)
def test_comments_and_trailing_commas_are_passed_over(text: str, value: object) -> None:
    assert load_commented_json(text) == value
    with pytest.raises(TextProblem):
        load_json(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n// one\n/* two\n three */\n "a": }', 5),
        ("[1,,]", 1),
        ("{}\n/* never closed", 2),
        ("{}\n/*/", 2),
        ('"never closed', 1),
        ('"never closed \\', 1),
        ('{"a": 1, "a": 2}', None),
        ("[NaN]", None),
        ("[" * 100_000, None),
    ],
)
def test_a_mistake_is_found_on_the_line_where_it_stands(text: str, line: int | None) -> None:
    with pytest.raises(TextProblem) as caught:
        load_commented_json(text)
    assert caught.value.line == line


@given(JSON_VALUES)
def test_json_without_comments_means_what_it_means_to_json(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert load_commented_json(text) == load_json(text) == value
        assert not has_comments(text)


@given(st.text(alphabet='"\\/*,]} \n1', max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        try:
            load_commented_json(text)
        except TextProblem:
            return
    else:
        assert load_commented_json(text) == expected


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ['"\\' * 500_000, "/* " * 300_000, "," * 10**6, ", " * 500_000])
def test_a_megabyte_that_never_closes_what_it_opens_takes_no_time(text: str) -> None:
    with pytest.raises(TextProblem):
        load_commented_json(text)


def test_comments_are_seen_outside_of_strings_only() -> None:
    assert has_comments('{"a": 1} // x')
    assert has_comments("/**/")
    assert not has_comments('{"a": "http://x /* y */"}')


def test_a_key_twice_in_one_json_object_is_refused_and_in_two_is_not() -> None:
    text = '{"a": {"x": 1}, "b": {"x": 2}}'
    assert load_json(text) == json.loads(text)
    with pytest.raises(TextProblem, match="key 'a' stands twice"):
        load_json('{"a": 1, "a": 1}')


@pytest.mark.parametrize(
    "text",
    [
        "a: {x: 1}\nb: {x: 1}\n",
        "a: x\nx: a\n",
        "- a: 1\n- a: 1\n",
        "a: [b, b]\nc: [{b: 1}, {b: 1}]\n",
        "a: &k v\n*k : a\nb: *k\n",
    ],
)
def test_equal_texts_that_are_not_keys_of_one_mapping_are_no_repeats(text: str) -> None:
    assert load_yaml(text)


def test_nesting_up_to_the_limit_is_read() -> None:
    levels = MAX_NESTING_LEVELS
    text = "[" * levels + "]" * levels
    assert load_yaml(text) == json.loads(text)
    with pytest.raises(TextProblem) as caught:
        load_yaml("\n[" * (levels + 1) + "]" * (levels + 1))
    assert caught.value.line == levels + 2
