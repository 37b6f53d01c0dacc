"""The catalogue of tools: resolves names, and knows which tools a plan was offered.

Nothing here needs a running server, so that planning can start from the cached
tool lists alone.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from core.base.text import edit_distance, near_names
from core.errors import CallRefused
from core.tools.ranking import WORD, ToolIndex, stem
from core.tools.spec import ToolSpec, as_identifier

NAME_CHARACTERS_LOOKED_AT: Final = 200
"""How much of a name is looked at for the words in it."""

WORD_CHARACTERS_MAX: Final = 40
"""In a longer one, slips are not looked for."""

_CLIENT_WORDS: Final = frozenset({"mcp", "tools", "tool"})


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

    @cached_property
    def shared_words(self) -> dict[str, set[str]]:
        """By server, what only says whose tools they are: the first word of `github_create_issue`.

        Those are the words of the server's name, and one with which all its names begin.
        """
        firsts: dict[str, list[str]] = {}
        for tool in self.tools:
            firsts.setdefault(tool.server, []).append("".join(_words(tool.name)[:1]))
        return {
            server: {*_words(server), *(words if len(words) > 1 and len({*words}) == 1 else ())}
            for server, words in firsts.items()
        }

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
            raise CallRefused(self.not_offered(candidates[0]))
        return candidates[0]

    def not_offered(self, tool: ToolSpec) -> str:
        """What a plan that calls a tool without having been offered it is told."""
        words = " ".join(self.plan_name(tool).replace(".", "_").split("_"))
        return (
            f"'{self.plan_name(tool)}' exists but was not offered to this plan; find it first: "
            f'await search_tools("{words.strip()}")'
        )

    def nearest(self, name: str) -> list[str]:
        """The names of tools on offer that look most like `name`, a few at most."""
        names: dict[str, None] = {}
        meant = self.meant_by(name)
        for tool in meant:
            names |= {name: None for name in (tool.name, tool.identifier) if name in self}
        for tool in meant:
            names |= dict.fromkeys((tool.qualified_name, _path(tool)))
        return near_names(name, names, 0.5)

    def meant_by(self, name: str) -> list[ToolSpec]:
        """The tools on offer that an unknown name may be a slip for, however far it is from theirs.

        One that may change something is none unless the name has the same action word: nobody who
        reads mail is led to the tool that deletes it.
        """
        return [tool for tool in self if tool.read_only or self._is_same_action(tool, name)]

    def _is_same_action(self, tool: ToolSpec, name: str) -> bool:
        bare = unicodedata.normalize("NFKD", name).rstrip(".").rpartition(".")[2]
        own, called = _words(tool.name), _words(bare)
        if "".join(own) == "".join(called):
            return True
        shared = self._names.shared_words[tool.server]
        action, wanted = _action(own, shared), _action(called, shared | _CLIENT_WORDS)
        return not wanted or wanted == action or _is_slip(wanted, action)

    def _unknown(self, name: str) -> str:
        offered = "" if self._offered else " (no tools are on offer)"
        return f"there is no tool '{name}'{self._near(name)}{offered}"

    def _near(self, name: str) -> str:
        near = self.nearest(name)
        return f"; did you mean {', '.join(near)}?" if near else ""


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name[:NAME_CHARACTERS_LOOKED_AT])]


def _action(words: Sequence[str], shared: Collection[str]) -> str:
    """The first word that says what is done; "" where the words only say whose tool it is."""
    return stem(next((word for word in words if word not in shared), ""))


def _is_slip(word: str, other: str) -> bool:
    """Whether one letter is left out or too many; another letter makes `set` of `get`."""
    lengths = sorted((len(word), len(other)))
    return lengths[1] == lengths[0] + 1 <= WORD_CHARACTERS_MAX and edit_distance(word, other) == 1


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
