"""Mail as a file: RFC 5322 with MIME (RFC 2045 to 2049).

All that it says is read: every part of the text in its order, mails inside it, and attachments of
the kinds that are read as files, each below a heading with its name.
"""

import email
import email.policy
import mimetypes
import re
from collections.abc import Iterator
from email.message import EmailMessage
from typing import cast

from servers.reading.context import ENCLOSED_DEPTH_MAX, Reading
from servers.reading.html.page import whole_markdown
from servers.reading.markdown import as_title, blocks, cleaned, heading, lowered, tidied, unwrapped
from servers.reading.source import Extracted, ExtractionError, Source
from servers.reading.text.encodings import text_of

SHOWN_HEADERS = ("From", "To", "Cc", "Date")
HEADER_CHARS_MAX = 1_000
ATTACHMENTS_MAX = 50
NAME_CHARS_MAX = 200

UNKNOWN_TYPE = "application/octet-stream"

_UTF_7_WORD = re.compile(rb"(=\?|\*=\"?)(?:[\w-]{0,20}utf[-_]?7|u7)(?=[?'*])", re.IGNORECASE)
"""The charset of an encoded word (RFC 2047) or of a parameter (RFC 2231)."""

SIGNATURES = frozenset({
    "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature",
})  # fmt: skip
"""Attachments that say nothing to a reader."""


def read_mail(source: Source, reading: Reading) -> Extracted:
    """Who, to whom, when, about what, and what it says."""
    # The library decodes headers itself, and UTF-7 is never decoded here (see `encodings`).
    data = _UTF_7_WORD.sub(rb"\1us-ascii", source.data)
    message = email.message_from_bytes(data, policy=email.policy.default)
    return Extracted(_markdown(message, reading), as_title(_header(message, "Subject")))


def _markdown(message: EmailMessage, reading: Reading) -> str:
    headers = [f"{name}: {value}" for name in SHOWN_HEADERS if (value := _header(message, name))]
    text: list[str] = []
    files: list[EmailMessage] = []
    try:
        for part in _leaves(message):
            if _is_text(part):
                text.append(_text(part))
            elif part.get_content_type() not in SIGNATURES:
                files.append(part)
    except Exception:  # noqa: BLE001 - broken MIME makes the library raise many things
        reading.note("the parts of the mail can't be told apart")
    if len(files) > ATTACHMENTS_MAX:
        reading.note(f"only the first {ATTACHMENTS_MAX} attachments are read")
        del files[ATTACHMENTS_MAX:]
    named = ", ".join(_told(part) for part in files)
    return blocks(
        [
            heading(1, cleaned(_header(message, "Subject"))),
            cleaned("\n".join(headers)),
            tidied(cleaned(blocks(text))),
            cleaned(f"Attachments: {named}") if named else "",
            *(_enclosed(part, reading) for part in files),
        ]
    )


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except Exception:  # noqa: BLE001 - broken headers make its parser raise many things
        return ""
    return unwrapped(value)[:HEADER_CHARS_MAX]


def _leaves(part: EmailMessage) -> Iterator[EmailMessage]:
    """The parts that are no containers, in their order; of alternatives the simplest with text."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        yield part
        return
    inner = [list(_leaves(each)) for each in _parts(part)]
    if part.get_content_subtype() != "alternative":
        yield from (leaf for leaves in inner for leaf in leaves)
        return
    with_text = [
        leaves for leaves in inner if any(_is_text(p) and _text(p).strip() for p in leaves)
    ]
    chosen = _plainest(with_text)
    for leaves in inner:
        for leaf in leaves:
            if leaves is chosen or leaf.get_content_disposition() == "attachment":
                yield leaf


def _plainest(alternatives: list[list[EmailMessage]]) -> list[EmailMessage] | None:
    """The one of plain text, else the last, which is the sender's best (RFC 2046, 5.1.4)."""
    for leaves in alternatives:
        if all(leaf.get_content_type() == "text/plain" for leaf in leaves):
            return leaves
    return alternatives[-1] if alternatives else None


def _parts(part: EmailMessage) -> list[EmailMessage]:
    return cast("list[EmailMessage]", part.get_payload())


def _is_text(part: EmailMessage) -> bool:
    """Whether it is text of the mail itself, and no file that came with it."""
    is_file = part.get_content_disposition() == "attachment" or bool(part.get_filename())
    # What claims to have parts and has none is shown as it is.
    return part.get_content_maintype() in ("text", "multipart") and not is_file


def _text(part: EmailMessage) -> str:
    text = text_of(_data(part), part.get_content_charset() or "")
    if part.get_content_subtype() != "html":
        return text
    return whole_markdown(text)


def _data(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _told(part: EmailMessage) -> str:
    """`report.pdf (12 kB)`; of an enclosed mail its subject."""
    size = len(_data(part))
    return f"{_name(part)} ({max(1, round(size / 1000))} kB)" if size else _name(part)


def _name(part: EmailMessage) -> str:
    name = part.get_filename() or ""
    if not name and part.is_multipart():
        name = _header(_parts(part)[0], "Subject")
    return unwrapped(cleaned(name or part.get_content_type()))[:NAME_CHARS_MAX]


def _enclosed(part: EmailMessage, reading: Reading) -> str:
    """What a file or a mail inside a mail says; why it says nothing is noted."""
    name = _name(part)
    if reading.is_careful or reading.depth >= ENCLOSED_DEPTH_MAX or reading.clock.left() < 0:
        reading.note("attachments are named only: reading them takes too long or goes too deep")
        return ""
    reading.depth += 1
    try:
        if part.is_multipart():
            told = _markdown(_parts(part)[0], reading)
            return lowered(told, 1)
        if part.get_content_maintype() == "image":
            return reading.pictures.describe(_data(part), name)
        told = reading.read_enclosed(_file(part, name), reading).markdown
    except (ExtractionError, MemoryError) as error:
        reading.note(f"{name}: {error or 'it takes too much memory'}")
        return ""
    except Exception as error:  # noqa: BLE001 - as the mail itself, it may be damaged in any way
        reading.note(f"{name}: it can't be read, probably it is damaged ({type(error).__name__})")
        return ""
    finally:
        reading.depth -= 1
    return blocks([heading(2, name), lowered(told, 2)]) if told.strip() else ""


def _file(part: EmailMessage, name: str) -> Source:
    """An attachment as a file; one without a name gets the usual end for its type."""
    if not part.get_filename():
        kind = part.get_content_type()
        end = "" if kind == UNKNOWN_TYPE else mimetypes.guess_extension(kind)
        name = f"attachment{end or ''}"
    return Source(name, _data(part), part.get_content_charset() or "")
