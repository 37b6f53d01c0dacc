from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from core.base.redaction import Redactor
from modules.service.http.app import Extras, http_app
from modules.service.http.endpoints.table import Service
from modules.service.http.guard import GuardSetting, user_of
from modules.service.http.metrics import Metrics
from modules.service.http.tokens import read_tokens
from modules.service.pool import AgentPool
from modules.service.served.problems import Problem
from modules.service.served.runs import Runs
from tests.modules.service.http.served import agents_of

SECRET = "token-of-alice-0123456789"  # noqa: S105 - of this test alone
POLICY = "default-src 'none'; style-src 'sha256-x'"


async def models(request: Request) -> Response:
    return PlainTextResponse(f"{user_of(request).name} {len(await request.body())}")


def refusal(problem: Problem) -> Response:
    return JSONResponse({"error": problem.detail}, problem.status)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    extras = Extras(
        page=("<!doctype html><title>Cortex-R</title>", POLICY),
        routes=[Route("/v1/models", models, methods=["POST"])],
        refusals={"/v1/": refusal},
        bodies={"/v1/": 10},
    )
    runs = Runs(AgentPool(agents_of(tmp_path, []), lambda: 0.0))
    tokens = read_tokens(["A=alice"], {"A": SECRET})[0]
    app = http_app(Service(runs, Metrics()), GuardSetting(tokens, Redactor({})), extras)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as made:
        yield made


async def test_the_page_needs_no_token_and_has_its_own_policy(client: httpx2.AsyncClient) -> None:
    response = await client.get("/")
    assert "<title>Cortex-R</title>" in response.text
    assert response.headers["content-security-policy"] == POLICY
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_what_is_plugged_in_stands_behind_the_guard(client: httpx2.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    refused = await client.post("/v1/models")
    known = await client.post("/v1/models", content=b"0123456789", headers=headers)
    long = await client.post("/v1/models", content=b"0123456789+", headers=headers)
    assert refused.status_code == 401
    assert "token" in refused.json()["error"]
    assert known.text == "alice 10"
    assert long.status_code == 413
    assert "error" in long.json()


async def test_all_methods_of_a_path_are_named(client: httpx2.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    response = await client.put("/runs/x", headers=headers)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == {"DELETE", "GET", "HEAD"}
