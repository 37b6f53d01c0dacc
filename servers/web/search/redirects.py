"""The targets of DuckDuckGo's links: direct ones, those through its redirect, and advertisements.

Its results link straight to their pages (2026), or through `//duckduckgo.com/l/?uddg=<target>`
as they long did; both forms come, with other parameters around. Advertisements go through
`duckduckgo.com/y.js?ad_domain=…`.
"""

from urllib.parse import SplitResult, parse_qs, unquote

from servers.web.search.links import split_or_none, web_link

ENGINE = "duckduckgo.com"
MAX_NESTED_REDIRECTS = 5
MAX_PARAMETERS = 50
MAX_HREF_CHARACTERS = 16_384
AD_PARAMETERS = ("ad_domain", "ad_provider", "ad_type")
ENCODED_SCHEMES = ("http%3a", "https%3a")


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
