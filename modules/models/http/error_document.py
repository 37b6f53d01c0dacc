"""What a model's service says when it refuses: its error document, in the forms that are about.

OpenAI and most who speak its protocol send `{"error": {"message", "type", "param", "code"}}`,
OpenRouter with the words of the provider behind it in `metadata.raw`, Anthropic with
`details.error_code`, Google with a `status` and `details` (google/rpc/error_details.proto), at
times in a list, Ollama `{"error": "…"}`, vLLM once the fields without the envelope, and FastAPI
(llama_cpp.server) `{"detail": [{"loc": […], "msg": "…"}]}`.
"""

from dataclasses import replace
from typing import Final

from core.base.frozen import frozen
from core.base.http import PAUSE_SECONDS_MAX
from core.base.text import lazy_pattern
from core.values import Json, JsonObject

MESSAGE_CHARACTERS_MAX = 4_000
"""How much of a service's text is looked at; an error shows less."""

DETAILS_MAX = 20
"""How many details are looked at."""

RENEWED_SOON_SECONDS = 600.0
"""A quota that is renewed later than so is spent, as far as a run is concerned."""

_SPENT: Final = lazy_pattern(
    r"insufficient_quota|billing_hard_limit_reached|billing_not_active|.*spend_limit_reached"
)
"""Codes under HTTP 429 that no waiting mends: the account has no money left."""

_STATUSES: Final = {
    **dict.fromkeys(("invalid_request_error", "invalid_argument"), 400),
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "insufficient_quota"), 429),
    **dict.fromkeys(("api_error", "server_error", "internal_server_error"), 500),
    **dict.fromkeys(("internalservererror", "service_unavailable"), 503),
    **dict.fromkeys(("timeout", "timeout_error"), 504),
    "overloaded_error": 529,
}
"""The HTTP status of each kind of error, for one that comes when a reply has begun."""

_DURATION: Final = lazy_pattern(r"\d{1,9}(?:\.\d{1,9})?s")
"""google.protobuf.Duration as JSON."""


@frozen
class ErrorDocument:
    """The parts of an error document; texts are empty where it has none.

    `code` is the service's own word for what went wrong, `param` the parameter that it won't take.
    `status` is the HTTP status that the document tells, else None. `is_spent`: no waiting helps,
    the account's money or quota is used up. `refuses_key`: it is about the key.
    """

    message: str = ""
    code: str = ""
    param: str = ""
    status: int | None = None
    is_spent: bool = False
    refuses_key: bool = False
    retry_after_seconds: float | None = None


def error_document(document: Json) -> ErrorDocument | None:
    """The error that a JSON document tells, or None where it tells none."""
    if isinstance(document, list):
        return error_document(document[0]) if document and isinstance(document[0], dict) else None
    if not isinstance(document, dict):
        return None
    match document:
        case {"error": str() as message}:
            return ErrorDocument(_text(message))
        case {"error": dict() as inner}:
            return _from_fields(inner)
        case {"detail": str() as message}:
            return ErrorDocument(_text(message))
        case {"detail": list() as details}:
            return _from_mistakes(details)
        case {"message": str()}:
            return _from_fields(document)
        case _:
            return None


def _from_fields(fields: JsonObject) -> ErrorDocument:
    code, kind, details = fields.get("code"), _text(fields.get("type")), fields.get("details")
    told = _text(code)
    if isinstance(details, dict):
        told = _text(details.get("error_code")) or told
    words = (told.lower(), kind.lower())
    document = ErrorDocument(
        message=_message(fields),
        code=told,
        param=_text(fields.get("param")),
        status=code
        if isinstance(code, int) and 400 <= code <= 599
        else next((_STATUSES[word] for word in words if word in _STATUSES), None),
        is_spent=any(_SPENT.fullmatch(word) for word in words),
    )
    return _with_google(document, details) if isinstance(details, list) else document


def _message(fields: JsonObject) -> str:
    """The message, and after it that of the provider behind a router."""
    said = _text(fields.get("message"))
    match fields.get("metadata"):
        case {"raw": str() as raw} if raw.strip():
            return _text(f"{said}: {raw}")
        case _:
            return said


def _with_google(document: ErrorDocument, details: list[Json]) -> ErrorDocument:
    """The document with what Google's details add: ErrorInfo, QuotaFailure and RetryInfo."""
    for detail in details[:DETAILS_MAX]:
        match detail:
            case {"reason": "API_KEY_INVALID"}:
                document = replace(document, refuses_key=True)
            case {"violations": list() as violations}:
                spent = any(map(_is_of_a_day, violations[:DETAILS_MAX]))
                document = replace(document, is_spent=document.is_spent or spent)
            case {"retryDelay": str() as delay} if _DURATION.fullmatch(delay):
                seconds = float(delay[:-1])
                document = replace(
                    document,
                    retry_after_seconds=min(seconds, PAUSE_SECONDS_MAX),
                    is_spent=document.is_spent or seconds > RENEWED_SOON_SECONDS,
                )
            case _:
                continue
    return document


def _is_of_a_day(violation: Json) -> bool:
    match violation:
        case {"quotaId": str() as quota}:
            return "PerDay" in quota
        case _:
            return False


def _from_mistakes(mistakes: list[Json]) -> ErrorDocument:
    """FastAPI's list of what is wrong with a body; `param` is the path to the first of them."""
    messages: list[str] = []
    param = ""
    for mistake in mistakes[:DETAILS_MAX]:
        match mistake:
            case {"loc": list() as place, "msg": str() as message}:
                path = ".".join(str(step) for step in place[:8] if step != "body")
                param = param or path
                messages.append(f"{path}: {message}")
            case _:
                continue
    return ErrorDocument(_text("; ".join(messages)), param=_text(param))


def _text(value: Json) -> str:
    return value[:MESSAGE_CHARACTERS_MAX] if isinstance(value, str) else ""
