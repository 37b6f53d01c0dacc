"""The sentences that configuration mistakes become, and the lines that they are found on."""

from pathlib import Path

import pytest
from pydantic import Field

from config.checking import Section, check
from config.settings import SettingsError
from config.texts import load_json, load_yaml
from core.values import Json


class Inner(Section):
    kind: str = ""


class Outer(Section):
    one: Inner = Inner()
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()
    some: tuple[Inner, ...] = Field(default=(Inner(),), min_length=1, max_length=2)
    word: str = Field(default="x", min_length=1, pattern="^[a-z]*$")
    named: dict[str, Inner] = Field(default_factory=dict[str, Inner])
    lists: list[list[Inner]] = Field(default_factory=list[list[Inner]])
    table: dict[str, int] = Field(default_factory=dict[str, int])


def told(document: object, text: str = "") -> str:
    with pytest.raises(SettingsError) as caught:
        check(document, Outer, Path("FILE"), text)
    return str(caught.value)


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
    assert told(load_yaml(text)) == f"FILE: unknown key '{path}'; allowed here: kind"


def test_a_place_that_the_schema_does_not_describe_allows_anything() -> None:
    assert told({"maybe": {"x": 1}}) == "FILE: unknown key 'maybe.x'; allowed here: any"


def test_a_map_entry_shows_its_own_value() -> None:
    assert told({"table": {"a": "b"}}).startswith("FILE: 'table.a' is 'b'; it should be a")


def test_the_whole_document_is_called_the_file() -> None:
    keys = "one, maybe, many, some, word, named, lists, table"
    assert told(5) == f"FILE: the file is 5; expected a section with keys: {keys}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one:\n  x: 1\n", 2),
        ("table:\n  b: 3\n  a: x\n", 3),
        ("many:\n  - kind: a\n  -\n    kind: b\n    x: 1\n", 5),
        ("\nnope: 1\n", 2),
        ("named: {a: {kind: b},\n  c: {x: 1}}\n", 2),
    ],
)
def test_a_mistake_names_the_line_of_its_key(text: str, line: int) -> None:
    assert told(load_yaml(text), text).startswith(f"FILE:{line}: ")


def test_json_has_lines_like_yaml() -> None:
    text = '{"many":\n\t[{},\n {"x": 2}]}'
    assert told(load_json(text), text).startswith("FILE:3: unknown key 'many.1.x'")


@pytest.mark.parametrize("text", ["", "a: [", "[" * 100, "a: \x00"])
def test_a_text_that_is_not_what_was_read_gives_no_line(text: str) -> None:
    assert told({"one": 5}, text).startswith("FILE: 'one' is 5; expected a section")


def test_each_mistake_is_told_once() -> None:
    assert told({"some": [{"x": 1}]}) == "FILE: unknown key 'some.0.x'; allowed here: kind"


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"some": []}, "'some' should have at least 1 item"),
        ({"some": [{"kind": "a"}] * 3}, "'some' should have at most 2 items"),
        ({"table": ["a"]}, "'table' is ['a']; expected a section"),
        ({"some": 3}, "'some' is 3; expected a list"),
        ({"word": ""}, "'word' is ''; it should have at least 1 character"),
        ({"word": "A"}, "'word' is 'A'; it should match pattern '^[a-z]*$'"),
        ({"table": {"a": [1]}}, "'table.a' should be a valid integer"),
    ],
)
def test_no_mistake_is_told_with_the_names_of_pythons_types(document: Json, fault: str) -> None:
    assert told(document) == f"FILE: {fault}"
