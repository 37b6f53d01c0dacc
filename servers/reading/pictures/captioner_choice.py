"""Which captioner a setting means, and which there is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from servers.reading.pictures import ocr
from servers.reading.pictures.captioner import Captioner, CaptionerUnavailable, FirstThatWorks
from servers.reading.pictures.vision_services import (
    DEFAULT_MODEL,
    KEY_VARIABLE,
    GeminiCaptioner,
    OllamaCaptioner,
    find_vision_model,
    ollama_address,
)
from servers.shared.ollama_host import HOST_VARIABLE

if TYPE_CHECKING:
    import httpx2


def variables_for(setting: str) -> tuple[str, ...]:
    """The variables of the environment that a setting reads, a key among them."""
    provider = setting.partition(":")[0]
    match provider:
        case "auto":
            return (HOST_VARIABLE, KEY_VARIABLE)
        case "ollama":
            return (HOST_VARIABLE,)
        case "gemini":
            return (KEY_VARIABLE,)
        case _:
            return ()


def open_captioner(
    setting: str, environ: Mapping[str, str], client: "httpx2.Client | None" = None
) -> Captioner | None:
    """The captioner of `auto`, `none`, `ocr`, `ollama:MODEL` or `gemini:MODEL`; None for none.

    `auto` takes, of what is there: a vision model in Ollama, as it keeps pictures on this machine,
    then Gemini if there is a key, then OCR. `client` is for tests.

    Raises:
        CaptionerUnavailable: what is named can't be used; the message says why.
    """
    provider, _, model = setting.strip().partition(":")
    match provider:
        case "none":
            return None
        case "ocr":
            return _ocr()
        case "ollama":
            if not model:
                raise CaptionerUnavailable("captions: ollama needs a model, as in ollama:llava")
            return OllamaCaptioner(model, ollama_address(environ), client or _client())
        case "gemini":
            return _gemini(model, environ, client)
        case "auto" | "":
            return _whatever_there_is(environ, client)
        case _:
            raise CaptionerUnavailable(
                f"captions: {setting[:60]} is none of auto, none, ocr, ollama:MODEL, gemini:MODEL"
            )


def _ocr() -> Captioner:
    if not ocr.is_installed():
        raise CaptionerUnavailable("captions: OCR needs the package rapidocr")
    return ocr.OcrCaptioner()


def _gemini(
    model: str, environ: Mapping[str, str], client: "httpx2.Client | None"
) -> GeminiCaptioner:
    key = environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise CaptionerUnavailable(f"captions: gemini needs a key in {KEY_VARIABLE}")
    return GeminiCaptioner(model or DEFAULT_MODEL, key, client or _client())


def _whatever_there_is(
    environ: Mapping[str, str], client: "httpx2.Client | None"
) -> Captioner | None:
    usable = client or _client()
    found: list[Captioner] = []
    try:
        address = ollama_address(environ)
        if (model := find_vision_model(address, usable)) is not None:
            found.append(OllamaCaptioner(model, address, usable))
    except CaptionerUnavailable:
        pass  # an OLLAMA_HOST that is no address is the business of whoever names Ollama
    if environ.get(KEY_VARIABLE, "").strip():
        found.append(_gemini("", environ, usable))
    if ocr.is_installed():
        found.append(ocr.OcrCaptioner())
    return FirstThatWorks(found) if found else None


def _client() -> "httpx2.Client":
    import httpx2

    return httpx2.Client(follow_redirects=False)
