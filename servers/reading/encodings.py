"""Bytes into text, by what files, servers and the bytes themselves say of the encoding."""

import codecs
import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

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


GUESSED = (
    "cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp874",
    "iso8859_2", "iso8859_5", "shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""Encodings that pages still come in."""

GUESSED_FROM_BYTES = 20_000
ODD_SHARE_MAX = 0.02
"""Of letters beyond ASCII; text that is decoded wrongly has many times as many odd ones."""

DECLARED_WITHIN_BYTES = 4096

_TAGS = re.compile(rb"<(?:script|style)\b.*?</(?:script|style)|<[^>]*>", re.DOTALL | re.IGNORECASE)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_ODD = re.compile(
    "[\u0080-\u009f\ufffd\ue000-\uf8ff]"  # controls, private use
    "|(?<=[a-zà-öø-ÿ])[À-ÖØ-Þ](?=[a-zà-öø-ÿ])|(?<=[а-яё])[А-ЯЁ]"  # a capital inside a word
    "|[À-ÿ]{4,}"  # no language of Western Europe has so many in a row
    "|(?<=[A-Za-z])[¡-¿×÷](?=[A-Za-z])"
    "|[ｦ-ﾟ]{5,}|[─-╿]"  # half-width katakana; lines of old screens
    "|(?<=[A-Za-zÀ-ɏ])[\u0400-\u04ff]|[\u0400-\u04ff](?=[A-Za-zÀ-ɏ])"  # two scripts in one word
    "|[Ћ-ЏЂЃѓђ‡‰€†•¤¦](?=[а-яёА-ЯЁ])"
)
_LETTER_BEYOND = re.compile(r"[^\W\d_a-zA-Z]|[^\x00-\x7f]")


class _Match(Protocol):
    encoding: str


class _Matches(Protocol):
    def best(self) -> _Match | None: ...


class _Detector(Protocol):
    def from_bytes(self, sequences: bytes, *, cp_isolation: list[str]) -> _Matches: ...


def page_text(data: bytes, header_charset: str) -> str:
    """The text of a page; never fails.

    `header_charset` is what its server says, or empty.
    """
    plain = decoded(data)
    if _is_settled(data):
        return plain
    said = [header_charset, declared_charset(data[:DECLARED_WITHIN_BYTES])]
    if any(_is_seven_bit(each) for each in said):
        return decoded(data, next(each for each in said if _is_seven_bit(each)))
    for charset in said:
        text = decoded_as(data, charset)
        if text is not None and not is_odd(text):
            return text
    guess = _guess(data)
    text = decoded_as(data, guess)
    if text is not None:
        return text
    return _forced(data, (*said, guess)) or plain


def decoded_as(data: bytes, charset: str) -> str | None:
    """The text in one encoding; None where it is unknown, or the bytes are none of its text.

    What pages call Latin-1 or GB2312 is a superset of it: WHATWG Encoding, section 4.2.
    """
    name = charset.strip().lower().replace("_", "-")
    name = _SUPERSETS.get(name, name)
    if not name or name in ("utf-8", "utf8"):
        return None  # it is not: that came first
    try:
        return data.decode(name)
    except (LookupError, ValueError):
        return None


def is_odd(text: str) -> bool:
    """Whether text holds what no language writes; by its beginning that is beyond ASCII."""
    beyond = _LETTER_BEYOND.findall(text)
    sample = text[:200_000]
    odd = sum(len(found) for found in _ODD.findall(sample))
    return odd > ODD_SHARE_MAX * max(len(beyond), 1) and odd > 1


_SUPERSETS = {
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252",
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
    "shift-jis": "cp932", "shift-jisx0213": "cp932", "sjis": "cp932", "x-sjis": "cp932",
    "windows-31j": "cp932", "ks-c-5601-1987": "cp949", "euc-kr": "cp949",
    "iso-8859-9": "cp1254", "x-gbk": "gb18030", "big5": "big5hkscs", "x-cp1251": "cp1251",
    "windows-874": "cp874", "tis-620": "cp874", "iso-8859-11": "cp874",
    "iso-8859-8-i": "iso-8859-8",
}  # fmt: skip


def _is_settled(data: bytes) -> bool:
    """A byte order mark, valid UTF-8, or UTF-16 by its zeros: `decoded` needs no help."""
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:200]:
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\x1b" not in data  # ISO-2022-JP is ASCII too


def _is_seven_bit(charset: str) -> bool:
    return charset.strip().lower().startswith(("iso-2022", "hz-gb", "utf-7", "utf-16", "utf-32"))


def _guess(data: bytes) -> str:
    """The encoding that the letters look like; empty if none does."""
    words = _TAGS.sub(b" ", data)
    if not _BEYOND_ASCII.search(words):
        words = data
    sample = b" ".join(_lines_beyond_ascii(words))[:GUESSED_FROM_BYTES]
    detector = cast(_Detector, importlib.import_module("charset_normalizer"))
    best = detector.from_bytes(sample, cp_isolation=list(GUESSED)).best()
    return best.encoding if best is not None else ""


def _lines_beyond_ascii(words: bytes) -> Iterable[bytes]:
    return (line.strip() for line in words.split(b"\n") if _BEYOND_ASCII.search(line))


def _forced(data: bytes, charsets: Sequence[str]) -> str:
    """The text in the first encoding that is known, with a sign where it can't be."""
    for charset in charsets:
        name = _SUPERSETS.get(charset.strip().lower().replace("_", "-"), charset.strip())
        if name:
            try:
                return data.decode(name, errors="replace")
            except (LookupError, ValueError):
                continue
    return ""
