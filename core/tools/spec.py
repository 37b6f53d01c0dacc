"""One tool as its server describes it, and how a plan's call becomes the server's arguments."""

import keyword
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from core.base.frozen import frozen
from core.base.text import counted
from core.errors import CallRefused
from core.tools.json_schema import Contradiction, as_object, is_larger, merge, resolve
from core.values import Json, JsonObject

WHOLE_ARGUMENTS: Final = "arguments"
"""The one parameter of a tool whose own parameters Python can't express: a dict of all of them."""

PARAMETERS_MAX: Final = 100
"""A tool with more parameters takes them as one dict."""

SCHEMA_VALUES_MAX: Final = 10_000
"""A tool with a larger schema takes its arguments as one dict: nobody reads that much."""

PARAMETER_NAME_CHARACTERS_MAX: Final = 100
"""A tool with a longer parameter name takes its arguments as one dict."""


@frozen
class Parameter:
    """One argument of a tool; `schema` is its JSON Schema, `name` what the server calls it."""

    name: str
    schema: JsonObject
    required: bool

    @property
    def argument(self) -> str:
        """What a plan calls it: the name as a Python identifier (`user-id` → `user_id`)."""
        return as_identifier(self.name, dunder_prefix="arg")


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a server offers (MCP `Tool`, 2025-11-25 revision, the fields we use).

    `says_effects`: the server says whether it changes anything; else its name has to tell.
    A catalogue sets `alias` where two tools of one server have names that make one identifier.
    """

    server: str
    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    read_only: bool = False
    idempotent: bool = False
    alias: str | None = None
    says_effects: bool = False

    @property
    def qualified_name(self) -> str:
        """`server.tool`, unique in a catalogue."""
        return f"{self.server}.{self.name}"

    @cached_property
    def identifier(self) -> str:
        """The name as a Python identifier, for `tools.<identifier>(…)`."""
        return self.alias or as_identifier(self.name)

    @cached_property
    def property_names(self) -> frozenset[str]:
        """Every name that the schema of the arguments gives to something, at whatever depth."""
        found: set[str] = set()
        waiting: list[Json] = [self.input_schema]
        while waiting:
            match waiting.pop():
                case dict() as schema:
                    found.update(as_object(schema.get("properties")))
                    waiting += schema.values()
                case list() as schemas:
                    waiting += schemas
                case _:
                    pass
        return frozenset(found)

    @cached_property
    def wrapper(self) -> str | None:
        """Name of the single object argument that wraps all others (`input`), if there is one.

        Servers that take one Pydantic model, as the bundled ones do, have the schema
        `{"properties": {"input": {…object…}}, "required": ["input"]}`; plans write the inner
        fields as plain keyword arguments.
        """
        if self.takes_whole or [p.name for p in self._outer_parameters or ()] != ["input"]:
            return None
        inner = self._resolve(as_object(self._outer_schema.get("properties")).get("input"))
        return "input" if isinstance(inner.get("properties"), dict) else None

    @cached_property
    def takes_whole(self) -> bool:
        """Whether a plan gives all arguments as one dict, because Python can't express them.

        So it is where the schema isn't that of an object, contradicts itself, is a choice between
        objects, has names that clash as identifiers or are none, or is absurdly large.
        """
        if is_larger(self.input_schema, SCHEMA_VALUES_MAX):
            return True
        outer = self._outer_parameters
        if outer is None or [p.name for p in outer] != ["input"]:
            return outer is None
        inner = self._resolve(outer[0].schema)
        return (
            isinstance(inner.get("properties"), dict)
            and _expressible_parameters(inner, self.input_schema) is None
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in schema order, the wrapper flattened.

        A tool that `takes_whole` has the one parameter `arguments`.
        """
        if self.takes_whole:
            return (Parameter(WHOLE_ARGUMENTS, {"type": "object"}, required=True),)
        return _expressible_parameters(self.arguments_schema, self.input_schema) or ()

    def bind(self, args: Sequence[Json], kwargs: Mapping[str, Json]) -> JsonObject:
        """Arguments as the server wants them, from a call as a plan wrote it.

        Positional arguments follow schema order; `{"input": {…}}` given as such passes through.
        A tool that `takes_whole` gets exactly the dict that it is given.

        Raises:
            CallRefused: too many, unknown, doubled or missing arguments; the message names
                them and the signature.
        """
        if self.takes_whole:
            return self._bind_whole(args, kwargs)
        if not args and self._is_wrapped(kwargs):
            return dict(kwargs)
        known = [p.argument for p in self.parameters]
        if len(args) > len(known):
            raise CallRefused(
                f"{self.name}() takes {_counted(len(known))}{_in_brackets(known)}, "
                f"{len(args)} given"
            )
        names = [p.name for p in self.parameters]
        bound: JsonObject = dict(zip(names, args, strict=False))
        meant = dict(zip(known, names, strict=True))
        for given, value in kwargs.items():
            name = meant.get(given, given)
            if name in bound:
                raise CallRefused(f"{self.name}() got two values for argument {given[:60]!r}")
            if name not in names and not self.takes_more:
                raise CallRefused(
                    f"{self.name}() has no argument {given[:60]!r}; "
                    f"its arguments are: {', '.join(known)}"
                )
            bound[name] = value
        missing = [p.argument for p in self.parameters if p.required and p.name not in bound]
        if missing:
            raise CallRefused(
                f"{self.name}() is missing: {', '.join(missing)}; "
                f"its arguments are: {', '.join(known)}"
            )
        return {self.wrapper: bound} if self.wrapper is not None else bound

    def bind_raw(self, arguments: Mapping[str, Json]) -> JsonObject:
        """Arguments as the server wants them, from those of `mcp.call_tool(name, arguments)`.

        Raises:
            CallRefused: as `bind` does.
        """
        return dict(arguments) if self.takes_whole else self.bind((), arguments)

    @cached_property
    def arguments_schema(self) -> JsonObject:
        """The schema of the object that holds the arguments: the wrapper's, else the tool's."""
        if self.wrapper is None:
            return self._outer_schema
        return self._resolve(as_object(self._outer_schema.get("properties"))[self.wrapper])

    @cached_property
    def takes_more(self) -> bool:
        """Whether arguments beyond the named ones go to the server, to judge there."""
        more = self.arguments_schema.get("additionalProperties")
        is_open = more is True or isinstance(more, dict) or not self.parameters
        is_open = is_open or bool(as_object(self.arguments_schema.get("patternProperties")))
        return is_open or (more is None and self._has_named_choices)

    @property
    def _has_named_choices(self) -> bool:
        """Whether the arguments are a choice of forms that name some of their own."""
        schema = self.arguments_schema
        own = as_object(schema.get("properties")).keys()
        forms = [schema.get(key) for key in ("anyOf", "oneOf")]
        named = (
            as_object(self._resolve(form).get("properties")).keys()
            for choice in forms
            if isinstance(choice, list)
            for form in choice[:PARAMETERS_MAX]
        )
        return any(names - own for names in named)

    @cached_property
    def _outer_parameters(self) -> tuple[Parameter, ...] | None:
        return _expressible_parameters(self._outer_schema, self.input_schema)

    @cached_property
    def _outer_schema(self) -> JsonObject:
        return self._resolve(self.input_schema)

    def _bind_whole(self, args: Sequence[Json], kwargs: Mapping[str, Json]) -> JsonObject:
        """The dict that was given, by position, as `arguments`, or as keywords of its own."""
        named = dict(kwargs)
        if not args and WHOLE_ARGUMENTS not in named:
            return named
        given = [*args, *named.values()]
        if len(given) == 1 and isinstance(whole := given[0], dict):
            return dict(whole)
        raise CallRefused(f"{self.name}() takes one dict: {self.name}({{'name': value}})")

    def _is_wrapped(self, kwargs: Mapping[str, Json]) -> bool:
        """Whether a call gives the wrapper itself, not an inner argument of the same name."""
        if self.wrapper is None or set(kwargs) != {self.wrapper}:
            return False
        names = {p.name for p in self.parameters}
        if self.wrapper not in names:
            return True
        needed = {p.name for p in self.parameters if p.required}
        value = kwargs[self.wrapper]
        return isinstance(value, dict) and needed <= set(value) <= names

    def _resolve(self, schema: Json) -> JsonObject:
        """References followed and `allOf` joined; as it stands where that is a contradiction."""
        try:
            return merge(schema, self.input_schema)
        except Contradiction:
            return resolve(schema, self.input_schema)


def as_identifier(name: str, dunder_prefix: str = "tool") -> str:
    """`name` as a Python identifier that a plan can use as an attribute or argument.

    Other characters become `_`, and a keyword gets one behind. Normalised (NFKC), because
    Python does so with what it parses; not of the `__name` form, which means other things.
    """
    if name.isascii() and name.isidentifier() and name[:2] != "__":
        return f"{name}_" if keyword.iskeyword(name) else name
    known = unicodedata.normalize("NFKC", name)
    cleaned = "".join(c if f"_{c}".isidentifier() else "_" for c in known) or "_"
    if not cleaned.isidentifier():
        cleaned = f"_{cleaned}"
    if cleaned.startswith("__"):
        cleaned = f"{dunder_prefix}{cleaned}"
    return f"{cleaned}_" if keyword.iskeyword(cleaned) else cleaned


def _expressible_parameters(schema: JsonObject, root: JsonObject) -> tuple[Parameter, ...] | None:
    """The parameters that an object's schema describes; None if Python can't express them."""
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not _is_one_object(schema):
        return None
    if max(len(properties), len(_required(schema))) > 2 * PARAMETERS_MAX:
        return None
    if any(name in properties and properties[name] is False for name in _required(schema)):
        return None
    parameters = tuple(_parameters(schema, properties, root))
    if len(parameters) > PARAMETERS_MAX or not _are_named_well(parameters):
        return None
    more = schema.get("additionalProperties", True)
    if more is False and any(p.name not in properties for p in parameters):
        return None
    return parameters


def _is_one_object(schema: JsonObject) -> bool:
    """Whether it is the schema of an object, without contradictions or a choice of objects."""
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return False
    if "const" in schema or "enum" in schema or schema.get("not") in (True, {}):
        return False
    if isinstance(schema.get("allOf"), list):  # else it would have been joined
        return False
    return "properties" in schema or not ("anyOf" in schema or "oneOf" in schema)


def _required(schema: JsonObject) -> list[str]:
    """The names that must be given, each once."""
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _parameters(
    schema: JsonObject, properties: JsonObject, root: JsonObject
) -> Iterator[Parameter]:
    """The properties that may be given, then names that are required without being described."""
    required = _required(schema)
    for name, inner in properties.items():
        if inner is not False:
            yield Parameter(name, resolve(inner, root), name in required)
    for name in required:
        if name not in properties:
            yield Parameter(name, {}, required=True)


def _are_named_well(parameters: Sequence[Parameter]) -> bool:
    """Whether each name is of a sane length, has a letter, and stays apart as an identifier."""
    arguments = [p.argument for p in parameters]
    return len({*arguments}) == len(arguments) and all(
        len(p.name) <= PARAMETER_NAME_CHARACTERS_MAX
        and p.name.isprintable()
        and any(map(str.isalnum, p.name))
        for p in parameters
    )


def _counted(count: int) -> str:
    return "no arguments" if count == 0 else counted(count, "argument")


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
