"""What is refused, in OpenAI's form, and never with a status of 500."""

import asyncio
import base64
import json
from pathlib import Path
from typing import cast

import httpx2
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base.redaction import Redactor
from core.values import Json, JsonObject
from modules.service.openai_form.asked import Asked, read_asked
from modules.service.openai_form.errors import Unfit, error_document
from modules.service.pool import User
from tests.command_line import write_profile
from tests.modules.service.openai_form.served import TOKEN, Served, served, setting

HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}

MESSAGE: JsonObject = {"role": "user", "content": "add 5 and 7"}


def read(value: Json) -> Asked:
    return read_asked(json.dumps(value).encode())


def body(**fields: Json) -> JsonObject:
    return {"model": "cortex-r", "messages": [MESSAGE], **fields}


def with_content(*parts: Json) -> JsonObject:
    return body(messages=[{"role": "user", "content": [*parts]}])


def picture(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def with_schema(schema: JsonObject) -> JsonObject:
    return body(response_format={"type": "json_schema", "json_schema": {"schema": schema}})


REFUSED: list[tuple[JsonObject, str | None, str]] = [
    (body(tools=[{"type": "function"}]), "tools", "tools of its own"),
    (body(functions=[{"name": "f"}]), "functions", "tools of its own"),
    (body(n=2), "n", "one answer"),
    (body(logprobs=True), "logprobs", "no probabilities"),
    (body(modalities=["text", "audio"]), "modalities", "texts"),
    (body(messages=[]), "messages", "at least 1"),
    (body(messages=[{"role": "user", "content": " "}]), "messages", "is empty"),
    (body(messages=[{"role": "system", "content": "x"}]), "messages", "has to be the user's"),
    (body(messages=[MESSAGE, {"role": "assistant", "content": "12"}]), "messages", "the user's"),
    (body(messages=[{"role": "tool", "content": "1"}, MESSAGE]), "messages[0].role", "'user'"),
    (body(messages=[{"role": "user", "content": "x" * 100_001}]), "messages", "100,000"),
    (body(messages=[{"role": "system", "content": "x" * 32_001}, MESSAGE]), "messages", "32,000"),
    (with_content({"type": "input_audio"}), "messages[0].content[0].type", "must be 'text'"),
    (with_content(picture("x"), {"type": "text"}), "messages[0].content[1]", "lacks `text`"),
    (with_content({"type": "image_url", "image_url": None}), "messages[0].content[0]", "lacks"),
    (body(messages=[{"role": "user", "content": 5}]), "messages[0].content", "must be a text"),
    (body(messages=[{"role": "user", "content": [5]}]), "messages[0].content[0]", "an object"),
    (body(stop=[*"abcde"]), "stop", "at most 4"),
    (body(stop=["a", 5]), "stop[1]", "must be a text"),
    (body(stop=5), "stop", "must be a text, or a list of texts"),
    (body(stream="maybe"), "stream", "must be true or false"),
    ({}, "model", "`model` is missing; `messages` is missing"),
    (body(response_format={"type": "xml"}), "response_format.type", "json_schema"),
    (
        with_schema({"type": "no"}),
        "response_format",
        "no JSON Schema",
    ),
    (
        with_schema({"title": "x" * 70_000}),
        "response_format",
        "65,536 bytes",
    ),
]


@pytest.mark.parametrize(("value", "param", "told"), REFUSED)
def test_what_can_not_be_done_is_refused_and_why(
    value: JsonObject, param: str | None, told: str
) -> None:
    with pytest.raises(Unfit) as raised:
        read(value)
    problem = raised.value.problem
    assert (problem.status, problem.more["param"]) == (400, param)
    assert told in str(raised.value)


def test_what_only_tunes_a_model_is_ignored() -> None:
    tuned = body(temperature=2, seed=7, max_tokens=1, max_completion_tokens=1, tools=[], n=1)
    tuned |= {"user": "ada", "unheard_of": {"a": 1}, "stop": None, "response_format": None}
    assert read(tuned) == read(body())


def test_messages_are_exchanges_whatever_their_order() -> None:
    said: list[Json] = [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "half"},
        {"role": "assistant", "content": None, "refusal": "of an answer"},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "three"},
        {"role": "system", "content": "Be polite."},
    ]
    asked = read(body(messages=said))
    told = [(each.request, each.answer) for each in asked.history]
    assert told == [("", "Hello!"), ("one", None), ("two", "half\n\nof an answer")]
    assert (asked.request, asked.instructions) == ("three", "Be brief.\n\nBe polite.")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1/photo.png", "no image is fetched"),
        ("data:text/html;base64,AAAA", "no image is fetched"),
        ("data:image/png;base64,????", "no Base64"),
        ("data:image/png;base64," + base64.b64encode(b"no picture").decode(), "not an image"),
    ],
)
async def test_a_picture_that_can_not_be_read_is_refused(
    tmp_path: Path, url: str, told: str
) -> None:
    made_of = setting(tmp_path, "offline", write_profile(tmp_path))
    async with served(made_of) as service:
        value = with_content({"type": "text", "text": "?"}, picture(url))
        status, error = await post(service, value)
    assert status == 400
    assert told in str(error["message"])


async def test_more_than_five_pictures_are_refused(tmp_path: Path) -> None:
    made_of = setting(tmp_path, "offline", write_profile(tmp_path))
    text: JsonObject = {"type": "text", "text": "what are they?"}
    async with served(made_of) as service:
        status, error = await post(service, with_content(text, *[picture("data:,")] * 6))
    assert (status, "more than 5" in str(error["message"])) == (400, True)


async def test_models_are_the_profiles_that_the_user_may_use(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    for name in ("profiles", "law", "secret"):
        write_profile(tmp_path).rename(tmp_path / "config" / f"{name}.yaml")
    user = User("ada", ("default", "law"))
    async with served(setting(tmp_path, "offline"), user) as service, service.client() as client:
        assert [model.id async for model in client.models.list()] == ["cortex-r", "cortex-r/law"]
        assert (await client.models.retrieve("cortex-r/law")).owned_by == "cortex-r"
        for model in ("cortex-r/secret", "gpt-4o"):
            with pytest.raises(openai.NotFoundError, match="cortex-r") as raised:
                await client.chat.completions.create(
                    model=model, messages=[{"role": "user", "content": "hm?"}]
                )
            assert raised.value.code == "model_not_found"
            with pytest.raises(openai.NotFoundError):
                await client.models.retrieve(model)


async def test_what_is_not_served_is_told_in_the_same_form(tmp_path: Path) -> None:
    async with served(setting(tmp_path, "offline")) as service:
        status, error = await post(service, body(), "embeddings")
    assert (status, error["code"]) == (404, "unknown_url")


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"{", "no JSON"), (b"[" * 100_000, "no JSON"), (b"[0" + b",0" * 300_000 + b"]", "200,000")],
)
async def test_a_body_that_is_none_is_refused(tmp_path: Path, data: bytes, told: str) -> None:
    async with served(setting(tmp_path, "offline")) as service:
        status, error = await post(service, data)
    assert (status, told in str(error["message"])) == (400, True)


async def test_a_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    data = b'"' + b"x" * 33 * 2**20 + b'"'
    async with served(setting(tmp_path, "offline")) as service:
        status, error = await post(service, data)
    assert (status, error["code"]) == (413, "request_too_large")


async def test_a_token_that_is_none_is_an_authentication_error(tmp_path: Path) -> None:
    async with served(setting(tmp_path, "offline")) as service:
        client = openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="k", max_retries=0)
        async with client:
            with pytest.raises(openai.AuthenticationError, match="token") as raised:
                await client.models.list()
    assert raised.value.code == "invalid_api_key"
    assert raised.value.response.headers["www-authenticate"] == "Bearer"


async def test_a_body_of_another_type_and_another_method_are_refused(tmp_path: Path) -> None:
    async with (
        served(setting(tmp_path, "offline")) as service,
        httpx2.AsyncClient(headers=HEADERS, base_url=service.url) as http,
    ):
        plain = {"content-type": "text/plain"}
        typed = await http.post("/v1/chat/completions", content=b"{}", headers=plain)
        got = await http.get("/v1/chat/completions")
    assert (typed.status_code, got.status_code) == (415, 405)
    assert got.headers["allow"] == "POST"
    assert typed.json()["error"]["code"] == "unsupported_media_type"
    assert got.json()["error"]["code"] == "method_not_allowed"


async def post(
    service: Served, value: JsonObject | bytes, path: str = "chat/completions"
) -> tuple[int, JsonObject]:
    """The status, and the error if there is one."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    async with httpx2.AsyncClient(timeout=30, headers=HEADERS) as http:
        response = await http.post(f"{service.url}/v1/{path}", content=data)
    told = cast("JsonObject", response.json())
    error = told.get("error", {})
    assert isinstance(error, dict)
    assert response.status_code == 200 or {*error} == {"message", "type", "param", "code"}
    return response.status_code, error


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image_url", "refusal", "file"])},
    optional={"text": st.text(), "image_url": st.fixed_dictionaries({"url": st.text()}) | VALUES},
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer", "tool", "bot"])},
    optional={"content": st.text() | st.lists(PARTS, max_size=3) | VALUES, "refusal": VALUES},
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("cortex-r") | VALUES,
        "messages": st.lists(MESSAGES, max_size=4) | VALUES,
        "n": VALUES,
        "stop": VALUES,
        "tools": VALUES,
        "response_format": VALUES,
        "stream_options": VALUES,
        "logprobs": VALUES,
        "audio": VALUES,
    },
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=BODIES | VALUES)
def test_no_body_makes_an_error_of_ours(value: Json) -> None:
    try:
        said = read(value).request
    except Unfit as unfit:
        error = json.dumps(error_document(unfit.problem, Redactor({})))
        said = error if unfit.problem.status == 400 else ""
    assert said


def test_no_body_makes_the_service_fail(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        serving = served(setting(tmp_path, "offline", write_profile(tmp_path)))
        service = runner.run(serving.__aenter__())

        @settings(max_examples=60)
        @given(value=BODIES)
        def check(value: JsonObject) -> None:
            status, _ = runner.run(post(service, value))
            assert status in (200, 400, 404), status

        try:
            check()
        finally:
            runner.run(serving.__aexit__(None, None, None))
