"""`schema`: JSON Schemas of what `--json` and stream-json print, made from the printed types."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core.core_schema import (
    ComputedField,
    DataclassField,
    ModelField,
    TypedDictField,
)

from core.errors import ExitCode
from core.events import Event, RunFinished, StepFinished, SubtaskEvent
from core.values import Json, JsonObject
from modules.cli.event_stream import event_type
from modules.cli.parser import command_parser, read_words
from modules.cli.stats import StatsDocument
from modules.cli.surroundings import Options, Surroundings
from modules.terminal.answer import SCHEMA_VERSION, ResultDocument, StepEnd
from modules.trace.decisions import DecisionsDocument
from modules.trace.spans import TraceDocument

_HELP: Final = """\
Print the JSON Schema (draft 2020-12) of what a request prints: `result` is the one object of
--json, and the last of --output-format stream-json; `line` is any line of stream-json, which is
an event of the run or the result. `trace` and `stats` are what these commands print with --json,
`decisions` what trace does with --decisions.
Without a name, all stand in one object, by their names.

Each object has its `type` and the version of these schemas as `schema`. The version grows when a
field goes or changes its meaning; fields and types of events may be added at any time.

examples:
  agent.py schema result > result.schema.json
  agent.py schema line | jq '.oneOf[]."$ref"'"""

_REFERENCE: Final = re.compile(r'"#/\$defs/([^"]+)"')

_Document: TypeAlias = ResultDocument | StepEnd | TraceDocument | DecisionsDocument | StatsDocument
_Adapter: TypeAlias = TypeAdapter[Event] | TypeAdapter[_Document]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `schema`; raises as `read_words`."""
    parser = command_parser(program, "schema", _HELP)
    parser.add_argument("name", metavar="NAME", nargs="?", choices=(*SCHEMAS,), help="which one")
    parser.set_defaults(run=print_schema)
    return read_words(parser, words)


def print_schema(around: Surroundings) -> ExitCode:
    """Print one schema, or all."""
    name: str | None = around.options.name
    every: JsonObject = {each: make() for each, make in SCHEMAS.items()}
    chosen = every if name is None else every[name]
    return around.report(chosen, json.dumps(chosen, indent=2))


def _document_schema(title: str, adapter: _Adapter) -> JsonObject:
    """The schema of a document that is printed alone."""
    made, definitions = _schemas({title: adapter})
    return _needed({**made[title], **_head(title)}, definitions)


def line_schema() -> JsonObject:
    """The schema of a line of stream-json: one of the events, or the result."""
    kinds: dict[str, type[Event]] = {
        event_type(kind): kind for kind in get_args(Event) if kind is not RunFinished
    }
    adapters: dict[str, _Adapter] = {name: TypeAdapter(kind) for name, kind in kinds.items()}
    adapters |= {"result": TypeAdapter(ResultDocument), "step_end": TypeAdapter(StepEnd)}
    made, definitions = _schemas(adapters)
    made[event_type(StepFinished)] = made.pop("step_end")
    for name in kinds:
        made[name] = _as_printed(name, made[name])
    events: list[Json] = [{"$ref": f"#/$defs/{name}"} for name in kinds]
    match made[event_type(SubtaskEvent)]["properties"]:
        case dict(fields):
            fields["event"] = {"oneOf": events}
        case _:
            raise AssertionError("an event is an object")
    choices: list[Json] = [{"$ref": f"#/$defs/{name}"} for name in made]
    return _needed({**_head("A line of stream-json"), "oneOf": choices}, {**definitions, **made})


SCHEMAS: Final[Mapping[str, Callable[[], JsonObject]]] = {
    "result": lambda: _document_schema("A request's result", TypeAdapter(ResultDocument)),
    "line": line_schema,
    "trace": lambda: _document_schema("A session's runs", TypeAdapter(TraceDocument)),
    "decisions": lambda: _document_schema("Who decided what", TypeAdapter(DecisionsDocument)),
    "stats": lambda: _document_schema("What was asked", TypeAdapter(StatsDocument)),
}
"""What makes each schema."""


class _AsPrinted(GenerateJsonSchema):
    """Every field is printed, those with a default too."""

    def field_is_required(
        self,
        field: ModelField | DataclassField | TypedDictField | ComputedField,
        total: bool,
    ) -> bool:
        return True

    def field_title_should_be_set(self, schema: object) -> bool:
        return False  # the name says it


def _schemas(adapters: Mapping[str, _Adapter]) -> tuple[dict[str, JsonObject], JsonObject]:
    """The schema of each type, and the definitions that they share."""
    mode: JsonSchemaMode = "serialization"
    inputs: list[tuple[str, JsonSchemaMode, _Adapter]] = [
        (name, mode, adapter) for name, adapter in adapters.items()
    ]
    made, shared = TypeAdapter.json_schemas(inputs, schema_generator=_AsPrinted)
    definitions: JsonObject = shared.get("$defs", {})
    return {name: _inlined(made[name, mode], definitions) for name in adapters}, definitions


def _needed(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """The schema with those definitions that it refers to, and those that they do."""
    needed: JsonObject = {}
    names = set(_REFERENCE.findall(json.dumps(schema)))
    while names:
        needed |= {name: definitions[name] for name in sorted(names)}
        names = set(_REFERENCE.findall(json.dumps(needed))) - needed.keys()
    return {**schema, "$defs": needed}


def _inlined(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """The schema itself where it only refers to a definition."""
    match schema:
        case {"$ref": str(reference)}:
            found = definitions[reference.rpartition("/")[2]]
            return found if isinstance(found, dict) else schema
        case _:
            return schema


def _as_printed(name: str, schema: JsonObject) -> JsonObject:
    """The schema of an event with its type and version."""
    own = schema.get("properties")
    fields = own if isinstance(own, dict) else {}
    head: JsonObject = {"type": {"const": name}, "schema": {"const": SCHEMA_VERSION}}
    return {**schema, "properties": {**head, **fields}, "required": [*head, *fields]}


def _head(title: str) -> JsonObject:
    return {"$schema": DIALECT, "title": f"{title}, version {SCHEMA_VERSION}"}
