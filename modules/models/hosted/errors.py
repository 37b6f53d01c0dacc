"""What goes wrong between us and a model's service, as `ModelUnavailable` in the user's words."""

import re
import socket
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from core.base.causes import causes
from core.base.redaction import Redactor
from core.base.text import clause, one_line
from core.errors import ModelUnavailable
from core.values import Json, JsonObject
from modules.models.credentials.api_key import ApiKey

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


QUOTE_CHARACTERS_MAX = 300
"""How much of what a service says a message shows."""

ELSEWHERE = "or choose another model with --model"

_PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that say more of the moment than of the request (RFC 9110, 15.5; RFC 8470,
5.2; RFC 6585, 4); 409 is what OpenAI's own clients try again as well."""

_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes under HTTP 429 that no waiting mends: the account has no money left."""

_PASSING_CODES = frozenset(
    {"server_error", "internal_server_error", "internalservererror", "service_unavailable"}
    | {"overloaded_error", "rate_limit_exceeded", "rate_limit_error", "timeout", "api_error"}
)
"""Codes of an error within a reply that say the same as a passing status."""

_HTML = re.compile(rb"\A\s*(?:<!doctype\s+html|<html)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Advice:
    """What the user of one service can do, each the end of a sentence.

    `unreachable`: nothing answers at its address; `unknown`: it knows no such model (HTTP 404);
    `no_key`: it wants a key, and we have none.
    """

    unreachable: str
    unknown: str
    no_key: str


class ServiceRefusal(ModelUnavailable):
    """The service answered with an error: `status` is that of HTTP, `error` what it says.

    An error within a reply that had begun has the status that the error itself names, else 200.
    """

    def __init__(
        self,
        message: str,
        status: int,
        error: ServiceError,
        *,
        transient: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        """Keep what a backend may judge the refusal by beside the message."""
        super().__init__(message, transient=transient, retry_after_seconds=retry_after_seconds)
        self.status = status
        self.error = error


class WireFaults:
    """Words the failures of one model's service."""

    def __init__(
        self,
        subject: str,
        base_url: str,
        advice: Advice,
        key: ApiKey | None,
        idle_seconds: float,
    ) -> None:
        """`subject` begins every message; of `base_url` only host and port are ever named."""
        self._subject = subject
        self._advice = advice
        self._key = key
        self._idle_seconds = idle_seconds
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._host = parts.hostname or ""
        self._place = f"{self._host}:{port}"
        secret = key.value if key is not None else ""
        self._redactor = Redactor({"API_KEY": secret}, (secret,))

    def unconnected(self, error: Exception) -> ModelUnavailable:
        """A request that got no answer at all, from what the HTTP library raised."""
        behind = list(causes(error))
        for cause in behind:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return self._fault(
                    f"can't be trusted: the certificate of {self._place} is refused "
                    f"({cause.verify_message}); check base_url, SSL_CERT_FILE and this "
                    "machine's clock"
                )
        return self._fault(self._why_unconnected(error, behind), transient=True)

    def unsendable(self, reason: str) -> ModelUnavailable:
        """A request that can't be sent as things are set."""
        return self._fault(f"can't be asked: {reason}")

    def in_body(self, error: Exception) -> ModelUnavailable:
        """A reply whose connection broke; or fell silent."""
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return self._fault(
                f"fell silent: {self._place} sent nothing for {self._idle_seconds:g} s; try "
                f"again, or raise timeout_seconds in config/models.json {ELSEWHERE}",
                transient=True,
            )
        return self.broke_off()

    def broke_off(self) -> ModelUnavailable:
        """A reply that ended before it was complete."""
        return self._fault(
            f"broke off in the middle of its reply: {self._place} closed the connection; try again",
            transient=True,
        )

    def too_long(self, what: str) -> ModelUnavailable:
        """A reply over one of our bounds."""
        return self._fault(f"sent {what}, which no reply needs; check base_url, {ELSEWHERE}")

    def not_json(self, media_type: str, body: bytes) -> ModelUnavailable:
        """A success that holds something else than the protocol says."""
        if _HTML.match(body) or media_type == "text/html":
            return self._fault(
                f"answered with a web page: {self._place} is not its API, or a proxy in between "
                "wants a login; check base_url in config/models.json and the network"
            )
        said = self._one_line(body[: QUOTE_CHARACTERS_MAX * 4].decode("utf-8", "replace"))
        return self._fault(
            f"sent a reply that can't be read ({said[:100] or 'nothing'}); check base_url in "
            f"config/models.json, {ELSEWHERE}"
        )

    def in_reply(self, error: ServiceError) -> ServiceRefusal:
        """An error that came under HTTP 200, as a body or in the middle of a stream.

        One that says nothing of its kind may pass: the request had been accepted.
        """
        if error.status is not None:
            return self.refusal(error.status, error)
        words = {error.code.lower(), error.kind.lower()}
        if words & _SPENT:
            return self.refusal(HTTPStatus.TOO_MANY_REQUESTS, error)
        return self._refusal(
            f"failed while it wrote its reply{self._said(error)}; try again, {ELSEWHERE}",
            HTTPStatus.OK,
            error,
            transient=not (words - {""}) or bool(words & _PASSING_CODES),
        )

    def refusal(
        self, status: int, error: ServiceError, retry_after_seconds: float | None = None
    ) -> ServiceRefusal:
        """A status that is no success."""
        spent = bool({error.code, error.kind} & _SPENT) or status == HTTPStatus.PAYMENT_REQUIRED
        transient = not spent and (status in _PASSING or status >= 500)
        return self._refusal(
            self._why_refused(status, error, spent),
            status,
            error,
            transient=transient,
            retry_after_seconds=retry_after_seconds if transient else None,
        )

    def redirect(self, status: int, target: str) -> ServiceRefusal:
        """A redirect, which is not followed: the key is meant for one host only."""
        where = f" to {self._one_line(target)}" if target else ""
        return self._refusal(
            f"is not at {self._place}: the address points elsewhere{where} (HTTP {status}); set "
            "the right one as base_url in config/models.json",
            status,
            ServiceError(),
        )

    def error_document(self, document: Json, body: bytes) -> ServiceError:
        """The error in a refusal's body; where it is in no known form, its text as it stands."""
        if (error := service_error(document)) is not None:
            return error
        return ServiceError("" if _HTML.match(body) else body.decode("utf-8", "replace"))

    def _why_unconnected(self, error: Exception, behind: list[BaseException]) -> str:
        kind, then = type(error).__name__, self._advice.unreachable
        if kind == "ConnectTimeout":
            return f"can't be reached: {self._place} takes no connection; {then}"
        if kind == "ProxyError":
            return "can't be reached: the proxy of the environment refuses; check HTTPS_PROXY"
        if kind.endswith("Timeout"):
            return f"did not answer: {self._place} was silent for {self._idle_seconds:g} s; {then}"
        for cause in behind:
            if isinstance(cause, socket.gaierror):
                return f"can't be reached: no address is known for host '{self._host}'; {then}"
            if isinstance(cause, ConnectionRefusedError):
                return f"can't be reached: nothing listens at {self._place}; {then}"
            if isinstance(cause, ssl.SSLError):
                return f"can't be reached: {self._place} does not speak TLS as it should; {then}"
        if kind == "ConnectError":
            return f"can't be reached at {self._place}; {then}"
        return f"gave no answer: {self._place} closed the connection; {then}"

    def _why_refused(self, status: int, error: ServiceError, spent: bool) -> str:
        said = self._said(error)
        if spent:
            return f"has no credit left{said}; check the account's plan and billing, {ELSEWHERE}"
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return self._why_key(status, said)
        if status == HTTPStatus.NOT_FOUND:
            return f"is not known at {self._place}{said}; {self._advice.unknown}"
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return f"is asked too often{said}; wait a minute, {ELSEWHERE}"
        if status in _PASSING or status >= 500:
            return f"is in trouble (HTTP {status}){said}; try again in a moment, {ELSEWHERE}"
        return f"refused the request (HTTP {status}){said}; {ELSEWHERE.removeprefix('or ')}"

    def _why_key(self, status: int, said: str) -> str:
        if self._key is None:
            return f"wants a key (HTTP {status}){said}; {self._advice.no_key}"
        if status == HTTPStatus.UNAUTHORIZED:
            return f"refused the key in {self._key.origin}{said}; put a valid one there"
        return (
            f"is not open to the key in {self._key.origin}{said}; check what its account may "
            f"use, {ELSEWHERE}"
        )

    def _said(self, error: ServiceError) -> str:
        text = self._one_line(error.message)
        return f": {clause(text)}" if text else ""

    def _one_line(self, text: str) -> str:
        """A service's text as one printable line, cut to a length, without our key."""
        return one_line(self._redactor.text(text), QUOTE_CHARACTERS_MAX)

    def _fault(self, what: str, *, transient: bool = False) -> ModelUnavailable:
        return ModelUnavailable(f"{self._subject} {what}", transient=transient)

    def _refusal(
        self,
        what: str,
        status: int,
        error: ServiceError,
        *,
        transient: bool = False,
        retry_after_seconds: float | None = None,
    ) -> ServiceRefusal:
        return ServiceRefusal(
            f"{self._subject} {what}",
            status,
            error,
            transient=transient,
            retry_after_seconds=retry_after_seconds,
        )
