"""Whatever is sent to whatever endpoint, the service answers as its OpenAPI document says."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modules.service.http.app import ENDPOINTS
from modules.service.http.endpoints.shapes import AnswerRequest, ChatRequest
from tests.command_line import without_servers
from tests.processes.test_serve import Serve, serve

__all__ = ["serve"]

NAMES = st.sampled_from(["notes", "a.md", "0" * 32, "2026/11/26/session-1-abcdef", "..", "é/ü"])
TEXTS = st.text(max_size=40) | NAMES
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*ChatRequest.model_fields, *AnswerRequest.model_fields, "name"])
BODIES = st.dictionaries(KEYS, VALUES, max_size=5) | VALUES
TYPES = st.sampled_from(["application/json", "application/json; charset=utf-8", "text/plain", ""])
HEADERS = st.dictionaries(
    st.sampled_from(["last-event-id", "traceparent", "origin", "sec-fetch-site", "accept"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60),
    max_size=2,
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])


@pytest.fixture
def client(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    service = serve(*without_servers(tmp_path_factory.mktemp("profile")))
    yield service.client()
    assert "bug" not in service.stderr
    assert service.end() == 0


@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_every_request_gets_an_answer_that_is_documented(
    client: httpx2.Client, data: st.DataObject
) -> None:
    endpoint = data.draw(st.sampled_from(ENDPOINTS))
    method = data.draw(st.just(endpoint.method) | METHODS)
    path = endpoint.shown_path
    while "{" in path:
        before, _, rest = path.partition("{")
        given_ = quote(data.draw(TEXTS), safe=data.draw(st.sampled_from(["", "/"])))
        path = before + (given_ or "x") + rest.partition("}")[2]
    asked = [*endpoint.query.model_fields] or [""]
    query = data.draw(st.dictionaries(st.sampled_from(asked), TEXTS, max_size=2))
    headers = {**data.draw(HEADERS), "content-type": data.draw(TYPES)}
    body = data.draw(BODIES.map(lambda value: json.dumps(value).encode()) | st.binary())
    with client.stream(method, path, params=query, headers=headers, content=body) as response:
        response.read()
    assert response.status_code < 500, (method, path, query, body, response.text)
    if response.status_code >= 400 and method != "HEAD":
        problem = response.json()
        assert response.headers["content-type"] == "application/problem+json"
        assert problem["status"] == response.status_code
        assert problem["detail"]
