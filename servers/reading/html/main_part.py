"""The part of a page that holds its text, and what stands around it.

Around it stand consent banners, buttons to share, boxes for newsletters, advertisements, lists of
other articles: none has an element of its own in HTML, but the names of their classes and ids are
much the same everywhere. What holds the page's text stays, whatever it is called.

Where the page does not say itself which part holds its text, text counts that is no link: menus are
links, and teasers mostly. From the page's one first heading outwards, the first element that holds
about half of it; without such a heading, the innermost one that holds most of it.
"""

import re

from servers.reading.html.tree import Element

NAMES = (
    "cookie", "cookies", "consent", "gdpr", "onetrust", "cmp", "cookiebar",
    "share", "sharing", "sharebar", "social", "socials", "sharedaddy", "addthis",
    "newsletter", "subscribe", "subscription", "paywall", "signup",
    "ad", "ads", "advert", "adverts", "advertisement", "adslot", "sponsored", "sponsor", "promo",
    "related", "recommended", "recommendations", "outbrain", "taboola", "trending", "popular",
    "sidebar", "breadcrumb", "breadcrumbs", "pagination", "pager", "toc", "nav", "navbar",
    "navigation", "footer", "skip", "skiplink", "toolbar", "popup", "modal", "overlay", "banner",
    "masthead", "comments", "disqus", "respond", "tags", "taglist", "topbar", "flyout", "spinner",
    "loading", "skeleton", "votes", "vote", "reactions", "editsection",
)  # fmt: skip
"""Words in names of classes and ids, as they are parted by `-`, `_` and change of case."""

NAMES_MAX = 4
"""A name of more words says too much besides: `layout-with-sticky-sidebar-left`."""

WORDS_SHARE_MAX = 0.4
"""Of the page's words; what holds more is not around the text, it is the text."""

NOT_AROUND = frozenset(
    {"html", "body", "main", "article", "h1", "pre", "code", "table", "tr", "td"}
)
STATES = frozenset({"has", "with", "no", "is", "without", "layout", "page", "wrapper", "content"})
"""Words in names that tell of what is inside, or how it is set: `has-sidebar`."""

_CANDIDATES = "//body//*[@class or @id]"
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def drop_surroundings(tree: Element) -> None:
    """Take out what stands around the text.

    A name that something large bears tells nothing on this page: on a forum the comments are the
    text.
    """
    most = WORDS_SHARE_MAX * len(tree.text_content())
    around = set(NAMES)
    for each in tree.xpath(_CANDIDATES):
        if each.tag in NOT_AROUND or each.getparent() is None:
            continue
        names = around & _words_of(each)
        if not names:
            continue
        if len(each.text_content()) > most or next(each.iter("main", "h1"), None) is not None:
            around -= names
        else:
            each.drop_tree()


def _words_of(each: Element) -> set[str]:
    """The words in its names that tell what it is."""
    found: set[str] = set()
    for name in f"{each.get('class') or ''} {each.get('id') or ''}".split():
        words = {word.lower() for word in _WORDS.findall(name)}
        if len(words) <= NAMES_MAX and STATES.isdisjoint(words):
            found |= words
    return found


SHARE_AROUND_HEADING = 0.45
SHARE_OF_MOST = 0.7
WORDS_MIN = 20
"""With fewer there is nothing to choose from."""

CONTAINERS = frozenset({
    "div", "section", "article", "main", "table", "tbody", "tr", "td", "center", "form", "font",
    "span", "fieldset",
})  # fmt: skip


def main_part(tree: Element) -> Element | None:
    """The part that a page itself calls its main one, if it does so once."""
    marked = tree.xpath("//*[self::main or @role='main']")
    if not marked:
        marked = list(tree.iter("article"))
    return marked[0] if len(marked) == 1 else None


def likely_part(tree: Element) -> Element | None:
    """That part; None where it is the whole page, or there is hardly any text."""
    body = next(tree.iter("body"), tree)
    words = _words_by_element(body)
    whole = words[body]
    if whole < WORDS_MIN:
        return None
    headings = list(body.iter("h1"))
    if len(headings) == 1:
        for around in headings[0].iterancestors():
            if around is body or around.tag == "html":
                break
            if words.get(around, 0) >= SHARE_AROUND_HEADING * whole:
                return around
    found = _innermost(body, words, SHARE_OF_MOST * whole)
    return None if found is body else found


def _words_by_element(body: Element) -> dict[Element, int]:
    """How many words stand in each element and in those inside it, but in no link."""
    words: dict[Element, int] = {}
    for each in reversed(list(body.iter())):  # so those inside an element come before it
        inside = words.get(each, 0) + _count(each.text)
        words[each] = 0 if each.tag == "a" else inside
        parent = each.getparent()
        if parent is not None and each is not body:
            words[parent] = words.get(parent, 0) + words[each] + _count(each.tail)
    return words


def _count(text: str | None) -> int:
    return len(text.split()) if text else 0


def _innermost(begin: Element, words: dict[Element, int], least: float) -> Element:
    found = begin
    while True:
        inner = next(
            (each for each in found if each.tag in CONTAINERS and words.get(each, 0) >= least), None
        )
        if inner is None:
            return found
        found = inner
