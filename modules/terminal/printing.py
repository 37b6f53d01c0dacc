"""What goes to a terminal, pipe or file: text that drives no terminal, strict JSON."""

import json
import math
import re
import unicodedata
from typing import TextIO

from core.values import Json

_DRIVES_A_TERMINAL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0 and C1 but for tab and line end, line separators, bidirectional overrides, lone surrogates."""


def printable(text: str) -> str:
    """`text` without characters that could drive a terminal or reorder its line.

    They show as escapes. Newlines and tabs stay, and so do joiners and spaces of all kinds,
    which emoji and many scripts need.
    """
    return _DRIVES_A_TERMINAL.sub(lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


_SCRIPTS_ALIKE = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"}
)
"""Scripts, and forms of letters, of which many look like plain Latin ones (UTS #39)."""

_ALIKE = frozenset(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf"
    "\u03bf\u03bd\u03c1\u03b1\u03b9\u03c5\u03f2\u03f3"
)
"""Cyrillic and Greek small letters that look like Latin ones: names may consist of them alone."""


def shown_name(name: str) -> str:
    """The name of a tool or server; letters that pass for Latin ones show as escapes.

    So that no `add` with a Cyrillic letter poses as another. Names that are plainly of another
    script stay as they are.
    """
    return ".".join(map(_shown_part, name.split(".")))


def _shown_part(name: str) -> str:
    if name.isascii():
        return printable(name)
    alike = {c for c in name if not c.isascii() and _script(c) in _SCRIPTS_ALIKE}
    is_mixed = any(c.isascii() and c.isalpha() for c in name)
    if not alike or not (is_mixed or alike <= _ALIKE):
        return printable(name)
    return printable("".join(_escaped(c) if c in alike else c for c in name))


def _script(character: str) -> str:
    """The first word of its name in Unicode, which for letters is their script or form."""
    return unicodedata.name(character, "").partition(" ")[0]


MAX_INTEGER_BITS = 14_284
"""4,300 decimal digits, the default of `sys.set_int_max_str_digits`."""


def print_text(text: str, stream: TextIO) -> None:
    """Write text and a line end: made harmless for a terminal, bare for a pipe or file.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    write(f"{printable(text) if stream.isatty() else text}\n", stream)


def print_document(document: Json, stream: TextIO) -> None:
    """Write a value as one line of JSON; `json_safe` is the caller's business.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    text = json.dumps(document, ensure_ascii=not _is_unicode(stream), allow_nan=False)
    write(f"{text}\n", stream)


def json_safe(value: Json) -> Json:
    """The value with what strict JSON readers refuse as text: NaN, infinities, huge integers.

    Integers of more digits than Python reads back (4,300) stand in hexadecimal.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_INTEGER_BITS else hex(value)
    if isinstance(value, list):
        return [json_safe(item) for item in value]
    if isinstance(value, dict):
        return {key: json_safe(item) for key, item in value.items()}
    return value


def shortened(text: str, characters: int) -> str:
    """The text on one line of at most so many characters, the middle left out if it is longer."""
    flat = " ".join(text.split())
    if len(flat) <= characters:
        return flat
    kept = characters - 1
    return f"{flat[: kept // 3]}…{flat[len(flat) - (kept - kept // 3) :]}"


def write(text: str, stream: TextIO) -> None:
    """Write and flush; what the stream's encoding lacks (emoji in Latin-1) becomes an escape.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    try:
        stream.write(text)
    except UnicodeEncodeError as error:
        encoding = error.encoding
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _is_unicode(stream: TextIO) -> bool:
    """Whether the stream can write every character; a `StringIO` has no encoding and can."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")
