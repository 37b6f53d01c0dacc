"""Tools as text: typed Python signatures from their JSON Schemas, in stubs and in prompts' lists.

They are what the planner sees and what a plan calls. Everything in them was written by a server:
it is cut to bounds and can't break out of the line or the docstring it stands in.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from core.base.frozen import frozen
from core.base.text import one_line
from core.tools.catalog import ToolCatalog
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

LISTED_DESCRIPTION_CHARACTERS: Final = 300
"""Longest description of a tool in a prompt's list; the rest is cut."""

SUMMARY_CHARACTERS: Final = 24_000
"""How long a list of tools may become by the lines of their parameters, unless said otherwise."""

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
    a plan receives: the type of the output schema's `result` or `content` where that wraps it, and
    `str` where there is none: tools without a schema give text.
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
    described = _described(spec, DESCRIPTION_CHARACTERS)
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


@frozen
class ToolText:
    """A tool in a prompt: a line for it, and one for each parameter with something to say."""

    line: str
    details: tuple[str, ...]


def tool_text(tool: ToolSpec, name: str) -> ToolText:
    """The text of a tool that plans call `name`; written once, and kept with the tool.

    Strategy and prompt ask for it at every plan, and most of a prompt's time would go into it.
    """
    kept: dict[str, ToolText] = vars(tool).setdefault("_texts", {})
    if name not in kept:
        description = _described(tool, LISTED_DESCRIPTION_CHARACTERS)
        details = tuple(f"    {line}" for line in parameter_lines(tool))
        kept[name] = ToolText(f"- {tool_signature(tool, name)}: {description}", details)
    return kept[name]


def describe_tool(tool: ToolSpec, catalog: ToolCatalog) -> str:
    """One line for a prompt, `- signature: description`, by the name that plans use."""
    return tool_text(tool, catalog.plan_name(tool)).line


def summarize_tools(tools: Iterable[ToolSpec], budget_characters: int = SUMMARY_CHARACTERS) -> str:
    """One line a tool, in the order given; see `describe_tool`.

    Below a tool's line stand those of its parameters, from the first tool on as long as all
    stays within the budget. Tools that a catalogue knows and doesn't offer are counted at the
    end, with how a plan finds them.
    """
    catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(tools)
    texts = [tool_text(tool, catalog.plan_name(tool)) for tool in catalog]
    notes = [_left_out(catalog.left_out)] if catalog.left_out else []
    room = budget_characters - sum(len(line) + 1 for line in [*(t.line for t in texts), *notes])
    lines: list[str] = []
    for text in texts:
        lines.append(text.line)
        room -= sum(len(line) + 1 for line in text.details)
        if room >= 0:
            lines += text.details
    return "\n".join([*lines, *notes])


def _left_out(count: int) -> str:
    more, exist, it = (
        ("1 more tool", "exists", "it") if count == 1 else (f"{count} more tools", "exist", "them")
    )
    return (
        f"{more} {exist}. To find {it}, search inside the plan: "
        'found = await search_tools("words that say what is needed", limit=10) gives a list of '
        "{'name', 'signature', 'description'}; then "
        'await mcp.call_tool(found[0]["name"], {…}) or await tools.<name>(…), in the same plan '
        "or, after FURTHER_PROCESSING_REQUIRED, in the next."
    )


def _described(spec: ToolSpec, characters: int) -> str:
    return one_line(spec.description, characters) or "No description provided."


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
        return "str"
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
