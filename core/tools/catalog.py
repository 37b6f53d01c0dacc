"""The catalogue of tools: resolves names, and knows which tools a plan was offered.

Nothing here needs a running server, so that planning can start from the cached
tool lists alone.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from core.base.text import NEAR_SHOWN, edit_distance
from core.errors import CallRefused
from core.tools.ranking import ToolIndex, stem
from core.tools.spec import ToolSpec, as_identifier

MAX_NAME_CHARACTERS: Final = 300
"""Longer names are cut before they are compared, which takes the square of their length."""

SLIP_LETTERS: Final = 5
"""In a shorter word another letter, or one more behind it, makes another word: `get` and `set`."""

_HOLDERS: Final = frozenset({"tools", "tool", "functions", "mcp"})
"""What models write before a tool's name, beside its server."""

_LOOK_LATIN: Final = str.maketrans(
    # Cyrillic, then Greek (Unicode Technical Standard 39, confusables)
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u04bb\u051b\u051d\u0501"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u03c5\u03c7",
    "aeopcxyijshqwdaopviktux",
)


class _Names:
    """All tools that are known, by every name; shared by the catalogues that offer some of them."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self.tools = tuple(_told_apart(tools))
        self.by_qualified = {tool.qualified_name: tool for tool in self.tools}
        self.by_name: dict[str, list[ToolSpec]] = {}
        servers = {
            name for tool in self.tools for name in (tool.server, as_identifier(tool.server))
        }
        for tool in self.tools:
            self.by_qualified.setdefault(_path(tool), tool)
            for name in {tool.name, tool.identifier}:
                if not _poses_as_anothers(name, tool, servers):
                    self.by_name.setdefault(name, []).append(tool)
        self.namespaces = {as_identifier(t.server) for t in self.tools if self.is_shared(t)}

    @cached_property
    def index(self) -> ToolIndex:
        """What ranks the tools; built when it is first needed."""
        return ToolIndex(self.tools)

    def is_shared(self, tool: ToolSpec) -> bool:
        """Whether another tool has its name or identifier."""
        return any(len(self.by_name.get(name, ())) > 1 for name in (tool.name, tool.identifier))

    def own(self, tool: ToolSpec) -> ToolSpec:
        """The catalogue's copy of a tool, which may have an alias."""
        return self.by_qualified.get(tool.qualified_name, tool)

    def candidates(self, name: str) -> list[ToolSpec]:
        """Every tool that `name` may mean; one for most."""
        tool = self.by_qualified.get(name)
        return self.by_name.get(name, []) if tool is None else [tool]


class ToolCatalog:
    """The tools on offer, reachable by bare name, `server.tool`, or Python identifier.

    A catalogue may know more tools than it offers (`offering`). A name means the same tool
    whether it is offered or not; one that isn't is refused with the advice to search for it.
    """

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        """Index the tools and offer them all; order is kept.

        Of tools with the same server and name the first counts: no call could mean another.
        """
        self._names = _Names(tools)
        self._offered = {tool.qualified_name: tool for tool in self._names.tools}

    def offering(self, tools: Iterable[ToolSpec]) -> "ToolCatalog":
        """A catalogue that knows the same tools and offers these of them, in this order."""
        names = self._names
        wanted = [names.own(tool) for tool in tools if tool.qualified_name in names.by_qualified]
        catalog = ToolCatalog(())
        catalog._names = names
        catalog._offered = {tool.qualified_name: tool for tool in wanted}
        return catalog

    def __iter__(self) -> Iterator[ToolSpec]:
        """The tools on offer, in the order given."""
        return iter(self._offered.values())

    def __len__(self) -> int:
        """Number of tools on offer."""
        return len(self._offered)

    def __contains__(self, name: object) -> bool:
        """Whether `name` resolves to exactly one tool, and that is on offer."""
        return isinstance(name, str) and self.get(name) is not None

    @property
    def known(self) -> tuple[ToolSpec, ...]:
        """Every tool, on offer or not, in the order first given."""
        return self._names.tools

    @property
    def left_out(self) -> int:
        """How many tools are known but not on offer."""
        return len(self.known) - len(self)

    def get(self, name: str) -> ToolSpec | None:
        """The one tool on offer that `name` means, else None."""
        tool = self.lookup(name)
        return tool if tool is not None and self.offers(tool) else None

    def lookup(self, name: str) -> ToolSpec | None:
        """The one tool that `name` means, on offer or not, else None."""
        candidates = self._names.candidates(name)
        return candidates[0] if len(candidates) == 1 else None

    def offers(self, tool: ToolSpec) -> bool:
        """Whether the tool is on offer."""
        return tool.qualified_name in self._offered

    def has_name(self, name: str) -> bool:
        """Whether some tool, on offer or not, has this bare name; even if several share it."""
        return name in self._names.by_name

    def rank(self, request: str) -> dict[str, float]:
        """How well each known tool fits the request; see `core.tools.ranking.ToolIndex.scores`."""
        return self._names.index.scores(request)

    def is_near(self, request: str) -> bool:
        """Whether some known tool has more than a passing word in common with the request."""
        return self._names.index.is_near(request)

    def search(self, words: str, limit: int) -> list[ToolSpec]:
        """The known tools, offered or not, that fit the words; the best first, `limit` at most."""
        return self._names.index.search(words, limit)

    def is_ambiguous(self, tool: ToolSpec) -> bool:
        """Whether a plan must name the tool's server too.

        So it is if another server offers a tool of the same name, and if the bare name is
        that of a server whose own tools must be reached through it.
        """
        own = self._names.own(tool)
        return self._names.is_shared(own) or own.identifier in self._names.namespaces

    def plan_name(self, tool: ToolSpec) -> str:
        """What a plan writes after `tools.`: the identifier, or `server.identifier`."""
        own = self._names.own(tool)
        return _path(own) if self.is_ambiguous(own) else own.identifier

    def resolve(self, name: str) -> ToolSpec:
        """The tool on offer that `name` means.

        Raises:
            CallRefused: no such tool (the nearest names are given), several servers have one
                (all are named), or it is not on offer (how to find it is said).
        """
        candidates = self._names.candidates(name)
        if len(candidates) > 1:
            names = " or ".join(tool.qualified_name for tool in candidates)
            raise CallRefused(f"'{name}' is offered by several servers; say {names}")
        if not candidates:
            raise CallRefused(self._unknown(name))
        if not self.offers(candidates[0]):
            raise CallRefused(f"{self.not_offered(candidates[0])}{self._near(name)}")
        return candidates[0]

    def not_offered(self, tool: ToolSpec) -> str:
        """What a plan that calls a tool without having been offered it is told."""
        words = " ".join(self.plan_name(tool).replace(".", "_").split("_"))
        return (
            f"'{self.plan_name(tool)}' exists but was not offered to this plan; find it first: "
            f'await search_tools("{words.strip()}")'
        )

    def spelt_alike(self, name: str) -> list[ToolSpec]:
        """The tools on offer whose names `name` is with a slip of the pen; a few at most.

        What a name means may be near and yet another thing (`cube` and `cbrt`, `get` and `set`), so
        no other likeness counts.
        """
        holders = _HOLDERS | {word for tool in self for word in _words_of(tool.server)}
        *before, last = _words_of(name) or [""]
        whole = "".join((*before, last))
        meant = [*(word for word in before if word not in holders), last]
        alike = [
            tool
            for tool in self
            if whole == "".join(words := _words_of(tool.identifier)) or _are_alike(meant, words)
        ]
        of_server = [tool for tool in alike if {*_words_of(tool.server)} <= {*before}]
        return (of_server or alike)[:NEAR_SHOWN]

    def nearest(self, name: str) -> list[str]:
        """The names of tools on offer that `name` is with a slip of the pen, as calls have them."""
        alike = self.spelt_alike(name)
        return [tool.name if tool.name in self else tool.qualified_name for tool in alike]

    def _unknown(self, name: str) -> str:
        offered = "" if self._offered else " (no tools are on offer)"
        return f"there is no tool '{name}'{self._near(name)}{offered}"

    def _near(self, name: str) -> str:
        near = self.nearest(name)
        return f"; did you mean {', '.join(near)}?" if near else ""


def _told_apart(tools: Iterable[ToolSpec]) -> Iterator[ToolSpec]:
    """The tools without repeats, with an alias where two of a server would look the same.

    A name that is an identifier already keeps it: of `a-b` and `a_b` the first becomes `a_b_2`.
    """
    known: dict[str, ToolSpec] = {}
    for tool in tools:
        known.setdefault(tool.qualified_name, tool)
    taken = {_path(tool) for tool in known.values() if _keeps_its_name(tool)}
    tried: Counter[str] = Counter()
    for tool in known.values():
        if not _keeps_its_name(tool):
            tool = _with_free_alias(tool, taken, tried)
            taken.add(_path(tool))
        yield tool


def _poses_as_anothers(name: str, tool: ToolSpec, servers: set[str]) -> bool:
    """Whether a bare name reads like `server.tool` of another server.

    It never means this tool then: a call meant for the other server must not end up here when
    that has no such tool any more.
    """
    server, dot, _ = name.partition(".")
    return (
        dot != "" and server in servers and server not in (tool.server, as_identifier(tool.server))
    )


def _keeps_its_name(tool: ToolSpec) -> bool:
    return tool.alias is not None or tool.identifier == tool.name


def _with_free_alias(tool: ToolSpec, taken: set[str], tried: Counter[str]) -> ToolSpec:
    """The tool under the first free name; `tried` remembers how far each name was counted."""
    path, free = _path(tool), tool
    while _path(free) in taken:
        tried[path] += 1
        free = replace(tool, alias=as_identifier(f"{tool.identifier}_{tried[path] + 1}"))
    return free


def _path(tool: ToolSpec) -> str:
    return f"{as_identifier(tool.server)}.{tool.identifier}"


def _words_of(name: str) -> list[str]:
    """The words in a name as they look to someone who reads over it."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:MAX_NAME_CHARACTERS])
    letters = unicodedata.normalize("NFKD", parted).casefold().translate(_LOOK_LATIN)
    seen = "".join(one for one in letters if unicodedata.category(one) not in ("Mn", "Cf"))
    return re.findall(r"[^\W_]+", seen)


def _are_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    return len(words) == len(others) and all(map(_is_slip, words, others))


def _is_slip(word: str, other: str) -> bool:
    """Whether two words are one, mistyped at most: one letter more, less, or another."""
    if word == other or stem(word) == stem(other):
        return True
    if word[:1] != other[:1] or abs(len(word) - len(other)) > 1:
        return False
    if sorted(word) == sorted(other) or _undoubled(word) == _undoubled(other):
        return True
    shorter, longer = sorted((word, other), key=len)
    is_inner = len(shorter) < len(longer) and not longer.startswith(shorter)
    return len(longer if is_inner else shorter) >= SLIP_LETTERS and edit_distance(word, other) == 1


def _undoubled(word: str) -> str:
    return re.sub(r"(.)\1", r"\1", word)
