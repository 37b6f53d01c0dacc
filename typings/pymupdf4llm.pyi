"""As much of pymupdf4llm 0.2 as is used; it ships no types."""

from collections.abc import Sequence
from typing import TypedDict

from pymupdf import Document

class PageChunk(TypedDict):
    text: str

class IdentifyHeaders:
    def __init__(self, doc: Document) -> None: ...

def use_layout(yes: bool) -> None: ...
def to_markdown(
    doc: Document,
    *,
    pages: Sequence[int],
    hdr_info: IdentifyHeaders,
    page_chunks: bool,
    ignore_images: bool,
    graphics_limit: int,
) -> list[PageChunk]: ...
