"""Who describes pictures: which setting means whom, what is asked, and what goes wrong."""

import base64
import json
from collections.abc import Callable

import httpx2
import pytest

from servers.reading.pictures.captioner import CaptionerUnavailable, FirstThatWorks
from servers.reading.pictures.captioner_choice import open_captioner, variables_for
from servers.reading.pictures.ocr import Word, lines_of
from servers.reading.pictures.vision_services import ollama_address
from tests.servers.reading.reading_checks import ScriptedCaptioner

IMAGE = b"a picture"
Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(handler: Handler) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(handler))


def ollama(request: httpx2.Request) -> httpx2.Response:
    """A server with a model that sees, one that does not, and one in the cloud."""
    match request.url.path:
        case "/api/tags":
            names: list[dict[str, str]] = [
                {"model": "far", "remote_host": "https://ollama.com"}, {"model": "blind"},
                {"model": "seeing"},
            ]  # fmt: skip
            return httpx2.Response(200, json={"models": names})
        case "/api/show":
            model = json.loads(request.content)["model"]
            abilities = ["completion"] if model == "blind" else ["completion", "vision"]
            return httpx2.Response(200, json={"capabilities": abilities})
        case "/api/generate":
            asked = json.loads(request.content)
            assert base64.b64decode(asked["images"][0]) == IMAGE
            return httpx2.Response(200, json={"response": f" seen by {asked['model']} "})
        case _:
            raise AssertionError(request.url)


def gemini(request: httpx2.Request) -> httpx2.Response:
    assert request.url.path == "/v1beta/models/some-model:generateContent"
    assert request.headers["x-goog-api-key"] == "secret"
    assert "secret" not in str(request.url)
    parts = [{"text": "a "}, {"text": "barn"}]
    return httpx2.Response(200, json={"candidates": [{"content": {"parts": parts}}]})


def nobody(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


def test_a_model_that_sees_is_found_and_asked() -> None:
    captioner = open_captioner("auto", {}, client_of(ollama))
    assert captioner is not None
    assert captioner.name == "ollama:seeing"
    assert captioner.caption(IMAGE) == "seen by seeing"


def test_gemini_is_asked_with_its_key_in_a_header() -> None:
    environ = {"GEMINI_API_KEY": "secret"}
    captioner = open_captioner("gemini:some-model", environ, client_of(gemini))
    assert captioner is not None
    assert captioner.caption(IMAGE) == "a barn"


def test_of_what_is_there_the_first_that_works_is_taken() -> None:
    alone = open_captioner("auto", {"OLLAMA_HOST": "::::"}, client_of(nobody))
    assert alone is not None
    assert alone.name == "ocr"
    with_key = open_captioner("auto", {"GEMINI_API_KEY": "k"}, client_of(nobody))
    assert with_key is not None
    assert with_key.name.startswith("gemini:")
    down, works = ScriptedCaptioner([CaptionerUnavailable("down")]), ScriptedCaptioner(["a barn"])
    either = FirstThatWorks([down, works])
    assert [either.caption(IMAGE), either.caption(IMAGE)] == ["a barn", "a barn"]
    assert len(down.images) == 1
    with pytest.raises(CaptionerUnavailable):
        FirstThatWorks([down, down]).caption(IMAGE)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("ollama", "ollama:llava"), ("gemini:x", "GEMINI_API_KEY"), ("nonsense", "none of auto")],
)
def test_a_setting_that_cannot_be_used_says_why(setting: str, reason: str) -> None:
    with pytest.raises(CaptionerUnavailable, match=reason):
        open_captioner(setting, {})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx2.Response(500), "HTTP 500"),
        (httpx2.Response(200, content=b"[" * 100_000), "no JSON"),
        (httpx2.Response(200, content=b"x" * 2_000_000), "more than"),
    ],
)
def test_a_service_that_answers_nonsense_is_unavailable(
    answer: httpx2.Response, reason: str
) -> None:
    captioner = open_captioner("ollama:x", {}, client_of(lambda _: answer))
    assert captioner is not None
    with pytest.raises(CaptionerUnavailable, match=reason):
        captioner.caption(IMAGE)


def test_a_service_that_is_down_is_unavailable_and_an_empty_answer_is_nothing() -> None:
    down = open_captioner("ollama:x", {}, client_of(nobody))
    silent = open_captioner("ollama:x", {}, client_of(lambda _: httpx2.Response(200, json=[1])))
    assert down is not None
    assert silent is not None
    with pytest.raises(CaptionerUnavailable, match="can't be reached"):
        down.caption(IMAGE)
    assert silent.caption(IMAGE) is None
    assert open_captioner("none", {}) is None


def test_only_what_a_setting_needs_is_passed_on() -> None:
    assert variables_for("auto") == ("OLLAMA_HOST", "GEMINI_API_KEY")
    assert variables_for("gemini:x") == ("GEMINI_API_KEY",)
    assert variables_for("ollama:x") == ("OLLAMA_HOST",)
    assert variables_for("ocr") == variables_for("none") == ()


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - nothing is bound, only read
        ("box:99", "http://box:99"),
        ("https://box.example/", "https://box.example:443"),
        ("[::1]:5", "http://[::1]:5"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    assert ollama_address({"OLLAMA_HOST": host}) == address


def test_words_that_stand_side_by_side_become_a_line() -> None:
    words = [
        Word("right", 50, 11, 21), Word("left", 0, 10, 20), Word("below", 0, 30, 40),
    ]  # fmt: skip
    assert lines_of(words) == ["left right", "below"]
