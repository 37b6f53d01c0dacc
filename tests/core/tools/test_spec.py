"""Tools as values: how calls bind to their schemas."""

import pytest

from core.errors import CallRefused
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from tests.doubles import tool

ADD = tool("add", a="number", b="number")


def flat(name: str = "find", defs: JsonObject | None = None, **schema: Json) -> ToolSpec:
    """A tool with this schema as it is, `defs` as its definitions."""
    return ToolSpec("s", name, "", {"type": "object", "$defs": defs or {}, **schema})


def refused(tool: ToolSpec, *args: Json, **kwargs: Json) -> str:
    with pytest.raises(CallRefused) as caught:
        tool.bind(args, kwargs)
    return str(caught.value)


class TestParameters:
    def test_an_input_wrapper_behind_a_reference_is_flattened(self) -> None:
        assert ADD.wrapper == "input"
        assert [(p.name, p.schema, p.required) for p in ADD.parameters] == [
            ("a", {"type": "number"}, True),
            ("b", {"type": "number"}, True),
        ]

    def test_a_wrapper_written_in_place_is_flattened_too(self) -> None:
        inner: JsonObject = {"properties": {"n": {}}, "required": ["n"]}
        spec = flat(properties={"input": inner})
        assert spec.wrapper == "input"
        assert [p.name for p in spec.parameters] == ["n"]

    def test_a_wrapper_without_fields_is_still_sent(self) -> None:
        spec = flat(properties={"input": {"type": "object", "properties": {}}}, required=["input"])
        assert spec.parameters == ()
        assert spec.bind((), {}) == {"input": {}}

    @pytest.mark.parametrize(
        "properties",
        [
            {},
            {"input": {"type": "string"}},
            {"input": {"type": "object"}},
            {"input": {"$ref": "#/$defs/Gone"}},
            {"input": {"$ref": "https://example.com/schema"}},
            {"request": {"properties": {"a": {}}}},
            {"input": {"properties": {"a": {}}}, "other": {}},
            {"input": True},
        ],
    )
    def test_anything_else_is_no_wrapper(self, properties: JsonObject) -> None:
        spec = flat(properties=properties)
        assert spec.wrapper is None
        assert [p.name for p in spec.parameters] == list(properties)

    @pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {}, "required": 5}])
    def test_a_schema_that_names_nothing_has_no_parameters(self, schema: JsonObject) -> None:
        assert ToolSpec("s", "t", "", schema).parameters == ()

    def test_a_required_name_that_nothing_describes_is_a_parameter(self) -> None:
        spec = flat(properties={"a": {}}, required=["b", "a", "b", 5])
        assert [(p.name, p.required) for p in spec.parameters] == [("a", True), ("b", True)]
        assert spec.bind([1, 2], {}) == {"a": 1, "b": 2}

    def test_parts_of_all_of_add_up(self) -> None:
        spec = flat(
            allOf=[{"$ref": "#/$defs/Page"}, {"properties": {"q": {}}, "required": ["q"]}],
            defs={"Page": {"properties": {"page": {"type": "integer"}}, "required": ["page"]}},
        )
        assert {(p.name, p.required) for p in spec.parameters} == {("page", True), ("q", True)}

    def test_a_reference_at_the_top_is_followed(self) -> None:
        spec = ToolSpec(
            "s",
            "t",
            "",
            {"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"x": {}}}}},
        )
        assert [p.name for p in spec.parameters] == ["x"]

    def test_a_reference_keeps_what_stands_beside_it(self) -> None:
        spec = flat(
            properties={"mode": {"$ref": "#/$defs/Mode", "description": "how", "default": "a"}},
            defs={"Mode": {"enum": ["a", "b"], "description": "a mode"}},
        )
        assert spec.parameters[0].schema == {
            "enum": ["a", "b"],
            "description": "how",
            "default": "a",
        }

    def test_references_are_followed_through_others_and_escapes_and_not_in_circles(self) -> None:
        spec = flat(
            properties={
                "chain": {"$ref": "#/$defs/One"},
                "odd": {"$ref": "#/$defs/a~1b~0c"},
                "circle": {"$ref": "#/$defs/Self"},
            },
            defs={
                "One": {"$ref": "#/$defs/Two"},
                "Two": {"type": "integer"},
                "a/b~c": {"type": "boolean"},
                "Self": {"$ref": "#/$defs/Self"},
            },
        )
        chain, odd, circle = spec.parameters
        assert chain.schema == {"type": "integer"}
        assert odd.schema == {"type": "boolean"}
        assert "type" not in circle.schema


class TestBinding:
    @pytest.mark.parametrize(
        ("args", "kwargs"),
        [
            ((1, 2), {}),
            ((1,), {"b": 2}),
            ((), {"b": 2, "a": 1}),
            ((), {"input": {"a": 1, "b": 2}}),
        ],
    )
    def test_all_ways_to_write_a_call_become_what_the_server_wants(
        self, args: tuple[Json, ...], kwargs: JsonObject
    ) -> None:
        assert ADD.bind(args, kwargs) == {"input": {"a": 1, "b": 2}}

    def test_without_a_wrapper_arguments_go_as_they_are(self) -> None:
        spec = flat(properties={"q": {}, "n": {}}, required=["q"])
        assert spec.bind(["x"], {"n": 3}) == {"q": "x", "n": 3}
        assert spec.bind([], {"q": "x"}) == {"q": "x"}

    def test_an_argument_that_happens_to_be_called_input_is_no_wrapper(self) -> None:
        spec = flat(properties={"input": {"type": "string"}}, required=["input"])
        assert spec.bind(["x"], {}) == spec.bind([], {"input": "x"}) == {"input": "x"}

    def test_a_wrapper_around_an_argument_of_its_own_name_is_told_from_it(self) -> None:
        spec = tool("t", input="string")
        assert spec.bind([], {"input": "x"}) == {"input": {"input": "x"}}
        assert spec.bind([], {"input": {"input": "x"}}) == {"input": {"input": "x"}}
        assert spec.bind([], {"input": {"other": 1}}) == {"input": {"input": {"other": 1}}}

    def test_binding_leaves_the_callers_arguments_alone(self) -> None:
        given_arguments: JsonObject = {"input": {"a": 1, "b": 2}}
        bound = ADD.bind([], given_arguments)
        bound["more"] = 1
        assert given_arguments == {"input": {"a": 1, "b": 2}}

    def test_mistakes_are_told_with_the_names_that_would_be_right(self) -> None:
        assert refused(ADD, 1, 2, 3) == "add() takes 2 arguments (a, b), 3 given"
        assert refused(ADD, 1, a=2, b=3) == "add() got two values for argument 'a'"
        assert refused(ADD, 1, c=3) == "add() has no argument 'c'; its arguments are: a, b"
        assert refused(ADD) == "add() is missing: a, b; its arguments are: a, b"
        assert refused(ADD, b=1) == "add() is missing: a; its arguments are: a, b"
        assert refused(tool("sin", x="number"), 1, 2) == "sin() takes 1 argument (x), 2 given"
        assert refused(flat("now"), 1) == "now() takes no arguments, 1 given"
        assert "no argument 'input'" in refused(ADD, input={"a": 1}, b=2)

    def test_a_tool_that_names_no_arguments_leaves_judging_them_to_its_server(self) -> None:
        assert flat().bind([], {"x": 1}) == {"x": 1}

    @pytest.mark.parametrize("more", [True, {}, {"type": "string"}])
    def test_a_tool_that_takes_more_arguments_gets_them(self, more: Json) -> None:
        spec = flat(properties={"a": {}}, additionalProperties=more)
        assert spec.bind([1], {"z": 2}) == {"a": 1, "z": 2}

    def test_names_that_python_does_not_allow_are_written_as_identifiers(self) -> None:
        spec = flat(properties={"user-id": {}, "from": {}, "$top": {}}, required=["user-id"])
        assert [p.argument for p in spec.parameters] == ["user_id", "from_", "_top"]
        written = spec.bind([], {"user_id": 1, "from_": 2, "_top": 3})
        assert written == spec.bind([1, 2, 3], {}) == {"user-id": 1, "from": 2, "$top": 3}
        assert spec.bind([], {"user-id": 1, "from": 2}) == {"user-id": 1, "from": 2}
        assert "two values for argument 'user_id'" in refused(spec, 1, user_id=2)
        assert "missing: user_id" in refused(spec)

    def test_a_tool_that_takes_no_more_does_not(self) -> None:
        spec = flat(properties={"a": {}}, additionalProperties=False)
        assert "no argument 'z'" in refused(spec, z=1)


class TestWholeArguments:
    """Tools whose schemas Python can't express: a plan gives the dict that the server gets."""

    inexpressible: tuple[JsonObject, ...] = (
        {"type": "array", "items": {}},
        {"type": ["string", "null"]},
        {"properties": None},
        {"properties": [], "required": 5},
        {"properties": {"a-b": {}, "a_b": {}}},
        {"properties": {"": {}}},
        {"properties": {"a\nb": {}}},
        {"properties": {"…": {}}},
        {"properties": {"x" * 101: {}}},
        {"properties": {f"p{n}": {} for n in range(101)}},
        {"properties": {"a": False}, "required": ["a"]},
        {"properties": {"a": {}}, "required": ["b"], "additionalProperties": False},
        {"allOf": [{"type": "object"}, {"type": "array"}]},
        {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"properties": {"a": {}}, "enum": [{"a": 1}]},
        {"properties": {"a": {}}, "not": {}},
        {"properties": {"input": {"properties": {"a-b": {}, "a_b": {}}}}},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    )

    @pytest.mark.parametrize("schema", inexpressible, ids=lambda schema: str(schema)[:50])
    def test_what_python_cannot_express_is_sent_as_it_is_given(self, schema: JsonObject) -> None:
        spec = ToolSpec("s", "t", "", schema)
        given_arguments: JsonObject = {"a-b": 1, "input": {"x": [None]}}
        assert [p.name for p in spec.parameters] == ["arguments"]
        assert spec.wrapper is None
        assert spec.bind([given_arguments], {}) == given_arguments
        assert spec.bind([], {"arguments": given_arguments}) == given_arguments
        assert spec.bind([], given_arguments) == given_arguments
        assert spec.bind_raw({"arguments": given_arguments}) == {"arguments": given_arguments}

    def test_anything_but_one_dict_is_refused_with_the_form(self) -> None:
        spec = ToolSpec("s", "t", "", {"type": "array"})
        calls: list[tuple[list[Json], JsonObject]] = [
            ([1], {}),
            ([{}, {}], {}),
            ([{}], {"a": 1}),
            ([], {"arguments": 1}),
        ]
        for args, kwargs in calls:
            with pytest.raises(CallRefused, match=r"t\(\) takes one dict: t\(\{'name': value\}\)"):
                spec.bind(args, kwargs)

    def test_any_other_tool_binds_raw_arguments_like_named_ones(self) -> None:
        assert ADD.bind_raw({"a": 1, "b": 2}) == {"input": {"a": 1, "b": 2}}
        assert ADD.bind_raw({"input": {"a": 1, "b": 2}}) == {"input": {"a": 1, "b": 2}}

    def test_a_choice_beside_named_properties_is_left_to_the_server(self) -> None:
        spec = flat(properties={"a": {}, "b": {}}, anyOf=[{"required": ["a"]}, {"required": ["b"]}])
        assert spec.bind([], {"b": 1}) == {"b": 1}
