"""The reference servers for a knowledge graph and for thinking in steps: state between calls."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from core.values import JsonObject
from tests.real.parts import npm_server
from tests.real.sessions import Session, assert_all_described, session

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENTITIES: JsonObject = {
    "entities": [
        {"name": "Ada", "entityType": "person", "observations": ["wrote a program"]},
        {"name": "Engine", "entityType": "machine", "observations": []},
    ]
}
RELATIONS: JsonObject = {"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]}


@dataclass(frozen=True)
class Kept:
    """A session with both servers, and the file in which the graph is kept."""

    session: Session
    graph: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="up")
async def _up(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Kept]:
    graph = tmp_path_factory.mktemp("graph") / "graph.jsonl"
    memory = npm_server("memory", env={"MEMORY_FILE_PATH": str(graph)})
    async with session(memory, npm_server("sequential-thinking")) as up:
        yield Kept(up, graph)


async def test_the_tools_of_both_are_listed_and_described(up: Kept) -> None:
    assert up.session.tools_of("memory") == [
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
    ]
    assert up.session.tools_of("sequential-thinking") == ["sequentialthinking"]
    assert_all_described(up.session.multi)


async def test_a_graph_is_kept_in_its_file_and_outlives_the_session(up: Kept) -> None:
    call = up.session.multi.call_tool
    created = await call("create_entities", ENTITIES)
    assert created.structured == ENTITIES
    await call("create_relations", RELATIONS)
    found = (await call("search_nodes", {"query": "program"})).structured
    assert found is not None
    assert "Ada" in json.dumps(found)
    lines = [json.loads(line) for line in up.graph.read_text().splitlines()]
    assert sorted(line["type"] for line in lines) == ["entity", "entity", "relation"]
    again = npm_server("memory", env={"MEMORY_FILE_PATH": str(up.graph)}, id="again")
    graph = {**ENTITIES, **RELATIONS}
    async with session(again) as other:
        assert (await other.multi.call_tool("read_graph", {})).structured == graph
    assert (await call("memory.read_graph", {})).structured == graph


async def test_thoughts_are_counted_from_call_to_call(up: Kept) -> None:
    counts = [(await _think(up.session, number)).get("thoughtHistoryLength") for number in (1, 2)]
    assert counts == [1, 2]


async def test_a_thought_without_its_number_is_an_error_value(up: Kept) -> None:
    result = await up.session.multi.call_tool("sequentialthinking", {"thought": "hm"})
    assert result.is_error
    assert "nextThoughtNeeded" in result.text


async def _think(up: Session, number: int) -> JsonObject:
    arguments: JsonObject = {
        "thought": f"thought {number}",
        "thoughtNumber": number,
        "totalThoughts": 2,
        "nextThoughtNeeded": number < 2,
    }
    structured = (await up.multi.call_tool("sequentialthinking", arguments)).structured
    assert structured is not None
    assert structured["nextThoughtNeeded"] is (number < 2)
    return structured
