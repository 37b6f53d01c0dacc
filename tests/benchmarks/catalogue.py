"""Five hundred real tools: what a budgeted prompt saves, and whether it keeps the right tool.

The tools are methods of Google's APIs, from the discovery documents in the package
google-api-python-client (Apache-2.0; none of it lies here): descriptions, parameters and bodies as
their authors wrote them. Run with the folder of the documents:

    python -m tests.benchmarks.catalogue …/googleapiclient/discovery_cache/documents
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from statistics import median

from core.ports import DecisionInputs, PlanReply
from core.strategy import CHARACTERS_PER_TOKEN, Situation, conservative_plan
from core.tools.catalog import ToolCatalog
from core.tools.json_schema import as_object
from core.tools.ranking import ToolIndex
from core.tools.spec import ToolSpec
from core.turn import PerceptionResult, Plan
from core.values import Json, JsonObject
from modules.planning.prompt.stubs import describe_tool, summarize_tools
from tests.benchmarks.catalogue_requests import REQUESTS
from tests.benchmarks.environments import NotInstalled, prepare
from tests.benchmarks.table import Row

TOOLS = 500
METHODS_OF_A_NEEDED_API = 10
"""How many methods come from each API that a request needs: near misses make it hard."""

BUDGET_TOKENS = 6_000
REPEATS = 5

_TYPES = {"string", "integer", "number", "boolean", "array", "object"}


@dataclass(frozen=True)
class Found:
    """Where a request's tool came: its rank from 1, and whether the prompt offered it."""

    rank: int
    offered: bool


DOCUMENTS = Path("discovery_cache", "documents")
"""Where google-api-python-client keeps its discovery documents, in its package."""


def measure(_: Path) -> list[Row]:
    """Prompt size, recall and time on 500 tools from Google's discovery documents."""
    place = prepare("catalogue")
    if isinstance(place, NotInstalled):
        return [Row("500 tools", "not measured", f"not installed: {place.reason}")]
    tools = tools_of(place.package("googleapiclient") / DOCUMENTS)
    catalog = ToolCatalog(tools)
    found = asyncio.run(_all_found(catalog))
    tuning, held_out = found[0::2], found[1::2]
    index_ms, rank_ms = _times(tools)
    return [
        Row("tools, of APIs", f"{len(tools)}, {len({tool.server for tool in tools})}"),
        *_sizes(catalog),
        Row("requests: for tuning, held out", f"{len(tuning)}, {len(held_out)}"),
        *_recall(tuning, held_out),
        Row("building the index", f"{index_ms:.1f} ms of CPU", "aim: below 50 ms"),
        Row("ranking for one request", f"{rank_ms:.2f} ms of CPU", "aim: a few ms"),
    ]


def tools_of(folder: Path) -> list[ToolSpec]:
    """The catalogue: what the requests need, its near misses, and methods of many other APIs."""
    documents = dict(_documents(folder))
    needed = {name for _, names in REQUESTS for name in names}
    apis = {name.partition(".")[0] for name in needed}
    by_api = {api: sorted(_tools(d), key=_shuffled) for api, d in documents.items()}
    chosen: dict[str, ToolSpec] = {}
    for api in sorted(apis & by_api.keys()):
        first = [tool for tool in by_api[api] if tool.qualified_name in needed]
        others = [tool for tool in by_api[api] if tool.qualified_name not in needed]
        for tool in [*first, *others[: max(0, METHODS_OF_A_NEEDED_API - len(first))]]:
            chosen[tool.qualified_name] = tool
    rest = [by_api[api] for api in sorted(by_api.keys() - apis)]
    for tool in chain.from_iterable(zip_longest(*rest)):
        if tool is not None and len(chosen) < TOOLS:
            chosen[tool.qualified_name] = tool
    return sorted(chosen.values(), key=_shuffled)


def _shuffled(tool: ToolSpec) -> str:
    """An order that means nothing and is the same everywhere."""
    return hashlib.sha256(tool.qualified_name.encode()).hexdigest()


def _documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Each API's document, the stable one of the highest version."""
    newest: dict[str, Path] = {}
    for file in sorted(folder.glob("*.v*.json"), key=_version):
        newest[file.name.partition(".")[0]] = file
    for api, file in sorted(newest.items()):
        document: Json = json.loads(file.read_text(encoding="utf-8"))
        yield api, as_object(document)


def _version(file: Path) -> tuple[bool, int, str]:
    version = file.name.split(".")[1].removeprefix("v")
    digits = "".join(c if c.isdigit() else " " for c in version).split()
    return (version.isdigit(), int(digits[0]) if digits else 0, file.name)


def _tools(document: JsonObject) -> Iterator[ToolSpec]:
    for method in _methods(document):
        name = str(method["id"]).partition(".")[2]
        described = str(method.get("description", ""))
        yield ToolSpec(str(document["name"]), name, described, _input(method, document))


def _methods(resource: JsonObject) -> Iterator[JsonObject]:
    yield from map(as_object, as_object(resource.get("methods")).values())
    for inner in as_object(resource.get("resources")).values():
        yield from _methods(as_object(inner))


def _input(method: JsonObject, document: JsonObject) -> JsonObject:
    """The JSON Schema of a method: its parameters, and its request body as `body`."""
    parameters = as_object(method.get("parameters"))
    properties: JsonObject = {name: _schema(p) for name, p in parameters.items()}
    required: list[Json] = [n for n, p in parameters.items() if as_object(p).get("required")]
    definitions: JsonObject = {}
    if (body := as_object(method.get("request")).get("$ref")) is not None:
        properties["body"] = {"$ref": f"#/$defs/{body}"}
        required.append("body")
        definitions = _definitions(str(body), as_object(document.get("schemas")))
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {**schema, "$defs": definitions} if definitions else schema


def _definitions(first: str, schemas: JsonObject) -> JsonObject:
    """A schema and all that it refers to."""
    found: JsonObject = {}
    waiting = [first]
    while waiting:
        if (name := waiting.pop()) not in found:
            found[name] = _schema(schemas.get(name))
            waiting += _references(schemas.get(name))
    return found


def _references(schema: Json) -> Iterator[str]:
    if isinstance(schema, list):
        yield from chain.from_iterable(map(_references, schema))
    elif isinstance(schema, dict):
        if isinstance(ref := schema.get("$ref"), str):
            yield ref
        yield from chain.from_iterable(map(_references, schema.values()))


def _schema(described: Json) -> JsonObject:
    """A discovery document's schema as JSON Schema 2020-12."""
    source = as_object(described)
    schema: JsonObject = {k: source[k] for k in ("description", "enum", "default") if k in source}
    if (ref := source.get("$ref")) is not None:
        return {**schema, "$ref": f"#/$defs/{ref}"}
    if source.get("type") in _TYPES:
        schema["type"] = source["type"]
    if "items" in source:
        schema["items"] = _schema(source["items"])
    if "properties" in source:
        inner = as_object(source["properties"])
        schema["properties"] = {name: _schema(value) for name, value in inner.items()}
    if "additionalProperties" in source:
        schema["additionalProperties"] = _schema(source["additionalProperties"])
    return {"type": "array", "items": schema} if source.get("repeated") else schema


async def _all_found(catalog: ToolCatalog) -> list[Found]:
    return [await _found(catalog, request, names) for request, names in REQUESTS]


async def _found(catalog: ToolCatalog, request: str, names: Sequence[str]) -> Found:
    ranked = [tool.qualified_name for tool in catalog.search(request, len(catalog))]
    ranks = [ranked.index(name) + 1 for name in names if name in ranked]
    offered = await _offered(catalog, request)
    return Found(min(ranks, default=TOOLS), any(name in offered for name in names))


async def _offered(catalog: ToolCatalog, request: str) -> ToolCatalog:
    """The tools in the prompt for a request of which perception made nothing."""

    async def no_model(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        return Plan("")

    inputs = DecisionInputs(request, catalog, PerceptionResult())
    situation = Situation(inputs, (), frozenset(), describe_tool, tool_prompt_tokens=BUDGET_TOKENS)
    return (await conservative_plan(situation, no_model)).tools


def _recall(tuning: Sequence[Found], held_out: Sequence[Found]) -> Iterator[Row]:
    for most in (1, 5, 10):
        counts = [sum(f.rank <= most for f in half) for half in (tuning, held_out)]
        yield _share(f"right tool among the first {most}", counts, tuning, held_out)
    counts = [sum(f.offered for f in half) for half in (tuning, held_out)]
    yield _share("right tool in the prompt", counts, tuning, held_out)


def _share(what: str, counts: Sequence[int], *halves: Sequence[Found]) -> Row:
    shares = [f"{count} of {len(half)}" for count, half in zip(counts, halves, strict=True)]
    return Row(what, ", ".join(shares))


def _sizes(catalog: ToolCatalog) -> Iterator[Row]:
    whole = sum(
        len(
            json.dumps(
                {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
            )
        )
        for t in catalog
    )
    brief = sum(len(describe_tool(tool, catalog)) + 1 for tool in catalog)
    offered = [asyncio.run(_offered(catalog, request)) for request, _ in REQUESTS]
    sizes = [len(summarize_tools(tools, BUDGET_TOKENS * CHARACTERS_PER_TOKEN)) for tools in offered]
    counts = [len(tools) for tools in offered]
    yield Row("all schemas in full", _tokens(whole))
    yield Row(
        "all signatures, one line each", _tokens(brief), f"{brief / whole:.4f} of the schemas"
    )
    yield Row(
        "the prompt's tools (median)",
        _tokens(median(sizes)),
        f"{median(sizes) / whole:.4f} of the schemas; {median(counts):.0f} tools",
    )


def _tokens(characters: float) -> str:
    return f"{characters / CHARACTERS_PER_TOKEN:,.0f} tokens"


def _times(tools: list[ToolSpec]) -> tuple[float, float]:
    """Milliseconds of CPU for an index of fresh specs, and for ranking one request; medians."""
    building: list[float] = []
    ranking: list[float] = []
    for _ in range(REPEATS):
        fresh = [replace(tool) for tool in tools]
        started = time.process_time()
        index = ToolIndex(fresh)
        building.append(time.process_time() - started)
        for request, _names in REQUESTS:
            started = time.process_time()
            index.search(request, len(fresh))
            ranking.append(time.process_time() - started)
    return 1000 * median(building), 1000 * median(ranking)
