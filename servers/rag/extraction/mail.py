"""Mail as a file: RFC 5322 with MIME. Attachments are named, not opened."""

import email
import email.policy
from email.message import EmailMessage, MIMEPart

from servers.rag.extraction.encodings import decoded
from servers.rag.extraction.html_markdown import to_markdown
from servers.rag.extraction.html_tree import parsed, serialised
from servers.rag.extraction.markdown import as_title, blocks, cleaned, heading, one_line, tidied
from servers.rag.extraction.reading import Reading, Source
from servers.rag.passages import Extracted

SHOWN_HEADERS = ("From", "To", "Cc", "Date")
HEADER_CHARS_MAX = 1_000
ATTACHMENTS_MAX = 50
ENCLOSED_CHARS_MAX = 200


def read_mail(source: Source, reading: Reading) -> Extracted:
    """Who, to whom, when, about what, and what it says."""
    message = email.message_from_bytes(source.data, policy=email.policy.default)
    subject = _header(message, "Subject")
    headers = [f"{name}: {value}" for name in SHOWN_HEADERS if (value := _header(message, name))]
    attachments = _attachments(message)
    if len(attachments) > ATTACHMENTS_MAX:
        reading.note(f"only the first {ATTACHMENTS_MAX} attachments are named")
    named = ", ".join(attachments[:ATTACHMENTS_MAX])
    markdown = blocks(
        [
            heading(1, cleaned(subject)),
            cleaned("\n".join(headers)),
            tidied(cleaned(_body(message, reading))),
            cleaned(f"Attachments: {named}") if named else "",
        ]
    )
    return Extracted(markdown, as_title(subject))


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except Exception:  # noqa: BLE001 - broken headers make its parser raise many things
        return ""
    return one_line(value)[:HEADER_CHARS_MAX]


def _body(message: EmailMessage, reading: Reading) -> str:
    """The plain text, else the HTML part."""
    try:
        plain, page = message.get_body(("plain",)), message.get_body(("html",))
    except Exception:  # noqa: BLE001 - broken MIME makes it raise many things
        reading.note("the parts of the mail can't be told apart")
        return ""
    text = _content(plain)
    if text.strip() or page is None:
        return text
    tree = parsed(cleaned(_content(page)))
    return "" if tree is None else to_markdown(serialised(tree))


def _content(part: MIMEPart | None) -> str:
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    return decoded(data, part.get_content_charset() or "")


def _attachments(message: EmailMessage) -> list[str]:
    """`report.pdf (12 kB)` for each; of an enclosed mail its subject."""
    found: list[str] = []
    try:
        parts = list(message.iter_attachments())
    except Exception:  # noqa: BLE001 - a mail that is no multipart raises too
        return found
    for part in parts:
        name = one_line(part.get_filename() or part.get_content_type())[:ENCLOSED_CHARS_MAX]
        payload = part.get_payload(decode=True)
        size = len(payload) if isinstance(payload, bytes) else 0
        found.append(f"{name} ({max(1, round(size / 1000))} kB)" if size else name)
    return found
