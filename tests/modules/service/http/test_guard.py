import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from core.base.redaction import Redactor
from core.run.execution import current
from modules.service.http.guard import (
    BODY_BYTES_MAX,
    SAFE_HEADERS,
    Guard,
    GuardSetting,
    execution_of,
    user_of,
)
from modules.service.http.tokens import Tokens, read_tokens
from modules.service.served.problems import Problem
from tests.modules.service.http.served import WAIT_SECONDS, listening

SECRET = "a-long-random-token-of-alice"  # noqa: S105 - of this test alone
TOKENS = read_tokens(["T=alice"], {"T": SECRET})[0]
CHAT = "https://chat.example"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def who(request: Request) -> Response:
    ids = current()
    assert ids is not None
    assert ids == execution_of(request)
    return JSONResponse({"user": user_of(request).name, "trace": ids.trace_id})


async def echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def bug(request: Request) -> Response:
    raise RuntimeError("the secret of the house is TOPSECRETVALUE")


async def health(request: Request) -> Response:
    return PlainTextResponse("up")


def guarded(setting: GuardSetting, answers: list[tuple[str, int]] | None = None) -> Guard:
    routes = [
        Route("/", health),
        Route("/health", health),
        Route("/who", who, methods=["GET"]),
        Route("/echo", echo, methods=["POST"]),
        Route("/documents/{name}", echo, methods=["PUT"]),
        Route("/bug", bug, methods=["GET"]),
    ]
    heard = answers if answers is not None else []
    return Guard(Router(routes), setting, lambda method, status: heard.append((method, status)))


def setting(tokens: Tokens | None = None, **more: object) -> GuardSetting:
    found = {"hosts": frozenset({"agent.example"}), "origins": frozenset({CHAT}), **more}
    return GuardSetting(tokens or Tokens(), Redactor({}), **found)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def client(app: Guard, base: str = "http://127.0.0.1") -> AsyncGenerator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=base) as made:
        yield made


def problem(response: httpx2.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert len(document["trace_id"]) == 32
    kind: str = document["type"].removeprefix("/problems#")
    return kind


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8321", 200),
        ("[::1]:8321", 200),
        ("agent.example", 200),
        ("AGENT.example.:443", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8321", 403),
        ("10.0.0.1", 403),
        ("", 403),
        ("[", 403),
        ("agent.example@evil.example", 403),
    ],
)
async def test_only_our_own_hosts_are_answered(host: str, status: int) -> None:
    async with client(guarded(setting())) as http:
        response = await http.get("/who", headers={"Host": host})
    assert response.status_code == status
    if status == 403:
        assert problem(response) == "forbidden"


async def test_the_address_that_was_connected_to_is_a_host_of_ours() -> None:
    async with client(guarded(setting()), "http://192.0.2.7:8321") as http:
        assert (await http.get("/who")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Origin": CHAT}, 200),
        ({"Origin": CHAT, "Sec-Fetch-Site": "cross-site"}, 200),
        ({"Origin": "http://127.0.0.1:9000"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
    ],
)
async def test_other_sites_are_kept_out(headers: dict[str, str], status: int) -> None:
    async with client(guarded(setting())) as http:
        assert (await http.get("/who", headers=headers)).status_code == status
        assert (await http.post("/echo", headers=headers)).status_code == status


async def test_a_link_of_another_site_may_lead_to_the_page() -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    async with client(guarded(setting())) as http:
        assert (await http.get("/", headers=headers)).status_code == 200


async def test_preflights_are_answered_for_allowed_origins_only() -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    async with client(guarded(setting(TOKENS))) as http:
        allowed = await http.options("/who", headers={"Origin": CHAT, **asked})
        refused = await http.options("/who", headers={"Origin": "https://evil.example", **asked})
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == CHAT
    assert "authorization" in allowed.headers["access-control-allow-headers"]
    assert "PATCH" in allowed.headers["access-control-allow-methods"]
    assert problem(refused) == "forbidden"
    assert "access-control-allow-origin" not in refused.headers


async def test_without_a_token_only_open_paths_are_answered() -> None:
    async with client(guarded(setting(TOKENS))) as http:
        assert (await http.get("/health")).status_code == 200
        refused = await http.get("/who")
        known = await http.get("/who", headers={"Authorization": f"Bearer {SECRET}"})
    assert problem(refused) == "unauthorized"
    assert refused.headers["www-authenticate"] == "Bearer"
    assert known.json()["user"] == "alice"


async def test_the_callers_trace_is_taken_over_and_given_back() -> None:
    async with client(guarded(setting())) as http:
        response = await http.get("/who", headers={"traceparent": TRACE})
        bad = await http.get("/who", headers={"traceparent": "00-nonsense"})
    assert response.json()["trace"] == TRACE[3:35]
    assert response.headers["traceparent"].startswith(TRACE[:35])
    assert bad.status_code == 200
    assert len(bad.json()["trace"]) == 32


async def test_every_answer_has_the_safe_headers() -> None:
    async with client(guarded(setting())) as http:
        for path in ("/who", "/nothing", "/health"):
            response = await http.get(path)
            assert {**response.headers} | SAFE_HEADERS == {**response.headers}


async def test_refusals_are_problems() -> None:
    heard: list[tuple[str, int]] = []
    async with client(guarded(setting(), heard)) as http:
        assert problem(await http.get("/nothing")) == "not-found"
        wrong = await http.get("/echo")
        assert problem(wrong) == "method-not-allowed"
        assert wrong.headers["allow"] == "POST"
    assert heard == [("GET", 404), ("GET", 405)]


async def test_a_bug_tells_its_trace_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async with client(guarded(setting())) as http:
        response = await http.get("/bug", headers={"traceparent": TRACE})
    assert problem(response) == "bug"
    assert response.json()["trace_id"] == TRACE[3:35]
    assert "TOPSECRETVALUE" not in response.text
    assert "RuntimeError" not in response.text
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_another_protocol_has_its_own_form_of_refusals() -> None:
    def form(problem: Problem) -> Response:
        return JSONResponse({"error": {"message": problem.detail}}, problem.status)

    async with client(guarded(setting(TOKENS, refusals={"/v1/": form}))) as http:
        response = await http.get("/v1/models")
        other = await http.get("/who")
    assert response.status_code == 401
    assert "token" in response.json()["error"]["message"]
    assert response.headers["www-authenticate"] == "Bearer"
    assert problem(other) == "unauthorized"


async def test_a_body_that_says_it_is_too_long_is_not_waited_for() -> None:
    length = f"Content-Length: {BODY_BYTES_MAX + 1}".encode()
    async with listening(guarded(setting())) as url:
        head = await first_line(url, b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + length)
    assert b" 413 " in head


async def test_a_body_of_unknown_length_is_read_to_its_bound() -> None:
    async def long() -> AsyncIterator[bytes]:
        for _ in range(2 * BODY_BYTES_MAX // 65_536):
            yield b"x" * 65_536

    async with listening(guarded(setting())) as url, httpx2.AsyncClient(base_url=url) as http:
        response = await http.post("/echo", content=long())
    assert problem(response) == "too-large"
    assert response.headers["connection"] == "close"


async def test_documents_may_be_longer() -> None:
    data = b"x" * (BODY_BYTES_MAX + 1)
    async with listening(guarded(setting())) as url, httpx2.AsyncClient(base_url=url) as http:
        response = await http.put("/documents/a.txt", content=data)
    assert response.text == str(len(data))


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with listening(guarded(setting(body_seconds=0.1))) as url:
        request = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9"
        head = await first_line(url, request)
    assert b" 408 " in head


async def first_line(url: str, head: bytes) -> bytes:
    """The status line of the answer to a request whose body never comes."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head + b"\r\n\r\n")
    try:
        return await asyncio.wait_for(reader.readline(), WAIT_SECONDS)
    finally:
        writer.close()
