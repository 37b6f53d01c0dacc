"""Characters that nobody sees but a model reads, taken out of text.

Sources: Unicode 16, chapter 23 (tags 23.9, variation selectors 23.4, bidirectional controls and
other invisible characters 23.2); Boucher and Anderson, Trojan Source, USENIX Security 2023.
"""

import re

_UNSEEN = re.compile(
    "["
    "\u00ad"  # soft hyphen
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # joiners, fillers, selectors
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, directions, operators
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags, and more selectors: a whole alphabet that is not shown
    "]"
)
_JOINERS = re.compile(
    "(?<![\u0600-\U0001faff])[\u200c\u200d]+|[\u200c\u200d]+(?![\u0600-\U0001faff])"
)
"""Where no script needs them: Persian and those of India do, and emoji; Latin does not."""

_MAYBE_UNSEEN = re.compile(f"{_UNSEEN.pattern}|[\u200c\u200d]")
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MORE_JOINERS = re.compile("([\u200c\u200d])[\u200c\u200d]+")


def seen(text: str) -> str:
    """The text without what is not shown, control characters included; lines end in one sign."""
    text = readable(text)
    if text.isascii() or _MAYBE_UNSEEN.search(text) is None:
        return text
    return _MORE_JOINERS.sub(r"\1", _JOINERS.sub("", _UNSEEN.sub("", text)))


def readable(text: str) -> str:
    """The text with single line feeds, and without what can't be stored or shown.

    As `extraction.markdown.cleaned`, in a tenth of its time.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNREADABLE.sub(" ", text)
