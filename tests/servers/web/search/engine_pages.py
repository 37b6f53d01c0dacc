"""Pages with the structure of DuckDuckGo's HTML endpoint in 2026, and a fetcher that tells all."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from servers.web.errors import PageUnavailable
from servers.web.ports import Because, Fetched

TARGETS = (
    ("The Heron Almanac", "https://herons.example/almanac", "Where <b>herons</b> winter."),
    ("Wading birds &amp; marshes", "https://marsh.example/birds?id=7&lang=en", "A field guide."),
    ("Grey heron", "https://grey.example/", "Ardea cinerea &#x27;at home&#x27;."),
)

CHALLENGE = """<!DOCTYPE html><html><head><title>DuckDuckGo</title></head><body>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST">
<div class="anomaly-modal__mask"><div class="anomaly-modal__modal" data-testid="anomaly-modal">
<div class="anomaly-modal__title">Robots come here as well, it seems.</div>
<div class="anomaly-modal__instructions">Mark every square with a duck.</div>
</div></div></form></body></html>"""

NO_RESULTS = """<!DOCTYPE html><html><body><div class="serp__results"><div id="links"
class="results"><div class="result results_links results_links_deep result--no-result ">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://duckduckgo.com/params">No  results.</a></h2>
<div class="no-results">No  results.</div></div></div></div></div></body></html>"""

CHANGED = """<!DOCTYPE html><html><body><main class="hits"><article>
<a class="hit-link" href="https://herons.example/">The Heron Almanac</a></article></main>
</body></html>"""


def redirect(target: str) -> str:
    """A link through the engine's own redirect."""
    return f"//duckduckgo.com/l/?uddg={quote(target, safe='')}&rut=0a1b2c"


def result(title: str, href: str, snippet: str = "") -> str:
    """An organic result; title and snippet are HTML."""
    link = escape(href)
    return f"""
<div class="result results_links results_links_deep web-result ">
 <div class="links_main links_deep result__body">
  <h2 class="result__title">
   <a rel="nofollow" class="result__a" href="{link}">{title}</a>
  </h2>
  <div class="result__extras"><div class="result__extras__url"><span class="result__icon">
   <a rel="nofollow" href="{link}"><img class="result__icon__img" src="//icons.example/i.ico"></a>
   </span><a class="result__url" href="{link}"> shown.example/path </a></div></div>
  <a class="result__snippet" href="{link}">{snippet}</a><div class="clear"></div>
 </div>
</div>"""


def advertisement(title: str, href: str = "https://duckduckgo.com/y.js?ad_domain=s.example") -> str:
    """A result that was paid for."""
    paid = "result results_links results_links_deep result--ad result--ad--small"
    return result(title, href, "Buy now").replace(
        "result results_links results_links_deep web-result ", paid
    )


def next_page_form(start: int) -> str:
    """What leads to the page whose first hit has this number, and back."""
    return f"""<div class="nav-link"><form action="/html/" method="post">
<input type="submit" class='btn btn--alt' value="Previous" />
<input type="hidden" name="q" value="herons" /><input type="hidden" name="s" value="0" /></form>
</div><div class="nav-link"><form action="https://elsewhere.example/" method="post">
<input type="submit" class='btn btn--alt' value="Next" />
<input type="hidden" name="q" value="herons" /><input type="hidden" name="s" value="{start}" />
<input type="hidden" name="nextParams" value="" /><input type="hidden" name="v" value="l" />
<input type="hidden" name="dc" value="{start + 1}" /><input type="hidden" name="api" value="d.js" />
<input type="hidden" name="vqd" value="4-1234567890" /></form></div>"""


def results_page(results: Sequence[str] = (), below: str = "") -> str:
    """A whole page, with the form of the next search at its top."""
    given = results or [result(*each) for each in TARGETS]
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html><head><meta http-equiv="content-type" content="text/html; charset=UTF-8">
<title>herons at DuckDuckGo</title></head><body class="body--html">
<form name="x" id="search_form" action="/html/" method="post">
<input name="q" type="text" value="herons" /><select name="kl"></select>
</form><div class="serp__results"><div id="links" class="results">{"".join(given)}
{below}</div></div></body></html>"""


class EchoingFetcher:
    """Fails with all it was told in the message, as no fetcher should."""

    def __init__(self, status: int | None = None) -> None:
        self._status = status

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        raise PageUnavailable(f"failed: {url} {headers} {form} {json}", self._status)
