"""The kind of a file or an answer, by its bytes, its name and what its server says.

What a server says is a hint only: an answer gets the name that a file of its type has.
Source: WHATWG MIME Sniffing, section 7, of which signatures and the rules on HTML are taken.
"""

import re
import stat
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from servers.reading.office.packages import opened_zip
from servers.reading.source import ENCRYPTED, ExtractionError, Source
from servers.reading.text.encodings import head_of, is_text

LANGUAGES: dict[str, str] = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".jsx": "jsx", ".ts": "typescript", ".tsx": "tsx", ".java": "java",
    ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".groovy": "groovy", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".cs": "csharp",
    ".fs": "fsharp", ".go": "go", ".rs": "rust", ".swift": "swift", ".m": "objectivec",
    ".rb": "ruby", ".php": "php", ".pl": "perl", ".pm": "perl", ".lua": "lua", ".r": "r",
    ".jl": "julia", ".hs": "haskell", ".ml": "ocaml", ".ex": "elixir", ".exs": "elixir",
    ".erl": "erlang", ".clj": "clojure", ".lisp": "lisp", ".el": "lisp", ".dart": "dart",
    ".zig": "zig", ".nim": "nim", ".sh": "bash", ".bash": "bash", ".zsh": "bash",
    ".fish": "fish", ".ps1": "powershell", ".bat": "batch", ".sql": "sql", ".graphql": "graphql",
    ".proto": "protobuf", ".css": "css", ".scss": "scss", ".less": "less", ".vue": "vue",
    ".svelte": "svelte", ".xml": "xml", ".xsd": "xml", ".xsl": "xml", ".svg": "xml",
    ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".ini": "ini", ".cfg": "ini",
    ".conf": "ini", ".properties": "ini", ".tex": "latex", ".bib": "bibtex", ".tf": "hcl",
    ".gradle": "groovy", ".cmake": "cmake", ".diff": "diff", ".patch": "diff", ".asm": "asm",
    ".s": "asm", ".v": "verilog", ".vhd": "vhdl", ".f90": "fortran", ".pas": "pascal",
}  # fmt: skip

SOURCE_NAMES: dict[str, str] = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "dockerfile",
    "containerfile": "dockerfile", "cmakelists.txt": "cmake", "jenkinsfile": "groovy",
    "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "procfile": "yaml",
}  # fmt: skip
"""Files that are known by their whole name, in lower case."""


Kind: TypeAlias = Literal[
    "pdf", "html", "docx", "pptx", "xlsx", "epub", "csv", "markdown", "rst", "text", "json",
    "notebook", "source", "mail", "link", "image", "feed",
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

_FEED = re.compile(
    r"(?>\s+|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+<(?:\w+:)?(?:rss|feed|RDF)\b",
    re.DOTALL,
)
"""The root after whatever may stand before it; atomic, or comments could keep it busy for ever."""

HEAD_BYTES = 8192


def supported(path: Path) -> bool:
    """Whether a file is worth reading: a known kind, or unknown and text by its beginning.

    Old formats count too: reading them ends with a line that says what to save them as. Only
    a file with an unknown end of its name is opened.
    """
    name, suffix = path.name, path.suffix.lower()
    if name.startswith(("~$", ".~lock.")) or suffix in NOT_DOCUMENTS:
        return False
    if suffix in SUFFIXES or suffix in OTHER_FORMAT or language_of(name):
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
    if source.url and _is_feed(source):
        return "feed"
    if source.suffix in OTHER_FORMAT:
        raise ExtractionError(
            f"{source.suffix[1:]} files are not read; save it as {OTHER_FORMAT[source.suffix]}"
        )
    named = SUFFIXES.get(source.suffix)
    if named is not None:
        return _unless_page(source, named)
    if not is_text(source.data):
        raise ExtractionError("it is no text, and of no kind that is read")
    if language_of(source.name):
        return "source"
    return "html" if _begins_as_html(source.data) else "text"


def language_of(name: str) -> str:
    """The programming language of a file by its name, as fences call it; empty if unknown."""
    path = Path(name)
    return LANGUAGES.get(path.suffix.lower()) or SOURCE_NAMES.get(path.name.lower()) or ""


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
        return ENCRYPTED
    return "it has the Office format of before 2007; save it as docx, xlsx or pptx"


def _packed_kind(data: bytes) -> Kind:
    """What lies in a zip, by its table of contents; nothing is unpacked."""
    with opened_zip(data) as package:
        names = frozenset(package.namelist())
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


def _is_feed(source: Source) -> bool:
    may_be = source.suffix in (".html", ".txt", "")
    return may_be and _FEED.match(head_of(source.data)) is not None


def _begins_as_html(data: bytes) -> bool:
    head = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})

_OFFICE = "application/vnd.openxmlformats-officedocument"
SUFFIX_OF = {
    "application/pdf": ".pdf", "application/x-pdf": ".pdf",
    f"{_OFFICE}.wordprocessingml.document": ".docx",
    f"{_OFFICE}.presentationml.presentation": ".pptx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
    "application/msword": ".doc", "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt", "application/rtf": ".rtf", "text/rtf": ".rtf",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/epub+zip": ".epub", "message/rfc822": ".eml",
    "text/csv": ".csv", "text/tab-separated-values": ".tsv",
    "application/json": ".json", "text/json": ".json", "application/x-ndjson": ".jsonl",
    "text/x-rst": ".rst", "text/prs.fallenstein.rst": ".rst",
    "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
    "image/bmp": ".bmp", "image/tiff": ".tiff",
}  # fmt: skip

NOT_TEXT = {
    "audio/": "a recording", "video/": "a film", "font/": "a font",
    "application/zip": "an archive", "application/gzip": "an archive",
    "application/x-tar": "an archive", "application/x-7z-compressed": "an archive",
    "application/java-archive": "an archive", "application/wasm": "a program",
    "application/x-msdownload": "a program", "application/vnd.android": "a program",
    "image/svg": "a drawing", "image/heic": "a picture of a kind that is not read",
    "image/avif": "a picture of a kind that is not read", "image/": "a picture",
}  # fmt: skip
"""Beginnings of media types, and what they are to a person."""

SNIFFED_BYTES = 1024
_HTML_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>\s+|<!--.*?-->|<\?xml[^>]*\?>)*+"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|table|h1|p|br|a|b|iframe)"
    rb"[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_ANY_TAG = re.compile(rb"<[a-zA-Z!/][^<>]*>")
_LINKS_ELSEWHERE = frozenset({".url", ".webloc"})


def as_source(url: str, media_type: str, charset: str, body: bytes) -> Source:
    """An answer under the name that a file of its kind would have."""
    return Source(f"page{_suffix(url, media_type, body)}", body, charset, url)


def what_it_is(media_type: str, body: bytes) -> str:
    """For the message on an answer that can't be read: `a film (video/mp4)`."""
    named = media_type or ("text" if is_text(body) else "data of no named kind")
    kind = next((kind for begin, kind in NOT_TEXT.items() if media_type.startswith(begin)), "")
    return f"{kind} ({named})" if kind else named


def _suffix(url: str, media_type: str, body: bytes) -> str:
    if _is_page(media_type, body):
        return ".html"
    if media_type in MARKDOWN_TYPES:
        return ".md"
    suffix = SUFFIX_OF.get(media_type, "")
    if media_type.endswith("+json"):
        suffix = ".json"
    if suffix or media_type in HTML_TYPES:
        return suffix or _text_suffix(body)
    return _suffix_in(url) or (_text_suffix(body) if is_text(body) else "")


def _is_page(media_type: str, body: bytes) -> bool:
    """Whether it is HTML by its bytes, or is said to be and could be."""
    if _HTML_HEAD.match(body[:SNIFFED_BYTES]):
        return media_type not in MARKDOWN_TYPES  # which may well begin with a tag
    if media_type in HTML_TYPES:
        return is_text(body) and _ANY_TAG.search(body[: 64 * SNIFFED_BYTES]) is not None
    wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return wide and _HTML_HEAD.match(body[2:SNIFFED_BYTES].replace(b"\0", b"")) is not None


def _text_suffix(body: bytes) -> str:
    """Text that nobody names: an object or a list in brackets is JSON, the rest is plain."""
    bare = body.strip()
    is_json = bare.startswith((b"{", b"[")) and bare.endswith((b"}", b"]"))
    return ".json" if is_json else ".txt"


def _suffix_in(url: str) -> str:
    """The end of the name in an address, if files of that name are read."""
    suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    is_known = suffix in SUFFIXES and suffix not in _LINKS_ELSEWHERE
    return suffix if is_known and SUFFIXES[suffix] not in ("html", "image", "pdf") else ""
