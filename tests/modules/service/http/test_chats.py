from pathlib import Path

from tests.command_line import plan
from tests.modules.service.http.served import answering, chatted, gate_server, holding, served

ADDING = plan('return "FINAL_ANSWER: 12"')


async def test_conversations_are_listed_page_by_page(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    async with served(tmp_path, [answering("x")] * 3) as service:
        for name in names:
            await chatted(service.client, message=f"about {name}", conversation_id=name)
        first = (await service.client.get("/chats?limit=2")).json()
        rest = (await service.client.get("/chats", params={"before": first["before"]})).json()
        bad = [await service.client.get(f"/chats?limit={each}") for each in ("many", "0.5", "501")]
        anywhere = await service.client.get("/chat/one/history?profile=")
    assert [each["id"] for each in first["chats"]] == ["three", "two"]
    assert first["chats"][0]["title"] == "about three"
    assert first["chats"][0]["profile"] == "default"
    assert [each["id"] for each in rest["chats"]] == ["one"]
    assert rest["before"] is None
    assert [each.status_code for each in bad] == [400] * 3
    assert anywhere.status_code == 200


async def test_a_conversation_of_a_dated_id_has_history_and_trace(tmp_path: Path) -> None:
    async with served(tmp_path, [answering("12")]) as service:
        events = await chatted(service.client, message="go")
        id_ = events[-1].data["conversation_id"]
        assert isinstance(id_, str)
        assert "/" in id_
        history = (await service.client.get(f"/chat/{id_}/history")).json()
        trace = (await service.client.get(f"/chat/{id_}/trace?profile=default")).json()
        other = await service.client.get(f"/chat/{id_}/trace?profile=other")
    told = [(each["role"], each["content"]) for each in history["messages"]]
    assert told == [("user", "go"), ("assistant", "12")]
    assert history["title"] == "go"
    assert trace["type"] == "trace"
    assert len(trace["runs"]) == 1
    assert other.status_code == 400


async def test_the_run_that_goes_on_stands_in_the_history(tmp_path: Path) -> None:
    server = gate_server(tmp_path / "gates")
    async with served(tmp_path, [holding("shut")], server) as service:
        body = {"message": "go", "conversation_id": "notes"}
        async with service.client.stream("POST", "/chat", json=body) as response:
            history = (await service.client.get("/chat/notes/history")).json()
            assert history["run"] == response.headers["x-run-id"]


async def test_a_deleted_conversation_begins_anew(tmp_path: Path) -> None:
    replies = [answering("first"), answering("second")]
    async with served(tmp_path, replies) as service:
        await chatted(service.client, message="one", conversation_id="notes")
        assert (await service.client.delete("/chat/notes")).status_code == 204
        assert (await service.client.delete("/chat/notes")).status_code == 404
        assert (await service.client.get("/chat/notes/history")).status_code == 404
        await chatted(service.client, message="two", conversation_id="notes")
        history = (await service.client.get("/chat/notes/history")).json()
    assert [each["content"] for each in history["messages"]] == ["two", "second"]


async def test_a_conversation_is_called_as_its_user_says(tmp_path: Path) -> None:
    replies = [answering("first"), answering("second")]
    async with served(tmp_path, replies) as service:
        client = service.client
        await chatted(client, message="one", conversation_id="notes")
        renamed = await client.patch("/chat/notes", json={"name": " The\nlease " + "x" * 300})
        await chatted(client, message="two", conversation_id="notes")
        [chat] = (await client.get("/chats")).json()["chats"]
        history = (await client.get("/chat/notes/history")).json()
        blank = await client.patch("/chat/notes", json={"name": "  "})
        other = await client.patch("/chat/other", json={"name": "x"})
    assert renamed.status_code == 204
    assert chat["title"].startswith("The lease xxx")
    assert len(chat["title"]) == 200
    assert chat["requests"] == 2
    assert history["title"] == chat["title"]
    assert (blank.status_code, other.status_code) == (400, 404)


async def test_nothing_outside_of_the_sessions_is_found(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("[]")
    async with served(tmp_path, []) as service:
        for id_ in ("../secret", "..%2Fsecret", "%2e%2e/secret", "x" * 5_000, "a//b", "%00"):
            assert (await service.client.get(f"/chat/{id_}/history")).status_code == 404
            assert (await service.client.delete(f"/chat/{id_}")).status_code == 404
    assert (tmp_path / "secret.json").exists()
