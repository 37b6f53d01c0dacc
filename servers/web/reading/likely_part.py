"""The part of a page that holds its text, where the page itself does not say which.

Text counts that is no link: menus are links, and teasers mostly. From the page's one first heading
outwards, the first element that holds about half of it; without such a heading, the innermost
one that holds most of it.
"""

from servers.rag.extraction.html_tree import Element

SHARE_AROUND_HEADING = 0.45
SHARE_OF_MOST = 0.7
WORDS_MIN = 20
"""With fewer there is nothing to choose from."""

CONTAINERS = frozenset({
    "div", "section", "article", "main", "table", "tbody", "tr", "td", "center", "form", "font",
    "span", "fieldset",
})  # fmt: skip


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
