"""What checking a call's arguments takes, beside the bare validator that does the work."""

import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jsonschema_rs import validator_for

from core.tools.schema_check import ArgumentCheck
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from servers.schemas import AddInput
from tests.benchmarks.table import Row

SEARCH: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 400},
        "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 10},
        "order": {"enum": ["score", "date"]},
    },
    "required": ["query"],
}
OBJECT: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 100},
        "price": {"type": "number", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "price"],
    "additionalProperties": False,
}
MANY: list[Json] = [{"name": f"n{n}", "price": n * 1.5, "tags": ["a", "b"]} for n in range(200)]

CALLS: list[tuple[str, JsonObject, JsonObject]] = [
    (
        "add",
        {"properties": {"input": AddInput.model_json_schema()}, "required": ["input"]},
        {"input": {"a": 5, "b": 7}},
    ),
    ("search", SEARCH, {"query": "how to bake bread", "max_results": 5, "order": "date"}),
    ("200 objects", {"properties": {"items": {"items": OBJECT}}}, {"items": MANY}),
]


def measure(_: Path) -> list[Row]:
    """Right arguments, once their schema is compiled."""
    rows: list[Row] = []
    for name, schema, arguments in CALLS:
        check, bare = ArgumentCheck(ToolSpec("s", name, "", schema)), validator_for(schema)
        ours = _microseconds(partial(check.checked, arguments))
        theirs = _microseconds(partial(bare.is_valid, arguments))
        rows.append(Row(name, f"{ours:.2f} µs, jsonschema-rs alone {theirs:.2f} µs"))
    return rows


def _microseconds(call: Callable[[], object]) -> float:
    timer = timeit.Timer(call)
    rounds, _ = timer.autorange()
    return min(timer.repeat(7, rounds)) / rounds * 1e6
