"""What a model's service says when it refuses: its error document, whatever its form.

OpenAI and most who speak its protocol send `{"error": {"message", "type", "param", "code"}}`,
OpenRouter with the words of the provider behind it in `metadata.raw`, Anthropic with
`details.error_code`, Google with a `status` and `details` (google/rpc/error_details.proto), at
times in a list, Ollama `{"error": "…"}`, vLLM the fields without the envelope, FastAPI
(llama_cpp.server) `{"detail": [{"loc": […], "msg": "…"}]}`, GLM `{"code", "msg"}`, MiniMax a
`base_resp` beside empty `choices`. So a text is looked for under each of the words that mean one,
in the document and in what wraps it. Where no status is told, the words of the text tell the kind.
"""

import re
from dataclasses import replace
from typing import Final

from core.base.frozen import frozen
from core.base.http import PAUSE_SECONDS_MAX
from core.base.text import lazy_pattern
from core.values import Json, JsonObject
from modules.models.http.json_text import whole_characters

MESSAGE_CHARACTERS_MAX = 4_000
"""How much of a service's text is looked at; an error shows less."""

ERROR_OBJECT = "error"
"""What vLLM and FastChat call an error in `object`."""

DETAILS_MAX = 20
"""How many details are looked at."""

RENEWED_SOON_SECONDS = 600.0
"""A quota that is renewed later than so is spent, as far as a run is concerned."""

_SPENT: Final = lazy_pattern(
    r"insufficient_quota|billing_hard_limit_reached|billing_not_active|.*spend_limit_reached"
)
"""Codes under HTTP 429 that no waiting mends: the account has no money left."""

_MESSAGES: Final = (
    *("message", "msg", "detail", "error_msg", "error_message", "errmsg", "status_msg", "Message"),
    *("error_description", "description", "faultstring", "reason", "title"),
)
"""Where the text stands, the best word first."""

_CODES: Final = ("code", "error_code", "errcode", "status_code", "err_code", "status", "Code")
"""Where the code stands."""

_WRAPPERS: Final = ("error", "errors", "base_resp", "fault", "Error")
"""What an error may stand in."""

_OF_REPLIES: Final = (
    *("choices", "candidates", "message", "delta", "content", "content_block", "response", "done"),
    *("usage", "usageMetadata", "promptFeedback", "output"),
)
"""Keys of which no error document has any, if not as a text or empty."""

_KINDS: Final = (
    (
        402,
        lazy_pattern(
            r"insufficient[ _](?:account[ _])?(?:balance|quota|credit|fund)"
            r"|(?:balance|account|credits?|wallet|quota)\b.{0,20}"
            r"\b(?:empty|insufficient|not enough|exhausted|too low|used up|depleted)"
            r"|(?:out of|no|not enough|more) (?:credits?|balance|funds)\b|arrears|overdue"
            r"|余额|欠费",
            re.IGNORECASE,
        ),
    ),
    (
        401,
        lazy_pattern(
            r"(?:invalid|incorrect|wrong|missing|expired|unknown|no)[ _](?:api|access|auth)?[ _-]?"
            r"(?:key|token)\b|(?:api|access|auth)[ _-]?(?:key|token).{0,20}"
            r"(?:invalid|incorrect|not valid|expired)"
            r"|unauthori[sz]ed|authentication|not authori[sz]ed|login fail",
            re.IGNORECASE,
        ),
    ),
    (
        429,
        lazy_pattern(
            r"rate[ _-]?limit|too many requests|throttl|concurrency|requests per",
            re.IGNORECASE,
        ),
    ),
    (
        503,
        lazy_pattern(
            r"overload|busy|unavailable|(?:try|retry) again|retry later|capacity|temporar",
            re.IGNORECASE,
        ),
    ),
    (
        404,
        lazy_pattern(r"model.{0,80}(?:not found|does not exist|not exist|unknown)", re.IGNORECASE),
    ),
)
"""The HTTP status that words mean, for a document that tells none; the first that fits holds."""

_LENGTH: Final = lazy_pattern(
    r"context[ _-]?(?:length|window|size|limit)|length_exceeded|exceed_context"
    r"|max(?:imum)?[ _](?:model|prompt|context|input|sequence)[ _](?:length|tokens)"
    r"|tokens? than the (?:context|model)|too many (?:input |prompt )?tokens|reduce the length"
    r"|\b(?:prompt|input|messages?|request|conversation)\b[^.]{0,60}"
    r"\b(?:too (?:long|large|many)|longer than|must have less|must be <=)"
    r"|\btokens?\b[^.]{0,80}\bexceed|\bexceed[^.]{0,60}\b(?:tokens?|context)\b"
    r"|range of input length|token limit|输入.{0,20}(?:超|过长)|超长",
    re.IGNORECASE,
)
"""How services say that a prompt is longer than their model can read. No status and no code is
common to them: they use 400, 413, 422 and 500."""

_LIMIT: Final = lazy_pattern(
    r"(?:context|limit|maximum|max|n_ctx|<=)\D{0,60}?(\d[\d,]{2,12})|> (\d[\d,]{2,12})",
    re.IGNORECASE,
)

LIMIT_TOKENS_MAX: Final = 100_000_000

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
    `status` is the HTTP status that the document tells, else None, and `means` the one that its
    words tell. `is_spent`: no waiting helps, the account's money or quota is used up.
    `refuses_key`: it is about the key. `is_too_long`: the prompt has more tokens than the model
    can read, `limit_tokens` if the service says how many these are.
    """

    message: str = ""
    code: str = ""
    param: str = ""
    status: int | None = None
    is_spent: bool = False
    refuses_key: bool = False
    retry_after_seconds: float | None = None

    @property
    def means(self) -> int | None:
        """The HTTP status that the words mean; None where they say nothing."""
        text = f"{self.code} {self.message}"
        return next((status for status, words in _KINDS if words.search(text)), None)

    @property
    def is_too_long(self) -> bool:
        """Whether it is about the length of the prompt."""
        return _LENGTH.search(f"{self.code} {self.message}") is not None

    @property
    def limit_tokens(self) -> int | None:
        """How many tokens the model can read, if the text says so."""
        found = _LIMIT.search(self.message)
        if found is None:
            return None
        tokens = int((found[1] or found[2]).replace(",", ""))
        return tokens if tokens <= LIMIT_TOKENS_MAX else None


def told_in_words(text: str) -> ErrorDocument:
    """An error that has no other form than its text."""
    return ErrorDocument(_text(text))


def reports_error(document: JsonObject) -> bool:
    """Whether a document that came as a part of a reply, under HTTP 200, is none but an error."""
    if document.get("error"):
        return True
    match document.get("base_resp"):
        case {"status_code": int() as code} if code:
            return True
        case _:
            pass
    if any(document.get(key) and not isinstance(document[key], str) for key in _OF_REPLIES):
        return False
    is_failure = document.get("success") is False or document.get("object") == ERROR_OBJECT
    return is_failure or error_document(document) is not None


def error_document(document: Json) -> ErrorDocument | None:
    """The error that a JSON document tells, or None where it tells none."""
    if isinstance(document, list):
        return error_document(document[0]) if document and isinstance(document[0], dict) else None
    if not isinstance(document, dict):
        return None
    for wrapper in _WRAPPERS:
        match document.get(wrapper):
            case str() as message if message:
                beside = _said({key: document[key] for key in document if key != wrapper})
                said = f"{message}: {beside}" if beside else message
                return _from_fields({**document, "message": said})
            case dict() as inner:
                return _from_fields(inner)
            case [dict() as inner, *_]:
                return _from_fields(inner)
            case _:
                continue
    match document.get("detail"):
        case list() as details:
            return _from_mistakes(details)
        case dict() as inner:
            return error_document(inner)
        case _:
            return _from_fields(document) if _said(document) else None


def _from_fields(fields: JsonObject) -> ErrorDocument:
    kind, details = _text(fields.get("type")), fields.get("details")
    code = next((fields[key] for key in _CODES if key in fields), None)
    status = _status(code)
    told = (
        str(code) if isinstance(code, int) and status is None and code is not True else _text(code)
    )
    if isinstance(details, dict):
        told = _text(details.get("error_code")) or told
    words = (told.lower(), kind.lower())
    document = ErrorDocument(
        message=_message(fields),
        code=told,
        param=_text(fields.get("param")),
        status=_status(code)
        or next((_STATUSES[word] for word in words if word in _STATUSES), None),
        is_spent=any(_SPENT.fullmatch(word) for word in words),
    )
    return _with_google(document, details) if isinstance(details, list) else document


def _status(code: Json) -> int | None:
    """The HTTP status that a code is, or begins with (`40303`, of FastChat and others)."""
    digits = str(code) if isinstance(code, int | str) and not isinstance(code, bool) else ""
    if len(digits) not in (3, 5) or not digits.isascii() or not digits.isdecimal():
        return None
    return int(digits[:3]) if 400 <= int(digits[:3]) <= 599 else None


def _said(fields: JsonObject) -> str:
    """The text of the error, under whatever word it stands."""
    return next((text for key in _MESSAGES if (text := _text(fields.get(key)))), "")


def _message(fields: JsonObject) -> str:
    """The text, and after it that of the provider behind a router."""
    said = _said(fields)
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
    return whole_characters(value[:MESSAGE_CHARACTERS_MAX]) if isinstance(value, str) else ""
