"""The request as it comes in: from arguments or stdin, untrusted, bounded and cleaned."""

import re
from typing import BinaryIO, Literal, TypeAlias

from core.base.text import with_line_feeds
from core.errors import UsageError

StdinUse: TypeAlias = Literal["auto", "always", "never"]
"""Whether stdin goes with a request: as its kind has it, in any case, or not at all."""

MAX_REQUEST_CHARACTERS = 100_000
"""About 25,000 tokens; more belongs into a file that a tool reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""C0 but for tab and line end, DEL, and C1, whose U+009B drives a terminal like ESC [."""

_NOT_SMUGGLED_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of argv."""


def clean_request(text: str) -> str:
    r"""The request without control characters, line ends as `\n`, outer white space dropped.

    Raises:
        UsageError: nothing is left, or it is too long.
    """
    if len(text) > MAX_REQUEST_CHARACTERS:
        raise UsageError(
            f"the request has more than {MAX_REQUEST_CHARACTERS:,} characters; "
            "shorten it, or put the text into a file and name the file"
        )
    readable = with_line_feeds(_without_surrogates(text))
    cleaned = _CONTROL.sub(" ", readable).strip()
    if not cleaned:
        raise UsageError('the request is empty; say what you want, such as: agent.py "add 5 and 7"')
    return cleaned


def _without_surrogates(text: str) -> str:
    """The text as UTF-8 has it.

    Python hands on bytes of argv that the locale can't read as U+DC80 to U+DCFF (PEP 383): under
    `LC_ALL=C` all of UTF-8, else what is not UTF-8, which becomes U+FFFD as it does from stdin.
    """
    if text.isascii():
        return text
    smuggled = _NOT_SMUGGLED_BYTES.sub("\ufffd", text)
    return smuggled.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_request(stream: BinaryIO) -> str:
    """A request from stdin, read only as far as a request may be long; a byte order mark goes.

    Raises:
        UsageError: stdin can't be read (its terminal is gone, say); else see `clean_request`.
    """
    try:
        data = stream.read(4 * MAX_REQUEST_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(
            f"stdin can't be read: {error.strerror or error}; "
            "pipe the request into it, or give it as an argument"
        ) from error
    return clean_request(data.decode("utf-8-sig", "replace"))
