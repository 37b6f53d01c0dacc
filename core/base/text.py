"""Text for messages: on one line, cut, counted, listed, in sentences, without what is hidden.

Patterns in text that few requests need are compiled when they are first used.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final, cast

UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"
"""Stands for each character that is seen as nothing, or that moves a terminal's cursor."""

READ_AHEAD: Final = 8
"""So many times the room of a line is looked at, in case most of it is white space."""

NEAR_SHOWN: Final = 3
NEARNESS: Final = 0.6
"""From which likeness on (difflib's ratio) a name is worth proposing."""

_METHODS: Final = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
_UNITS: Final = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_ENDS: Final = (".", "!", "?", "…", ":", ".)", "!)", "?)", '."', '!"', '?"')
_HIDDEN: Final = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    "]|[\u200c\u200d\ufe00-\ufe0f]{3,}"
)
"""Unicode's Default_Ignorable_Code_Point (UAX #44): tags, zero-width characters, bidirectional
controls, blank fillers. The joiners and variation selectors that emoji and many scripts need are
left alone, except in runs so long that they can only be a code."""


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, compiled when it is first used, and then as fast.

    For what few requests need. Of the 170 patterns that a start used to compile,
    `agent.py "add 5 and 7"` uses 20, which take 5 ms of CPU; the others took 15. A pattern that is
    none is found out at its first use.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        """A method of the compiled pattern; found here only until there is one."""
        compiled = re.compile(self._pattern, self._flags)
        vars(self).update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def with_line_feeds(text: str) -> str:
    r"""The text with `\n` as its only line end, and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def one_line(text: str, characters: int | None = None) -> str:
    """Text of others on one line that can't look like several, cut to so many characters.

    White space of all kinds becomes single spaces, and `UNPRINTABLE` what can't be seen. Linear
    in `characters` where that is given, however long the text is.
    """
    seen = text if characters is None else text[: READ_AHEAD * characters]
    line = " ".join(seen.split())
    if not line.isprintable():
        line = "".join(char if char.isprintable() else UNPRINTABLE for char in line)
    if characters is None:
        return line
    return shorten(line if len(seen) == len(text) else f"{line}…", characters)


def shorten(text: str, characters: int) -> str:
    """The text, or its beginning and "…" where it has more than so many characters."""
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()}…"


def listed(first: Iterable[str], number: int) -> str:
    """The first of a number of names, and how many there are beyond: `a, b and 3 more`."""
    names = [*first]
    more = f" and {number - len(names):,} more" if number > len(names) else ""
    return f"{', '.join(names)}{more}"


def counted(number: int, thing: str) -> str:
    """A number of things: `1 tool`, `2,103 tools`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def size_text(size_bytes: int) -> str:
    """A size as people say it, in powers of ten: `4.7 GB`, `12 bytes`."""
    for unit, factor in _UNITS:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes} bytes"


def seconds_text(seconds: float) -> str:
    """A time as people say it: `0.3 s`, `12 s`, `2 min 5 s`, `24 h`."""
    if seconds < 1:
        return f"{int(seconds * 10) / 10:g} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def clause(text: str) -> str:
    """The text as a part of a sentence that goes on: without a full stop at its end."""
    bare = text.rstrip()
    return bare if bare.endswith(("…", "...")) else bare.rstrip(" .;,")


def sentence(text: str) -> str:
    """The text as a sentence: with a full stop at its end, where it has no mark there."""
    bare = text.rstrip(" ;,")
    return bare if bare.endswith(_ENDS) and not bare.endswith("..") else f"{clause(bare)}."


def near_names(
    name: str,
    names: Iterable[str],
    likeness: float = NEARNESS,
    most: int = NEAR_SHOWN,
    form: Callable[[str], str] = str,
) -> list[str]:
    """The names that are most like this one, the nearest first; none that is far from it.

    Compared are their forms, small letters for instance; of two names with one form the first
    counts.
    """
    compared: dict[str, str] = {}
    for one in names:
        compared.setdefault(form(one), one)
    return [compared[near] for near in get_close_matches(form(name), compared, most, likeness)]


def did_you_mean(near: Sequence[str], otherwise: str) -> str:
    """The end of a message about an unknown name: what is near to it, else something to look at."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def edit_distance(one: str, other: str) -> int:
    """How many characters must be put in, taken out or replaced (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for place, character in enumerate(one, 1):
        above, row = row, [place]
        for column, against in enumerate(other, 1):
            changed = above[column - 1] + (character != against)
            row.append(min(above[column] + 1, row[-1] + 1, changed))
    return row[-1]


def has_hidden(text: str) -> bool:
    """Whether `text` holds characters that a person does not see and a model reads."""
    return not text.isascii() and _HIDDEN.search(text) is not None


def without_hidden(text: str) -> str:
    """`text` as a person sees it."""
    return _HIDDEN.sub("", text)


def with_hidden_shown(text: str) -> str:
    """`text` with every hidden character as an escape, for a person to look at."""
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
