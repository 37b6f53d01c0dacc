"""DuckDuckGo: its HTML endpoint for browsers without scripts, which needs no key.

It is made for people: some requests in quick succession, or a client that looks odd, get a
challenge with status 202 instead of results. That is told as a rate limit, never as "no results".

The page of results in 2026: `div#links` holds one `div.result` each; in it `a.result__a` (within
`h2.result__title`) is title and link, `a.result__snippet` the snippet. Advertisements are
`div.result.result--ad`. Nothing found is `div.result--no-result` with `div.no-results`. A form
with hidden inputs (`s`, `vqd`, `nextParams`, …) below leads to the next page. Instead of all this,
who is taken for a robot gets `form#challenge-form` and `div.anomaly-modal__…`, mostly with status
202.

Results link straight to their pages (2026), or through `//duckduckgo.com/l/?uddg=<target>` as they
long did; both forms come, with other parameters around. Advertisements go through
`duckduckgo.com/y.js?ad_domain=…`.
"""

from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import SplitResult, parse_qs, unquote

from core.base.frozen import frozen
from servers.reading.html.tree import Element, document_of
from servers.reading.text.encodings import text_of
from servers.web.errors import RateLimited, SearchUnavailable, WebError
from servers.web.ports import SearchResult
from servers.web.search.engine import CHANGE, WAIT_OR_CHANGE, Engine
from servers.web.search.results import (
    Hit,
    format_results_for_llm,
    numbered,
    split_or_none,
    web_link,
)

MAX_PAGES = 3
"""The first has about 10 results, others about 15; the fifth quick request gets a challenge."""

CHALLENGE_STATUS = 202

HEADERS = {
    # The endpoint challenges clients that don't say what they accept, as a browser's form does.
    "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.8",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-User": "?1",
}

ENGINE = "duckduckgo.com"
MAX_NESTED_REDIRECTS = 5
MAX_PARAMETERS = 50
MAX_HREF_CHARACTERS = 16_384
AD_PARAMETERS = ("ad_domain", "ad_provider", "ad_type")
ENCODED_SCHEMES = ("http%3a", "https%3a")

MAX_ELEMENTS = 400
"""Titles and snippets that are looked at; a page has about thirty."""

MAX_FORMS = 10
MAX_FORM_FIELDS = 20
MAX_FIELD_CHARACTERS = 4_096


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


@frozen
class ResultsPage:
    """What a page holds; `next_form` leads to the page after it.

    `says_none` is the engine's word that there is nothing. A page without hits that does not say
    so either is a challenge, or has changed.
    """

    hits: tuple[Hit, ...] = ()
    says_none: bool = False
    is_challenge: bool = False
    next_form: dict[str, str] | None = None


@frozen
class DuckDuckGoSearcher(Engine):
    """Searches DuckDuckGo through a guarded fetcher."""

    address: str = "https://html.duckduckgo.com/html/"

    name: ClassVar[str] = "duckduckgo"
    label: ClassVar[str] = "DuckDuckGo"
    at_403: ClassVar[str] = f"refuses the search (status 403). {WAIT_OR_CHANGE}"

    async def search(self, query: str, max_results: int = 10) -> list[SearchResult]:
        """As `Engine.search`; further pages are asked for while there are too few hits.

        What the first page gave stands even if a later one is refused.
        """
        hits: list[Hit] = []
        form = {"q": _without_bangs(query), "b": "", "kl": ""}
        for _ in range(MAX_PAGES):
            page = await self._page_or_end(form, hits)
            hits.extend(page.hits)
            if not page.next_form or len(numbered(hits, max_results)) == max_results:
                break
            form = page.next_form
        return numbered(hits, max_results)

    def format_results_for_llm(self, results: Sequence[SearchResult]) -> str:
        """Numbered text, or that there is nothing."""
        return format_results_for_llm(results)

    async def _page_or_end(self, form: dict[str, str], hits: Sequence[Hit]) -> ResultsPage:
        try:
            return await self._page(form)
        except WebError:
            if not hits:
                raise
            return ResultsPage()

    async def _page(self, form: dict[str, str]) -> ResultsPage:
        headers = {**HEADERS, "Referer": self.address}
        fetched = await self.ask(headers=headers, form=form)
        page = read_results(text_of(fetched.body, fetched.charset), start_of(form))
        if fetched.status == CHALLENGE_STATUS or page.is_challenge:
            raise RateLimited(
                f"DuckDuckGo takes this for a robot (status {fetched.status}) and asks for a "
                f"challenge to be solved instead of searching. {WAIT_OR_CHANGE}"
            )
        if not page.hits and not page.says_none:
            raise SearchUnavailable(
                f"DuckDuckGo's page has changed (status {fetched.status}, {len(fetched.body)} "
                f"bytes): it shows neither results nor that there are none. {CHANGE}"
            )
        return page


def _without_bangs(query: str) -> str:
    r"""`!w heron`, `heron w!` and `\ heron` would leave for another site instead of searching."""
    words = (word.lstrip("!\\").rstrip("!") for word in query.split())
    return " ".join(filter(None, words)) or query


def read_results(html: str, start: int = 0) -> ResultsPage:
    """The hits of a page, in their order, with advertisements left out.

    `start` is that of the form that led here; only a form that leads further is a next one.
    libxml2 repairs broken markup, cuts what is nested too deeply, and loads nothing.
    """
    tree = document_of(html.replace("\0", ""))
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


def _hits(tree: Element) -> tuple[Hit, ...]:
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


def _is_no_result(element: Element) -> bool:
    """Whether the result around it is an advertisement, or the notice that there is none."""
    around: Element | None = element
    while around is not None:
        classes = _classes(around)
        if "result" in classes or any(name.startswith("result--") for name in classes):
            return any(name.startswith(("result--ad", "result--no-result")) for name in classes)
        around = around.getparent()
    return False


def _classes(element: Element) -> list[str]:
    return (element.get("class") or "").split()


def _next_form(tree: Element, start: int) -> dict[str, str] | None:
    """The hidden fields of the form that leads furthest, if that is further than here."""
    forms = [_fields(form) for form in tree.xpath(_NEXT_FORMS)[:MAX_FORMS]]
    further = [form for form in forms if form and start_of(form) > start]
    return max(further, key=start_of, default=None)


def _fields(form: Element) -> dict[str, str]:
    """The named hidden fields; none at all if they are implausibly many or long."""
    inputs = form.xpath(".//input[@type='hidden' and @name]")
    fields = {each.get("name") or "": each.get("value") or "" for each in inputs}
    if len(inputs) > MAX_FORM_FIELDS or any(map(_is_too_long, fields.values())):
        return {}
    return fields


def _is_too_long(value: str) -> bool:
    return len(value) > MAX_FIELD_CHARACTERS


def target_of(href: str) -> str | None:
    """The page that a link in a page of results leads to.

    None for an advertisement, a redirect without a target, one nested too deeply, the engine's
    own pages where they are linked without a host, and any address that is not http(s).
    """
    if len(href) > MAX_HREF_CHARACTERS:
        return None
    address = href.strip()
    for _ in range(MAX_NESTED_REDIRECTS):
        is_own = address.startswith("/") and not address.startswith("//")
        address = _with_host(address)
        parts = split_or_none(address)
        if parts is None or _is_advertisement(parts):
            return None
        if not _is_redirect(parts):
            return None if is_own else web_link(address)
        address = _redirect_target(parts)
    return None


def _with_host(address: str) -> str:
    if address.startswith("//"):
        return "https:" + address
    return f"https://{ENGINE}{address}" if address.startswith("/") else address


def _redirect_target(parts: SplitResult) -> str:
    target = _parameters(parts).get("uddg", [""])[0].strip()
    # Some are encoded twice; no address begins so otherwise.
    return unquote(target) if target.lower().startswith(ENCODED_SCHEMES) else target


def _is_redirect(parts: SplitResult) -> bool:
    return _is_the_engine(parts) and parts.path.rstrip("/") == "/l"


def _is_advertisement(parts: SplitResult) -> bool:
    if not _is_the_engine(parts):
        return False
    return parts.path == "/y.js" or not _parameters(parts).keys().isdisjoint(AD_PARAMETERS)


def _is_the_engine(parts: SplitResult) -> bool:
    host = (parts.hostname or "").rstrip(".")
    return host == ENGINE or host.endswith("." + ENGINE)


def _parameters(parts: SplitResult) -> dict[str, list[str]]:
    try:
        return parse_qs(parts.query, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return {}
