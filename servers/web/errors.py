"""What can go wrong with the web, by who can do something about it.

Each message is one sentence for a person or a model: what happened, with the status where a server
gave one, and what to try.
"""


class WebError(Exception):
    """Base of all."""


class AddressRefused(WebError):
    """An address that is never asked: of another scheme, private, or wrong in itself."""


class PageUnavailable(WebError):
    """The page can't be had or read; `status` is what its server answered, if it did."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RateLimited(WebError):
    """Too much was asked, of us or of a server; the message says when to come back."""


class SearchUnavailable(WebError):
    """The search engine gave no results to read: refused, changed its page, or lacks a key."""
