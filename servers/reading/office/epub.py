"""Books: EPUB 3.3 (W3C), the chapters in the order of the spine."""

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from servers.reading.context import Reading
from servers.reading.html.page import whole_markdown
from servers.reading.markdown import as_title, blocks, first_heading
from servers.reading.office.packages import opened_package, part_of
from servers.reading.source import Extracted, ExtractionError, Source
from servers.reading.text.encodings import text_of

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
CHAPTER_TYPES = ("application/xhtml+xml", "text/html")
CHAPTERS_MAX = 5_000


def read_epub(source: Source, reading: Reading) -> Extracted:
    """The text of all chapters.

    Raises:
        ExtractionError: it is damaged, or its chapters are encrypted.
    """
    with opened_package(source.data, reading.limits) as package:
        place = _package_document(package)
        description = _xml(package, place)
        if description is None:
            raise ExtractionError("the book is damaged: it does not say what is in it")
        locked = _encrypted_parts(package)
        chapters: list[str] = []
        for name in reading.in_time(_spine(description, posixpath.dirname(place)), "chapters"):
            if name in locked:
                raise ExtractionError("the book is copy-protected (DRM) and can't be read")
            chapters.append(_chapter(package, name, reading))
    markdown = blocks(chapters)
    title = next((each.text or "" for each in _all(description, "title")), "")
    return Extracted(markdown, as_title(title) or first_heading(markdown))


def _chapter(package: zipfile.ZipFile, name: str, reading: Reading) -> str:
    data = part_of(package, name)
    if not data:
        reading.note("parts of the book are missing or damaged")
        return ""
    return whole_markdown(text_of(data))


def _package_document(package: zipfile.ZipFile) -> str:
    container = _xml(package, CONTAINER)
    places = [] if container is None else _all(container, "rootfile")
    return next((each.get("full-path") or "" for each in places), "")


def _spine(description: ET.Element, folder: str) -> Iterator[str]:
    """The names of the chapters in the package, in reading order."""
    items = {each.get("id"): each for each in _all(description, "item")}
    for reference in _all(description, "itemref")[:CHAPTERS_MAX]:
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in CHAPTER_TYPES:
            path = unquote(urlsplit(item.get("href") or "").path)
            yield posixpath.normpath(posixpath.join(folder, path))


def _encrypted_parts(package: zipfile.ZipFile) -> frozenset[str]:
    """What is encrypted; fonts often are, without any harm."""
    listing = _xml(package, ENCRYPTION) if ENCRYPTION in package.namelist() else None
    if listing is None:
        return frozenset()
    return frozenset(unquote(each.get("URI") or "") for each in _all(listing, "CipherReference"))


def _xml(package: zipfile.ZipFile, name: str) -> ET.Element | None:
    """A part as XML, without entities of its own; None if it is none."""
    data = part_of(package, name) if name else b""
    try:
        return fromstring(data) if data else None
    except (ET.ParseError, DefusedXmlException, ValueError, LookupError):
        return None


def _all(element: ET.Element, name: str) -> list[ET.Element]:
    """All elements of a name, of whichever namespace."""
    return [each for each in element.iter() if each.tag.rpartition("}")[2] == name]
