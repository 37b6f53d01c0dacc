"""What goes wrong between us and a model's service, as `ModelUnavailable` in the user's words.

Every message names the model and what to do. The texts of HTTP libraries and SDKs are not passed
on, for some quote headers; what a service says is, in one short line without our key, which it may
echo.
"""

import re
import socket
import ssl
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from config.models_file import IDLE_SECONDS, REQUEST_TIMEOUT_SECONDS
from core.base.causes import causes
from core.base.frozen import frozen
from core.base.http import LONGEST_PAUSE_SECONDS, may_pass
from core.base.redaction import Redactor
from core.base.text import clause, one_line, seconds_text
from core.errors import NEW_SESSION, ModelUnavailable
from core.values import JsonObject
from modules.models.credentials import ApiKey
from modules.models.http.error_document import ErrorDocument, error_document, reports_error

QUOTE_CHARACTERS_MAX = 300
"""How much of what a service says a message shows."""

ELSEWHERE = "or choose another model with --model"

_HTML: Final = re.compile(rb"\A\s*(?:<!doctype\s+html|<html)\b", re.IGNORECASE)


_OF_LENGTH: Final = frozenset({200, 400, 404, 413, 422, 500})
"""Under these statuses services say that a prompt is too long; 429 is about many requests."""


def is_html(body: bytes) -> bool:
    """Whether a body is a web page, which no message quotes."""
    return _HTML.match(body) is not None


def _waiting(pause: float | None, usual: str) -> str:
    """What to do meanwhile, by the pause that the service asks for."""
    if pause is None or pause <= LONGEST_PAUSE_SECONDS:
        return usual
    return f"it asks to be left alone for {seconds_text(pause)}, which is not waited for: try later"


@frozen
class Advice:
    """What the user of one service can do, each the end of a sentence.

    `unreachable`: nothing answers at its address; `unknown`: it knows no such model (HTTP 404);
    `no_key`: it wants a key, and we have none.
    """

    unreachable: str
    unknown: str
    no_key: str


class ServiceError(ModelUnavailable):
    """The service answered with an error: `status` is that of HTTP, `said` its document.

    An error within a reply that had begun has the status that the document tells, else 200.
    """

    def __init__(
        self,
        message: str,
        status: int,
        said: ErrorDocument,
        *,
        transient: bool = False,
        retry_after_seconds: float | None = None,
        is_too_long: bool = False,
    ) -> None:
        super().__init__(
            message,
            transient=transient,
            retry_after_seconds=retry_after_seconds,
            is_too_long=is_too_long,
            limit_tokens=said.limit_tokens if is_too_long else None,
        )
        self.status = status
        self.said = said


class ServiceErrors:
    """Where one model's service is and what it may cost in time; makes its errors.

    Attributes:
        base_url: what stands before the paths of its API; messages name its host and port only.
        key: goes with every request, and shows in no message.
        advice: what the user can do about it.
        timeout_seconds: how long it may send nothing before its reply begins.
        idle_seconds: how long it may send nothing within a reply.
        place: its host and port.
    """

    def __init__(
        self,
        subject: str,
        base_url: str,
        advice: Advice,
        key: ApiKey | None = None,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`subject` begins every message, such as `model openai:gpt-5`."""
        self.base_url = base_url
        self.key = key
        self.timeout_seconds = timeout_seconds
        self.idle_seconds = min(idle_seconds, timeout_seconds)
        self._subject = subject
        self.advice = advice
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._host = parts.hostname or ""
        self.place = f"{self._host}:{port}"
        secret = key.value if key is not None else ""
        self._redactor = Redactor({"API_KEY": secret}, (secret,))

    def unavailable(self, what: str, *, transient: bool = False) -> ModelUnavailable:
        """An error in any words; `what` goes on a sentence that begins with the model."""
        return ModelUnavailable(f"{self._subject} {what}", transient=transient)

    def unusable_settings(self) -> ModelUnavailable:
        """A client that can't be made as things are set."""
        return self.unavailable(
            "can't be asked: the proxy or certificate settings of the environment, or base_url, "
            "are of no use; check HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and config/models.json"
        )

    def unconnected(self, error: Exception) -> ModelUnavailable:
        """A request that got no answer at all, from what the HTTP library raised."""
        behind = list(causes(error))
        for cause in behind:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return self.unavailable(
                    f"can't be trusted: the certificate of {self.place} is refused "
                    f"({cause.verify_message}); check base_url, SSL_CERT_FILE and this "
                    "machine's clock"
                )
        return self.unavailable(self._why_unconnected(error, behind), transient=True)

    def in_body(self, error: Exception, *, has_begun: bool = False) -> ModelUnavailable:
        """A reply whose connection broke, or fell silent; `has_begun`: in the midst of it."""
        if not isinstance(error, TimeoutError) and "Timeout" not in type(error).__name__:
            return self.broke_off()
        what = f"fell silent in the middle of its reply: {self.place} sent nothing for"
        if has_begun and self.idle_seconds < self.timeout_seconds:
            return self.unavailable(
                f"{what} {self.idle_seconds:g} s; try again, or raise models.idle_seconds in the "
                f"profile, {ELSEWHERE}",
                transient=True,
            )
        return self.unavailable(
            f"fell silent: {self.place} sent nothing for {self.timeout_seconds:g} s; try "
            f"again, or raise timeout_seconds in config/models.json {ELSEWHERE}",
            transient=True,
        )

    def broke_off(self, why: str = "") -> ModelUnavailable:
        """A reply that ended before it was complete; `why` as the service says, if it does."""
        reason = (
            f"the service stopped it ({self._quote(why)})"
            if why
            else f"{self.place} closed the connection"
        )
        return self.unavailable(
            f"broke off in the middle of its reply: {reason}; try again", transient=True
        )

    def too_long(self, what: str) -> ModelUnavailable:
        """A reply over one of our bounds."""
        return self.unavailable(f"sent {what}, which no reply needs; check base_url, {ELSEWHERE}")

    def unreadable(self, body: bytes) -> ModelUnavailable:
        """A success that holds something else than the protocol says."""
        if is_html(body):
            return self.unavailable(
                f"answered with a web page: {self.place} is not its API, or a proxy in between "
                "wants a login; check base_url in config/models.json and the network"
            )
        said = self._quote(body[: QUOTE_CHARACTERS_MAX * 4].decode("utf-8", "replace"))
        return self.unavailable(
            f"sent a reply that can't be read ({said[:100] or 'nothing'}); check base_url in "
            f"config/models.json, {ELSEWHERE}"
        )

    def without_text(
        self, reason: str, *, was_cut: bool = False, transient: bool = False
    ) -> ModelUnavailable:
        """A reply that ended with nothing in it; `was_cut` by the limit of output tokens."""
        advice = (
            "give it more room with max_output_tokens, or less to think with thinking, in "
            "config/models.json"
            if was_cut
            else f"put the request in other words, {ELSEWHERE}"
        )
        return self.unavailable(
            f"gave a reply without text ({self._quote(reason)}); {advice}", transient=transient
        )

    def stopped(self, reason: str) -> ModelUnavailable:
        """A reply that the service stopped once it had begun."""
        return self.unavailable(
            f"was stopped in its reply ({self._quote(reason)}); put the request in other words, "
            f"{ELSEWHERE}"
        )

    def refused_prompt(self, reason: str) -> ModelUnavailable:
        """A prompt that the service does not let its model see."""
        return self.unavailable(
            f"refused the prompt ({self._quote(reason)}); put the request in other words, "
            f"{ELSEWHERE}"
        )

    def in_reply(self, said: ErrorDocument, *, has_begun: bool = True) -> ServiceError:
        """An error that came under HTTP 200: in place of a reply, or in the middle of it.

        Its words tell the status where nothing else does. What says nothing of that kind may pass,
        for the request had been accepted, unless a code of the service's own came in place of it.
        """
        status = HTTPStatus.BAD_REQUEST if said.is_too_long else said.status or said.means
        if status is not None:
            return self.refusal(status, said)
        is_final = not has_begun and bool(said.code)
        what, then = (
            ("answered with an error", "")
            if is_final
            else ("failed while it wrote its reply", "try again, or ")
        )
        return ServiceError(
            f"{self._subject} {what}{self._said(said)}; {then}{ELSEWHERE.removeprefix('or ')}",
            HTTPStatus.OK,
            said,
            transient=not is_final,
        )

    def reported(self, document: JsonObject, *, has_begun: bool = True) -> ServiceError | None:
        """The error that an event, line or body reports under HTTP 200, if any."""
        if not reports_error(document):
            return None
        return self.in_reply(error_document(document) or ErrorDocument(), has_begun=has_begun)

    def refusal(
        self,
        status: int,
        said: ErrorDocument,
        retry_after_seconds: float | None = None,
        *,
        is_final: bool = False,
    ) -> ServiceError:
        """A status that is no success; `is_final`: the service says that no other try helps."""
        pause = said.retry_after_seconds if retry_after_seconds is None else retry_after_seconds
        # Who names a pause says that waiting helps, whatever the words.
        in_words = said.means if pause is None else None
        is_spent = said.is_spent or HTTPStatus.PAYMENT_REQUIRED in (status, in_words)
        is_too_long = said.is_too_long and status in _OF_LENGTH
        transient = may_pass(status) and not (is_spent or is_final or is_too_long)
        return ServiceError(
            f"{self._subject} {self._why_refused(status, said, pause, is_spent, is_too_long)}",
            status,
            said,
            transient=transient,
            retry_after_seconds=pause if transient else None,
            is_too_long=is_too_long,
        )

    def redirect(self, status: int, target: str) -> ServiceError:
        """A redirect, which is not followed: the key is meant for one host only."""
        where = f" to {self._quote(target)}" if target else ""
        return ServiceError(
            f"{self._subject} is not at {self.place}: the address points elsewhere{where} "
            f"(HTTP {status}); set the right one as base_url in config/models.json",
            status,
            ErrorDocument(),
        )

    def _why_unconnected(self, error: Exception, behind: list[BaseException]) -> str:
        kind, then = type(error).__name__, self.advice.unreachable
        if kind == "ConnectTimeout":
            return f"can't be reached: {self.place} takes no connection; {then}"
        if kind == "ProxyError":
            return "can't be reached: the proxy of the environment refuses; check HTTPS_PROXY"
        if kind.endswith("Timeout"):
            return f"did not answer: {self.place} was silent for {self.timeout_seconds:g} s; {then}"
        for cause in behind:
            if isinstance(cause, socket.gaierror):
                return f"can't be reached: no address is known for host '{self._host}'; {then}"
            if isinstance(cause, ConnectionRefusedError):
                return f"can't be reached: nothing listens at {self.place}; {then}"
            if isinstance(cause, ssl.SSLError):
                return f"can't be reached: {self.place} does not speak TLS as it should; {then}"
        if kind == "ConnectError":
            return f"can't be reached at {self.place}; {then}"
        return f"gave no answer: {self.place} closed the connection; {then}"

    def _why_refused(
        self,
        status: int,
        said: ErrorDocument,
        pause: float | None,
        is_spent: bool,
        is_too_long: bool,
    ) -> str:
        quoted = self._said(said)
        if is_too_long:
            return (
                f"can't read so long a prompt{quoted}; shorten the request, {NEW_SESSION}, "
                f"{ELSEWHERE}"
            )
        if is_spent:
            return (
                f"has no credit or quota left{quoted}; check the account's plan and billing, "
                f"{ELSEWHERE}"
            )
        about_key = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        in_words = status == HTTPStatus.BAD_REQUEST and said.means in about_key
        if said.refuses_key or status in about_key or in_words:
            return self._why_key(status, quoted)
        if status == HTTPStatus.NOT_FOUND:
            return f"is not known at {self.place}{quoted}; {self.advice.unknown}"
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return (
                f"refused the request as too large{quoted}; make it shorter, or use smaller images"
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return f"is asked too often{quoted}; {_waiting(pause, 'wait a minute')}, {ELSEWHERE}"
        if may_pass(status):
            then = _waiting(pause, "try again in a moment")
            return f"is in trouble (HTTP {status}){quoted}; {then}, {ELSEWHERE}"
        return f"refused the request (HTTP {status}){quoted}; {ELSEWHERE.removeprefix('or ')}"

    def _why_key(self, status: int, quoted: str) -> str:
        if self.key is None:
            return f"wants a key (HTTP {status}){quoted}; {self.advice.no_key}"
        if status == HTTPStatus.FORBIDDEN:
            return (
                f"is not open to the key in {self.key.origin}{quoted}; check what its account may "
                f"use, {ELSEWHERE}"
            )
        return f"refused the key in {self.key.origin}{quoted}; put a valid one there"

    def _said(self, said: ErrorDocument) -> str:
        text = self._quote(said.message)
        return f": {clause(text)}" if text else ""

    def _quote(self, text: str) -> str:
        """A service's text as one printable line, cut to a length, without our key."""
        # Cut only when the key is out: a part of it could stay.
        return one_line(self._redactor.text(text), QUOTE_CHARACTERS_MAX)
