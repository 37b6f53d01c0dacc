"""Pages that show runs, statistics or a session: one file that needs no network or foreign script.

All of them are made of one skeleton and one stylesheet; those that are drawn share a script.
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


_DRAWN: Final = """\
<main id="main">
<noscript>A script of the page draws it: allow that, or see the same with --json.</noscript>
</main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>"""


def html_page(kind: PageKind, title: str, told: Json) -> str:
    """The page that shows a document; it stands in the page as data, and stays data."""
    script = f'"use strict";\n{_read("page.js")}{_read(f"{kind}.js")}'
    # In a script of data only these signs could end it, or begin another.
    data = json.dumps(told, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    body = _DRAWN.format(data=data, script=script)
    return plain_page(title, body, f"script-src '{_hash(script)}'; ")


def plain_page(title: str, body: str, more_policy: str = "") -> str:
    """The page of a body that is HTML already; without more policy, no script runs in it."""
    style = _read("page.css")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; {more_policy}"
        "base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "body": body,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _read("page.html"))


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
