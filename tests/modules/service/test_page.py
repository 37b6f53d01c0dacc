"""The page of the service as a document: its one script and stylesheet, and its policy."""

import re

from modules.service.page import page
from modules.trace.page import source_hash

DOCUMENT, POLICY = page()


def inner(tag: str) -> str:
    """What stands in the only element of that name."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", DOCUMENT, re.DOTALL)
    assert len(found) == DOCUMENT.count(f"<{tag}") == 1
    return found[0]


def test_the_policy_lets_its_own_script_and_style_alone_and_asks_the_service_alone() -> None:
    assert POLICY.split("; ") == [
        "default-src 'none'",
        f"script-src '{source_hash(inner('script'))}'",
        f"style-src '{source_hash(inner('style'))}'",
        "connect-src 'self'",
        "img-src data: blob: 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]


def test_nothing_in_it_needs_what_the_policy_forbids_or_makes_html_of_texts() -> None:
    assert not re.search(r"\s(style|on\w+)=", inner("body").split("<script>")[0])
    script = inner("script")
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert way not in script
    loaded = re.findall(r"""(?:src|href)=["']([^"']*)""", DOCUMENT.split("<script>")[0])
    assert loaded == ["data:,", "#message"]


def test_every_place_that_the_script_looks_for_is_there() -> None:
    ids = {*re.findall(r' id="([\w-]+)"', DOCUMENT)}
    named = re.findall(r'(?:byId|onClick)\("([\w-]+)"', inner("script"))
    assert named
    assert {*named} <= ids


def test_no_name_of_it_is_one_of_the_window() -> None:
    assert inner("script").startswith('"use strict";\n{\n')
    assert inner("script").endswith("\n}\n")
