from pathlib import Path

import httpx2

from core.version import __version__
from modules.service.http.tokens import read_tokens
from tests.command_line import SUMS_SERVER, plan
from tests.modules.service.http.served import answering, chatted, gate_server, served

ADDING = plan('return f"FINAL_ANSWER: {await tools.add(a=5, b=7)}"')


async def test_nothing_is_started_to_look_at_tools_and_servers(tmp_path: Path) -> None:
    gates = tmp_path / "gates"
    async with served(tmp_path, [], gate_server(gates), SUMS_SERVER) as service:
        tools = (await service.client.get("/tools")).json()
        servers = (await service.client.get("/servers")).json()["servers"]
    assert tools == {"tools": [], "unknown": ["gate", "math"]}
    assert [(each["id"], each["state"]) for each in servers] == [
        ("gate", "not started"),
        ("math", "not started"),
    ]
    assert not (gates / "pid").exists()


async def test_what_a_server_has_listed_is_known(tmp_path: Path) -> None:
    async with served(tmp_path, [ADDING], SUMS_SERVER) as service:
        await chatted(service.client, message="add 5 and 7")
        tools = (await service.client.get("/tools")).json()
        (server,) = (await service.client.get("/servers")).json()["servers"]
    add = next(each for each in tools["tools"] if each["name"] == "math.add")
    assert add["input_schema"]["type"] == "object"
    assert tools["unknown"] == []
    assert (server["state"], server["tools"]) == ("up", len(tools["tools"]))


async def test_profiles_and_their_faults_are_listed(tmp_path: Path) -> None:
    token = "token-of-alice-0123456789"  # noqa: S105 - of this test alone
    tokens = read_tokens(["A=alice:default,broken"], {"A": token})[0]
    headers = {"Authorization": f"Bearer {token}"}
    async with served(tmp_path, [], tokens=tokens) as service:
        config = tmp_path / "config"
        config.mkdir()
        (config / "profiles.yaml").write_text((tmp_path / "profile.yaml").read_text())
        (config / "broken.yaml").write_text("agent: 5")
        (config / "hidden.yaml").write_text((tmp_path / "profile.yaml").read_text())
        async with httpx2.AsyncClient(base_url=service.url, headers=headers) as http:
            found = (await http.get("/profiles")).json()["profiles"]
            hidden = await http.get("/tools?profile=hidden")
    assert [(each["name"], each["problem"] is None) for each in found] == [
        ("default", True),
        ("broken", False),
    ]
    assert hidden.status_code == 400


async def test_a_user_without_the_usual_profile_has_another_one(tmp_path: Path) -> None:
    token = "token-of-alice-0123456789"  # noqa: S105 - of this test alone
    tokens = read_tokens(["A=alice:work"], {"A": token})[0]
    headers = {"Authorization": f"Bearer {token}"}
    async with served(tmp_path, [answering("12")], SUMS_SERVER, tokens=tokens) as service:
        config = tmp_path / "config"
        config.mkdir()
        (config / "work.yaml").write_text("agent: {name: Worker, id: worker}")
        (config / "profiles.yaml").write_text((tmp_path / "profile.yaml").read_text())
        async with httpx2.AsyncClient(base_url=service.url, headers=headers) as http:
            assert (await http.get("/servers")).json()["servers"] == []
            assert (await chatted(http, message="go"))[-1].data["answer"] == "12"
            (chat,) = (await http.get("/chats")).json()["chats"]
            refused = await http.post("/chat", json={"message": "go", "profile": "default"})
    assert chat["profile"] == "work"
    assert refused.status_code == 400


async def test_budgets_tell_what_is_left(tmp_path: Path) -> None:
    async with served(tmp_path, [answering("12")], budgets="{day: {calls: 5}}") as service:
        (budget,) = (await service.client.get("/budgets")).json()["budgets"]
    assert (budget["scope"], budget["measure"], budget["most"]) == ("day", "calls", 5)
    assert budget["left"] == 5 - budget["spent"] == 5


async def test_health_and_problems_need_no_token(tmp_path: Path) -> None:
    tokens = read_tokens(["A=alice"], {"A": "token-of-alice-0123456789"})[0]
    async with served(tmp_path, [], tokens=tokens) as service:
        health = await service.client.get("/health")
        problems = await service.client.get("/problems")
        metrics = await service.client.get("/metrics")
    assert health.json() == {"status": "ok", "version": __version__}
    assert problems.json()["unauthorized"]["status"] == 401
    assert metrics.status_code == 401


async def test_figures_count_runs_calls_and_requests(tmp_path: Path) -> None:
    async with served(tmp_path, [ADDING], SUMS_SERVER) as service:
        await chatted(service.client, message="the secret of the house")
        response = await service.client.get("/metrics")
    lines = response.text.splitlines()
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'cortex_runs_total{status="done"} 1' in lines
    assert 'cortex_tool_calls_total{tool="math.add",outcome="ok"} 1' in lines
    assert 'cortex_http_requests_total{method="POST",status="200"} 1' in lines
    assert "cortex_run_duration_seconds_count 1" in lines
    assert "cortex_runs_running 0" in lines
    assert "secret" not in response.text
