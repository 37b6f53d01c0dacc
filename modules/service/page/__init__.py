"""The page at `/` of the service: one document that asks nobody but the service for anything.

Scripts and styles stand in files of one subject each; what draws a span is the trace page's.
"""

import re
from pathlib import Path
from typing import Final

from modules.trace.page import SPAN_SCRIPTS, SPAN_STYLES, joined, source_hash

_FOLDER: Final = Path(__file__).parent

_SCRIPTS: Final = (
    "api",
    "controls",
    "markdown",
    "forms",
    "questions",
    "events",
    "run",
    "conversations",
    "chat",
    "panel",
    "start",
)
"""In the order in which they stand in the page."""


def page() -> tuple[str, str]:
    """The page, and the Content Security Policy that belongs to it."""
    own = (_FOLDER / f"{name}.js" for name in _SCRIPTS)
    # A block: nothing of the page is a name of the window.
    script = '"use strict";\n{\n' + joined(*SPAN_SCRIPTS, *own) + "}\n"
    style = joined(*SPAN_STYLES, _FOLDER / "page.css")
    policy = (
        f"default-src 'none'; script-src '{source_hash(script)}'; "
        f"style-src '{source_hash(style)}'; connect-src 'self'; img-src data: blob: 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    parts = {"script": script, "style": style}
    text = joined(_FOLDER / "page.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text), policy
