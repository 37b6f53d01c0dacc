"""A web page as markdown: fetched under guard, and read as a file of that kind would be."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from servers.rag.passages import Extracted
from servers.rag.web_page import WebPage, fetch_page

_SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md", "application/json": ".json"}


def page_markdown(
    url: str,
    extract: Callable[[Path], Extracted],
    fetch: Callable[[str], WebPage] = fetch_page,
) -> str:
    """The page's text, with its title above and where it came from below; blocks.

    Raises:
        PageRefused: it can't or may not be fetched.
        ExtractionError: it holds nothing that can be read.
    """
    page = fetch(url)
    suffix = _SUFFIXES.get(page.media_type, ".html")
    with tempfile.TemporaryDirectory(prefix="cortex-page-") as folder:
        path = Path(folder) / f"page{suffix}"
        path.write_bytes(page.data)
        extracted = extract(path)
    title = extracted.title.strip()
    has_title = not title or extracted.markdown.lstrip().startswith(f"# {title}")
    text = extracted.markdown if has_title else f"# {title}\n\n{extracted.markdown}"
    return f"{text.strip()}\n\n[Source: {page.url}]"
