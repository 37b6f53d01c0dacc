"""A page that shows runs: one file that needs no network and runs no script but its own."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Final

from core.values import Json

TEMPLATE: Final = Path(__file__).with_name("page.html")


def trace_page(runs: Json, title: str) -> str:
    """The page that shows `runs`, documents of spans; they stand in it as data, and stay data."""
    template = TEMPLATE.read_text(encoding="utf-8")
    style, script = (_inside(template, tag) for tag in ("style", "script"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # In a script of data only these signs could end it, or begin another.
    data = json.dumps({"title": title, "runs": runs}, ensure_ascii=True).replace("<", "\\u003c")
    values = {"policy": html.escape(policy), "title": html.escape(title), "data": data}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _inside(template: str, tag: str) -> str:
    """The text of the only element of that name that has no attributes."""
    return template.split(f"<{tag}>")[1].split(f"</{tag}>")[0]


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
