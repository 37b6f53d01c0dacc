"""Links of a page: absolute, of the web, and harmless in markdown.

Source: WHATWG HTML, 2.4.3 (the document base URL).
"""

from urllib.parse import urljoin, urlsplit

from servers.reading.html.tree import ANCHORS, Element

ADDRESS_CHARS_MAX = 2_000
_ESCAPED = {ord(char): f"%{ord(char):02X}" for char in " ()<>[]\\|\"`'{}^"}
"""What would end a link in markdown, or look like one."""


def base_of(tree: Element, url: str) -> str:
    """The address against which links count: that of the first `<base>`, or the page's own."""
    for each in tree.iter("base"):
        if each.get("href") is not None:
            return absolute(each.get("href") or "", url) or url
    return url


def absolute(link: str, base: str) -> str:
    """Where a link leads; empty if that is no place on the web (scripts, data, mail, files)."""
    # Browsers ignore these inside an address, and so `java\nscript:` is one.
    bare = link.strip().replace("\n", "").replace("\r", "").replace("\t", "")
    if not bare:
        return ""
    try:
        whole = urljoin(base, bare)
        parts = urlsplit(whole)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        return ""
    if len(whole) > ADDRESS_CHARS_MAX or not whole.isprintable():
        return ""
    return whole.translate(_ESCAPED)


def make_absolute(tree: Element, url: str) -> None:
    """Give each link its whole address; leave the words alone of those that lead nowhere.

    Links to places in the page itself become their words too, and all links without a `url`.
    """
    base = base_of(tree, url)
    known: dict[str, str] = {}
    for each in list(tree.iter("a")):
        link = each.get("href")
        if not url or link is None or not link.strip() or link.lstrip().startswith("#"):
            target = ""
        elif link in known:
            target = known[link]
        else:
            target = known[link] = absolute(link, base)
        if target:
            each.set("href", target)
        elif each.getparent() is not None and each.text_content().strip() not in ANCHORS:
            each.drop_tag()
