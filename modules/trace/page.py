"""Pages that show runs, statistics or a session: one file that needs no network or foreign script.

All of them are made of one skeleton and one stylesheet; those that are drawn share scripts. What
draws a span (`SPAN_SCRIPTS`, `SPAN_STYLES`) is the service's page's too.
"""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.values import Json

PageKind: TypeAlias = Literal["trace", "stats"]
"""Each has a script of its name."""

FOLDER: Final = Path(__file__).parent

SPAN_SCRIPTS: Final = (FOLDER / "drawing.js", FOLDER / "span.js")
SPAN_STYLES: Final = (FOLDER / "base.css", FOLDER / "span.css")

_DRAWN: Final = """\
<main id="main">
<noscript>A script of the page draws it: allow that, or see the same with --json.</noscript>
</main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>"""


def html_page(kind: PageKind, title: str, told: Json) -> str:
    """The page that shows a document; it stands in the page as data, and stays data."""
    script = '"use strict";\n' + joined(*SPAN_SCRIPTS, FOLDER / "page.js", FOLDER / f"{kind}.js")
    # In a script of data only these signs could end it, or begin another.
    data = json.dumps(told, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    body = _DRAWN.format(data=data, script=script)
    return plain_page(title, body, f"script-src '{source_hash(script)}'; ")


def plain_page(title: str, body: str, more_policy: str = "") -> str:
    """The page of a body that is HTML already; without more policy, no script runs in it."""
    style = joined(*SPAN_STYLES, FOLDER / "page.css")
    policy = (
        f"default-src 'none'; style-src '{source_hash(style)}'; {more_policy}"
        "base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "body": body,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], joined(FOLDER / "page.html"))


def joined(*files: Path) -> str:
    """The texts of files of a page, in this order."""
    return "".join(file.read_text(encoding="utf-8") for file in files)


def source_hash(text: str) -> str:
    """What names a script or a stylesheet in a Content Security Policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
