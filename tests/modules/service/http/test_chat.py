import asyncio
from contextlib import aclosing
from pathlib import Path

import httpx2
import pytest

from modules.service.http.tokens import read_tokens
from modules.service.served.runs import ServedRun
from tests.command_line import SUMS_SERVER, plan
from tests.modules.service.http.served import (
    WAIT_SECONDS,
    Served,
    answering,
    chatted,
    gate_server,
    holding,
    served,
    told,
    until,
)

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ADDING = plan('return f"FINAL_ANSWER: {await tools.add(a=5, b=7)}"')
ASKING = plan('return "CLARIFICATION_NEEDED: which year?"')


def only(service: Served) -> ServedRun:
    (run,) = service.runs.active
    return run


def status_of(run: ServedRun) -> object:
    assert run.last_event is not None
    return run.last_event.data.get("status")


async def test_a_message_is_answered_by_a_stream_of_events(tmp_path: Path) -> None:
    async with served(tmp_path, [ADDING], SUMS_SERVER) as service:
        body = {"message": "add 5 and 7"}
        headers = {"traceparent": TRACE}
        async with service.client.stream("POST", "/chat", json=body, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            events = [each async for each in told(response)]
    assert [each.id for each in events] == [*range(1, len(events) + 1)]
    assert all(each.data["type"] == each.name for each in events)
    assert {str(each.data["run"]) for each in events} == {response.headers["x-run-id"]}
    names = [each.name for each in events]
    wanted = ["run.started", "plan.written", "tool.start", "tool.complete", "response.chunk"]
    assert [name for name in names if name in wanted] == wanted
    assert names[-1] == "response.done"
    assert events[-1].data["answer"] == "12"
    assert events[-1].data["trace_id"] == TRACE[3:35]
    assert response.headers["traceparent"].startswith(TRACE[:35])


async def test_a_conversation_goes_on_by_its_id(tmp_path: Path) -> None:
    async with served(tmp_path, [answering("first"), answering("second")]) as service:
        first = await chatted(service.client, message="one", conversation_id="notes")
        second = await chatted(service.client, message="two", conversation_id="notes")
        history = (await service.client.get("/chat/notes/history")).json()
    assert first[-1].data["conversation_id"] == second[-1].data["conversation_id"] == "notes"
    assert [each["content"] for each in history["messages"]] == ["one", "first", "two", "second"]


async def test_events_are_read_again_behind_the_last_that_was_seen(tmp_path: Path) -> None:
    async with served(tmp_path, [answering("12")]) as service:
        events = await chatted(service.client, message="go")
        path = f"/runs/{events[0].data['run']}/events"
        for headers, asked in (({"Last-Event-ID": "2"}, path), ({}, f"{path}?after=2")):
            async with service.client.stream("GET", asked, headers=headers) as response:
                assert [each async for each in told(response)] == events[2:]
        async with service.client.stream("GET", path, params={"after": 10_000}) as response:
            assert [each async for each in told(response)] == events[-1:]  # which ends a stream
        assert (await service.client.get(path, params={"after": len(events)})).status_code == 204
        assert (await service.client.get(path, params={"after": "-1"})).status_code == 400
        state = (await service.client.get(path.removesuffix("/events"))).json()
    assert state["status"] == "done"
    assert state["last_event"] == len(events)


@pytest.mark.parametrize("seen", range(1, 7))
async def test_a_client_that_leaves_cancels_its_run(tmp_path: Path, seen: int) -> None:
    server = gate_server(tmp_path / "gates")
    async with served(tmp_path, [holding("shut")], server) as service:
        async with service.client.stream("POST", "/chat", json={"message": "go"}) as response:
            async with aclosing(told(response)) as events:
                async for each in events:
                    if each.id >= seen or each.name == "tool.start":
                        break
            run = only(service)
        await until(lambda: run.is_done)
        assert status_of(run) == "interrupted"
        assert service.runs.active == ()


async def test_a_run_may_go_on_without_its_client(tmp_path: Path) -> None:
    gates = tmp_path / "gates"
    async with served(tmp_path, [holding("a")], gate_server(gates)) as service:
        body = {"message": "go", "on_disconnect": "continue"}
        async with service.client.stream("POST", "/chat", json=body) as response:
            id_ = response.headers["x-run-id"]
        assert [run["id"] for run in (await service.client.get("/runs")).json()["runs"]] == [id_]
        (gates / "a").touch()
        async with service.client.stream("GET", f"/runs/{id_}/events") as response:
            events = [each async for each in told(response)]
    assert events[-1].data["answer"] == "a is open"


async def test_a_run_is_cancelled_by_its_id(tmp_path: Path) -> None:
    async with served(tmp_path, [holding("shut")], gate_server(tmp_path / "gates")) as service:
        async with service.client.stream("POST", "/chat", json={"message": "go"}) as response:
            id_ = response.headers["x-run-id"]
            names: list[str] = []
            async for each in told(response):
                names.append(each.name)
                if each.name == "tool.start":
                    done = await service.client.delete(f"/runs/{id_}")
                    assert done.status_code == 204
        assert names[-1] == "response.done"
        assert (await service.client.get(f"/runs/{id_}")).json()["status"] == "interrupted"
        assert (await service.client.delete(f"/runs/{id_}")).status_code == 204


async def test_a_question_is_answered_in_place(tmp_path: Path) -> None:
    replies = [ASKING, answering("2026 it is")]
    async with served(tmp_path, replies) as service:
        events: list[str] = []
        async with service.client.stream("POST", "/chat", json={"message": "go"}) as response:
            path = f"/runs/{response.headers['x-run-id']}/answer"
            async for each in told(response):
                events.append(each.name)
                if each.name == "clarify.request":
                    question = each.data["question"]
                    assert isinstance(question, dict)
                    assert question["text"] == "which year?"
                    wrong = {"question_id": "0" * 32, "text": "2026"}
                    assert (await service.client.post(path, json=wrong)).status_code == 404
                    right = {"question_id": question["id"], "text": "2026"}
                    assert (await service.client.post(path, json=right)).status_code == 204
                    assert (await service.client.post(path, json=right)).status_code == 404
    assert events.index("clarify.answered") > events.index("clarify.request")
    assert events[-1] == "response.done"


async def test_a_conversation_answers_one_request_at_a_time(tmp_path: Path) -> None:
    async with served(tmp_path, [holding("shut")], gate_server(tmp_path / "gates")) as service:
        body = {"message": "go", "conversation_id": "notes"}
        async with service.client.stream("POST", "/chat", json=body):
            busy = await service.client.post("/chat", json=body)
            kept = await service.client.delete("/chat/notes")
    assert busy.status_code == kept.status_code == 409
    assert busy.json()["type"] == "/problems#conversation-busy"


async def test_more_runs_wait_and_more_than_those_are_refused(tmp_path: Path) -> None:
    gates = tmp_path / "gates"
    replies = [holding("a"), answering("second")]
    server = gate_server(gates)
    async with served(tmp_path, replies, server, runs_max=1, queue_max=1) as service:
        body = {"message": "go"}
        async with service.client.stream("POST", "/chat", json=body) as first:
            running = told(first)  # which, let go, would close the connection
            while (await anext(running)).name != "tool.start":
                pass
            async with service.client.stream("POST", "/chat", json=body) as second:
                waiting = told(second)
                queued = await anext(waiting)
                assert (queued.name, queued.data["place"]) == ("run.queued", 1)
                refused = await service.client.post("/chat", json=body)
                assert refused.status_code == 429
                assert int(refused.headers["retry-after"]) > 0
                states = (await service.client.get("/runs")).json()["runs"]
                assert [run["status"] for run in states] == ["running", "queued"]
                (gates / "a").touch()
                assert [each async for each in waiting][-1].data["answer"] == "second"


async def test_a_spent_budget_is_a_status(tmp_path: Path) -> None:
    budgets = "{day: {calls: 1}}"
    async with served(tmp_path, [ADDING, ADDING], SUMS_SERVER, budgets=budgets) as service:
        assert (await chatted(service.client, message="go"))[-1].data["answer"] == "12"
        refused = await service.client.post("/chat", json={"message": "go"})
    problem = refused.json()
    assert refused.status_code == 402
    assert problem["type"] == "/problems#budget-spent"
    assert problem["budget"]["key"] == "budgets.day.calls"


async def test_while_the_service_ends_no_run_begins(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        await service.runs.drain(0)
        refused = await service.client.post("/chat", json={"message": "go"})
        health = await service.client.get("/health")
    assert refused.status_code == health.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    assert health.json()["status"] == "draining"


async def test_texts_go_along_under_the_names_of_their_files(tmp_path: Path) -> None:
    counting = plan('return f"FINAL_ANSWER: {len(my_notes_txt.splitlines())}"')
    async with served(tmp_path, [counting]) as service:
        texts = [{"name": "my notes.txt", "text": "one\ntwo\nthree"}]
        events = await chatted(service.client, message="how many lines?", texts=texts)
    assert events[-1].data["answer"] == "3"


async def test_a_client_that_reads_nothing_holds_up_nobody(tmp_path: Path) -> None:
    big = plan('return "FINAL_ANSWER: " + "x" * 900_000')
    async with served(tmp_path, [big]) as service:
        host, _, port = service.url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1_024)
        body = b'{"message": "go", "on_disconnect": "continue"}'
        head = f"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        await until(lambda: bool(service.runs.active))
        run = only(service)
        await until(lambda: run.is_done)
        writer.close()
        assert status_of(run) == "done"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the body"),
        (b"{", "the body"),
        (b"[]", "the body"),
        (b"{}", "`message` is missing"),
        (b'{"message": 5}', "message"),
        (b'{"message": "  "}', "the request is empty; say what you want, such as: add 5 and 7"),
        (b'{"message": "x", "mesage": "y"}', "`mesage` is unknown; leave it out"),
        (b'{"message": "x", "max_cost": -1}', "max_cost"),
        (b'{"message": "x", "max_cost": NaN}', "max_cost"),
        (b'{"message": "x", "on_disconnect": "wait"}', "on_disconnect"),
        (b'{"message": "x", "profile": "nobody"}', "there is no profile 'nobody'"),
        (b'{"message": "x", "conversation_id": "../../etc/passwd"}', "not a session id"),
        (b'{"message": "\\ud800"}', "the body"),
        (b"[" * 100_000, "the body"),
    ],
)
async def test_what_is_wrong_with_a_message_is_told(tmp_path: Path, body: bytes, told: str) -> None:
    async with served(tmp_path, []) as service:
        headers = {"Content-Type": "application/json"}
        response = await service.client.post("/chat", content=body, headers=headers)
    assert response.status_code == 400
    assert told in response.json()["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_that_says_nothing_of_json_is_refused(tmp_path: Path, kind: str) -> None:
    """A form of another site could send it without asking."""
    async with served(tmp_path, []) as service:
        headers = {"Content-Type": kind}
        body = b'{"message": "x"}'
        response = await service.client.post("/chat", content=body, headers=headers)
    assert response.status_code == 415


async def test_users_do_not_see_each_others_runs_and_conversations(tmp_path: Path) -> None:
    secrets = {"A": "token-of-alice-0123456789", "B": "token-of-bob-0123456789ab"}
    tokens = read_tokens(["A=alice", "B=bob"], secrets)[0]
    alice, bob = ({"Authorization": f"Bearer {each}"} for each in secrets.values())
    async with served(tmp_path, [answering("hers")], tokens=tokens) as service:
        url = service.url
        async with httpx2.AsyncClient(base_url=url, headers=alice, timeout=WAIT_SECONDS) as hers:
            events = await chatted(hers, message="go", conversation_id="notes")
            assert (await hers.put("/documents/a.md", content=b"hers")).status_code == 201
            assert len((await hers.get("/chats")).json()["chats"]) == 1
        id_ = events[0].data["run"]
        async with httpx2.AsyncClient(base_url=url, headers=bob, timeout=WAIT_SECONDS) as his:
            for path in (f"/runs/{id_}", f"/runs/{id_}/events", "/chat/notes/history"):
                assert (await his.get(path)).status_code == 404
            assert (await his.get("/chat/notes/trace")).status_code == 404
            assert (await his.delete(f"/runs/{id_}")).status_code == 404
            assert (await his.delete("/chat/notes")).status_code == 404
            assert (await his.get("/chats")).json()["chats"] == []
            assert (await his.get("/documents")).json()["documents"] == []
        assert (await service.client.get("/chats")).status_code == 401


async def test_a_token_for_some_profiles_does_not_see_runs_of_others(tmp_path: Path) -> None:
    secrets = {"A": "token-of-alice-0123456789", "B": "token-for-lab-0123456789ab"}
    tokens = read_tokens(["A=alice", "B=alice:lab"], secrets)[0]
    whole, lab = ({"Authorization": f"Bearer {each}"} for each in secrets.values())
    gates = tmp_path / "gates"
    async with served(tmp_path, [holding("a")], gate_server(gates), tokens=tokens) as service:
        client, message = service.client, {"message": "go", "conversation_id": "notes"}
        async with client.stream("POST", "/chat", json=message, headers=whole) as response:
            run, events = response.headers["x-run-id"], told(response)
            while (await anext(events)).name != "tool.start":
                pass
            assert (await client.get("/runs", headers=lab)).json()["runs"] == []
            assert (await client.get("/chat/notes/history", headers=lab)).status_code == 404
            for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
                refused = await client.request(method, f"/runs/{run}{path}", headers=lab)
                assert refused.status_code == 404
            assert len((await client.get("/runs", headers=whole)).json()["runs"]) == 1
            (gates / "a").touch()
            assert [event async for event in events][-1].data["answer"] == "a is open"
        assert (await client.get(f"/runs/{run}", headers=lab)).status_code == 404
        assert (await client.get(f"/runs/{run}", headers=whole)).status_code == 200
    async with served(tmp_path, [], tokens=tokens) as service:  # which reads the run's file
        path = f"/runs/{run}"
        assert (await service.client.get(path, headers=lab)).status_code == 404
        assert (await service.client.get(path, headers=whole)).status_code == 200
