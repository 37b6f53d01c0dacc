"""Titles and snippets of strangers as one line of text in which everything can be seen."""

import re
import unicodedata

JOINERS = frozenset("\u200c\u200d") | frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Joiners and variation selectors: emoji and many scripts need them, one at a time."""

FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
) | frozenset(map(chr, range(0xE0100, 0xE01F0)))
"""Letters and marks that show nothing (Default_Ignorable_Code_Point, UAX #44)."""

SPACES = frozenset({"Cc", "Zs", "Zl", "Zp"})
UNSEEN = frozenset({"Cf", "Cs", "Co", "Cn"})
"""Format characters (bidirectional controls, zero widths, tags), halves of pairs, unassigned."""

_RUN_OF_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]{3,}")
"""So many in a row join nothing: they can only be a code."""

READ_AHEAD = 8
"""So many times the limit is looked at, in case most of it can't be seen."""


def plain_text(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control and invisible characters.

    Line ends, tabs and runs of blanks become one space, so that no text can pass for the next
    entry of a list. What is cut ends in an ellipsis.
    """
    start = text[: limit * READ_AHEAD]
    if not start.isascii():
        start = _RUN_OF_JOINERS.sub("", start)
    line = " ".join("".join(map(_seen, start)).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _seen(character: str) -> str:
    if " " <= character <= "~" or character in JOINERS:
        return character
    if character in FILLERS:
        return ""
    category = unicodedata.category(character)
    if category in SPACES or character == "\u2800":  # the braille pattern without a dot
        return " "
    return "" if category in UNSEEN else character
