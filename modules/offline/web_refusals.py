"""Why a request about web pages is declined that no plan of sentences can answer."""

import re
from typing import Final

from core.tools.catalog import ToolCatalog
from modules.offline.asking import bare
from modules.offline.grammar import MAX_REQUEST_CHARACTERS
from modules.offline.refusal import Refusal
from modules.offline.web_pages import PAGE_MARK, addresses_in, page_request, set_aside
from modules.offline.web_plans import reading_tool

_REASONS: Final = (
    (r"\btranslat\w*|\b(?:in|into)\s+(?:german|french|spanish|italian|portuguese|dutch|english|"
     r"chinese|japanese|russian|hindi|arabic|turkish|polish|korean)\b",
     "it quotes a page as it is written, and translates nothing"),
    (r"\bcompar\w+|\bversus\b|\bvs\b|\bdiffer\w*",
     "it reads one page at a time, and compares it with nothing"),
    (r"\b(?:calculate|compute|count|average|median|total|sum\s+of|how\s+many|add\s+up|multiply|"
     r"divide|percent)\b|%|\d\s*[+*/^×÷]\s*\d|\b(?:times|plus|minus)\s+\d",
     "it quotes what a page says, and computes nothing from it"),
    (r"\b(?:summari[sz]e|summary|sum\s+up|explain|rewrite|paraphrase|simplify|review|analy[sz]e|"
     r"extract|list|describe|say|says|tell|check|read|open|according|find)\b",
     "of a page it gives the text, the sentences that sum it up, or those that answer a question, "
     "and nothing else"),
)  # fmt: skip
_OF_A_PAGE: Final = re.compile(
    r"https?://|(?:translate|compare|calculate|compute|count|add\s+up|sum|summari[sz]e|recap|tl;?dr|explain|"
    r"rewrite|paraphrase|simplify|review|analy[sz]e|extract|list|describe|check|read|open|visit|go|look|"
    r"get|give|show|fetch|download|search|scan|find|tell|according|based|on|in|from|using|"
    r"what|who|whom|whose|when|where|which|why|how|is|are|do|does|did|a|the)\b",
    re.IGNORECASE,
)
"""How requests begin that may mean a page itself; others only have an address in them."""

_WITHOUT_SCHEME: Final = re.compile(r"(?<![\w/.@-])www\.\w+\.\w", re.IGNORECASE)
_COMPILED: Final = tuple((re.compile(text, re.IGNORECASE), reason) for text, reason in _REASONS)


def check_web_request(request: str, tools: ToolCatalog) -> None:
    """Say what is amiss with a request about web pages; nothing if it isn't one.

    Raises:
        Refusal: it is, and can't be planned; the reason says what would have to be otherwise.
    """
    if len(request) > MAX_REQUEST_CHARACTERS:
        return
    if reading_tool(tools) is None:
        if page_request(request) is not None:
            raise Refusal("no server is connected that reads web pages")
        return
    if _OF_A_PAGE.match(bare(request.replace(PAGE_MARK, " "))) is None:
        return
    if addresses_in(request) > 1:
        raise Refusal("it reads one page at a time, and the request names several")
    found = set_aside(request)
    if found is None:
        if _WITHOUT_SCHEME.search(request):
            raise Refusal('the address of a page has to begin with "https://" or "http://"')
        return
    for pattern, reason in _COMPILED:
        if pattern.search(found[0]):
            raise Refusal(reason)
