"""Stubs of tools: typed Python signatures with docstrings, from the tools' JSON Schemas.

They are what the planner sees and what a plan calls. Everything in them was written by a server:
it is cut to bounds and can't break out of the line or the docstring it stands in.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from core.base.text import one_line
from core.tools.json_schema import as_object, wrapped_result
from core.tools.spec import Parameter, ToolSpec
from core.values import Json, JsonObject
from modules.planning.prompt.schema_types import ANYTHING, OBJECT_LEVELS_SHOWN, type_text

DEFAULT_CHARACTERS: Final = 40
"""Longest default value that a signature shows; longer ones become `...`."""

SIGNATURE_CHARACTERS: Final = 600
"""A signature that is longer shows its nested objects less deeply."""

SIGNATURE_CHARACTERS_MAX: Final = 3_000
"""A signature that is longer even so shows its first arguments, and `**more` for the others."""

TYPE_CHARACTERS: Final = 300
"""The same for the type of one argument, and of the result."""

DESCRIPTION_CHARACTERS: Final = 600
"""How much of a tool's description a stub keeps."""

PARAMETER_CHARACTERS: Final = 160
"""How much of a parameter's description is kept."""

SCHEMA_CHARACTERS: Final = 1_000
"""How much of a schema is shown that no signature can express."""

PARAMETERS_DESCRIBED: Final = 30
"""How many parameters of a tool are described."""

_BOUNDS: Final = (
    ("format", "{}"),
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "below {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", "matches {}"),
)
"""Conditions on a value that its type doesn't tell, in words."""

_OBVIOUS: Final = frozenset({-(2**53) + 1, 2**53 - 1})
"""Bounds that a generator wrote because JavaScript has them."""


def tool_signature(spec: ToolSpec, name: str) -> str:
    """How a plan calls the tool: `add(a: int | float, b: int | float) -> int | float`.

    Arguments stand in schema order, the `input` wrapper flattened. Where a required argument
    follows an optional one, all from there on are keyword-only (`*`); `**more` says that others
    are taken too. A tool that Python can't express is `name(arguments: dict)`. The result is what
    a plan receives: the type of the output schema's `result` or `content` where that wraps it,
    `object` where the server promises nothing.
    """
    for levels in range(OBJECT_LEVELS_SHOWN, -1, -1):
        result = _result_type(spec.output_schema, levels)
        room = SIGNATURE_CHARACTERS - len(f"{name}() -> {result}")
        arguments, is_whole = _first_that_fit(_arguments(spec, levels), room)
        if is_whole:
            return f"{name}({', '.join(arguments)}) -> {result}"
    result = _result_type(spec.output_schema, 0)
    arguments, is_whole = _first_that_fit(_arguments(spec, 0), SIGNATURE_CHARACTERS_MAX)
    if arguments[-1:] == ["*"]:
        arguments.pop()
    more = [] if is_whole else [f"**{_free_name(spec.parameters)}: {ANYTHING}"]
    return f"{name}({', '.join([*arguments, *more])}) -> {result}"


def tool_stub(spec: ToolSpec, name: str) -> str:
    """The whole stub, `async def name(…) -> T:` with its docstring; `ast.parse` takes it.

    Behind a server's name (`server.tool`) the function has the tool's own.
    """
    function = name.rpartition(".")[2]
    called = f"Called as tools.{name}.\n\n" if "." in name else ""
    text = called + tool_documentation(spec)
    inner = "\n".join(f"    {line}".rstrip() for line in _in_docstring(text).split("\n"))
    end = "\n    " if "\n" in text else ""
    return f'async def {tool_signature(spec, function)}:\n    """{inner.lstrip()}{end}"""\n'


def tool_documentation(spec: ToolSpec) -> str:
    """What the tool does, and a line for each parameter of which there is something to say.

    The schema itself stands there where no signature can express it.
    """
    described = one_line(spec.description, DESCRIPTION_CHARACTERS) or "No description provided."
    lines = list(parameter_lines(spec))
    return "\n".join([described, "", *lines]) if lines else described


def parameter_lines(spec: ToolSpec) -> Iterator[str]:
    """`name: description (limits)` for each parameter that has a description or limits."""
    if spec.takes_whole:
        schema = one_line(_beginning(spec.input_schema), SCHEMA_CHARACTERS)
        yield f"arguments: by this JSON Schema: {schema}"
        return
    for parameter in spec.parameters[:PARAMETERS_DESCRIBED]:
        described = parameter.schema.get("description", parameter.schema.get("title", ""))
        words = one_line(described if isinstance(described, str) else "", PARAMETER_CHARACTERS)
        limits = "; ".join(_limits(parameter))
        if words.lower().replace(" ", "_") == parameter.argument.lower():
            words = ""
        if words and limits:
            words = f"{words} ({limits})"
        if words or limits:
            yield f"{parameter.argument}: {words or limits}"


def _first_that_fit(arguments: Iterator[str], room: int) -> tuple[list[str], bool]:
    """The first arguments that so many characters hold, and whether these are all.

    No more of them are written out than that: there may be a hundred, each of a type that takes
    a while.
    """
    shown: list[str] = []
    for argument in arguments:
        room -= len(argument) + (2 if shown else 0)
        if room < 0:
            return shown, False
        shown.append(argument)
    return shown, True


def _arguments(spec: ToolSpec, levels: int) -> Iterator[str]:
    star = _first_keyword_only(spec.parameters)
    for position, parameter in enumerate(spec.parameters):
        if position == star:
            yield "*"
        written = _type(parameter.schema, spec.input_schema, levels)
        yield f"{parameter.argument}: {written}{_default(parameter)}"
    more = spec.arguments_schema.get("additionalProperties")
    if not spec.takes_whole and (more is True or isinstance(more, dict)):
        yield f"**{_free_name(spec.parameters)}: {_type(more, spec.input_schema, levels)}"


def _type(schema: Json, root: JsonObject, levels: int) -> str:
    """The type at the greatest depth at which it isn't too long."""
    for shown in range(levels, 0, -1):
        written = type_text(schema, root, shown)
        if len(written) <= TYPE_CHARACTERS:
            return written
    written = type_text(schema, root, 0)
    return written if len(written) <= TYPE_CHARACTERS else ANYTHING


def _first_keyword_only(parameters: Sequence[Parameter]) -> int | None:
    """Index of the first optional parameter, if a required one follows it."""
    first = next((i for i, p in enumerate(parameters) if not p.required), len(parameters))
    return first if any(p.required for p in parameters[first:]) else None


def _free_name(parameters: Sequence[Parameter]) -> str:
    """A name for further arguments that no parameter has."""
    taken = {parameter.argument for parameter in parameters}
    name = "more"
    while name in taken:
        name = f"{name}_"
    return name


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return ""
    default = parameter.schema.get("default", ...)
    if not (default is None or isinstance(default, str | int | float | list | dict)):
        return " = ..."
    return f" = {_constant(default)}"


def _constant(value: Json) -> str:
    """A default as Python writes it; `...` where it is long or has no literal (infinity)."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of too many digits
        return "..."
    has_literal = isinstance(value, str) or not ("inf" in shown or "nan" in shown)
    return shown if len(shown) <= DEFAULT_CHARACTERS and has_literal else "..."


def _result_type(output_schema: JsonObject | None, levels: int) -> str:
    if output_schema is None:
        return "object"
    properties = output_schema.get("properties")
    if (wrapped := wrapped_result(properties, output_schema)) is not None:
        return _type(as_object(properties)[wrapped], output_schema, levels)
    return _type(output_schema, output_schema, levels)


def _limits(parameter: Parameter) -> Iterator[str]:
    """What a value must meet beyond its type, and the name that the server has for it."""
    schema = parameter.schema
    if parameter.argument != parameter.name:
        yield f"sent as {parameter.name!r}"
    for key, words in _BOUNDS:
        value = schema.get(key)
        if isinstance(value, str | float) or (type(value) is int and value not in _OBVIOUS):
            yield words.format(one_line(str(value), DEFAULT_CHARACTERS))


def _beginning(schema: JsonObject) -> str:
    """As much of a schema's JSON as can be shown; one of megabytes isn't written out."""
    parts: list[str] = []
    room = 8 * SCHEMA_CHARACTERS
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(schema):
        parts.append(part[:room])
        room -= len(part)
        if room < 0:
            break
    return "".join(parts)


def _in_docstring(text: str) -> str:
    """Text that can stand between triple quotes."""
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    return f"{escaped[:-1]}'" if escaped.endswith('"') else escaped
