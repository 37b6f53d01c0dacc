"""What stands around the text of most pages, told by the names of its classes and ids.

Consent banners, buttons to share, boxes for newsletters, advertisements, lists of other articles:
none has an element of its own in HTML, but their names are much the same everywhere. What holds
the page's text stays, whatever it is called.
"""

import re

from servers.rag.extraction.html_tree import Element

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


def drop_chrome(tree: Element) -> None:
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
