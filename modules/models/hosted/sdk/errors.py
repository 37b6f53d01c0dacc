"""What can go wrong with a model behind a provider's SDK, in words for the user.

Exceptions of SDKs hold the request with the key in a header: ours are raised `from None`, and
quote what the service said in one short line without the key.
"""

import ssl

from core.base.causes import causes
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import ModelUnavailable
from modules.models.credentials.api_key import ApiKey

QUOTE_CHARACTERS_MAX = 500
"""How much of a service's text an error quotes."""

HTTP_UNAUTHORIZED = 401
HTTP_PAYMENT_REQUIRED = 402
HTTP_FORBIDDEN = 403
HTTP_NOT_FOUND = 404
HTTP_TOO_LARGE = 413
HTTP_TOO_MANY_REQUESTS = 429
HTTP_SERVER_ERRORS = 500

_PASSING = (408, 409, 425)
"""Statuses below 500 that say more of the moment than of the request."""


class SdkFaults:
    """Words the failures of one model."""

    def __init__(self, name: str, key: ApiKey, timeout_seconds: float) -> None:
        """`name` begins every message; `timeout_seconds` is the bound on silence."""
        self._name = name
        self._key = key
        self._timeout_seconds = timeout_seconds
        self._redactor = Redactor({"API_KEY": key.value})

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"SdkFaults({self._name!r})"

    def unavailable(
        self, what: str, *, transient: bool = False, retry_after_seconds: float | None = None
    ) -> ModelUnavailable:
        """A failure in any words; `what` goes on a sentence that begins with the model."""
        return ModelUnavailable(
            f"model {self._name} {what}",
            transient=transient,
            retry_after_seconds=retry_after_seconds,
        )

    def check_key(self) -> None:
        """Refuse a key that no header can hold: HTTP libraries quote it when they do.

        Raises:
            ModelUnavailable: it is no key.
        """
        value = self._key.value
        if not value or not value.isascii() or not value.isprintable() or " " in value:
            raise self.unavailable(
                "has a key that can't be one: it holds characters other than ASCII letters, "
                f"digits and signs; check {self._key.origin}"
            )

    def settings(self, error: Exception) -> ModelUnavailable:
        """The client could not be made."""
        return self.unavailable(
            "can't be reached: the proxy or certificate settings of the environment are no use, "
            f"or its SDK is not whole ({type(error).__name__}); check HTTPS_PROXY, ALL_PROXY and "
            "SSL_CERT_FILE, and install Cortex-R once more if they are right"
        )

    def refusal(
        self,
        status: int,
        said: str,
        *,
        key_refused: bool = False,
        spent: bool = False,
        retry_after_seconds: float | None = None,
    ) -> ModelUnavailable:
        """The service answered with an error.

        `key_refused`, `spent` (a quota that a pause of minutes does not renew): what the body
        says beyond the status.
        """
        said = self._quote(said)
        if key_refused or status in (HTTP_UNAUTHORIZED, HTTP_FORBIDDEN):
            return self.unavailable(f"refused the key: {said}; check {self._key.origin}")
        if status == HTTP_PAYMENT_REQUIRED:
            return self.unavailable(
                f"is not paid for: {said}; check the billing of the key's account"
            )
        if status == HTTP_NOT_FOUND:
            return self.unavailable(
                f"is not known to the service: {said}; name another model with --model "
                f"{self._name.partition(':')[0]}:MODEL or in config/models.json"
            )
        if status == HTTP_TOO_LARGE:
            return self.unavailable(
                f"refused the request, which is too large: {said}; make it shorter, or use "
                "smaller images"
            )
        if status == HTTP_TOO_MANY_REQUESTS:
            return self._too_many(said, spent, retry_after_seconds)
        if status >= HTTP_SERVER_ERRORS:
            return self.unavailable(
                f"is in trouble (HTTP {status}): {said}; try again in a moment, or choose "
                "another model with --model",
                transient=not spent,
                retry_after_seconds=retry_after_seconds,
            )
        return self.unavailable(
            f"refused the request (HTTP {status}): {said}",
            transient=status in _PASSING,
            retry_after_seconds=retry_after_seconds if status in _PASSING else None,
        )

    def of_transport(self, error: Exception, *, is_writing: bool) -> ModelUnavailable | None:
        """What the HTTP library raised; None if the error is none of its. `is_writing`: mid-reply.

        Raises nothing; imports httpx2, which is there already whenever it can have raised.
        """
        import httpx2

        from modules.models.hosted.sdk.http import ReplyTooLong

        if isinstance(error, ReplyTooLong):
            return self.unavailable(f"sent {error}; choose another with --model")
        if isinstance(error, httpx2.TimeoutException) and not isinstance(
            error, httpx2.ConnectTimeout
        ):
            return self.timed_out()
        if not isinstance(error, httpx2.TransportError | httpx2.InvalidURL | OSError):
            return None
        for cause in causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                return self.unavailable(
                    f"can't be trusted: its certificate is refused ({cause.verify_message}); "
                    "check SSL_CERT_FILE, and whether a proxy stands in between"
                )
        return self.broke_off(error) if is_writing else self.unreachable(error)

    def timed_out(self) -> ModelUnavailable:
        """Nothing came for too long."""
        return self.unavailable(
            f"did not answer within {self._timeout_seconds:g} s; check the network connection, "
            "or try again",
            transient=True,
        )

    def unreachable(self, error: Exception) -> ModelUnavailable:
        """No connection, or one that ended without a reply."""
        return self.unavailable(
            f"can't be reached ({type(error).__name__}); check the network connection, or "
            "work without it: --model offline",
            transient=True,
        )

    def broke_off(self, error: Exception | None = None) -> ModelUnavailable:
        """The connection ended in the middle of a reply."""
        cause = f" ({type(error).__name__})" if error is not None else ""
        return self.unavailable(
            f"broke off its reply{cause}; check the network connection, or try again",
            transient=True,
        )

    def unreadable(self, what: str) -> ModelUnavailable:
        """A reply that is not of the service's format: `what` came instead, or was raised."""
        return self.unavailable(
            f"sent a reply that can't be read ({self._quote(what)}); "
            "is there a proxy in between that wants a login?"
        )

    def without_text(
        self, reason: str, *, was_cut: bool = False, transient: bool = False
    ) -> ModelUnavailable:
        """A reply that ended with nothing in it; `was_cut` by the limit of output tokens."""
        advice = (
            "give it more room with max_output_tokens, or less to think with thinking, in "
            "config/models.json"
            if was_cut
            else "put the request in other words, or choose another model with --model"
        )
        return self.unavailable(
            f"gave a reply without text ({self._quote(reason)}); {advice}", transient=transient
        )

    def stopped(self, reason: str) -> ModelUnavailable:
        """The service stopped a reply that had begun."""
        return self.unavailable(
            f"was stopped in its reply ({self._quote(reason)}); put the request in other words, "
            "or choose another model with --model"
        )

    def _too_many(self, said: str, spent: bool, pause_seconds: float | None) -> ModelUnavailable:
        wait = "wait until it is renewed" if spent else "wait a minute"
        return self.unavailable(
            f"has no quota left: {said}; {wait}, or check the key's plan and limits",
            transient=not spent,
            retry_after_seconds=pause_seconds,
        )

    def _quote(self, said: str) -> str:
        """A service's text as one line, without the key."""
        # Cut only when the key is out: a part of it could stay.
        return one_line(self._redactor.text(said), QUOTE_CHARACTERS_MAX) or "no explanation"
