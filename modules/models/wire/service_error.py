"""What a model's service says when it refuses: its error document, in the forms that are about.

OpenAI and most who speak its protocol send `{"error": {"message", "type", "param", "code"}}`,
OpenRouter with the words of the provider behind it in `metadata.raw`, Google's compatible service
the same in a list, Ollama `{"error": "…"}`, vLLM once the fields without the envelope, and FastAPI
(llama_cpp.server) `{"detail": [{"loc": […], "msg": "…"}]}`.
"""

from dataclasses import dataclass

from core.values import Json, JsonObject

MESSAGE_CHARACTERS_MAX = 4_000
"""How much of a service's text is looked at; an error shows less."""

DETAILS_MAX = 20
"""How many of the mistakes that FastAPI lists are looked at."""


@dataclass(frozen=True, slots=True)
class ServiceError:
    """The parts of an error document; texts are empty where it has none.

    `code` and `kind` are the service's own words for what went wrong, `param` the parameter that
    it won't take. `status` is the HTTP status that the document repeats, else None.
    """

    message: str = ""
    kind: str = ""
    code: str = ""
    param: str = ""
    status: int | None = None


def service_error(document: Json) -> ServiceError | None:
    """The error that a document holds, or None where it is no error document."""
    if isinstance(document, list):
        return service_error(document[0]) if document and isinstance(document[0], dict) else None
    if not isinstance(document, dict):
        return None
    match document:
        case {"error": str() as message}:
            return ServiceError(message[:MESSAGE_CHARACTERS_MAX])
        case {"error": dict() as inner}:
            return _from_fields(inner)
        case {"detail": str() as message}:
            return ServiceError(message[:MESSAGE_CHARACTERS_MAX])
        case {"detail": list() as details}:
            return _from_details(details)
        case {"message": str()}:
            return _from_fields(document)
        case _:
            return None


def _from_fields(fields: JsonObject) -> ServiceError:
    code = fields.get("code")
    return ServiceError(
        message=_message(fields),
        kind=_text(fields.get("type")),
        code=_text(code),
        param=_text(fields.get("param")),
        status=code if isinstance(code, int) and 400 <= code <= 599 else None,
    )


def _message(fields: JsonObject) -> str:
    """The message, and after it that of the provider behind a router."""
    said = _text(fields.get("message"))
    match fields.get("metadata"):
        case {"raw": str() as raw} if raw.strip():
            return f"{said}: {raw}"[:MESSAGE_CHARACTERS_MAX]
        case _:
            return said


def _from_details(details: list[Json]) -> ServiceError:
    """FastAPI's list of what is wrong with a body; `param` is the path to the first of them."""
    messages: list[str] = []
    param = ""
    for detail in details[:DETAILS_MAX]:
        match detail:
            case {"loc": list() as place, "msg": str() as message}:
                path = ".".join(str(step) for step in place[:8] if step != "body")
                param = param or path
                messages.append(f"{path}: {message}")
            case _:
                continue
    return ServiceError(
        "; ".join(messages)[:MESSAGE_CHARACTERS_MAX], param=param[:MESSAGE_CHARACTERS_MAX]
    )


def _text(value: Json) -> str:
    return value[:MESSAGE_CHARACTERS_MAX] if isinstance(value, str) else ""
