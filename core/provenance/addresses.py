"""E-mail addresses in text, in the form in which two of them are compared."""

import re
from collections.abc import Iterator
from typing import Final

from core.provenance.urls import host_key

LOCAL_PART_CHARACTERS_MAX: Final = 64
"""RFC 5321, 4.5.3.1.1."""

_AT_HOST = re.compile(r"@((?:[\w-]{1,63}\.){1,10}[^\W\d_][\w-]{1,62})")
_CLOSES_LOCAL_PART: Final = frozenset(" \t\r\n\"'()<>[]{},;:\\@|/=\u00a0")


def addresses_in(text: str) -> Iterator[tuple[str, str]]:
    """The e-mail addresses in a text: as written, and in the form for comparisons.

    Only what stands without quotes before the @; case counts nowhere, a `+tag` does.
    """
    for found in _AT_HOST.finditer(text):
        local = _local_part(text, found.start())
        if local:
            written = f"{local}{found[0]}"
            yield written, f"{local.lower()}@{host_key(found[1])}"


def _local_part(text: str, end: int) -> str:
    start = end
    while start > max(0, end - LOCAL_PART_CHARACTERS_MAX):
        if text[start - 1] in _CLOSES_LOCAL_PART:
            break
        start -= 1
    return text[start:end].lstrip(".,!?*_`")
