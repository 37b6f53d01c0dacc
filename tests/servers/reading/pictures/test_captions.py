"""Who describes pictures: which setting means whom, what is asked, and what goes wrong."""

import base64
from collections.abc import Iterator

import pytest

from servers.reading.pictures.captioner import CaptionerUnavailable, FirstThatWorks
from servers.reading.pictures.captioner_choice import open_captioner, variables_for
from servers.reading.pictures.ocr import Word, lines_of
from servers.reading.pictures.vision_services import GeminiCaptioner
from tests.servers.reading.reading_checks import ScriptedCaptioner
from tests.servers.shared.service_double import Answer, ServiceDouble, service_double

IMAGE = b"a picture"
CHOICE = [{"name": "far", "remote_host": "https://ollama.com"}, {"name": "blind"}, {"name": "sees"}]


@pytest.fixture
def service() -> Iterator[ServiceDouble]:
    with service_double() as double:
        yield double


@pytest.fixture
def nobody() -> str:
    """An address where nobody listens."""
    with service_double() as double:
        return double.url


def test_a_model_that_sees_is_found_and_asked(service: ServiceDouble) -> None:
    service.will_answer(
        Answer({"models": CHOICE}),
        Answer({"capabilities": ["completion"]}),
        Answer({"capabilities": ["completion", "vision"]}),
        Answer({"response": " a barn "}),
    )
    captioner = open_captioner("auto", {"OLLAMA_HOST": service.url})
    assert captioner is not None
    assert captioner.name == "ollama:sees"
    assert captioner.caption(IMAGE) == "a barn"
    asked = service.asked[-1]
    assert (asked.path, asked.body["model"]) == ("/api/generate", "sees")
    assert asked.body["images"] == [base64.b64encode(IMAGE).decode()]


def test_gemini_is_asked_with_its_key_in_a_header(service: ServiceDouble) -> None:
    parts = [{"text": "a "}, {"thought": "x"}, {"text": "barn"}]
    service.will_answer(
        Answer({"candidates": [{"content": {"parts": parts}}]}),
        Answer({"promptFeedback": {"blockReason": "SAFETY"}}),
        Answer({"error": {"message": "no secret here"}}, 400),
    )
    captioner = GeminiCaptioner("models/some-model", "secret", service.url)
    assert captioner.caption(IMAGE) == "a barn"
    assert captioner.caption(IMAGE) is None
    with pytest.raises(CaptionerUnavailable, match=r"HTTP 400.*no … here"):
        captioner.caption(IMAGE)
    assert service.asked[0].path == "/v1beta/models/some-model:generateContent"
    assert service.asked[0].headers["x-goog-api-key"] == "secret"


def test_of_what_is_there_the_first_that_works_is_taken(nobody: str) -> None:
    alone = open_captioner("auto", {"OLLAMA_HOST": "::::"})
    assert alone is not None
    assert alone.name == "ocr"
    with_key = open_captioner("auto", {"GEMINI_API_KEY": "k", "OLLAMA_HOST": nobody})
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
        (Answer(status=500), "HTTP 500"),
        (Answer(b"[" * 100_000), "something else"),
        (Answer(b"x" * 2_000_000), "more than"),
    ],
)
def test_a_service_that_answers_nonsense_is_unavailable(
    service: ServiceDouble, answer: Answer, reason: str
) -> None:
    service.will_answer(answer)
    captioner = open_captioner("ollama:x", {"OLLAMA_HOST": service.url})
    assert captioner is not None
    with pytest.raises(CaptionerUnavailable, match=reason):
        captioner.caption(IMAGE)
    assert len(service.asked) == 1


def test_a_service_that_is_down_is_unavailable_and_an_empty_answer_is_nothing(
    service: ServiceDouble, nobody: str
) -> None:
    down = open_captioner("ollama:x", {"OLLAMA_HOST": nobody})
    silent = open_captioner("ollama:x", {"OLLAMA_HOST": service.url})
    assert down is not None
    assert silent is not None
    with pytest.raises(CaptionerUnavailable, match="can't be reached"):
        down.caption(IMAGE)
    service.will_answer(Answer({}))
    assert silent.caption(IMAGE) is None
    assert open_captioner("none", {}) is None


def test_only_what_a_setting_needs_is_passed_on() -> None:
    assert variables_for("auto") == ("OLLAMA_HOST", "GEMINI_API_KEY")
    assert variables_for("gemini:x") == ("GEMINI_API_KEY",)
    assert variables_for("ollama:x") == ("OLLAMA_HOST",)
    assert variables_for("ocr") == variables_for("none") == ()


def test_words_that_stand_side_by_side_become_a_line() -> None:
    words = [
        Word("right", 50, 11, 21), Word("left", 0, 10, 20), Word("below", 0, 30, 40),
    ]  # fmt: skip
    assert lines_of(words) == ["left right", "below"]
