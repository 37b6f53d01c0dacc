"""The sentences that configuration mistakes become, and the lines that they are found on."""

import json

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from config.explain import explain_problem, line_of
from config.json_text import RepeatedKey, without_repeats
from config.yaml_text import MAX_NESTING_LEVELS, YamlProblem, compose_yaml, load_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: str = ""


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    one: Inner = Inner()
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    lists: list[list[Inner]] = []
    table: dict[str, int] = {}


def explained(document: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(document)
    return [explain_problem(error, Outer) for error in caught.value.errors()]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("one: {x: 1}", "one.x"),
        ("many: [{}, {x: 1}]", "many.1.x"),
        ("named: {kind: {x: 1}}", "named.kind.x"),
        ("lists: [[{}], [{}, {x: 1}]]", "lists.1.1.x"),
    ],
)
def test_the_keys_that_a_section_allows_are_found_through_lists_and_maps(
    text: str, path: str
) -> None:
    assert explained(load_yaml(text)) == [f"unknown key '{path}'; allowed here: kind"]


def test_a_place_that_the_schema_does_not_describe_allows_anything() -> None:
    assert explained({"maybe": {"x": 1}}) == ["unknown key 'maybe.x'; allowed here: any"]


def test_a_map_entry_shows_its_own_value() -> None:
    assert explained({"table": {"a": "b"}})[0].startswith("'table.a' is 'b'; it should be a")


def test_the_whole_document_is_called_the_file() -> None:
    assert explained(5) == [
        "the file is 5; expected a section with keys: one, maybe, many, named, lists, table"
    ]


TEXT = "a:\n  b:\n    - c: 1\n    - d: 2\n  e: {f: 3}\n"


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), None),
        (("a",), 1),
        (("a", "b"), 2),
        (("a", "b", 1), 4),
        (("a", "b", 1, "d"), 4),
        (("a", "e", "f"), 5),
        (("a", "missing", "deeper"), 1),
        (("missing",), None),
    ],
)
def test_a_path_leads_to_the_line_of_its_deepest_key(
    keys: tuple[int | str, ...], line: int | None
) -> None:
    assert line_of(compose_yaml(TEXT), keys) == line


def test_a_text_without_nodes_has_no_lines() -> None:
    for text in ("", "a: [", "[" * 100, "a: \x00"):
        assert line_of(compose_yaml(text), ("a",)) is None


def test_json_is_composed_like_yaml() -> None:
    assert line_of(compose_yaml('{"a":\n {"b": [1,\n 2]}}'), ("a", "b", 1)) == 3


def test_a_key_twice_in_one_json_object_is_refused_and_in_two_is_not() -> None:
    text = '{"a": {"x": 1}, "b": {"x": 2}}'
    assert json.loads(text, object_pairs_hook=without_repeats) == json.loads(text)
    with pytest.raises(RepeatedKey, match="key 'a' stands twice"):
        json.loads('{"a": 1, "a": 1}', object_pairs_hook=without_repeats)


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
    with pytest.raises(YamlProblem) as caught:
        load_yaml("\n[" * (levels + 1) + "]" * (levels + 1))
    assert caught.value.line == levels + 2
