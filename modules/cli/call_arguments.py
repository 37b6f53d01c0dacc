"""Arguments of a tool as they are typed: `key=value` by the tool's schema, or JSON.

A value is read as the schema of its argument wants it. Where text is allowed too, only what is
plainly a number, `true`, `false`, an array or an object is no text. `key:=value` is JSON
whatever the schema says (as in HTTPie).
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, Literal, TypeAlias, cast, get_args

from config.texts import TextProblem, load_json
from core.base.text import shorten
from core.errors import UsageError
from core.tools.json_schema import Contradiction, as_object, merge, resolve
from core.tools.schema_check import SchemaCheck
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

INPUT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Longest `--input`."""

VALUE_CHARACTERS_SHOWN: Final = 80
"""How much of a wrong value a message quotes."""

SCHEMAS_READ_MAX: Final = 100
"""How much of an argument's schema is read; schemas may refer to themselves."""

_CHOICES: Final = ("anyOf", "oneOf", "allOf")

_Kind: TypeAlias = Literal["integer", "number", "boolean", "array", "object", "null", "string"]
_KINDS: Final = cast("tuple[_Kind, ...]", get_args(_Kind))

_EXPECTED: Final[dict[_Kind, str]] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a JSON array such as '[1, 2]'",
    "object": "a JSON object such as '{\"a\": 1}'",
    "null": "null",
    "string": "text",
}


def read_input(text: str, stdin: BinaryIO) -> JsonObject:
    """The object that `--input` gives, from `stdin` where it is "-".

    Raises:
        UsageError: no JSON object, too long, or stdin can't be read.
    """
    raw = _from_stdin(stdin) if text == "-" else text
    if not raw.strip():
        where = "stdin" if text == "-" else "--input"
        raise UsageError(f'{where} is empty; --input takes a JSON object, such as {{"a": 1}}')
    try:
        value = load_json(raw)
    except TextProblem as problem:
        where = f" (line {problem.line})" if problem.line is not None and "\n" in raw else ""
        raise UsageError(f"--input is not JSON{where}: {problem}") from problem
    if not isinstance(value, dict):
        raise UsageError('--input is a JSON object, such as {"a": 1}')
    return cast("JsonObject", value)


def read_pairs(pairs: Sequence[str], tool: ToolSpec) -> JsonObject:
    """The arguments that pairs give; names are the server's, or as a plan writes them.

    Raises:
        UsageError: a name without text, one given twice, or a value that the schema excludes.
    """
    schemas = {parameter.argument: parameter.schema for parameter in tool.parameters}
    found: JsonObject = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        is_json, name = name.endswith(":"), name.removesuffix(":")
        if not name:
            raise UsageError(f"'{shorten(pair, VALUE_CHARACTERS_SHOWN)}' has no name before the =")
        if name in found:
            raise UsageError(f"'{name}' is given twice")
        schema = _schema_of(name, tool) or schemas.get(name, {})
        found[name] = _json(name, text) if is_json else _typed(name, text, schema, tool)
    return found


def _schema_of(name: str, tool: ToolSpec) -> JsonObject | None:
    """What the tool's schema says of an argument, in all of its forms; None if nothing."""
    named: list[Json] = []
    others: list[Json] = []
    waiting: list[Json] = [tool.arguments_schema]
    for _ in range(SCHEMAS_READ_MAX):
        if not waiting:
            break
        one = _resolved(waiting.pop(), tool.input_schema)
        properties = as_object(one.get("properties"))
        own = [properties[name]] if name in properties else []
        own += _by_pattern(name, as_object(one.get("patternProperties")))
        if own:  # all of them count
            named.append(own[0] if len(own) == 1 else {"allOf": own})
        elif isinstance(more := one.get("additionalProperties"), dict):
            others.append(more)
        for key in _CHOICES:
            if isinstance(choices := one.get(key), list):
                waiting += choices
    found = named or others
    return {"anyOf": found} if found else None


def _by_pattern(name: str, patterns: JsonObject) -> Iterator[Json]:
    """The schemas whose regular expression the name matches, by the engine that checks calls."""

    def is_matched(*those: str) -> bool:
        refusing: JsonObject = dict.fromkeys(those, False)
        return bool(SchemaCheck({"patternProperties": refusing}).faults({name: None}))

    if patterns and is_matched(*patterns):  # together they may not be too many to read
        yield from (schema for pattern, schema in patterns.items() if is_matched(pattern))


def _from_stdin(stdin: BinaryIO) -> str:
    try:
        data = stdin.read(INPUT_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"stdin can't be read: {error.strerror or error}") from error
    if len(data) > INPUT_BYTES_MAX:
        raise UsageError(f"--input has more than {INPUT_BYTES_MAX:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--input is not UTF-8 text (byte {error.start})") from error


def _json(name: str, text: str) -> Json:
    try:
        return cast("Json", load_json(text))
    except TextProblem as problem:
        shown = shorten(text, VALUE_CHARACTERS_SHOWN)
        raise UsageError(f"'{name}:=' takes JSON, and '{shown}' is none: {problem}") from problem


def _typed(name: str, text: str, schema: JsonObject, tool: ToolSpec) -> Json:
    kinds = set(_kinds(schema, tool.input_schema))
    if kinds <= {"string", "null"} and kinds != {"null"}:
        return text
    try:
        value = cast("Json", load_json(text))
    except TextProblem:
        value = text
    # Where text may stand, `null` and a quoted "x" are text as well.
    unfit = kinds.isdisjoint(_kinds_of(value))
    if "string" in kinds and (unfit or value is None or isinstance(value, str)):
        return text
    if unfit:
        wanted = " or ".join(_EXPECTED[kind] for kind in _KINDS if kind in kinds)
        raise UsageError(f"'{name}' takes {wanted}, not '{shorten(text, VALUE_CHARACTERS_SHOWN)}'")
    return value


def _kinds_of(value: Json) -> set[_Kind]:
    """The types of JSON Schema that a value has."""
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number", "integer"} if value.is_integer() else {"number"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case dict():
            return {"object"}


def _kinds(schema: JsonObject, root: JsonObject) -> Iterator[_Kind]:
    """The types that a schema allows; none where it says nothing."""
    waiting: list[Json] = [schema]
    for _ in range(SCHEMAS_READ_MAX):
        if not waiting:
            return
        one = _resolved(waiting.pop(), root)
        yield from _own_kinds(one)
        for key in ("anyOf", "oneOf"):
            if isinstance(choices := one.get(key), list):
                waiting.extend(choices)


def _resolved(schema: Json, root: JsonObject) -> JsonObject:
    try:
        return merge(schema, root)
    except Contradiction:
        return resolve(schema, root)


def _own_kinds(schema: JsonObject) -> Iterator[_Kind]:
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list):
        for value in allowed:
            yield from _kinds_of(value)
        return
    kinds = schema.get("type")
    named = kinds if isinstance(kinds, list) else [kinds]
    for kind in _KINDS:
        if any(kind == name for name in named):
            yield kind
    if kinds is None and isinstance(as_object(schema).get("properties"), dict):
        yield "object"
