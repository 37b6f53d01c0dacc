"""Pages: their one script and stylesheet, and what they show as data."""

import base64
import hashlib
import json
import re

import pytest

from modules.trace.page import PageKind, html_page

HOSTILE = "</script><script>alert(1)</script><!-- {{script}} \u2028\u202e\x00 é"


@pytest.mark.parametrize("kind", ["trace", "stats"])
def test_a_page_runs_its_own_script_alone_and_holds_what_it_shows_as_data(kind: PageKind) -> None:
    page = html_page(kind, HOSTILE, {"runs": [{"name": HOSTILE}]})
    assert "<script>alert" not in page
    assert page.count("<script") == page.count("</script>") == 2
    data = page.split('id="data">')[1].split("</script>")[0]
    assert data.isascii(), "what ends a line in JavaScript alone ends none here"
    assert json.loads(data) == {"runs": [{"name": HOSTILE}]}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;; ")
    for tag in ("style", "script"):
        text = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert "http" not in re.sub(r"http-equiv", "", page), "no address to load from"
    assert "innerHTML" not in page
