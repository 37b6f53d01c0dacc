"""HTML into markdown with all of its structure, by markitdown.

It is given text only, never an address or a path: its converter of HTML fetches nothing.
"""

import contextlib
import io
import re
import sys
import warnings
from typing import Protocol

from servers.reading.html.tree import with_bars
from servers.reading.markdown import tidied

_LANGUAGE = re.compile(
    r"(?:^|[\s_-])(?:language|lang|highlight-source|highlight|brush:)[-_ ]([\w+#]+)"
)


class _Tag(Protocol):
    """An element of BeautifulSoup."""

    parent: "_Tag | None"

    def get(self, key: str) -> object: ...

    def find(self, name: str) -> "_Tag | None": ...


def to_markdown(html: str) -> str:
    """The markdown of HTML: headings as `#`, code between fences, tables with a head.

    Links become their words. What is nested too deeply becomes plain text.
    """
    from markitdown import StreamInfo
    from markitdown.converters import HtmlConverter

    stream = io.BytesIO(html.encode("utf-8", errors="replace"))
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")  # about deep nesting, which is dealt with there
        result = HtmlConverter().convert(
            stream,
            StreamInfo(extension=".html", charset="utf-8"),
            strip=["a"],
            bullets="-",
            escape_underscores=False,
            escape_asterisks=False,
            table_infer_header=True,
            code_language_callback=_language,
        )
    return with_bars(tidied(result.markdown))


def _language(block: _Tag) -> str:
    """The language of a block of code, by the class of it, of what is in it or around it."""
    for each in (block, block.find("code"), block.parent, block.parent and block.parent.parent):
        classes = each.get("class") if each else None
        if isinstance(classes, list):
            found = _LANGUAGE.search(" ".join(map(str, classes)))  # pyright: ignore[reportUnknownArgumentType]
            if found and found[1].lower() not in ("text", "none", "default", "source"):
                return found[1].lower()
    return ""
