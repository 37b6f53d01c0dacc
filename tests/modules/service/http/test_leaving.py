"""A client leaves at each kind of event: its run ends, or goes on, and is read to its end."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.command_line import ROOT, plan
from tests.modules.service.http.served import (
    Served,
    Told,
    answering,
    gate_server,
    holding,
    served,
    told,
    until,
)

SERVERS = ROOT / "tests" / "fixtures" / "servers"
APPROVED = ("gate.hold(*)", "typed.talk", "typed.picture", "typed.refuse", "asking.table")
LATE = ("response.chunk", "workflow.complete", "response.done")
"""Kinds behind which a run may have ended before its client has left."""


@dataclass(frozen=True)
class Asked:
    """A request, how the model replies to it, and every kind of event that it has."""

    message: str
    replies: tuple[str, ...]
    kinds: tuple[str, ...]


TOOLS = Asked(
    "go",
    (
        plan(
            "tools.talk()\nawait tools.picture()\n"  # what is not awaited is repaired
            "try:\n    await tools.refuse()\nexcept Exception:\n    pass\n"
            'raise ValueError("not yet")'
        ),
        plan('return f"FURTHER_PROCESSING_REQUIRED: {await tools.talk()}"'),
        plan("await tools.table()\nreturn f\"FINAL_ANSWER: {await tools.hold(name='door')}\""),
    ),
    (
        *("notice", "run.started", "supervisor.thinking", "model.answered", "plan.written"),
        *("plan.repaired", "tool.start", "tool.progress", "server.log", "tool.content"),
        *("tool.complete", "tool.error", "plan.failed", "plan.observed", "clarify.request"),
        *("clarify.answered", "response.chunk", "response.done"),
    ),
)
PARTS = Asked(
    "find out how to hold the first door and how to hold the second door, then write a comparison "
    "of both",
    (
        json.dumps(
            {
                "action": "graph",
                "reason": "two doors",
                "subtasks": [
                    {"id": "one", "description": "hold the first door"},
                    {"id": "two", "description": "hold the second door"},
                    {"id": "both", "description": "compare {{one}} and {{two}}"},
                ],
            }
        ),
        *[answering("held")] * 2,
        holding("door"),
    ),
    (
        *("supervisor.decided", "workflow.created", "workflow.board", "workflow.step.start"),
        *("workflow.message", "workflow.step.complete", "workflow.complete"),
    ),
)
AT_EACH = [(asked, kind) for asked in (TOOLS, PARTS) for kind in asked.kinds]


@asynccontextmanager
async def asked_for(home: Path, asked: Asked) -> AsyncGenerator[Served]:
    """A service whose model replies so, and whose gate is shut."""
    servers = [
        f"id: {name}\nscript: {SERVERS / f'{name}_server.py'}\ndescription: {name}"
        for name in ("typed", "asking")
    ]
    gate = gate_server(home / "gates")
    async with served(home, asked.replies, gate, *servers, approve=APPROVED) as service:
        yield service


async def answer(client: httpx2.AsyncClient, event: Told) -> None:
    """Decline, if it is a question."""
    if event.name == "clarify.request":
        question, run = event.data["question"], event.data["run"]
        assert isinstance(question, dict)
        given = {"question_id": question["id"], "declined": True}
        assert (await client.post(f"/runs/{run}/answer", json=given)).status_code == 204


async def left_at(
    service: Served, asked: Asked, kind: str, on_disconnect: str
) -> tuple[str, list[Told]]:
    """The id of a run, and what its client has heard when it leaves at an event of this kind."""
    seen: list[Told] = []
    body = {"message": asked.message, "conversation_id": "notes", "on_disconnect": on_disconnect}
    async with service.client.stream("POST", "/chat", json=body) as response:
        async for event in told(response):
            seen.append(event)
            if event.name == kind:
                break
            await answer(service.client, event)
    return response.headers["x-run-id"], seen


async def followed(service: Served, run: str, seen: Sequence[Told]) -> list[Told]:
    """The events of a run behind those that were seen, to its end; questions are answered."""
    heard: list[Told] = []
    await answer(service.client, seen[-1])
    last = {"Last-Event-ID": str(seen[-1].id)}
    async with service.client.stream("GET", f"/runs/{run}/events", headers=last) as response:
        if response.status_code == 204:
            return heard
        async for event in told(response):
            heard.append(event)
            await answer(service.client, event)
    return heard


async def all_of(service: Served, run: str) -> list[Told]:
    """All events of a run, which ends."""
    async with service.client.stream("GET", f"/runs/{run}/events") as response:
        return [event async for event in told(response)]


@pytest.mark.parametrize(("asked", "kind"), AT_EACH, ids=[kind for _, kind in AT_EACH])
async def test_a_run_ends_when_its_client_leaves(tmp_path: Path, asked: Asked, kind: str) -> None:
    async with asked_for(tmp_path, asked) as service:
        if kind in LATE:
            (tmp_path / "gates" / "door").touch()
        run, seen = await left_at(service, asked, kind, "cancel")
        await until(lambda: service.runs.active == ())
        whole = await all_of(service, run)
    assert whole[: len(seen)] == seen
    assert [event.id for event in whole] == [*range(1, len(whole) + 1)]
    assert [event.name for event in whole].count("response.done") == 1
    assert whole[-1].name == "response.done"
    assert whole[-1].data["status"] in ("interrupted", *(["done"] if kind in LATE else []))


@pytest.mark.parametrize(("asked", "kind"), AT_EACH, ids=[kind for _, kind in AT_EACH])
async def test_a_run_goes_on_without_its_client(tmp_path: Path, asked: Asked, kind: str) -> None:
    async with asked_for(tmp_path, asked) as service:
        if kind in LATE:
            (tmp_path / "gates" / "door").touch()
        run, seen = await left_at(service, asked, kind, "continue")
        (tmp_path / "gates" / "door").touch()
        rest = await followed(service, run, seen)
        whole = await all_of(service, run)
    assert whole == [*seen, *(event for event in rest if event.id > seen[-1].id)]
    assert [event.id for event in whole] == [*range(1, len(whole) + 1)]
    assert {*asked.kinds} <= {event.name for event in whole}
    assert (whole[-1].data["status"], whole[-1].data["answer"]) == ("done", "door is open")


@pytest.mark.parametrize("on_disconnect", ["cancel", "continue"])
async def test_a_client_may_leave_while_its_run_waits_for_its_turn(
    tmp_path: Path, on_disconnect: str
) -> None:
    queued = Asked("go", (holding("door"), answering("next")), ("run.queued",))
    gate = gate_server(tmp_path / "gates")
    async with (
        served(tmp_path, queued.replies, gate, runs_max=1) as service,
        service.client.stream("POST", "/chat", json={"message": "first"}) as response,
    ):
        first = told(response)
        while (await anext(first)).name != "tool.start":
            pass
        run, seen = await left_at(service, queued, "run.queued", on_disconnect)
        if on_disconnect == "cancel":
            await until(lambda: len(service.runs.active) == 1)
        (tmp_path / "gates" / "door").touch()
        rest = await followed(service, run, seen)
    assert [event.id for event in seen + rest] == [*range(1, len(seen + rest) + 1)]
    ended = rest[-1].data["status"], rest[-1].data["answer"]
    assert ended == (("interrupted", None) if on_disconnect == "cancel" else ("done", "next"))
