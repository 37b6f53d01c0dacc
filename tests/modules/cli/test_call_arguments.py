"""Arguments as they are typed: `key=value` by the tool's schema, raw JSON, and `--input`."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.cli.call_arguments import INPUT_BYTES_MAX, read_input, read_pairs


def tool(**schemas: Json) -> ToolSpec:
    """A tool with these arguments."""
    return ToolSpec("s", "t", "", {"type": "object", "properties": schemas})


def kind(*names: str) -> JsonObject:
    return {"type": names[0] if len(names) == 1 else [*names]}


def typed(text: str, schema: Json) -> Json:
    return read_pairs([f"a={text}"], tool(a=schema))["a"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (kind("integer"), "5", 5),
        (kind("integer"), "-5", -5),
        (kind("number"), "2.5", 2.5),
        (kind("number"), "1e3", 1000.0),
        (kind("number"), "7", 7),
        (kind("boolean"), "true", True),
        (kind("boolean"), "false", False),
        (kind("array"), "[1, 2]", [1, 2]),
        (kind("object"), '{"b": 1}', {"b": 1}),
        (kind("null"), "null", None),
        (kind("string"), "5", "5"),
        (kind("string"), "true", "true"),
        (kind("string"), "", ""),
        (kind("string"), "a=b:=c", "a=b:=c"),
        (kind("string"), '"quoted"', '"quoted"'),
        (kind("string", "null"), "null", "null"),
        (kind("integer", "string"), "5", 5),
        (kind("integer", "string"), "five", "five"),
        (kind("integer", "string"), "5.5", "5.5"),
        (kind("boolean", "string"), "true", True),
        (kind("array", "string"), "[1", "[1"),
        (kind("array", "string"), '["x"]', ["x"]),
        (kind("integer", "null"), "null", None),
        ({"anyOf": [kind("integer"), kind("null")]}, "5", 5),
        ({"oneOf": [kind("string"), {"type": "array"}]}, "[]", []),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, "2", "2"),
        ({"const": True}, "true", True),
        ({"properties": {"x": {}}}, "{}", {}),
        ({"allOf": [kind("integer"), {"minimum": 1}]}, "5", 5),
        ({}, "5", "5"),
        ({"type": "odd"}, "5", "5"),
        (True, "5", "5"),
    ],
)
def test_a_value_is_read_as_the_schema_wants_it(schema: Json, text: str, value: Json) -> None:
    found = typed(text, schema)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "wanted"),
    [
        (kind("integer"), "five", "'a' takes a whole number, not 'five'"),
        (kind("integer"), "5.5", "a whole number"),
        (kind("integer"), "true", "a whole number"),
        (kind("integer"), "", "a whole number"),
        (kind("number"), "NaN", "a number"),
        (kind("boolean"), "yes", "true or false"),
        (kind("boolean"), "1", "true or false"),
        (kind("array"), "1,2", "a JSON array"),
        (kind("object"), "[]", "a JSON object"),
        (kind("integer", "null"), "x", "a whole number or null"),
        (kind("integer"), "9" * 5000, "a whole number"),
        (kind("integer"), "x" * 10_000, f"not '{'x' * 79}…'"),
    ],
)
def test_a_value_that_the_schema_excludes_is_refused_with_what_it_wants(
    schema: Json, text: str, wanted: str
) -> None:
    with pytest.raises(UsageError) as caught:
        typed(text, schema)
    assert wanted in str(caught.value)
    assert len(str(caught.value)) < 300


A: JsonObject = {"properties": {"a": kind("integer")}}


FORMS: list[JsonObject] = [
    {"oneOf": [A, {"properties": {"b": kind("string")}}]},
    {"anyOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/A"}], "$defs": {"A": A}},
    {"oneOf": [{"oneOf": [A]}]},
    {"properties": {"b": {}}, "oneOf": [A]},
    {"additionalProperties": kind("integer")},
    {"properties": {"b": kind("string")}, "additionalProperties": kind("integer")},
    {"additionalProperties": {"$ref": "#/$defs/N"}, "$defs": {"N": kind("integer")}},
    {"properties": {"input": {"type": "object", **A}}, "required": ["input"]},
    {"patternProperties": {"^[ab]$": kind("integer"), "c": kind("string")}},
    {"patternProperties": {"a": kind("integer")}, "additionalProperties": kind("string")},
    {"patternProperties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": kind("integer")}},
    {"oneOf": [{"patternProperties": {"a": kind("integer")}, "additionalProperties": False}]},
    {"properties": {"b": {}}, "patternProperties": {"a": kind("integer")},
     "additionalProperties": False},
    {"properties": {"a": {}}, "patternProperties": {"a": kind("integer")}},
]  # fmt: skip


@pytest.mark.parametrize("schema", FORMS)
def test_a_value_is_read_by_the_schema_wherever_it_names_the_argument(schema: JsonObject) -> None:
    chosen = ToolSpec("s", "t", "", {"type": "object", **schema})
    found = read_pairs(["a=1"], chosen)
    assert found == {"a": 1}
    chosen.bind_raw(found)
    with pytest.raises(UsageError, match="a whole number"):
        read_pairs(["a=one"], chosen)


def test_a_name_that_no_pattern_matches_is_read_as_one_that_nothing_is_said_of() -> None:
    patterns: JsonObject = {"b": kind("integer"), "[": kind("integer"), "(a+)+$": kind("integer")}
    chosen = ToolSpec("s", "t", "", {"type": "object", "patternProperties": patterns})
    long = "a" * 5_000 + "!"
    assert read_pairs(["c=x", f"{long}=x"], chosen) == {"c": "x", long: "x"}


def test_of_several_forms_any_may_be_meant() -> None:
    texts: JsonObject = {"properties": {"a": kind("string")}}
    either = ToolSpec("s", "t", "", {"type": "object", "oneOf": [A, texts]})
    assert read_pairs(["a=1"], either) == {"a": 1}
    assert read_pairs(["a=one"], either) == {"a": "one"}


def test_references_are_followed_and_circles_are_cut() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/$defs/Loop"}},
        "$defs": {
            "N": {"type": "integer"},
            "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Loop"}]},
        },
    }
    assert read_pairs(["a=5", "b=5"], ToolSpec("s", "t", "", schema)) == {"a": 5, "b": "5"}


def test_the_fields_of_a_wrapper_are_typed_like_any_others() -> None:
    inner: JsonObject = {"type": "object", "properties": {"n": kind("integer")}}
    outer: JsonObject = {"type": "object", "properties": {"input": inner}, "required": ["input"]}
    wrapped = ToolSpec("s", "t", "", outer)
    assert read_pairs(["n=5"], wrapped) == {"n": 5}
    assert wrapped.bind_raw({"n": 5}) == {"input": {"n": 5}}


def test_a_name_that_plans_spell_otherwise_may_be_spelt_either_way() -> None:
    odd = tool(**{"user-id": kind("integer")})
    assert odd.bind_raw(read_pairs(["user-id=5"], odd)) == {"user-id": 5}
    assert odd.bind_raw(read_pairs(["user_id=5"], odd)) == {"user-id": 5}


def test_a_colon_before_the_sign_means_json_whatever_the_schema_says() -> None:
    pairs = ['a:={"b": [null]}', "c:=5", 'd:="x"']
    assert read_pairs(pairs, tool(c=kind("string"))) == {"a": {"b": [None]}, "c": 5, "d": "x"}


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["=5"], "no name before the ="),
        ([":=5"], "no name before the ="),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a=1", "a:=2"], "'a' is given twice"),
        (["a:=x"], "'a:=' takes JSON, and 'x' is none"),
        (["a:=Infinity"], "takes JSON"),
        (["a:=" + "[" * 100_000], "takes JSON"),
        (['a:={"b": 1, "b": 2}'], "takes JSON"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_pairs_that_say_nothing_certain_are_refused(pairs: list[str], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_pairs(pairs, tool())
    assert told in str(caught.value)
    assert len(str(caught.value)) < 400


@given(st.text(), st.sampled_from(["integer", "number", "boolean", "array", "object", "string"]))
def test_any_text_is_a_value_of_the_type_or_is_refused(text: str, name: str) -> None:
    types: dict[str, type | tuple[type, ...]] = {
        "integer": (int, float),  # 5.0 is an integer to JSON Schema
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
        "string": str,
    }
    try:
        value = typed(text, kind(name))
    except UsageError:
        assert name != "string"
    else:
        assert isinstance(value, types[name])


class TestInput:
    def read(self, text: str, stdin: bytes = b"") -> JsonObject:
        return read_input(text, io.BytesIO(stdin))

    def test_it_is_an_object_on_the_command_line_or_on_stdin(self) -> None:
        assert self.read('{"a": [1]}') == {"a": [1]}
        assert self.read("-", b'\xef\xbb\xbf{"a": "\xc3\xbc"}\n') == {"a": "ü"}

    @pytest.mark.parametrize(
        ("text", "stdin", "told"),
        [
            ("", b"", "--input is empty"),
            ("{a: 1}", b"", "--input is not JSON"),
            ("[1]", b"", "--input is a JSON object"),
            ('"x"', b"", "--input is a JSON object"),
            ('{"a": NaN}', b"", "NaN"),
            ('{"a": 1, "a": 2}', b"", "twice"),
            ("-", b" \n", "stdin is empty"),
            ("-", b'{\n"a": x}', "line 2"),
            ("-", b"\xff", "not UTF-8"),
            ("-", b"x" * (INPUT_BYTES_MAX + 1), "16,777,216 bytes"),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_anything_else_is_refused_with_a_reason(
        self, text: str, stdin: bytes, told: str
    ) -> None:
        with pytest.raises(UsageError, match="--input") as caught:
            self.read(text, stdin)
        assert told in str(caught.value)

    def test_a_stdin_that_is_gone_is_told(self) -> None:
        class Gone(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                raise OSError(5, "Input/output error")

        with pytest.raises(UsageError, match="stdin can't be read: Input/output error"):
            read_input("-", Gone())
