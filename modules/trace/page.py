"""Pages that show runs or statistics: one file that needs no network, with no script but its own.

All of them are made of one skeleton, one stylesheet, and a script for what they share.
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


def html_page(kind: PageKind, title: str, told: Json) -> str:
    """The page that shows a document; it stands in the page as data, and stays data."""
    style = _read("page.css")
    script = f'"use strict";\n{_read("page.js")}{_read(f"{kind}.js")}'
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # In a script of data only these signs could end it, or begin another.
    data = json.dumps(told, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    values = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "data": data,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _read("page.html"))


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
