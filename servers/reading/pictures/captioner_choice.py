"""Which captioner a setting means, and which there is."""

from collections.abc import Mapping

from core.base.ollama import HOST_VARIABLE
from servers.reading.pictures import ocr
from servers.reading.pictures.captioner import Captioner, CaptionerUnavailable, FirstThatWorks

KEY_VARIABLE = "GEMINI_API_KEY"


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


def open_captioner(setting: str, environ: Mapping[str, str]) -> Captioner | None:
    """The captioner of `auto`, `none`, `ocr`, `ollama:MODEL` or `gemini:MODEL`; None for none.

    `auto` takes, of what is there: a vision model in Ollama, as it keeps pictures on this machine,
    then Gemini if there is a key, then OCR.

    Raises:
        CaptionerUnavailable: what is named can't be used; the message says why.
    """
    provider, _, model = setting.strip().partition(":")
    match provider:
        case "none":
            return None
        case "ocr":
            if not ocr.is_installed():
                raise CaptionerUnavailable("captions: OCR needs the package rapidocr")
            return ocr.OcrCaptioner()
        case "ollama" | "gemini" | "auto" | "":
            return _over_http(provider, model, environ)
        case _:
            raise CaptionerUnavailable(
                f"captions: {setting[:60]} is none of auto, none, ocr, ollama:MODEL, gemini:MODEL"
            )


def _over_http(provider: str, model: str, environ: Mapping[str, str]) -> Captioner | None:
    """A service, or whatever there is where none is named."""
    from servers.reading.pictures import vision_services as services

    key = environ.get(KEY_VARIABLE, "").strip()
    if provider == "ollama":
        if not model:
            raise CaptionerUnavailable("captions: ollama needs a model, as in ollama:llava")
        return services.OllamaCaptioner(model, services.ollama_address(environ))
    if provider == "gemini":
        if not key:
            raise CaptionerUnavailable(f"captions: gemini needs a key in {KEY_VARIABLE}")
        return services.GeminiCaptioner(model, key)
    found: list[Captioner] = []
    try:
        address = services.ollama_address(environ)
        if (seeing := services.find_vision_model(address)) is not None:
            found.append(services.OllamaCaptioner(seeing, address))
    except CaptionerUnavailable:
        pass  # an OLLAMA_HOST that is no address is the business of whoever names Ollama
    if key:
        found.append(services.GeminiCaptioner("", key))
    if ocr.is_installed():
        found.append(ocr.OcrCaptioner())
    return FirstThatWorks(found) if found else None
