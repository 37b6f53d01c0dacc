"""Configuration files as checked values: what their sections share, and mistakes in words.

A mistake is told with its file, line and key, and with what is allowed there.
"""

import re
import reprlib
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Annotated, ClassVar, TypeAlias, TypeGuard, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from config.settings import SettingsError
from config.texts import CONTAINER_KINDS, compose_yaml, kind_of
from core.base.text import near_names

MAX_PROBLEMS_SHOWN = 20
"""How many mistakes of one file a message lists."""

MAX_SECONDS = 24 * 60 * 60.0
"""No wait is longer than a day; beyond some centuries the operating system refuses the number."""

Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=MAX_SECONDS)]
"""A bound on a wait. Strict numbers: YAML's `yes` and `"5"` are mistakes, not numbers."""

Count: TypeAlias = Annotated[int, Field(strict=True)]
"""A whole number of things; every field says its own bounds, which would not add up with these."""

Location: TypeAlias = tuple[int | str, ...]

_SHOWN_CHARACTERS = 60
_PYDANTIC_DEMAND = re.compile(
    r"(?:Input|String|Value|Tuple|List|Set|Frozenset|Dictionary) should "
    r"(.+?)(?: after validation\b.*)?",
    re.DOTALL,
)
"""Pydantic's name for a kind of Python's, and what is demanded of such a value."""

_ANY_KEY = "any"
_MAPPING_KEY = "[key]"
"""What Pydantic puts behind the name of a map's entry when the name itself is wrong."""

_SERVERS_KEY = "mcp_servers"
_PRIVATE_KEYS = frozenset({"args", "env", "headers", "url"})
"""Keys of a server whose values may hold secrets, so that no message quotes them."""


class Section(BaseModel):
    """Base of all sections: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    moved: ClassVar[Mapping[str, str]] = {}
    """Keys that such a section once had, and what is said now in their place."""


SchemaT = TypeVar("SchemaT", bound=Section)


def check(document: object, schema: type[SchemaT], path: Path, text: str) -> SchemaT:
    """The value that `schema` makes of a document, which stands in the `text` of `path`.

    Raises:
        SettingsError: unknown keys, wrong values; every problem is listed, a line each.
    """
    try:
        return schema.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
    problems = [problem for problem in found if not _is_only_what_is_left(problem)]
    # JSON is YAML but for the tab, which JSON allows between tokens.
    nodes = compose_yaml(text.replace("\t", " "))
    lines: list[str] = []
    for problem in problems[:MAX_PROBLEMS_SHOWN]:
        line = line_of(nodes, problem["loc"])
        where = f"{path}:{line}" if line is not None else str(path)
        lines.append(f"{where}: {_explained(problem, schema)}")
    if hidden := len(problems) - len(lines):
        lines.append(f"{path}: … and {hidden} more problems")
    raise SettingsError("\n".join(lines))


def _is_only_what_is_left(error: ErrorDetails) -> bool:
    """Whether a list is too short for the sole reason that Pydantic left out its wrong entries."""
    given = error["input"]
    return (
        error["type"] == "too_short"
        and isinstance(given, Sized)
        and len(given) >= error.get("ctx", {}).get("min_length", 0)
    )


def _explained(error: ErrorDetails, schema: type[BaseModel]) -> str:
    """One sentence: which key, what is wrong with it, what `schema` allows there."""
    path = error["loc"]
    key = _dotted(path)
    value = _value(error)
    match error["type"]:
        case "extra_forbidden":
            if (now := _moved_to(schema, path)) is not None:
                return f"{key} is a key of earlier versions; now: {now}"
            allowed = _allowed_keys(schema, path[:-1])
            near = near_names(str(path[-1]), allowed.split(", "), most=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            return f"unknown key {key}; allowed here: {allowed}{meant}"
        case "missing":
            return f"key {key} is missing"
        case "literal_error":
            allowed = str(error.get("ctx", {}).get("expected", "")).replace("'", "")
            return f"{key} is {value}; allowed: {allowed}"
        case "model_type" | "dict_type":
            allowed = _allowed_keys(schema, path)
            found = "empty" if error["input"] is None else value
            keys = "" if allowed == _ANY_KEY else f" with keys: {allowed}"
            return f"{key} is {found}; expected a section{keys}"
        case "tuple_type":
            return f"{key} is {value}; expected a list"
        case "string_type":
            return f"{key} is {value}; expected text, in quotes if need be"
        case _:
            return _other(key, error)


def line_of(document: yaml.Node | None, keys: Location) -> int | None:
    """The 1-based line of the deepest key of `keys` that stands in a composed document."""
    node = document
    line: int | None = None
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(key)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line


def _other(key: str, error: ErrorDetails) -> str:
    message = error["msg"].removeprefix("Value error, ")
    demand = _PYDANTIC_DEMAND.fullmatch(message)
    if isinstance(error["input"], dict | list):
        return f"{key} should {demand[1]}" if demand else f"{key}: {message}"
    if demand:
        return f"{key} is {_value(error)}; it should {demand[1]}"
    return f"{key} is {_value(error)}: {message}"


def _dotted(path: Location) -> str:
    """The path as one quoted name, such as 'mcp_servers.0.script'."""
    return (
        repr(".".join(str(part) for part in path if part != _MAPPING_KEY)) if path else "the file"
    )


def _value(error: ErrorDetails) -> str:
    """The wrong value, or only of what kind it is where it may be a secret."""
    path = error["loc"]
    shown, kind = _shown(error["input"]), kind_of(error["input"])
    may_hold_secrets = kind in CONTAINER_KINDS or _PRIVATE_KEYS & set(map(str, path))
    is_of_a_server = path[:1] == (_SERVERS_KEY,) and _MAPPING_KEY not in path
    return kind if is_of_a_server and may_hold_secrets else shown


def _shown(value: object) -> str:
    """A short form of any value, however large, deep or knotted."""
    shortener = reprlib.Repr()
    shortener.maxlevel = 2
    shortener.maxstring = shortener.maxother = shortener.maxlong = _SHOWN_CHARACTERS
    try:
        return shortener.repr(value)
    except ValueError:  # an integer with more digits than Python writes
        return "a number of thousands of digits"


def _allowed_keys(schema: type[BaseModel], path: Location) -> str:
    found = _annotation_at(schema, path)
    return ", ".join(found.model_fields) if _is_section(found) else _ANY_KEY


def _annotation_at(schema: type[BaseModel], path: Location) -> object:
    """The type that the schema gives to the value at `path`."""
    found: object = schema
    for part in path:
        if _is_section(found):
            field = found.model_fields.get(str(part))
            found = field.annotation if field is not None else None
        else:  # a list's index or the name of a map's entry: the type of the items
            kinds = [kind for kind in get_args(found) if kind is not Ellipsis]
            found = kinds[-1] if kinds else None
    return found


def _moved_to(schema: type[BaseModel], path: Location) -> str | None:
    """What is said now in place of a key that its section once had."""
    section = _annotation_at(schema, path[:-1])
    if not (isinstance(section, type) and issubclass(section, Section)):
        return None
    return section.moved.get(str(path[-1]))


def _is_section(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
