"""Bytes into text: what the file says of its encoding, what its bytes say, and Latin last."""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16's does, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

SEVEN_BIT = ("iso2022", "hz", "utf-7", "utf-16", "utf-32")
"""Encodings, by the beginning of Python's names, whose bytes pass for UTF-8."""

SAMPLE_BYTES = 8192

CONTROL_SHARE_MAX = 0.05
"""Of the first characters; more of them than this is no text."""

_HTML_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_SOURCE_CHARSET = re.compile(rb"^(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]{2,40})")


def decoded(data: bytes, charset: str = "") -> str:
    """The text of bytes, without a byte order mark. Never fails: Latin-1 takes any byte.

    A `charset` that is said of it counts after UTF-8, as text that is valid UTF-8 by accident
    is rare and a wrong label is not.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, errors="replace")
    said = _python_name(charset)
    seven_bit = said if said.startswith(SEVEN_BIT) else ""
    for name in (seven_bit, _wide_guess(data), "utf-8", said, "cp1252"):
        if name and (text := _attempt(data, name)) is not None:
            return text
    return data.decode("latin-1")


def declared_charset(data: bytes) -> str:
    """What the beginning of an HTML, XML or source file says of its encoding; empty if nothing."""
    head = data[:2048]
    for pattern in (_XML_CHARSET, _HTML_CHARSET, _SOURCE_CHARSET):
        if found := pattern.search(head):
            return found[1].decode("ascii", errors="replace")
    return ""


def is_text(data: bytes) -> bool:
    """Whether the bytes look like text, by their beginning."""
    sample = decoded(data[:SAMPLE_BYTES])
    controls = sum(1 for each in sample if each < " " and each not in "\t\n\r\f\x1b")
    return "\0" not in sample and controls <= CONTROL_SHARE_MAX * max(len(sample), 1)


def _attempt(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeError, ValueError):
        return None


def _python_name(charset: str) -> str:
    """Python's name of a text encoding; empty for an unknown one."""
    try:
        found = codecs.lookup(charset.strip()) if charset.strip() else None
    except (LookupError, ValueError):
        return ""
    # What pages call Latin-1 is Windows' superset of it: WHATWG, Encoding, section 4.2.
    if found is None or not _is_text_encoding(found.name):
        return ""
    return "cp1252" if found.name in ("iso8859-1", "ascii") else found.name


def _is_text_encoding(name: str) -> bool:
    """Whether it makes text of bytes; `rot13`, `zlib` and others don't, or do other work."""
    try:
        b"a".decode(name)
    except UnicodeError:
        pass  # half a character of a wide encoding
    except (LookupError, ValueError):
        return False
    return name not in ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


def _wide_guess(data: bytes) -> str:
    """UTF-16 without a mark: in Latin letters every second byte is 0."""
    sample = data[:SAMPLE_BYTES]
    if len(sample) < 4 or len(data) % 2:
        return ""
    half = len(sample) // 2
    if sample[1::2].count(0) > 0.4 * half and sample[::2].count(0) < 0.05 * half:
        return "utf-16-le"
    if sample[::2].count(0) > 0.4 * half and sample[1::2].count(0) < 0.05 * half:
        return "utf-16-be"
    return ""
