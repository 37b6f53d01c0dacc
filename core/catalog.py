"""Tools as the engine sees them: specs, results, and the catalogue that resolves names.

Nothing here needs a running server or the MCP SDK, so that planning can start from the cached
tool lists alone.
"""

import difflib
import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from core.errors import CallRefused
from core.values import Json, JsonObject

NEAREST_NAMES_SHOWN = 3
"""How many similar names an unknown-tool error offers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool as a plan writes it; `schema` is its JSON Schema."""

    name: str
    schema: JsonObject
    required: bool


@dataclass(frozen=True)
class ToolSpec:
    """A tool that a server offers (MCP `Tool`, 2025-11-25 revision, the fields we use)."""

    server: str
    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    read_only: bool = False
    idempotent: bool = False

    @property
    def qualified_name(self) -> str:
        """`server.tool`, unique in a catalogue."""
        return f"{self.server}.{self.name}"

    @property
    def identifier(self) -> str:
        """The name as a Python identifier, for `tools.<identifier>(…)`."""
        return as_identifier(self.name)

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
        return name if _object(self._resolve(inner).get("properties")) else None

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments in schema order, the wrapper flattened."""
        schema = self.input_schema
        if self.wrapper is not None:
            schema = self._resolve(_object(schema.get("properties"))[self.wrapper])
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
        if self.wrapper is not None and not args and set(kwargs) == {self.wrapper}:
            return dict(kwargs)
        known = [p.name for p in self.parameters]
        if len(args) > len(known):
            raise CallRefused(
                f"{self.name}() takes {len(known)} arguments ({', '.join(known)}), "
                f"{len(args)} given"
            )
        bound: JsonObject = dict(zip(known, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise CallRefused(f"{self.name}() got two values for argument '{name}'")
            if name not in known and self.parameters:
                raise CallRefused(
                    f"{self.name}() has no argument '{name}'; its arguments are: {', '.join(known)}"
                )
            bound[name] = value
        missing = [p.name for p in self.parameters if p.required and p.name not in bound]
        if missing:
            raise CallRefused(f"{self.name}() is missing: {', '.join(missing)}")
        return {self.wrapper: bound} if self.wrapper is not None else bound

    def _resolve(self, schema: Json) -> JsonObject:
        """Follow one local `$ref` (`#/$defs/Name`), else the schema itself."""
        inner = _object(schema)
        ref = inner.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/"):
            target: Json = self.input_schema
            for part in ref[2:].split("/"):
                target = _object(target).get(part)
            return _object(target)
        return inner


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
        """Index the tools; order is kept."""
        self._tools = tuple(tools)
        self._by_qualified: dict[str, ToolSpec] = {}
        self._by_name: dict[str, list[ToolSpec]] = {}
        for tool in self._tools:
            self._by_qualified[tool.qualified_name] = tool
            self._by_qualified.setdefault(f"{as_identifier(tool.server)}.{tool.identifier}", tool)
            for name in {tool.name, tool.identifier}:
                self._by_name.setdefault(name, []).append(tool)

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
        """Whether another server offers a tool of the same name."""
        return len(self._by_name[tool.identifier]) > 1

    def plan_name(self, tool: ToolSpec) -> str:
        """What a plan writes after `tools.`: the identifier, or `server.identifier` if shared."""
        if self.is_ambiguous(tool):
            return f"{as_identifier(tool.server)}.{tool.identifier}"
        return tool.identifier

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
            name, [*self._by_name, *self._by_qualified], NEAREST_NAMES_SHOWN, cutoff=0.5
        )
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        offered = "" if self._tools else " (no tools are on offer)"
        raise CallRefused(f"there is no tool '{name}'{hint}{offered}")


def as_identifier(name: str) -> str:
    """`name` as a Python identifier: other characters become `_`, keywords get one behind."""
    cleaned = re.sub(r"\W", "_", name) or "_"
    if cleaned[0].isdigit():
        cleaned = f"_{cleaned}"
    return f"{cleaned}_" if keyword.iskeyword(cleaned) else cleaned


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _parse_object(text: str) -> Json:
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _unwrap(value: Json) -> Json:
    if isinstance(value, dict) and set(value) == {"result"}:
        return value["result"]
    return value
