"""Which values of a call that only reads nobody who is trusted has given, and how that is told."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from core.base.frozen import frozen
from core.base.text import one_line, shorten, with_hidden_shown
from core.provenance import paths
from core.provenance.arguments import ArgumentText, texts_of
from core.provenance.known import Known
from core.provenance.origins import Searched
from core.provenance.urls import (
    addresses_in,
    is_bare_address,
    parse_url,
    plainer,
    trimmed,
    url_runs,
    urls_in,
)
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import JsonObject

DoubtKind: TypeAlias = Literal["url", "path", "address", "name"]

SHOWN_CHARACTERS: Final = 200
"""How much of a value the model is told; it wrote it itself."""

DOUBTS_TOLD: Final = 5
"""How many doubtful values of one call are looked for."""


@frozen
class Doubt:
    """A value of a call that only reads, which nobody who is trusted has given.

    `value` is as the plan wrote it; `key` is the form in which an answer about it is remembered.
    `argument` is the text that it stands in.
    """

    kind: DoubtKind
    value: str
    key: str
    argument: ArgumentText


_REASONS: Final[Mapping[DoubtKind, str]] = {
    "url": "the address {} stands neither in the request, nor in a list of search results, nor on "
    "a page of that site that was read; search for it first, or ask the user to name it in the "
    "request",
    "path": "the path {} is neither named in the request nor below a folder that is, and no list "
    "of files has it; list the folder first, or ask the user to name it",
    "address": "the e-mail address {} does not come from the user; answer without it, or ask the "
    "user to name it in the request",
    "name": "the name {} of a tool or server does not come from the user; ask the user to name it "
    "in the request",
}
"""What is wrong, and what a plan can do otherwise."""

WHY: Final[Mapping[DoubtKind, str]] = {
    "url": "neither you nor a search or page for your request has named the address {}",
    "path": "you have not named the path {}",
    "address": "you have not named the e-mail address {}",
    "name": "you have not named the tool or server {}",
}
"""Why the user is asked about a call that only reads."""

WHY_CHANGES: Final = "it may change something"
WHY_ALL: Final = "every call waits for your yes (security.approvals: always)"

WORDS_CHARACTERS_MAX: Final = 500
"""How much of what the user says beside a no is told."""


def declined(tool: str, named: Iterable[str], words: str) -> str:
    """What the plan is told where the user has said no to what is named, with words or none."""
    said = json.dumps(one_line(words, WORDS_CHARACTERS_MAX), ensure_ascii=False)
    then = f"the user's own words: {said}" if words else "they were asked, and said no"
    all_named = " and ".join(dict.fromkeys(named))
    return f"{tool} was not called: the user did not allow {all_named}; {then}"


def refusal(tool: str, doubts: Sequence[Doubt]) -> str:
    """What the plan is told: what was refused, why, and what it can do otherwise."""
    reasons = dict.fromkeys(_REASONS[doubt.kind].format(_shown(doubt)) for doubt in doubts)
    return f"{tool} was not called: {'; '.join(reasons)}"


def refusal_of_change(tool: str, rule: str, why: str) -> str:
    """The same of a call that needs a yes; `rule` allows just this one, "": none does.

    The user reads it too.
    """
    allow = f"allow it with --approve {shlex.quote(rule)}" if rule else "no short rule allows it"
    return (
        f"{tool} was not called: {why}, and nobody is there to say yes; {allow}, or do without it"
    )


def named(doubt: Doubt) -> str:
    """A doubtful value, for the model."""
    return f"the {'e-mail address' if doubt.kind == 'address' else doubt.kind} {_shown(doubt)}"


def why_asked(doubt: Doubt) -> str:
    """Why the user is asked."""
    return WHY[doubt.kind].format(_shown(doubt))


def _shown(doubt: Doubt) -> str:
    return one_line(with_hidden_shown(shorten(doubt.value, SHOWN_CHARACTERS)))


def name_doubts(
    known: Known, tool: ToolSpec, arguments: JsonObject, catalog: ToolCatalog
) -> list[Doubt]:
    """Doubts about names of tools and servers, in arguments that are said to be such names."""
    if not known.is_tainted or not (
        given := [a for a in texts_of(tool, arguments) if a.names_tools]
    ):
        return []
    names = {
        name for each in catalog.known for name in (each.qualified_name, each.name, each.server)
    }
    words = Searched(known.words)
    return [
        Doubt("name", name, name, argument)
        for argument in given
        if (name := argument.text.strip()) in names and words.place(name) is None
    ]


LAYERS_MAX: Final = 3
"""How often percent-encoding and character references are taken off."""


class ValueCheck:
    """Holds the arguments of one tool's calls against what is known."""

    def __init__(self, known: Known, tool: ToolSpec) -> None:
        """Check calls of `tool`."""
        self._known = known
        self._tool = tool
        self._home = known.policy.home
        self._fragments_stay = tool.server in known.policy.bundled_servers

    def doubts(self, argument: ArgumentText) -> Iterator[Doubt]:
        """The doubtful values of one text."""
        text, layers = argument.text, 0
        while text and layers <= LAYERS_MAX:
            text, found = self._layer(argument, text)
            yield from found
            plain = plainer(text)
            if plain == text:
                return
            text, layers = plain, layers + 1

    def _layer(self, argument: ArgumentText, text: str) -> tuple[str, list[Doubt]]:
        """What is doubtful in a text as it stands, and the text without its URLs."""
        if text.lstrip()[:5].lower() == "file:":  # a path in other words
            return "", self._path_doubts(argument, text.strip())
        rest, found = self._urls(argument, text)
        if self._known.is_tainted:
            found += self._addresses(argument, rest)
            for path in _paths_in(argument, rest):
                found += self._path_doubts(argument, path)
        return rest, found

    def _urls(self, argument: ArgumentText, text: str) -> tuple[str, list[Doubt]]:
        """The URLs that are not known; what is left of the text without its URLs."""
        whole = text.strip()
        if argument.is_url and is_bare_address(whole):
            return "", self._url_doubts(argument, whole)
        if self._is_quotable(argument, whole):
            urls = [*urls_in(text)]
            return _without(text, urls), [
                d for url in urls for d in self._quoted_doubts(argument, url)
            ]
        runs = [text[start:end] for start, end in url_runs(text)]
        if runs and whole.startswith(runs[0]) and _may_be_one_url(argument, whole, runs):
            runs = [whole]  # whoever takes the text for one URL takes all of it
        return _without(text, runs), [d for run in runs for d in self._url_doubts(argument, run)]

    def _is_quotable(self, argument: ArgumentText, whole: str) -> bool:
        """Whether the text is one for people, and more than a URL."""
        return argument.is_content and len(whole.split(maxsplit=2)) > 2

    def _url_doubts(self, argument: ArgumentText, text: str) -> list[Doubt]:
        if any(map(self._is_url_trusted, (text, trimmed(text)))):
            return []
        url = parse_url(text)
        key = text if url is None else f"{url.key}#{url.fragment}"
        return [Doubt("url", text, key, argument)]

    def _is_url_trusted(self, text: str) -> bool:
        url = parse_url(text)
        if url is None or not self._known.is_url_known(url):
            return False
        keeps = not url.fragment or self._fragments_stay
        return keeps or self._known.is_fragment_known(text)

    def _quoted_doubts(self, argument: ArgumentText, url: str) -> list[Doubt]:
        return [] if self._known.quotes(url) else self._url_doubts(argument, url)

    def _addresses(self, argument: ArgumentText, text: str) -> Iterator[Doubt]:
        may_quote = self._is_quotable(argument, text.strip())
        for written, key in addresses_in(text):
            if self._known.is_address_known(key, written):
                continue
            if not (may_quote and self._known.quotes(written)):
                yield Doubt("address", written, key, argument)

    def _path_doubts(self, argument: ArgumentText, path: str) -> list[Doubt]:
        if not self._known.is_tainted:
            return []
        for form in paths.candidates(path, self._home):
            if form and not self._known.is_path_known(form, self._tool.server):
                return [Doubt("path", path, form, argument)]
        return []


def _may_be_one_url(argument: ArgumentText, whole: str, runs: list[str]) -> bool:
    """Whether a text that begins with a URL may be meant as one, and is no list of URLs."""
    is_list = len(runs) == len(whole.split())
    return not is_list and not (argument.is_query or argument.is_command)


def _paths_in(argument: ArgumentText, text: str) -> Iterator[str]:
    """What of a text is a path, by its form and by its argument's name."""
    whole = text.strip()
    if not whole or "://" in whole:
        return
    if argument.is_path:
        yield whole
    elif argument.is_command:
        yield from paths.rooted_in(text)
    elif argument.may_be_path:
        if any(map(str.isspace, whole)) or paths.is_rooted(whole):
            yield from (path for path in paths.rooted_in(text) if paths.is_deep(path))
        elif paths.looks_like_file(whole) and (paths.has_separators(whole) or argument.is_place):
            yield whole


def _without(text: str, parts: list[str]) -> str:
    """A text without these parts of it, in the order in which they stand there."""
    kept: list[str] = []
    end = 0
    for part in parts:
        start = text.find(part, end)
        if start >= 0:
            kept.append(text[end:start])
            end = start + len(part)
    return " ".join([*kept, text[end:]])
