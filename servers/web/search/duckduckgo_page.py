"""A page of results of DuckDuckGo's HTML endpoint, taken apart.

Its structure in 2026: `div#links` holds one `div.result` each; in it `a.result__a` (within
`h2.result__title`) is title and link, `a.result__snippet` the snippet. Advertisements are
`div.result.result--ad`. Nothing found is `div.result--no-result` with `div.no-results`. A form
with hidden inputs (`s`, `vqd`, `nextParams`, …) below leads to the next page. Instead of all this,
who is taken for a robot gets `form#challenge-form` and `div.anomaly-modal__…`, mostly with status
202.
"""

import importlib
import re
from dataclasses import dataclass
from typing import Protocol, cast

from servers.web.search.redirects import target_of
from servers.web.search.results import Hit

MAX_ELEMENTS = 400
"""Titles and snippets that are looked at; a page has about thirty."""

MAX_FORMS = 10
MAX_FORM_FIELDS = 20
MAX_FIELD_CHARACTERS = 4_096


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """What a page holds; `next_form` leads to the page after it.

    `says_none` is the engine's word that there is nothing. A page without hits that does not say
    so either is a challenge, or has changed.
    """

    hits: tuple[Hit, ...] = ()
    says_none: bool = False
    is_challenge: bool = False
    next_form: dict[str, str] | None = None


class _Element(Protocol):
    tag: object
    text: str | None

    def get(self, key: str) -> str | None: ...

    def getparent(self) -> "_Element | None": ...

    def text_content(self) -> str: ...

    def xpath(self, path: str) -> "list[_Element]": ...


class _Etree(Protocol):
    ParserError: type[Exception]


class _LxmlHtml(Protocol):
    etree: _Etree

    def document_fromstring(self, html: str) -> _Element: ...


def _has(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


_TITLES_AND_SNIPPETS = (
    f"//a[{_has('result__a')}] | //*[{_has('result__title')}]//a | //*[{_has('result__snippet')}]"
)
_NONE = f"//*[{_has('result--no-result')} or {_has('no-results')}]"
_CHALLENGE = (
    "//form[@id='challenge-form' or contains(@action, '/anomaly.js')]"
    " | //*[starts-with(normalize-space(@class), 'anomaly-modal')]"
)
_NEXT_FORMS = "//form[.//input[@name='s'] and .//input[@name='q']]"


def read_results(html: str, start: int = 0) -> ResultsPage:
    """The hits of a page, in their order, with advertisements left out.

    `start` is that of the form that led here; only a form that leads further is a next one.
    libxml2 repairs broken markup, cuts what is nested too deeply, and loads nothing.
    """
    tree = _parsed(html)
    if tree is None:
        return ResultsPage()
    hits = _hits(tree)
    return ResultsPage(
        hits=hits,
        says_none=not hits and bool(tree.xpath(_NONE)),
        is_challenge=bool(tree.xpath(_CHALLENGE)),
        next_form=_next_form(tree, start),
    )


def start_of(form: dict[str, str]) -> int:
    """How many results lie before the page that a form leads to: its field `s`."""
    start = form.get("s", "")
    return int(start) if start.isdecimal() and len(start) < 6 else 0


def _parsed(html: str) -> _Element | None:
    library = cast(_LxmlHtml, importlib.import_module("lxml.html"))
    # lxml refuses a declared encoding in text that is decoded already, and stops at a NUL.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", html, count=1).replace("\0", "")
    try:
        return library.document_fromstring(text)
    except (library.etree.ParserError, ValueError, AssertionError):
        return None


def _hits(tree: _Element) -> tuple[Hit, ...]:
    """In the order of the document, as broken markup puts one result into another."""
    hits: list[Hit] = []
    is_open = False  # whether a snippet belongs to the last hit
    for element in tree.xpath(_TITLES_AND_SNIPPETS)[:MAX_ELEMENTS]:
        if "result__snippet" in _classes(element):
            if is_open:
                hits[-1] = Hit(hits[-1].title, hits[-1].link, element.text_content())
            is_open = False
        else:
            link = None if _is_no_result(element) else target_of(element.get("href") or "")
            is_open = link is not None
            if link is not None:
                hits.append(Hit(element.text_content(), link, ""))
    return tuple(hits)


def _is_no_result(element: _Element) -> bool:
    """Whether the result around it is an advertisement, or the notice that there is none."""
    around: _Element | None = element
    while around is not None:
        classes = _classes(around)
        if "result" in classes or any(name.startswith("result--") for name in classes):
            return any(name.startswith(("result--ad", "result--no-result")) for name in classes)
        around = around.getparent()
    return False


def _classes(element: _Element) -> list[str]:
    return (element.get("class") or "").split()


def _next_form(tree: _Element, start: int) -> dict[str, str] | None:
    """The hidden fields of the form that leads furthest, if that is further than here."""
    forms = [_fields(form) for form in tree.xpath(_NEXT_FORMS)[:MAX_FORMS]]
    further = [form for form in forms if form and start_of(form) > start]
    return max(further, key=start_of, default=None)


def _fields(form: _Element) -> dict[str, str]:
    """The named hidden fields; none at all if they are implausibly many or long."""
    inputs = form.xpath(".//input[@type='hidden' and @name]")
    fields = {each.get("name") or "": each.get("value") or "" for each in inputs}
    if len(inputs) > MAX_FORM_FIELDS or any(map(_is_too_long, fields.values())):
        return {}
    return fields


def _is_too_long(value: str) -> bool:
    return len(value) > MAX_FIELD_CHARACTERS
