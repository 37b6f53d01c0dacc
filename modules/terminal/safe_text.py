"""Text that a terminal can be shown: whoever wrote it can't drive the screen or the cursor."""

import re

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
