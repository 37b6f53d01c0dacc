"""How well each format becomes markdown: `python -m tests.evals.extraction [--files 20] [FORMAT…]`.

Made files with known text, tables, headings and code are read back; F1 of words, table cells,
headings and lines of code, beside what the usual libraries give for the same files.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from servers.reading.files import FileExtractor, no_captioner
from servers.reading.pictures.ocr import OcrCaptioner
from servers.reading.process.messages import Request
from servers.reading.source import ExtractionError
from tests.benchmarks.table import Row, print_table
from tests.evals.extraction import baselines, office_files, pdf_files, text_files
from tests.evals.extraction.known import KnownDocument, Section, Table, known_document
from tests.evals.extraction.scoring import Scores, scores_of

FILES = 20
PICTURES = 5
"""Fewer of these: reading the letters of a page takes some seconds."""

ALL = frozenset({"cells", "headings", "code"})
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how a document is written in it, and which of its parts it can hold."""

    suffix: str
    write: Callable[[KnownDocument], bytes]
    parts: frozenset[str] = ALL
    is_tables_only: bool = False


FORMATS = {
    "pdf": Format(".pdf", pdf_files.as_pdf),
    "html": Format(".html", text_files.as_html),
    "docx": Format(".docx", office_files.as_docx),
    "pptx": Format(".pptx", office_files.as_pptx, frozenset({"cells", "headings"})),
    "xlsx": Format(".xlsx", office_files.as_xlsx, frozenset({"cells"})),
    "csv": Format(".csv", text_files.as_csv, frozenset({"cells"}), is_tables_only=True),
    "epub": Format(".epub", office_files.as_epub),
    "eml": Format(".eml", text_files.as_mail),
    "md": Format(".md", text_files.as_markdown),
    "rst": Format(".rst", text_files.as_rst, frozenset({"headings", "code"})),
    "txt": Format(".txt", text_files.as_text, NONE),
    "json": Format(".json", text_files.as_json, NONE),
    "source": Format(".py", text_files.as_source, NONE),
    "picture": Format(".png", pdf_files.as_picture, NONE),
}

Read = Callable[[Path], str]


def main(argv: Sequence[str]) -> int:
    """Measure the named formats, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.extraction", description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--files", type=int, default=FILES, help="files of each format")
    options = parser.parse_args(argv)
    names: list[str] = options.formats or list(FORMATS)
    if unknown := [name for name in names if name not in FORMATS]:
        parser.error(f"no such format: {', '.join(unknown)}")
    rows = [row for name in names for row in measured(name, options.files)]
    print_table(f"extraction, F1 over {options.files} made files a format", rows)
    return 0


def measured(name: str, files: int) -> list[Row]:
    """The rows of one format: ours, and the baselines'."""
    extractor = FileExtractor(OcrCaptioner if name == "picture" else no_captioner)
    readers: dict[str, Read] = {name: lambda path: extractor.extract(Request(path)).markdown}
    readers |= {f"  {other}": read for other, read in baselines.readers_of(name).items()}
    count = min(files, PICTURES) if name == "picture" else files
    return [row_of(label, FORMATS[name], read, count) for label, read in readers.items()]


def row_of(label: str, format_: Format, read: Read, files: int) -> Row:
    """The mean scores over files of a format, and the time of one."""
    scores: list[Scores] = []
    seconds: list[float] = []
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(files):
            document = known_document(seed)
            if format_.is_tables_only:
                document = tables_of(document)
            path = Path(folder) / f"document{seed}{format_.suffix}"
            path.write_bytes(format_.write(document))
            begun = time.process_time()
            try:
                markdown = read(path)
            except ExtractionError:
                markdown, failed = "", failed + 1
            seconds.append(time.process_time() - begun)
            if label.strip() == "picture":
                document = first_page(document, markdown)
            scores.append(scores_of(document, markdown, format_.parts))
    shown = f"words {mean(each.words for each in scores):.3f}"
    for part in ("cells", "headings", "code"):
        values = [value for each in scores if (value := getattr(each, part)) is not None]
        shown += f"  {part} {mean(values):.3f}" if values else f"  {part}   -  "
    return Row(
        label, shown, f"{mean(seconds) * 1000:.0f} ms" + (f", {failed} failed" * bool(failed))
    )


def tables_of(document: KnownDocument) -> KnownDocument:
    """The tables of a document, without a word around them."""
    tables = tuple(block for block in document.blocks if isinstance(block, Table))
    return KnownDocument("", (Section("", tables),))


def first_page(document: KnownDocument, markdown: str) -> KnownDocument:
    """A picture holds the first page only: the sections of which a heading was read."""
    read = tuple(each for each in document.sections if each.heading in markdown)
    return KnownDocument(document.title, read[:-1] or read)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
