"""Plans that search the web and read pages: results and texts as they are, or quotes of a page.

A page is read in parts, as far as the calls of one plan reach, and its sentences are picked in
the sandbox: for a question those that answer it, as from documents; for a summary those that say
most. Each names the page and the heading that it stands under. The address that is named is the
one that was asked for: what a page says of itself is not believed.

A sentence says the more, the more sentences share its words (Luhn, "The Automatic Creation of
Literature Abstracts", 1958), with more weight for words of headings and for sentences that open
the page or a section (Edmundson, "New Methods in Automatic Extracting", 1969). Once a sentence is
taken, its words count less, so that the next one says something else (Nenkova and Vanderwende,
"The Impact of Frequency on Summarization", 2005). They are quoted in the page's order.
"""

import re
from typing import Final, TypeAlias

from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.tools.ranking import stem
from core.tools.spec import ToolSpec
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING
from core.values import Json
from modules.models.offline.arithmetic.grammar import MAX_REQUEST_CHARACTERS
from modules.models.offline.plan_source import (
    AS_IT_IS,
    Source,
    call_line,
    filled,
    indented,
    literal,
    takes,
    tool_that_needs,
    whole_plan,
)
from modules.models.offline.quotes.answering import NOTHING_NEAR, answer_lines, sentence_lines
from modules.models.offline.quotes.asking import bare
from modules.models.offline.quotes.questions import read_question
from modules.models.offline.refusal import Refusal
from modules.models.offline.tools.ranking import terms
from modules.models.offline.web.requests import (
    LANGUAGE,
    OF_THE_WEB,
    PAGE_MARK,
    PageQuestion,
    PageRequest,
    PageSummary,
    PageText,
    SearchRequest,
    SearchThenRead,
    WebSearch,
    addresses_in,
    page_request,
    search_request,
    set_aside,
)

NOTHING_TO_SUM_UP: Final = "The page has no text to sum up."

SENTENCES_MIN: Final = 3
SENTENCES_MAX: Final = 5
"""How many sentences a summary has where the request doesn't say."""

SENTENCES_PER_QUOTE: Final = 8
"""A page that has this many times a number of sentences gets that number of them."""

SENTENCES_READ: Final = 600
"""How many sentences of a page, from its beginning, are weighed."""

WORDS_MIN: Final = 5
WORDS_MAX: Final = 80

_COMMON_TEXT: Final = (
    "about above after again against all also although always among and another any are because "
    "been before being below between both but can cannot could did does doing down during each "
    "either else even ever every few for from further get gets had has have having her here hers "
    "him his how however into its itself just like made make makes many may might more most much "
    "must nor not now off often one only other others our ours out over own per rather said same "
    "say says several shall she should since some still such than that the their them then there "
    "these they this those though three through thus too two under until upon use used very was "
    "way were what when where whether which while who whom whose why will with within without "
    "would yet you your yours"
)

_PICKED: Final = r'''
common = set(@common@.split())
vague = ("this", "that", "these", "those", "it", "they", "he", "she", "however", "but", "and",
         "also", "so", "then", "thus", "therefore", "moreover", "instead", "such")
chrome = ("cookie", "newsletter", "subscribe", "sign up", "log in", "javascript", "advert",
          "all rights reserved", "privacy policy", "share this", "read more", "click here")

def keys_of(words):
    """The telling words, without their endings as far as six letters go."""
    return sorted({w[:6] for w in words.split() if len(w) > 2 and w not in common})

used = [(keys_of(s[1]), s[0], s[1], s[2], s[3]) for s in sentences[:@read@]]
counts, headed, opened, told = {}, {}, set(), []
for keys, text, words, above, place in used:
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    if above not in headed:
        headed[above] = set(keys_of(above))
for order, (keys, text, words, above, place) in enumerate(used):
    size, lower = len(words.split()), text.lower()
    factor = 1.15 if order < 5 else 1
    if place not in opened:
        factor = 1.2 if opened else 1.5
        opened.add(place)
    if not text.rstrip(")\"”’'").endswith((".", "!", "…", ":")):
        factor *= 0.4
    if words.partition(" ")[0] in vague:
        factor *= 0.6
    if [sign for sign in chrome if sign in lower] or not @shortest@ <= size <= @longest_in_words@:
        factor *= 0.1
    if size > 2:
        told.append((order, text, place, keys, factor, headed[above]))

weights = {key: (times if times > 1 else 0.3) / len(used) for key, times in counts.items()}
wanted = @wanted@ or min(max(len(told) // @per_quote@, @least@), @most@)
picked = []
while told and len(picked) < wanted:
    best, best_score = None, -1
    for one in told:
        points = 0
        for key in one[3]:
            points += weights[key] * (1.5 if key in one[5] else 1)
        score = points * one[4] / (len(one[3]) + 4)
        if score > best_score:
            best, best_score = one, score
    picked.append(best)
    for key in best[3]:
        weights[key] *= 0.3
    same = set(best[3])
    told = [one for one in told if one[0] != best[0]
            and len([1 for key in one[3] if key in same]) <= 0.7 * min(len(one[3]), len(best[3]))]

picked.sort(key=lambda one: one[0])
lines = [quoted(one[1], one[2]) for one in picked]
if not lines:
    return "@final@ " + @nothing@ + " (" + cited + ")"
if further:
    lines.append("The page goes on; this sums up its first " + str(len(page)) + " characters.")
return "@final@ " + "\n".join(lines)
'''


def summary_lines(wanted: int | None) -> list[str]:
    """What returns the sentences that say most, of the tuples in `sentences`.

    `wanted` of them, or 3 to 5 as the page is long. `page`, `further` and `cited` are the
    page's text, whether it goes on, and its address as quotes name it.
    """
    values = {
        "common": literal(_COMMON_TEXT),
        "read": SENTENCES_READ,
        "shortest": WORDS_MIN,
        "longest_in_words": WORDS_MAX,
        "wanted": str(wanted or 0),
        "per_quote": SENTENCES_PER_QUOTE,
        "least": SENTENCES_MIN,
        "most": SENTENCES_MAX,
        "final": FINAL_ANSWER,
        "nothing": literal(NOTHING_TO_SUM_UP),
    }
    return filled(_PICKED, values)


SEARCH_TOOL: Final = "duckduckgo_search_results"
READING_TOOL: Final = "download_raw_html_from_url"
MARKDOWN_TOOL: Final = "convert_webpage_url_into_markdown"

NOTHING_ON_PAGE: Final = f"{NOTHING_NEAR} nothing on the page fits it."

PAGE_PARTS_MAX: Final = 5
"""How many parts of a page one plan reads."""

PAGE_CHARACTERS_MAX: Final = 40_000
"""How much of a page is looked at: about a second's work in the sandbox."""

ADDRESS_CHARACTERS: Final = 300
"""A longer address is cut where a quote names it."""

OVERLAP_CHARACTERS: Final = 200
"""How much of a part stands in the next one again, so that they can be put together."""

WebRequest: TypeAlias = SearchRequest | PageRequest

_RESULT: Final = r"""
item = re.compile(r"\s*(\d+)\. ")
link = re.compile(r"\s*(?:[A-Za-z]+: ?)?(https?://\S+)\s*$")
links, expected = [], False
for line in answer.split("\n"):
    number, address = item.match(line), link.match(line)
    if number is not None and int(number[1]) == len(links) + 1:
        expected = True
    elif expected and address is not None:
        links.append(address[1])
        expected = False
if len(links) < @position@:
    none = "There is no result @position@.\n\n" if links else ""
    return "@final@ " + none + answer
address = links[@position@ - 1]
"""
"""What takes one link of the results; where there is none, the results are the answer."""

_PAGE: Final = r'''
going_on = re.compile(r"\[Characters .*\boffset=(\d+)\]$")
of_reader = re.compile(r"\[(Source|Note|Characters|The page ends)\b.*\]$")
image = re.compile(r"!\[[^\[\]\n]*\]\(([^()\n]|\([^()\n]*\))*\)")
linked = re.compile(r"\[([^\[\]\n]*)\]\(([^()\n]|\([^()\n]*\))*\)")
escaped = re.compile(r"\\([^\w\s])")

def parted(text):
    """A part of a page without what the reader says below it, and where the next one begins."""
    lines, further = text.rstrip().split("\n"), 0
    while lines and (not lines[-1].strip() or of_reader.match(lines[-1])):
        found = going_on.match(lines[-1])
        further = int(found[1]) if found is not None and not further else further
        lines.pop()
    return "\n".join(lines), further

def readable(text):
    """The text without pictures, addresses of links and marks of emphasis."""
    text = linked.sub("\\1", image.sub("", text)).replace("**", "")
    return escaped.sub("\\1", text)
'''

_JOINED: Final = r"""
part, later = parted(answer)
seam = page[-80:].strip()
at = part.find(seam)
page = page + (part[at + len(seam):] if at >= 0 else "\n\n" + part)
further = later if later > further else 0
"""
"""What puts the next part of a page behind those that are read."""

_PAGE_SENTENCES: Final = r"""
if len(page) > @most@:
    page, further = page[:@most@], @most@
cited = address if len(address) <= @longest_address@ else address[:@longest_address@] + "…"
sentences, seen, topic, above, place, under = [], set(), "", "", cited, ""
for text, is_heading in units(readable(page)):
    if is_heading:
        under = plain(text)
        topic = topic or under
        above, place = topic + " " + under, cited + ", under " + text[:80]
    elif text not in seen:
        seen.add(text)
        sentences.append((text, plain(text), above, place, under))
"""
"""What makes `sentences` of the page; the first heading says what all of it is about."""

_NOTHING: Final = r"""
told = @nothing@ + " (" + cited + ")"
if further:
    told = told + " It goes on; only its first " + str(len(page)) + " characters were read."
return "@further@ " + told
"""


def write_web_plan(inputs: DecisionInputs) -> str | None:
    """A plan for a request to search the web or read a page; None where it is none of these.

    So it is, too, where no tool for it is connected, or another server has a nearer one.

    Raises:
        Refusal: the plan would need more calls than a plan may make.
    """
    request = _request(inputs.user_input)
    tools = _tools_for(request, inputs.tools)
    if request is None or not tools:
        return None
    match request:
        case WebSearch(query, max_results):
            most: dict[str, Json] = {} if max_results is None else {"max_results": max_results}
            lines = [call_line(inputs, tools[0], {"query": query, **most}), AS_IT_IS]
        case SearchThenRead():
            lines = _search_then_read(inputs, request, *tools)
        case PageText(url, form):
            raw: dict[str, Json] = {"raw": True} if form == "source" else {}
            lines = [call_line(inputs, tools[0], {"url": url, **raw}), AS_IT_IS]
        case PageSummary(url) | PageQuestion(url):
            wanted = (
                summary_lines(request.sentences)
                if isinstance(request, PageSummary)
                else _question_lines(request)
            )
            read = _page_lines(inputs, tools[0], inputs.max_tool_calls)
            lines = [f"address = {literal(url)}", *read, *wanted]
    return whole_plan(lines)


def web_tools(request: str, tools: ToolCatalog) -> list[ToolSpec]:
    """The tools that the request's plan would call, in order; none if it gets no plan from here."""
    return _tools_for(_request(request), tools)


def reading_tool(tools: ToolCatalog, *names: str) -> ToolSpec | None:
    """The first tool of these names that reads a page: an address is all it needs."""
    return tool_that_needs(tools, names or (READING_TOOL, MARKDOWN_TOOL), "url")


def _request(text: str) -> WebRequest | None:
    if len(text) > MAX_REQUEST_CHARACTERS:
        return None
    search = search_request(text) if OF_THE_WEB.search(text) else None
    return search or (page_request(text) if "://" in text else None)


def _tools_for(request: WebRequest | None, tools: ToolCatalog) -> list[ToolSpec]:
    """The tools that a request needs, in the order of their calls; none where one is missing."""
    match request:
        case None:
            return []
        case WebSearch():
            needed = [_searching_tool(request, tools)]
        case SearchThenRead():
            needed = [tool_that_needs(tools, [SEARCH_TOOL], "query"), reading_tool(tools)]
        case PageText(form="source"):
            tool = reading_tool(tools, READING_TOOL)
            needed = [tool if tool is not None and takes(tool, "raw") else None]
        case PageText(form="markdown"):
            needed = [reading_tool(tools, MARKDOWN_TOOL, READING_TOOL)]
        case PageText(verb=verb):
            needed = [_own_reading_tool(verb, tools)]
        case PageSummary():
            needed = [_own_reading_tool("summar", tools)]
        case PageQuestion():
            needed = [reading_tool(tools)]
    found = [tool for tool in needed if tool is not None]
    return found if len(found) == len(needed) else []


def _searching_tool(request: WebSearch, tools: ToolCatalog) -> ToolSpec | None:
    tool = tool_that_needs(tools, [SEARCH_TOOL], "query")
    if tool is None or (request.max_results is not None and not takes(tool, "max_results")):
        return None
    ours = {MARKDOWN_TOOL, SEARCH_TOOL, READING_TOOL}
    others = [other for other in tools if other.name not in ours and other.server != tool.server]
    # "find pages about …" may mean the pages of a wiki that has tools for them.
    pages = request.names_pages and any(terms(o.name) & terms("page site") for o in others)
    return None if pages else tool


def _own_reading_tool(verb: str, tools: ToolCatalog) -> ToolSpec | None:
    """The tool that reads a page, unless another server has one named so: a fetcher, a browser."""
    tool = reading_tool(tools)
    if tool is None or any(
        any(term.startswith(stem(verb)) for term in terms(other.name)) and takes(other, "url")
        for other in tools
        if other.server != tool.server and other.name not in (READING_TOOL, MARKDOWN_TOOL)
    ):
        return None
    return tool


def _search_then_read(
    inputs: DecisionInputs, request: SearchThenRead, search: ToolSpec, reading: ToolSpec
) -> list[str]:
    if inputs.max_tool_calls < 2:
        raise Refusal("a plan may make one tool call here, and searching and reading take two")
    lines = [
        call_line(inputs, search, {"query": request.query}),
        *filled(_RESULT, {"position": request.position, "final": FINAL_ANSWER}),
    ]
    if not request.sums_up:
        return [*lines, call_line(inputs, reading, {"url": Source("address")}), AS_IT_IS]
    read = _page_lines(inputs, reading, inputs.max_tool_calls - 1)
    return [*lines, *read, *summary_lines(None)]


def _page_lines(inputs: DecisionInputs, tool: ToolSpec, calls: int) -> list[str]:
    """What reads the page at `address` into `page`, then its sentences into `sentences`."""
    parts = min(calls, PAGE_PARTS_MAX) if takes(tool, "offset") else 1
    url = Source("address")
    given = {"url": url, "offset": Source(f"max(further - {OVERLAP_CHARACTERS}, 0)")}
    again = [
        f"for _ in range({parts - 1}):",
        "    if not further:",
        "        break",
        *indented([call_line(inputs, tool, given), *filled(_JOINED, {})]),
    ]
    return [
        *sentence_lines(),
        *filled(_PAGE, {}),
        call_line(inputs, tool, {"url": url}),
        "page, further = parted(answer)",
        *(again if parts > 1 else ()),
        *filled(
            _PAGE_SENTENCES,
            {"most": PAGE_CHARACTERS_MAX, "longest_address": ADDRESS_CHARACTERS},
        ),
    ]


def _question_lines(question: PageQuestion) -> list[str]:
    return [
        *answer_lines(read_question(question.query)),
        *filled(_NOTHING, {"nothing": literal(NOTHING_ON_PAGE), "further": FURTHER_PROCESSING}),
    ]


# Why a request about web pages is declined that no plan of sentences can answer.

_REASONS: Final = (
    (rf"\btranslat\w*|{LANGUAGE}\b",
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
_OF_A_PAGE: Final = lazy_pattern(
    r"https?://|(?:translate|compare|calculate|compute|count|add\s+up|sum|summari[sz]e|recap|tl;?dr|explain|"
    r"rewrite|paraphrase|simplify|review|analy[sz]e|extract|list|describe|check|read|open|visit|go|look|"
    r"get|give|show|fetch|download|search|scan|find|tell|according|based|on|in|from|using|"
    r"what|who|whom|whose|when|where|which|why|how|is|are|do|does|did|a|the)\b",
    re.IGNORECASE,
)
"""How requests begin that may mean a page itself; others only have an address in them."""

_WITHOUT_SCHEME: Final = lazy_pattern(r"(?<![\w/.@-])www\.\w+\.\w", re.IGNORECASE)


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
    for pattern, reason in _REASONS:
        if re.search(pattern, found[0], re.IGNORECASE):
            raise Refusal(reason)
