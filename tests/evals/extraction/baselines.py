"""What the usual libraries make of the same files, where they are installed."""

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast


class _Pages(Protocol):
    def use_layout(self, yes: bool) -> None: ...

    def to_markdown(self, doc: str, *, use_ocr: bool) -> str: ...


def readers_of(name: str) -> dict[str, Callable[[Path], str]]:
    """Other readers of a format, by the name that the table shows."""
    match name:
        case "pdf":
            return {"pymupdf4llm with its layout network": with_layout, "pdfium": with_pdfium}
        case "html":
            return {"trafilatura alone": with_trafilatura, "markitdown": with_markitdown}
        case "docx" | "pptx" | "csv" | "epub":  # its reader of xlsx needs pandas
            return {"markitdown": with_markitdown}
        case _:
            return {}


def with_markitdown(path: Path) -> str:
    """By markitdown, which is given the bytes."""
    from markitdown import MarkItDown, StreamInfo

    try:
        return (
            MarkItDown()
            .convert_stream(
                io.BytesIO(path.read_bytes()), stream_info=StreamInfo(extension=path.suffix)
            )
            .markdown
        )
    except Exception:  # noqa: BLE001 - a format for which a package of it is missing
        return ""


def with_trafilatura(path: Path) -> str:
    """By trafilatura, with everything that it can keep."""
    import trafilatura

    page = path.read_bytes().decode()
    return trafilatura.extract(page, output_format="markdown", include_tables=True) or ""


def with_layout(path: Path) -> str:
    """By pymupdf4llm as it comes."""
    library = cast(_Pages, importlib.import_module("pymupdf4llm"))
    library.use_layout(True)
    try:
        return library.to_markdown(str(path), use_ocr=False)
    finally:
        library.use_layout(False)


def with_pdfium(path: Path) -> str:
    """By pdfium, as it is read where PyMuPDF is missing."""
    from servers.reading.context import Reading
    from servers.reading.limits import Clock, Limits
    from servers.reading.pdf import pdfium as pdf_pdfium
    from servers.reading.pictures.pictures import Pictures

    limits = Limits()
    clock = Clock(limits)
    document = pdf_pdfium.opened(path.read_bytes())
    reading = Reading(limits, clock, Pictures(lambda: None, limits, clock))
    try:
        return "\n\n".join(document.pages(document.page_count(), reading))
    finally:
        document.close()
