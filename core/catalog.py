"""Tools as the engine sees them: specs, results, and the catalogue that resolves names.

Nothing here needs a running server or the MCP SDK, so that planning can start from the cached
tool lists alone.
"""

import difflib
import json
import keyword
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from core.errors import CallRefused
from core.values import Json, JsonObject

NEAREST_NAMES_SHOWN = 3
"""How many similar names an unknown-tool error offers."""

JSON_TEXT_CHARACTERS_MAX = 1024 * 1024
"""Longer text stays text even if it is JSON: parsing it would hold up the event loop."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool as a plan writes it; `schema` is its JSON Schema."""

    name: str
    schema: JsonObject
    required: bool


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a server offers (MCP `Tool`, 2025-11-25 revision, the fields we use).

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

    @property
    def qualified_name(self) -> str:
        """`server.tool`, unique in a catalogue."""
        return f"{self.server}.{self.name}"

    @property
    def identifier(self) -> str:
        """The name as a Python identifier, for `tools.<identifier>(…)`."""
        return self.alias or as_identifier(self.name)

    @cached_property
    def wrapper(self) -> str | None:
        """Name of the single object argument that wraps all others (`input`), if there is one.

        Servers that take one Pydantic model, as the bundled ones do, have the schema
        `{"properties": {"input": {…object…}}, "required": ["input"]}`; plans write the inner
        fields as plain keyword arguments.
        """
        properties = _object(self.input_schema.get("properties"))
        if len(properties) != 1:
            return None
        (name, inner), *_ = properties.items()
        if name != "input":
            return None
        return name if isinstance(self._resolve(inner).get("properties"), dict) else None

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in schema order, the wrapper flattened."""
        schema = self._arguments_schema
        required = schema.get("required")
        names: set[Json] = (
            {n for n in required if isinstance(n, str)} if isinstance(required, list) else set()
        )
        return tuple(
            Parameter(name, self._resolve(inner), name in names)
            for name, inner in _object(schema.get("properties")).items()
        )

    def bind(self, args: Sequence[Json], kwargs: Mapping[str, Json]) -> JsonObject:
        """Arguments as the server wants them, from a call as a plan wrote it.

        Positional arguments follow schema order; `{"input": {…}}` given as such passes through.

        Raises:
            CallRefused: too many, unknown, doubled or missing arguments; the message names
                them and the signature.
        """
        if not args and self._is_wrapped(kwargs):
            return dict(kwargs)
        known = [p.name for p in self.parameters]
        if len(args) > len(known):
            raise CallRefused(
                f"{self.name}() takes {_counted(len(known))}{_in_brackets(known)}, "
                f"{len(args)} given"
            )
        bound: JsonObject = dict(zip(known, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise CallRefused(f"{self.name}() got two values for argument '{name}'")
            if name not in known and not self._takes_more:
                raise CallRefused(
                    f"{self.name}() has no argument '{name}'; its arguments are: {', '.join(known)}"
                )
            bound[name] = value
        missing = [p.name for p in self.parameters if p.required and p.name not in bound]
        if missing:
            raise CallRefused(
                f"{self.name}() is missing: {', '.join(missing)}; "
                f"its arguments are: {', '.join(known)}"
            )
        return {self.wrapper: bound} if self.wrapper is not None else bound

    @cached_property
    def _arguments_schema(self) -> JsonObject:
        """The schema of the object that holds the arguments."""
        if self.wrapper is None:
            return self.input_schema
        return self._resolve(_object(self.input_schema.get("properties"))[self.wrapper])

    @cached_property
    def _takes_more(self) -> bool:
        """Whether arguments beyond the named ones go to the server, to judge there."""
        more = self._arguments_schema.get("additionalProperties")
        return more is True or isinstance(more, dict) or not self.parameters

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
        """Follow local `$ref`s (JSON pointers, RFC 6901); what stands beside one is kept.

        A ref that leads nowhere, or in a circle, counts as a schema without conditions.
        """
        found = _object(schema)
        followed: set[str] = set()
        while isinstance(ref := found.get("$ref"), str) and ref not in followed:
            followed.add(ref)
            beside: JsonObject = {key: value for key, value in found.items() if key != "$ref"}
            found = {**self._pointed_at(ref), **beside}
        return found

    def _pointed_at(self, ref: str) -> JsonObject:
        if not ref.startswith("#/"):
            return {}
        target: Json = self.input_schema
        for part in ref[2:].split("/"):
            target = _object(target).get(part.replace("~1", "/").replace("~0", "~"))
        return _object(target)


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One piece of a tool result (MCP content block).

    `type` is "text", "image", "audio", "resource" or "resource_link"; `data` is base64.
    """

    type: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a server answered; an error of the tool is a value (`is_error`)."""

    content: tuple[ContentBlock, ...]
    structured: JsonObject | None = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """All text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if block.text is not None)

    @property
    def value(self) -> Json:
        """The result as a plan receives it: `{"result": x}` arrives as `x`.

        Structured content first; else text that is a JSON object; else the text; else the
        blocks themselves as objects (images and the like).
        """
        if self.structured is not None:
            return _unwrap(self.structured)
        if self.content and all(block.text is not None for block in self.content):
            return _unwrap(_parse_object(self.text))
        return [
            {"type": b.type, "text": b.text, "data": b.data, "mime_type": b.mime_type, "uri": b.uri}
            for b in self.content
        ]


class ToolCatalog:
    """The tools on offer, reachable by bare name, `server.tool`, or Python identifier."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        """Index the tools; order is kept.

        Of tools with the same server and name the first counts: no call could mean another.
        """
        self._tools = tuple(_told_apart(tools))
        self._by_qualified = {tool.qualified_name: tool for tool in self._tools}
        self._by_name: dict[str, list[ToolSpec]] = {}
        for tool in self._tools:
            self._by_qualified.setdefault(_path(tool), tool)
            for name in {tool.name, tool.identifier}:
                self._by_name.setdefault(name, []).append(tool)
        self._namespaces = {as_identifier(t.server) for t in self._tools if self._is_shared(t)}

    def __iter__(self) -> Iterator[ToolSpec]:
        """The tools in the order given."""
        return iter(self._tools)

    def __len__(self) -> int:
        """Number of tools."""
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        """Whether `name` resolves to exactly one tool."""
        return isinstance(name, str) and (
            name in self._by_qualified or len(self._by_name.get(name, ())) == 1
        )

    def get(self, name: str) -> ToolSpec | None:
        """The one tool that `name` means, else None."""
        return self.resolve(name) if name in self else None

    def is_ambiguous(self, tool: ToolSpec) -> bool:
        """Whether a plan must name the tool's server too.

        So it is if another server offers a tool of the same name, and if the bare name is
        that of a server whose own tools must be reached through it.
        """
        own = self._own(tool)
        return self._is_shared(own) or own.identifier in self._namespaces

    def _is_shared(self, tool: ToolSpec) -> bool:
        return any(len(self._by_name[name]) > 1 for name in (tool.name, tool.identifier))

    def plan_name(self, tool: ToolSpec) -> str:
        """What a plan writes after `tools.`: the identifier, or `server.identifier`."""
        return _path(self._own(tool)) if self.is_ambiguous(tool) else self._own(tool).identifier

    def _own(self, tool: ToolSpec) -> ToolSpec:
        """The catalogue's copy of a tool, which may have an alias."""
        return self._by_qualified.get(tool.qualified_name, tool)

    def resolve(self, name: str) -> ToolSpec:
        """The tool that `name` means.

        Raises:
            CallRefused: no such tool (the nearest names are given), or several servers have
                one (all are named).
        """
        if (tool := self._by_qualified.get(name)) is not None:
            return tool
        candidates = self._by_name.get(name, [])
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = " or ".join(tool.qualified_name for tool in candidates)
            raise CallRefused(f"'{name}' is offered by several servers; say {names}")
        near = difflib.get_close_matches(
            name, dict.fromkeys([*self._by_name, *self._by_qualified]), NEAREST_NAMES_SHOWN, 0.5
        )
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        offered = "" if self._tools else " (no tools are on offer)"
        raise CallRefused(f"there is no tool '{name}'{hint}{offered}")


def as_identifier(name: str) -> str:
    """`name` as a Python identifier that a plan can use as an attribute.

    Other characters become `_`, and a keyword gets one behind. Normalised (NFKC), because
    Python does so with what it parses; not of the `__name` form, which means other things.
    """
    known = unicodedata.normalize("NFKC", name)
    cleaned = "".join(c if f"_{c}".isidentifier() else "_" for c in known) or "_"
    if not cleaned.isidentifier():
        cleaned = f"_{cleaned}"
    if cleaned.startswith("__"):
        cleaned = f"tool{cleaned}"
    return f"{cleaned}_" if keyword.iskeyword(cleaned) else cleaned


def _told_apart(tools: Iterable[ToolSpec]) -> Iterator[ToolSpec]:
    """The tools without repeats, with an alias where two of a server would look the same.

    A name that is an identifier already keeps it: of `a-b` and `a_b` the first becomes `a_b_2`.
    """
    known: dict[str, ToolSpec] = {}
    for tool in tools:
        known.setdefault(tool.qualified_name, tool)
    taken = {_path(tool) for tool in known.values() if _keeps_its_name(tool)}
    tried: Counter[str] = Counter()
    for tool in known.values():
        if not _keeps_its_name(tool):
            tool = _with_free_alias(tool, taken, tried)
            taken.add(_path(tool))
        yield tool


def _keeps_its_name(tool: ToolSpec) -> bool:
    return tool.alias is not None or tool.identifier == tool.name


def _with_free_alias(tool: ToolSpec, taken: set[str], tried: Counter[str]) -> ToolSpec:
    """The tool under the first free name; `tried` remembers how far each name was counted."""
    path, free = _path(tool), tool
    while _path(free) in taken:
        tried[path] += 1
        free = replace(tool, alias=f"{tool.identifier}_{tried[path] + 1}")
    return free


def _path(tool: ToolSpec) -> str:
    return f"{as_identifier(tool.server)}.{tool.identifier}"


def _counted(count: int) -> str:
    return "no arguments" if count == 0 else f"{count} argument{'s' if count > 1 else ''}"


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _parse_object(text: str) -> Json:
    if len(text) > JSON_TEXT_CHARACTERS_MAX or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _unwrap(value: Json) -> Json:
    if isinstance(value, dict) and set(value) == {"result"}:
        return value["result"]
    return value
