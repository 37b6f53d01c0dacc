"""Which kind of file a server's answer is: its media type, held against the bytes themselves.

What a server says is a hint only. The kinds and how bytes tell them are those of files
(`servers.rag.extraction.kinds`); this gives the answer the name that a file of its type has.
Source: WHATWG MIME Sniffing, section 7, of which signatures and the rules on HTML are taken.
"""

import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from servers.rag.extraction.encodings import is_text
from servers.rag.extraction.kinds import SUFFIXES
from servers.rag.extraction.reading import Source

MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})

_OFFICE = "application/vnd.openxmlformats-officedocument"
SUFFIX_OF = {
    "application/pdf": ".pdf", "application/x-pdf": ".pdf",
    f"{_OFFICE}.wordprocessingml.document": ".docx",
    f"{_OFFICE}.presentationml.presentation": ".pptx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
    "application/msword": ".doc", "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt", "application/rtf": ".rtf", "text/rtf": ".rtf",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/epub+zip": ".epub", "message/rfc822": ".eml",
    "text/csv": ".csv", "text/tab-separated-values": ".tsv",
    "application/json": ".json", "text/json": ".json", "application/x-ndjson": ".jsonl",
    "text/x-rst": ".rst", "text/prs.fallenstein.rst": ".rst",
    "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
    "image/bmp": ".bmp", "image/tiff": ".tiff",
}  # fmt: skip

NO_TEXT = {
    "audio/": "a recording", "video/": "a film", "font/": "a font",
    "application/zip": "an archive", "application/gzip": "an archive",
    "application/x-tar": "an archive", "application/x-7z-compressed": "an archive",
    "application/java-archive": "an archive", "application/wasm": "a program",
    "application/x-msdownload": "a program", "application/vnd.android": "a program",
    "image/svg": "a drawing", "image/heic": "a picture of a kind that is not read",
    "image/avif": "a picture of a kind that is not read",
}  # fmt: skip
"""Beginnings of media types, and what they are to a person."""

SNIFFED_BYTES = 1024
_HTML_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<!--.*?-->|<\?xml[^>]*\?>)*+"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|table|h1|p|br|a|b|iframe)"
    rb"[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_ANY_TAG = re.compile(rb"<[a-zA-Z!/][^<>]*>")
_LINKS_ELSEWHERE = frozenset({".url", ".webloc"})


def as_source(url: str, media_type: str, charset: str, body: bytes) -> Source:
    """An answer under the name that a file of its kind would have."""
    return Source(f"page{_suffix(url, media_type, body)}", body, charset)


def what_it_is(media_type: str, body: bytes) -> str:
    """For the message on an answer that can't be read: `a film (video/mp4)`."""
    named = media_type or ("text" if is_text(body) else "data of no named kind")
    kind = next((kind for begin, kind in NO_TEXT.items() if media_type.startswith(begin)), "")
    return f"{kind} ({named})" if kind else named


def _suffix(url: str, media_type: str, body: bytes) -> str:
    if _is_page(media_type, body):
        return ".html"
    if media_type in MARKDOWN_TYPES:
        return ".md"
    suffix = SUFFIX_OF.get(media_type, "")
    if media_type.endswith("+json"):
        suffix = ".json"
    if suffix or media_type in HTML_TYPES:
        return suffix or _text_suffix(body)
    return _suffix_in(url) or (_text_suffix(body) if is_text(body) else "")


def _is_page(media_type: str, body: bytes) -> bool:
    """Whether it is HTML by its bytes, or is said to be and could be."""
    if _HTML_HEAD.match(body[:SNIFFED_BYTES]):
        return media_type not in MARKDOWN_TYPES  # which may well begin with a tag
    if media_type in HTML_TYPES:
        return is_text(body) and _ANY_TAG.search(body[: 64 * SNIFFED_BYTES]) is not None
    wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return wide and _HTML_HEAD.match(body[2:SNIFFED_BYTES].replace(b"\0", b"")) is not None


def _text_suffix(body: bytes) -> str:
    """Text that nobody names: an object or a list in brackets is JSON, the rest is plain."""
    bare = body.strip()
    is_json = bare.startswith((b"{", b"[")) and bare.endswith((b"}", b"]"))
    return ".json" if is_json else ".txt"


def _suffix_in(url: str) -> str:
    """The end of the name in an address, if files of that name are read."""
    suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    is_known = suffix in SUFFIXES and suffix not in _LINKS_ELSEWHERE
    return suffix if is_known and SUFFIXES[suffix] not in ("html", "image", "pdf") else ""
