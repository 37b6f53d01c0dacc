"""Bytes into text, by what servers, files and the bytes themselves say of the encoding.

In order: a byte order mark; UTF-16 by its zeros; UTF-8 if it is valid, as hardly anything else is
so by accident; what the server or the mail says; what the text says of itself; then what its
letters look like. A charset that is said is not believed where its text could not be of any
language.
Source: WHATWG Encoding; labels as Python knows them.
"""

import codecs
import re
from collections.abc import Iterable

import charset_normalizer

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16's does, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

SEVEN_BIT = ("iso2022", "hz")
"""Encodings, by the beginning of Python's names, whose bytes are all ASCII."""

SAMPLE_BYTES = 8192

CONTROL_SHARE_MAX = 0.05
"""Of the first characters; more of them than this is no text."""

GUESSED = (
    "cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp874",
    "iso8859_2", "iso8859_5", "shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""Encodings that text still comes in."""

GUESSED_FROM_BYTES = 20_000
BEYOND_ASCII_MIN = 8
"""With fewer bytes to guess from, Windows' Latin is taken where its text is not odd."""

LOOKED_AT_CHARS = 200_000
"""Of a long text so much is looked at, from its first character beyond ASCII on."""

ODD_SHARE_MAX = 0.02
"""Of letters beyond ASCII; text that is decoded wrongly has many times as many odd ones."""

DECLARED_WITHIN_BYTES = 4096

_SUPERSETS = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "shift_jisx0213": "cp932", "euc_kr": "cp949",
}  # fmt: skip
"""What pages call Latin-1 or GB2312 is a superset of it: WHATWG Encoding, section 4.2."""

_OTHER_LABELS = {
    "windows-31j": "cp932", "windows-874": "cp874", "iso-8859-8-i": "iso8859-8",
}  # fmt: skip
"""Labels that Python does not know; those that begin with `x-` it knows without that."""

_NO_TEXT_CODECS = (
    *("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"),
    "utf-7",  # nobody's text is in it, and what people see of it says something else
)

_HTML_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_SOURCE_CHARSET = re.compile(rb"^(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]{2,40})")

_TAGS = re.compile(rb"<(?:script|style)\b.*?</(?:script|style)|<[^>]*>", re.DOTALL | re.IGNORECASE)
_ASCII = bytes(range(128))
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


def text_of(data: bytes, charset: str = "") -> str:
    """The text of bytes, without a byte order mark; never fails.

    `charset` is what a server or a mail says of them, or empty.
    """
    said, own = _codec(charset), _codec(declared_charset(data))
    if data.isascii():
        return data.decode(_seven_bit(said, own), errors="replace")
    if (settled := _settled(data)) is not None:
        return settled
    for codec in (said, own):
        if codec and (text := _attempt(data, codec)) is not None and not _is_odd(text):
            return text
    guess = _guess(data)
    if guess and (text := _attempt(data, guess)) is not None:
        return text
    return data.decode(said or own or guess or "cp1252", errors="replace")


def declared_charset(data: bytes) -> str:
    """What the beginning of an HTML, XML or source file says of its encoding; empty if nothing."""
    head = data[:DECLARED_WITHIN_BYTES]
    for pattern in (_XML_CHARSET, _HTML_CHARSET, _SOURCE_CHARSET):
        if found := pattern.search(head):
            return found[1].decode("ascii", errors="replace")
    return ""


def head_of(data: bytes) -> str:
    """The beginning of what may be text, near enough to be looked at."""
    head = data[:SAMPLE_BYTES]
    settled = _settled(head)
    return head.decode("latin-1") if settled is None else settled


def is_text(data: bytes) -> bool:
    """Whether the bytes look like text, by their beginning."""
    sample = head_of(data)
    controls = sum(1 for each in sample if each < " " and each not in "\t\n\r\f\x1b")
    return "\0" not in sample and controls <= CONTROL_SHARE_MAX * max(len(sample), 1)


def _is_odd(text: str) -> bool:
    """Whether text holds what no language writes, from its first letter beyond ASCII on."""
    first = _LETTER_BEYOND.search(text)
    sample = text[first.start() : first.start() + LOOKED_AT_CHARS] if first else ""
    beyond = len(_LETTER_BEYOND.findall(sample))
    odd = sum(len(found) for found in _ODD.findall(sample))
    return odd > ODD_SHARE_MAX * max(beyond, 1) and odd > 1


def _settled(data: bytes) -> str | None:
    """The text of bytes that leave no doubt: a byte order mark, UTF-16's zeros, plain UTF-8."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, errors="replace")
    if wide := _wide_guess(data):
        return data.decode(wide, errors="replace")
    return _attempt(data, "utf-8")


def _attempt(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except ValueError:  # UnicodeError is one
        return None


def _codec(label: str) -> str:
    """Python's name of the encoding of texts that a label means; empty for none that is known."""
    bare = label.strip().lower().replace("_", "-")
    try:
        found = codecs.lookup(_OTHER_LABELS.get(bare, bare.removeprefix("x-")))
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(found.name, found.name) if _makes_text(found.name) else ""


def _makes_text(codec: str) -> bool:
    """Whether it makes text of bytes; `rot13`, `zlib` and others don't, or do other work."""
    try:
        b"a".decode(codec)
    except UnicodeError:
        pass  # half a character of a wide encoding
    except (LookupError, ValueError):
        return False
    return codec not in _NO_TEXT_CODECS


def _seven_bit(said: str, own: str) -> str:
    """The encoding of bytes that are all ASCII, as its server and as the text itself have it."""
    if said.startswith(SEVEN_BIT):
        return said
    return own if own.startswith("iso2022") else "ascii"


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


def _guess(data: bytes) -> str:
    """The encoding that the letters look like; empty if none does."""
    first = _BEYOND_ASCII.search(data)
    start = max(0, first.start() - LOOKED_AT_CHARS) if first else 0
    near = data[start : start + 10 * LOOKED_AT_CHARS]
    words = _TAGS.sub(b" ", near)
    if not _BEYOND_ASCII.search(words):
        words = near
    if len(words.translate(None, _ASCII)) < BEYOND_ASCII_MIN:
        latin = _attempt(data, "cp1252")
        if latin is not None and not _is_odd(latin):
            return "cp1252"
    sample = b" ".join(_lines_beyond_ascii(words))[:GUESSED_FROM_BYTES]
    best = charset_normalizer.from_bytes(sample, cp_isolation=list(GUESSED)).best()
    return best.encoding if best is not None else ""


def _lines_beyond_ascii(words: bytes) -> Iterable[bytes]:
    return (line.strip() for line in words.split(b"\n") if _BEYOND_ASCII.search(line))
