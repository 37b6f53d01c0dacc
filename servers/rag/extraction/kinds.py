"""Which kind a file is: by its content where that tells, else by the end of its name."""

import io
import stat
import zipfile
from pathlib import Path
from typing import Literal, TypeAlias

from servers.rag.extraction.encodings import is_text
from servers.rag.extraction.languages import LANGUAGES, SOURCE_NAMES
from servers.rag.extraction.reading import Source
from servers.rag.faults import ExtractionError

Kind: TypeAlias = Literal[
    "pdf", "html", "docx", "pptx", "xlsx", "epub", "csv", "markdown", "rst", "text", "json",
    "notebook", "source", "mail", "link", "image",
]  # fmt: skip
"""All that can be read."""

SUFFIXES: dict[str, Kind] = {
    ".pdf": "pdf",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".docx": "docx", ".docm": "docx",
    ".pptx": "pptx", ".pptm": "pptx", ".ppsx": "pptx",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".epub": "epub",
    ".csv": "csv", ".tsv": "csv",
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown",
    ".rst": "rst",
    ".txt": "text", ".text": "text", ".log": "text", ".org": "text", ".adoc": "text",
    ".json": "json", ".jsonl": "json", ".ndjson": "json", ".geojson": "json",
    ".ipynb": "notebook",
    ".eml": "mail",
    ".url": "link", ".webloc": "link",
    ".png": "image", ".jpg": "image", ".jpeg": "image", ".webp": "image", ".gif": "image",
    ".bmp": "image", ".tif": "image", ".tiff": "image",
}  # fmt: skip

OTHER_FORMAT = {
    ".doc": "docx", ".dot": "docx", ".odt": "docx", ".rtf": "docx", ".pages": "docx",
    ".xls": "xlsx", ".ods": "xlsx", ".numbers": "xlsx",
    ".ppt": "pptx", ".odp": "pptx", ".key": "pptx",
    ".mobi": "epub", ".azw3": "epub", ".msg": "eml", ".heic": "jpg",
}  # fmt: skip
"""Documents that are not read, and what to save them as."""

NOT_DOCUMENTS = frozenset({
    ".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar", ".tgz", ".zst", ".jar", ".whl", ".iso",
    ".dmg", ".exe", ".dll", ".so", ".dylib", ".bin", ".o", ".a", ".pyc", ".class", ".wasm",
    ".mp3", ".mp4", ".m4a", ".wav", ".flac", ".ogg", ".mov", ".avi", ".mkv", ".webm", ".ttf",
    ".otf", ".woff", ".woff2", ".sqlite", ".sqlite3", ".db", ".db-wal", ".db-shm", ".parquet",
    ".npy", ".npz", ".onnx", ".gguf", ".safetensors", ".pt", ".pkl", ".ico", ".psd", ".lock",
    ".tmp", ".part", ".crdownload", ".swp",
})  # fmt: skip
"""Ends of names that say that there is no text inside; archives are not opened."""

_PICTURE_HEADS = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*",
)  # fmt: skip
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_PACKED = b"PK\x03\x04"
_PACKAGE_PARTS: tuple[tuple[str, Kind], ...] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
    ("META-INF/container.xml", "epub"),
)

HEAD_BYTES = 8192


def supported(path: Path) -> bool:
    """Whether a file is worth reading: a known kind, or unknown and text by its beginning.

    Old formats count too: reading them ends with a line that says what to save them as. Only
    a file with an unknown end of its name is opened.
    """
    name, suffix = path.name, path.suffix.lower()
    if name.startswith(("~$", ".~lock.")) or suffix in NOT_DOCUMENTS:
        return False
    if suffix in SUFFIXES or suffix in OTHER_FORMAT or _language(name) is not None:
        return True
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return head.startswith((b"%PDF-", _PACKED, *_PICTURE_HEADS)) or is_text(head)


def refuse_by_name(name: str) -> None:
    """Refuse what is no document by its name, so that it need not be read.

    Raises:
        ExtractionError: it is none.
    """
    suffix = Path(name).suffix.lower()
    if suffix in NOT_DOCUMENTS:
        raise ExtractionError(
            f"{suffix[1:]} files are not read: archives, programs, sound, film and data are no text"
        )


def kind_of(source: Source) -> Kind:
    """The kind of a file.

    Raises:
        ExtractionError: none that is read.
    """
    if (told := _by_content(source)) is not None:
        return told
    if source.suffix in OTHER_FORMAT:
        raise ExtractionError(
            f"{source.suffix[1:]} files are not read; save it as {OTHER_FORMAT[source.suffix]}"
        )
    named = SUFFIXES.get(source.suffix)
    if named is not None:
        return _unless_page(source, named)
    if not is_text(source.data):
        raise ExtractionError("it is no text, and of no kind that is read")
    if _language(source.name) is not None:
        return "source"
    return "html" if _begins_as_html(source.data) else "text"


def language_of(name: str) -> str:
    """The programming language of a file by its name, as fences call it; empty if unknown."""
    return _language(name) or ""


def _language(name: str) -> str | None:
    path = Path(name)
    return LANGUAGES.get(path.suffix.lower()) or SOURCE_NAMES.get(path.name.lower())


def _by_content(source: Source) -> Kind | None:
    data = source.data
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(_OLD_OFFICE):
        raise ExtractionError(_old_office(data))
    if data.startswith(b"{\\rtf"):
        raise ExtractionError("rtf files are not read; save it as docx")
    if data.startswith(_PACKED):
        return _packed_kind(data)
    if data.startswith(_PICTURE_HEADS) and not is_text(data):
        return "image"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image"
    return None


def _old_office(data: bytes) -> str:
    if _ENCRYPTED_OFFICE in data:
        return "it is encrypted with a password; save a copy without one"
    return "it has the Office format of before 2007; save it as docx, xlsx or pptx"


def _packed_kind(data: bytes) -> Kind:
    """What lies in a zip, by its table of contents; nothing is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = frozenset(package.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise ExtractionError(f"the file is damaged: {error}") from None
    for part, kind in _PACKAGE_PARTS:
        if part in names:
            return kind
    if "content.xml" in names:
        raise ExtractionError("OpenDocument files are not read; save it as docx, xlsx or pptx")
    raise ExtractionError("archives are not opened; put the files in it into the folder")


def _unless_page(source: Source, named: Kind) -> Kind:
    """The kind by name, unless a web page was stored under it, as failed downloads are."""
    if named in ("pdf", "docx", "pptx", "xlsx", "epub", "image"):
        if _begins_as_html(source.data):
            return "html"
        raise ExtractionError(
            f"it is damaged, or no {source.suffix[1:]} file: its beginning is wrong"
        )
    return named


def _begins_as_html(data: bytes) -> bool:
    head = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))
