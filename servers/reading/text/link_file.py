"""Files that lead to a web page: `.url` of Windows and `.webloc` of macOS."""

import plistlib
import re
from typing import cast
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from servers.reading.source import ExtractionError, Source
from servers.reading.text.encodings import text_of

LINK_BYTES_MAX = 64 * 1024
ADDRESS_CHARS_MAX = 2_000

_URL_LINE = re.compile(r"^\s*(?:BASE)?URL\s*=\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def address_in(source: Source) -> str:
    """The address that a link file holds.

    Raises:
        ExtractionError: it holds none of a web page.
    """
    data = source.data[:LINK_BYTES_MAX]
    address = _from_webloc(data) if source.suffix == ".webloc" else _from_url(data)
    scheme = urlsplit(address).scheme.lower() if address.isprintable() else ""
    if scheme not in ("http", "https") or len(address) > ADDRESS_CHARS_MAX:
        raise ExtractionError("the link leads to no web page (http or https)")
    return address


def _from_url(data: bytes) -> str:
    """INI text with one section, `[InternetShortcut]`."""
    section = text_of(data).partition("[InternetShortcut]")[2].partition("\n[")[0]
    found = _URL_LINE.search(section)
    return found[1] if found else ""


def _from_webloc(data: bytes) -> str:
    """A property list, as XML (without entities, which plistlib refuses) or binary."""
    try:
        listed = cast(object, plistlib.loads(data))
    except (plistlib.InvalidFileException, ExpatError, ValueError, OverflowError, RecursionError):
        return ""
    found = cast(dict[str, object], listed).get("URL") if isinstance(listed, dict) else None
    return found if isinstance(found, str) else ""
