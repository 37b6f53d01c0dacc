"""What a session trusts and has seen so far: the profile's rules, the user's words, results."""

import ast
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from itertools import islice
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from config.schema import LISTING_TOOLS, ToolSection
from core.asking import ORIGINS
from core.base.frozen import frozen
from core.base.json_text import texts_in
from core.base.text import lazy_pattern, shorten
from core.provenance import paths
from core.provenance.arguments import ArgumentText, texts_of
from core.provenance.effects import may_change
from core.provenance.origins import Searched, place_in
from core.provenance.rules import Around, Rule, plain_addresses
from core.provenance.urls import (
    Url,
    addresses_in,
    hosts_named,
    known_keys,
    links_in_list,
    links_on_page,
    parse_url,
    url_runs,
    urls_in,
)
from core.tools.spec import ToolSpec
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json, JsonObject

Mode: TypeAlias = Literal["strict", "ask", "off", "auto"]
"""Refuse; ask the user where somebody is there, else refuse (`ask`, `auto`); let pass."""

Approvals: TypeAlias = Literal["never", "changing", "always"]
"""Which calls need a yes: none; those that may change something; all."""

_NOTHING_SAID: Final = ToolSection()


@frozen
class ProvenancePolicy:
    """How strictly values are checked, and what is trusted beside the user's words.

    `link_sources` give lists of links to choose from, `listing_tools` name files, and
    `marking_tools` do so in source marks only: patterns (`*`, `?`) of names, `server.tool` or of
    the tool alone. `trusted_servers` are ids of
    servers whose results hold nobody's text; `bundled_servers` those whose tools ask the web
    themselves, over plain HTTP. `folders` are absolute paths that any tool may be given, and
    `texts` by server id what its entry in the configuration holds: arguments, folder, URL.
    `relative_to` by server id are the folders that its relative paths lie in, and which it
    never leaves. `runs_in` by server id is the folder of its process. `server_keys` by server id
    tell what each is, so that what was allowed to one is not allowed to another that gets its id.
    `home` is what `~` stands for. `rules` are what the profile and the command line allow, and
    `tools` what the profile says of tools, by patterns of their names.
    """

    mode: Mode = "auto"
    link_sources: tuple[str, ...] = ()
    listing_tools: tuple[str, ...] = LISTING_TOOLS
    marking_tools: tuple[str, ...] = ()
    trusted_servers: frozenset[str] = frozenset()
    bundled_servers: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    relative_to: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    server_keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    home: str = ""
    approvals: Approvals = "changing"
    rules: tuple[Rule, ...] = ()
    tools: Mapping[str, ToolSection] = field(default_factory=lambda: MappingProxyType({}))
    runs_in: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def said_of(self, tool: ToolSpec) -> ToolSection:
        """What the profile says of a tool: its first pattern that fits."""
        fitting = (said for name, said in self.tools.items() if matches(tool, (name,)))
        return next(fitting, _NOTHING_SAID)

    def needs_leave(self, tool: ToolSpec) -> bool:
        """Whether a call of it needs a yes."""
        if self.approvals != "changing":
            return self.approvals == "always"
        reads = self.said_of(tool).reads
        return not self.is_trusted(tool) and (may_change(tool) if reads is None else not reads)

    def around(self, tool: ToolSpec) -> Around:
        """Where the paths of the tool's calls begin."""
        return Around(self.runs_in.get(tool.server, ""), self.home)

    def is_trusted(self, tool: ToolSpec) -> bool:
        """Whether what the tool gives is nobody's text."""
        return tool.server in self.trusted_servers


def matches(tool: ToolSpec, patterns: tuple[str, ...]) -> bool:
    """Whether one is that of the tool: with a dot of its qualified name, else of its own."""
    return any(
        fnmatchcase(tool.qualified_name if "." in pattern else tool.name, pattern)
        for pattern in patterns
    )


KEYS_MAX: Final = 300_000
"""How many links a session knows at most; further ones are not known."""

WORDS_CHARACTERS_MAX: Final = 200_000
"""How much of the user's words is kept: the latest."""

QUOTED_CHARACTERS_MAX: Final = 8 * 1024 * 1024
"""How much text of results is kept to be quoted from: the latest."""

RESULT_VALUES_MAX: Final = 200_000
"""How many texts of a structured result are read."""

PAGES_OF_CALL_MAX: Final = 10
"""How many URLs of one call count as pages that it read."""

NAMES_LISTED_MAX: Final = 50_000
"""How many names of one listing are known."""

_MARK = lazy_pattern(r"\[Source: ([^\]\n]{1,300})\]")
_LISTED = lazy_pattern(
    r"^(?:\s|[-*+•│├└─|`]|\[(?:FILE|DIR)\]|[MADRCU?!]{1,2} |[a-z ]{1,20}:\s{2,})*"
)


@frozen
class Origin:
    """Where a value comes from, in words; `is_users`: only the user can have given it."""

    words: str
    is_users: bool


@frozen
class _Result:
    searched: Searched
    source: str
    is_yours: bool
    is_computed: bool


class Known:
    """Grows with a session; `core.provenance.guard` asks it."""

    def __init__(self, policy: ProvenancePolicy) -> None:
        """Know the configuration."""
        self.policy = policy
        self.is_tainted = False
        # Tuples, for threads go through them while others learn.
        self._words: tuple[str, ...] = ()
        self._searched_words = Searched("")
        self._plan = Searched("")
        self._urls: set[str] = set()
        self._own_urls: set[str] = set()
        self._hosts: set[str] = set()
        self._addresses: set[str] = set()
        self._results: tuple[_Result, ...] = ()
        self._listed: dict[str, set[str]] = {}
        self._unread = deque(text for texts in policy.texts.values() for text in texts)
        self._reading = threading.Lock()

    def use(self, policy: ProvenancePolicy) -> None:
        """Go by another configuration from now on; what was seen stays."""
        self.policy = policy
        self._unread.extend(text for texts in policy.texts.values() for text in texts)

    def fork(self) -> "Known":
        """One for a run beside others: it knows what is known now, and what it learns is its own.

        A plan that runs is not a fork's: what it may do, no other may for that.
        """
        other = Known(self.policy)
        with self._reading:
            other.is_tainted = self.is_tainted
            other._words, other._searched_words = self._words, self._searched_words
            other._urls, other._hosts = set(self._urls), set(self._hosts)
            other._own_urls = set(self._own_urls)
            other._addresses = set(self._addresses)
            other._results = self._results
            other._listed = {server: set(names) for server, names in self._listed.items()}
            other._unread = self._unread.copy()
        return other

    def absorb(self, fork: "Known") -> None:
        """Take over what a fork has learnt; what it was told as the user's words stays its own."""
        self.is_tainted = self.is_tainted or fork.is_tainted
        if len(self._urls) < KEYS_MAX:
            self._urls |= fork._urls
        for server, names in fork._listed.items():
            self._listed.setdefault(server, set()).update(names)
        known = {id(each) for each in self._results}
        new = (each for each in fork._results if id(each) not in known)
        self._results = _newest((*self._results, *new), QUOTED_CHARACTERS_MAX)

    @property
    def words(self) -> str:
        """All that the user has said in this session."""
        return self._searched_words.text

    def begin_run(self) -> None:
        """Forget what only counts within a run: the plan."""
        self._plan = Searched("")

    def user_said(self, text: str) -> None:
        """Trust what stands in a text of the user."""
        if text in self._words:
            return
        words = *self._words, text[-WORDS_CHARACTERS_MAX:]
        while len(words) > 1 and sum(map(len, words)) > WORDS_CHARACTERS_MAX:
            words = words[1:]
        self._words, self._searched_words = words, Searched("\n".join(words))
        self._unread.append(text[-WORDS_CHARACTERS_MAX:])

    def given(self, text: str) -> None:
        """Take a text that the user handed over, but need not have written: a list of links.

        Its links may be opened, as those of a search; from now on, be careful.
        """
        self.is_tainted = True
        if len(self._urls) < KEYS_MAX:
            self._urls.update(links_in_list(text))
        self._keep_result(text, "what you handed over")

    def reminded(self, text: str) -> None:
        """Take a text that earlier sessions left: it may be a page's, and opens no link."""
        self.is_tainted = True
        self._keep_result(text, "an earlier answer")

    def recall(self, items: Iterable[MemoryItem]) -> None:
        """Be careful from the start in a session that read untrusted text in another process."""
        self.is_tainted = self.is_tainted or any(
            item.type == "tool_output"
            and item.tool_name != SANDBOX_STEP
            and not self._is_trusted(item.metadata.get("server"))
            and not item.metadata.get("refused")
            for item in items
        )

    def plan_written(self, source: str) -> None:
        """Trust the literals of the plan that runs now, if only the user can have had a say in it.

        What an earlier plan might do, this one may not for that.
        """
        written = "" if self.is_tainted else source[:WORDS_CHARACTERS_MAX]
        self._plan = Searched("\n".join((written, *_texts_written(written))))

    def is_url_known(self, url: Url) -> bool:
        """Whether a URL is, its fragment aside; of a host that the user named, the root is too."""
        self._read_trusted()
        is_root = url.key == f"{url.scheme}://{url.host}" and url.scheme in ("http", "https")
        is_found = url.key in self._own_urls or url.key in self._urls
        return is_found or (is_root and url.host in self._hosts)

    def is_fragment_known(self, url: str) -> bool:
        """Whether a URL stands with its fragment in a trusted text, or one that was read."""
        return any(url in text for text in self._words) or self.quotes(url)

    def is_address_known(self, key: str, written: str) -> bool:
        """Whether an e-mail address is trusted."""
        self._read_trusted()
        return key in self._addresses or written in self._plan.text

    def is_path_known(self, path: str, server: str) -> bool:
        """Whether a path, in its normal form, may be given to a tool of the server."""
        policy = self.policy
        if any(paths.is_named(path, text, policy.home) for text in (*self._words, self._plan.text)):
            return True
        configured = policy.texts.get(server, ())
        if "/" in configured or any(paths.is_named(path, t, policy.home) for t in configured):
            return True
        above = set(paths.with_ancestors(path))
        if above & (self._listed.get(server, set[str]()) | {*policy.folders}):
            return True
        is_relative = not paths.is_rooted(path) and path != ".."
        return is_relative and server in policy.relative_to

    def quotes(self, text: str) -> bool:
        """Whether a text stands word for word in a result."""
        return any(text in result.searched.text for result in self._results)

    def learn(self, tool: ToolSpec, arguments: JsonObject, value: Json) -> "Learnt":
        """What a result adds; takes long for long ones, and changes nothing yet."""
        text = "\n".join(islice(texts_in(value), RESULT_VALUES_MAX))
        urls: set[str] = set()
        if matches(tool, self.policy.link_sources):
            urls.update(links_in_list(text))
        for page in _pages(tool, arguments):
            urls.update(links_on_page(text, page))
        names = set(self._names(tool, arguments, text)) - {"", ".", "..", "/", "~"}
        return Learnt(text, urls, names, _source(tool, arguments))

    def add(self, tool: ToolSpec, learnt: "Learnt | None") -> None:
        """Take over what a result adds, None of a call that failed; from now on, be careful."""
        is_computed, is_yours = self.policy.is_trusted(tool), self.policy.said_of(tool).yours
        self.is_tainted |= not (is_computed or (learnt is not None and is_yours))
        if learnt is None:
            return
        if len(self._urls) < KEYS_MAX:
            self._urls |= learnt.urls
        self._listed.setdefault(tool.server, set()).update(learnt.names)
        self._keep_result(learnt.text, learnt.source, is_yours=is_yours, is_computed=is_computed)
        if is_yours:
            self._unread.append(learnt.text[-WORDS_CHARACTERS_MAX:])

    def _keep_result(
        self, text: str, source: str, *, is_yours: bool = False, is_computed: bool = False
    ) -> None:
        new = _Result(Searched(text[:QUOTED_CHARACTERS_MAX]), source, is_yours, is_computed)
        self._results = _newest((*self._results, new), QUOTED_CHARACTERS_MAX)

    def origin(self, tool: ToolSpec, argument: ArgumentText, value: Json) -> Origin:
        """Where a value of a call comes from, by matching; may take long for long texts."""
        if value in (None, ""):
            return Origin(ORIGINS["none"], is_users=True)
        default = _default(tool, argument)
        if type(value) is type(default) and value == default:
            return Origin(ORIGINS["default"], is_users=True)
        if self._is_users(tool, argument, value):
            return Origin(ORIGINS["words"], is_users=True)
        configured = (*self.policy.texts.get(tool.server, ()), *self.policy.folders)
        if any(place_in(value, text) is not None for text in configured):
            return Origin(ORIGINS["profile"], is_users=True)
        if self._plan.place(value) is not None:
            return Origin(ORIGINS["plan"], is_users=True)
        for result in reversed(self._results):
            if (at := result.searched.place(value)) is None:
                continue
            if result.is_computed:
                return Origin(f"{ORIGINS['computed']} ({result.source})", is_users=False)
            line = result.searched.line(at)
            return Origin(f"line {line:,} of {result.source}", is_users=result.is_yours)
        return Origin(ORIGINS["unknown"], is_users=False)

    def _is_users(self, tool: ToolSpec, argument: ArgumentText, value: Json) -> bool:
        """Whether a value stands in the user's words, in whatever form."""
        if self._searched_words.place(value) is not None:
            return True
        if not isinstance(value, str):
            return False
        self._read_trusted()
        if (url := parse_url(value)) is not None and ("://" in value or argument.is_url):
            return url.key in self._own_urls and not url.fragment
        if addresses := plain_addresses(value):
            return self._addresses.issuperset(addresses)
        return (argument.is_path or argument.is_place) and any(
            self._searched_words.place(form) is not None or self._is_joined(form)
            for form in paths.forms(value, self.policy.home, self.policy.around(tool).folder)
        )

    def _is_joined(self, path: str) -> bool:
        """Whether the user has named the folder of a path, and a name in it."""
        folder, _, name = path.rpartition("/")
        return bool(folder and name) and all(
            any(paths.is_named(part, text, self.policy.home) for text in self._words)
            for part in (folder, name)
        )

    def _names(self, tool: ToolSpec, arguments: JsonObject, text: str) -> Iterator[str]:
        """The files that a result names, if naming files is what the tool is for."""
        home = self.policy.home
        if matches(tool, self.policy.marking_tools):
            for found in islice(_MARK.finditer(text), NAMES_LISTED_MAX):
                yield paths.normal(found[1].rpartition(", ID:")[0], home)
        if not matches(tool, self.policy.listing_tools):
            return
        folders = [a.text for a in texts_of(tool, arguments) if a.is_path][:PAGES_OF_CALL_MAX]
        for line in islice(text.splitlines(), NAMES_LISTED_MAX):
            name = _LISTED.sub("", line, count=1).strip()
            for each in {name, name.partition(": ")[0]} - {""}:
                yield paths.normal(each, home)
                yield from (paths.joined(folder, each, home) for folder in folders)

    def _is_trusted(self, server: Json) -> bool:
        # What a file holds there need not be a name.
        return isinstance(server, str) and server in self.policy.trusted_servers

    def _read_trusted(self) -> None:
        """Trust the URLs, hosts and addresses of the texts that were not looked at yet.

        Only when one is asked about: in a long request that takes a tenth of a second, and most
        calls carry none.
        """
        with self._reading:  # calls of one plan may be checked in several threads
            while self._unread:
                self._learn_from(self._unread[0])
                self._unread.popleft()  # only now: nobody may find it neither there nor known

    def _learn_from(self, text: str) -> None:
        runs = (text[start:end] for start, end in url_runs(text))
        for url in (*urls_in(text), *runs, *hosts_named(text)):
            self._own_urls.update(known_keys(url))
            if (parsed := parse_url(url)) is not None:
                self._hosts.add(parsed.host)
        self._addresses.update(key for _, key in addresses_in(text))


@frozen
class Learnt:
    """What one result adds: its text, links that may be followed, files that it names.

    `source` says for people what the text is.
    """

    text: str
    urls: set[str]
    names: set[str]
    source: str = ""


def _texts_written(plan: str) -> Iterator[str]:
    """The texts of a plan that stand in its source in another form: with escapes, in parts."""
    try:
        tree = ast.parse(plan)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value not in plan:
            yield value


def _default(tool: ToolSpec, argument: ArgumentText) -> Json:
    """What the schema says that an argument is where it is left out; None: it says nothing."""
    schemas = (p.schema for p in tool.parameters if p.name == argument.name == argument.argument)
    return next((schema.get("default") for schema in schemas), None)


def _source(tool: ToolSpec, arguments: JsonObject) -> str:
    """What a result is, for people: the page or the file that was read, else whose result."""
    if pages := _pages(tool, arguments):
        return f"the page {shorten(pages[0], SOURCE_CHARACTERS_MAX)}"
    for argument in texts_of(tool, arguments):
        if argument.is_path and argument.text.strip():
            name = paths.normal(argument.text).rpartition("/")[2]
            return shorten(name or argument.text, SOURCE_CHARACTERS_MAX)
    return f"what {tool.qualified_name} gave"


SOURCE_CHARACTERS_MAX: Final = 120
"""How much of an address or a file's name is told of where a value comes from."""


def _pages(tool: ToolSpec, arguments: JsonObject) -> list[str]:
    """The URLs that a call was given as such."""
    found: list[str] = []
    for argument in texts_of(tool, arguments):
        text = argument.text.strip()
        is_meant = (argument.is_url or "://" in text) and not any(map(str.isspace, text))
        if is_meant and parse_url(text) is not None:
            found.append(text)
    return found[:PAGES_OF_CALL_MAX]


def _newest(results: tuple[_Result, ...], characters: int) -> tuple[_Result, ...]:
    """As many of the newest, at least one, as have no more characters together."""
    left = characters
    for number, result in enumerate(reversed(results)):
        left -= len(result.searched.text)
        if left < 0 and number:
            return results[-number:]
    return results
