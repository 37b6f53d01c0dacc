"""The roles of a team, and who of it does a subtask: always the same one in the same place.

A role that the subtask names does it. Else those count that may use all the tools which the
subtask lists; of these the one whose purpose shares the most words with the description; of those
that are about equal, the one with the least to do. Where no role fits, the whole agent does it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from config.schema import AgentProfile, PersonaSection, RoleEntry, TeamSection
from core.base.frozen import frozen
from core.base.text import counted, listed, one_line
from core.ports import Dispatcher
from core.provenance.effects import may_change
from core.provenance.known import matches
from core.run.chosen_tools import ChosenTools, tools_named
from core.team import graph as graphs
from core.team.graph import Subtask, TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.ranking import WORD, ToolIndex, stems
from core.tools.spec import ToolSpec
from modules.planning.prompt.stubs import describe_tool

GENERALIST: Final = "generalist"
"""The role that is the whole agent."""

# Presets name tools of the bundled servers. A name whose server is not there means nothing, and the
# role has the others. A role without tools works in the sandbox, on the texts that it is given.

_DOCUMENTS: Final = (
    "documents.search_stored_documents",
    "documents.list_documents",
    "documents.get_document",
    "documents.extract_pdf",
)
_WEB: Final = ("documents.convert_webpage_url_into_markdown",)
_PAST: Final = ("memory.search_memory", "memory.recall")


def _preset(
    purpose: str, *tools: str, servers: tuple[str, ...] = (), says: PersonaSection | None = None
) -> RoleEntry:
    return RoleEntry(purpose=purpose, servers=servers, tools=tools, persona=says)


PRESETS: Final[Mapping[str, RoleEntry]] = MappingProxyType(
    {
        "generalist": _preset("The whole agent: does whatever no other role is for.", "*"),
        "researcher": _preset(
            "Research: finds and collects facts and information about a subject, on the web and "
            "in stored documents, with sources.",
            *_DOCUMENTS, *_WEB, *_PAST,
            servers=("websearch",),
            says=PersonaSection(
                tone="factual", verbosity="medium", behavior_tags=("thorough", "names its sources")
            ),
        ),
        "analyst": _preset(
            "Analysis of numbers: calculates sums, differences, averages, percentages, growth and "
            "other figures, and compares values.",
            servers=("math",),
            says=PersonaSection(tone="precise", behavior_tags=("calculates with tools or code",)),
        ),
        "writer": _preset(
            "Writing: writes, drafts and rewrites texts such as a report, summary, letter, email "
            "or article, with tables and headings.",
            says=PersonaSection(
                tone="clear", verbosity="high", behavior_tags=("writes for its readers",)
            ),
        ),
        "coder": _preset(
            "Code: programs in Python that parse, sort, filter, count, convert and transform data, "
            "lists, JSON or CSV, in the sandbox.",
            says=PersonaSection(tone="technical", behavior_tags=("computes instead of guessing",)),
        ),
        "reviewer": _preset(
            "Review: reviews, checks, verifies and criticises a draft or result for mistakes and "
            "gaps, against what was asked for and its sources.",
            "documents.search_stored_documents", "documents.get_document",
            says=PersonaSection(tone="critical", behavior_tags=("names every mistake it finds",)),
        ),
        "query_rewriter": _preset(
            "Rewrites and expands a question into queries that search engines answer better.",
        ),
        "synthesizer": _preset(
            "Synthesis: merges, combines and joins results of several sources into one answer, and "
            "says where they contradict each other.",
        ),
        "analyzer": _preset(
            "Analyzes the content of a text: themes, arguments, sentiment, entities, strengths and "
            "weaknesses, what it has in common with another.",
        ),
        "retriever": _preset(
            "Retrieves passages from stored documents: looks up in files, contracts, notes, PDF.",
            *_DOCUMENTS,
        ),
        "searcher": _preset(
            "Searches the web, the internet and news online for pages, sites and articles.",
            *_WEB,
            servers=("websearch",),
        ),
    }
)  # fmt: skip
"""Roles that work out of the box, by name; `config.schema.PRESET_ROLES` lists the names."""

ALL_TOOLS: Final = ("*",)

ABOUT_EQUAL: Final = 0.9
"""A score of this share of the best is as good as it: then load decides."""

NEAR_TOOLS: Final = 5
"""A role that may use none of so many tools, those nearest to a subtask, can't do it."""

NAMES_SHOWN: Final = 4
"""How many words or tools a reason names."""

WORD_CHARACTERS_SHOWN: Final = 30


@frozen
class Role:
    """Who may do a subtask, and with what.

    Attributes:
        purpose: what it is for, in words that subtasks use.
        servers: ids of servers all of whose tools it may use.
        tools: patterns of further tools, as `core.provenance.known.matches` reads them.
        persona: how it writes; None for the profile's.
        model: as `llm.text_generation` of the profile; None for the run's.
        max_steps: how many plans a subtask may take; None for the profile's.
        max_cost: US dollars that one try of a subtask may cost; None is no limit of its own.
        max_tokens: the same in tokens read and written.
    """

    name: str
    purpose: str
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    persona: PersonaSection | None = None
    model: str | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None

    def may_use(self, tool: ToolSpec) -> bool:
        """Whether the tool is one of its own."""
        return tool.server in self.servers or matches(tool, self.tools)

    @property
    def has_all_tools(self) -> bool:
        """Whether it may use whatever is there."""
        return "*" in self.tools

    @property
    def works_on_texts(self) -> bool:
        """Whether it may use no tool, whatever is there."""
        return not self.servers and not self.tools

    def profile(self, whole: AgentProfile) -> AgentProfile:
        """The profile of a subtask's run: the whole agent's, with what this role has of its own.

        `max_cost` and `max_tokens` are no part of it: they bound the subtask, and the profile's
        bound the request.
        """
        changed = whole if self.max_steps is None else whole.with_strategy(max_steps=self.max_steps)
        if self.name == GENERALIST:
            return changed
        told = f"{whole.agent.description.strip()} You are a team's {self.name}. {self.purpose}"
        agent = whole.agent.model_copy(update={"description": told.strip()})
        persona = whole.persona if self.persona is None else self.persona
        return changed.model_copy(update={"agent": agent, "persona": persona})


@frozen
class Assignment:
    """A role for a subtask, and why it is this one; `reason` is for people.

    Attributes:
        fit: how well its purpose fits the words of the subtask: a score of
            `core.tools.ranking`, 0 where they share none that tells.
        load: how many subtasks the role is at work on.
    """

    role: Role
    reason: str
    fit: float = 0.0
    load: int = 0


class Team:
    """The roles of a profile and the presets, and the tools that are there for them."""

    def __init__(self, section: TeamSection, tools: Dispatcher) -> None:
        """Make the roles; `tools` is asked for its catalogue whenever somebody is chosen."""
        self.roles = roles_of(section)
        self._tools = tools
        self._index = ToolIndex(
            ToolSpec("", role.name, role.purpose, {})
            for role in self.roles.values()
            if role.name != GENERALIST
        )

    def assign(self, subtask: Subtask, busy: Sequence[str] = ()) -> Assignment:
        """Who does the subtask; `busy` names a role for each subtask that it is at work on."""
        return self.ranked(subtask, busy)[0]

    def ranked(self, subtask: Subtask, busy: Sequence[str] = ()) -> tuple[Assignment, ...]:
        """All who may do the subtask, the best first; the generalist comes before who doesn't fit.

        A role that the subtask names comes first, whatever it may use.
        """
        fitting, rest = self._by_fit(subtask, busy)
        whole = self.roles[GENERALIST]
        why = (
            "it may do anything" if fitting or subtask.role in self.roles else "no other role fits"
        )
        ranked = [*fitting, Assignment(whole, why, load=busy.count(GENERALIST)), *rest]
        if (named := self.roles.get(subtask.role or "")) is None:
            return tuple(ranked)
        others = [each for each in ranked if each.role.name != named.name]
        why = self._named(named, subtask)
        fit = next((each.fit for each in ranked if each.role.name == named.name), 0.0)
        return (Assignment(named, why, fit, busy.count(named.name)), *others)

    def tools_for(self, role: Role, subtask: Subtask) -> tuple[ToolSpec, ...]:
        """The tools that are there, and that both the role and the subtask may use."""
        return tuple(tool for tool in self._listed(subtask) if role.may_use(tool))

    def dispatcher_for(self, role: Role, subtask: Subtask, *, harmless: bool = False) -> Dispatcher:
        """What calls the tools that the role has for the subtask, and no others.

        With `harmless`, those alone that change nothing.
        """
        if role.has_all_tools and not subtask.tools and not harmless:
            return self._tools
        found = self.tools_for(role, subtask)
        names = [t.qualified_name for t in found if not harmless or not may_change(t)]
        return ChosenTools(self._tools, names)

    def changes_something(self, subtask: Subtask) -> bool:
        """Whether the subtask lists a tool that may change something."""
        return bool(subtask.tools) and any(map(may_change, self._listed(subtask)))

    def tool_characters(self, role: Role, subtask: Subtask) -> int:
        """What the role's tools take in a prompt."""
        found = self.tools_for(role, subtask)
        return sum(len(describe_tool(tool, self._catalog)) for tool in found)

    def problems(self, graph: TaskGraph) -> tuple[str, ...]:
        """Why the graph can't be run by this team, a sentence each; empty if it can.

        While no tool is known, nothing is said of tools.
        """
        known = self._catalog.known
        names = {name for t in known for name in (t.name, t.qualified_name, t.server)}
        found = graphs.problems(graph, self.roles, names or None)
        return (*found, *self._without_tools(graph)) if known else found

    @property
    def _catalog(self) -> ToolCatalog:
        return self._tools.catalog

    def _listed(self, subtask: Subtask) -> Sequence[ToolSpec]:
        """The tools that a subtask may use, whoever does it."""
        if not subtask.tools:
            return self._catalog.known
        found = (t for name in subtask.tools for t in tools_named(name, self._catalog))
        return tuple({tool.qualified_name: tool for tool in found}.values())

    def _by_fit(
        self, subtask: Subtask, busy: Sequence[str]
    ) -> tuple[list[Assignment], list[Assignment]]:
        """Roles beside the generalist that can do the subtask: those that fit, and the others."""
        scores = {name[1:]: score for name, score in self._index.scores(subtask.words).items()}
        near = {tool.name for tool in self._index.near(subtask.words, len(self.roles))}
        wanted = self._wanted(subtask)
        can = [role for role in self.roles.values() if self._can(role, subtask, wanted)]
        best = max((scores.get(role.name, 0.0) for role in can), default=0.0)
        fitting, rest = list[Assignment](), list[Assignment]()
        for role in can:
            fits = role.name in near or bool(subtask.tools)
            load, fit = busy.count(role.name), scores.get(role.name, 0.0)
            why = self._why(role, subtask, load) if fits else "it can do it, too"
            (fitting if fits else rest).append(Assignment(role, why, fit, load))
        fitting.sort(key=lambda one: _order(one, best))
        return fitting, rest

    def _wanted(self, subtask: Subtask) -> Sequence[ToolSpec]:
        """The tools that a subtask lists, or else those that its words are about, or else all."""
        if subtask.tools or not self._catalog.is_near(subtask.words):
            return self._listed(subtask)
        return self._catalog.search(subtask.words, NEAR_TOOLS)

    def _can(self, role: Role, subtask: Subtask, wanted: Sequence[ToolSpec]) -> bool:
        """Whether a role that nobody names has what the subtask takes.

        Who has no tools can work on what others found, and on nothing else.
        """
        if role.name == GENERALIST:
            return False
        if role.works_on_texts and not subtask.tools:
            return bool(subtask.dependencies)
        may = [role.may_use(tool) for tool in wanted]
        return all(may) and bool(may) if subtask.tools else any(may)

    def _why(self, role: Role, subtask: Subtask, load: int) -> str:
        reasons: list[str] = []
        if subtask.tools:
            reasons.append(f"it may use {_shown(subtask.tools)}")
        if words := [*_shared(subtask.words, f"{role.name} {role.purpose}")]:
            reasons.append(f"it is for {_shown(words)}")
        if load:
            reasons.append(f"it has {counted(load, 'subtask')} to do already")
        return ", and ".join(reasons)

    def _named(self, role: Role, subtask: Subtask) -> str:
        why = "the subtask names it"
        if role.works_on_texts or self.tools_for(role, subtask):
            return why
        return f"{why}; none of its tools is there"

    def _without_tools(self, graph: TaskGraph) -> Iterator[str]:
        for subtask in graph.subtasks:
            role, listed_ = self.roles.get(subtask.role or ""), self._listed(subtask)
            if not subtask.tools or not listed_ or role is None or any(map(role.may_use, listed_)):
                continue
            others = [each.name for each in self.roles.values() if all(map(each.may_use, listed_))]
            yield (
                f"subtask '{one_line(subtask.id, 60)}': no role can do it: {role.name}, which it "
                f"names, may not use {_shown(subtask.tools)}; {_shown(others)} may"
            )


def roles_of(section: TeamSection) -> dict[str, Role]:
    """The presets as the profile changes them, then the profile's own, by name."""
    own = {name: entry for name, entry in section.roles.items() if name not in PRESETS}
    roles = {
        name: _role(name, _changed(preset, section.roles.get(name)))
        for name, preset in PRESETS.items()
    }
    return roles | {name: _role(name, entry) for name, entry in own.items()}


def _changed(preset: RoleEntry, entry: RoleEntry | None) -> RoleEntry:
    said = {} if entry is None else {key: getattr(entry, key) for key in entry.model_fields_set}
    return preset.model_copy(update=said)


def _role(name: str, entry: RoleEntry) -> Role:
    is_free = entry.servers is None and entry.tools is None
    return Role(
        name,
        entry.purpose or "",
        entry.servers or (),
        ALL_TOOLS if is_free else entry.tools or (),
        entry.persona,
        entry.model,
        entry.max_steps,
        entry.max_cost,
        entry.max_tokens,
    )


def _order(one: Assignment, best: float) -> tuple[bool, float, float]:
    """Equal ones stay as they stood."""
    if one.fit >= ABOUT_EQUAL * best:
        return False, one.load, -one.fit
    return True, -one.fit, one.load


def _shared(text: str, other: str) -> Iterator[str]:
    """The words of a text that another has too, in whatever form, each once."""
    stems_there, seen = {*stems(other)}, set[str]()
    for word in WORD.findall(text):
        found = {*stems(word)} & stems_there - seen
        seen |= found
        if found:
            yield one_line(word.lower(), WORD_CHARACTERS_SHOWN)


def _shown(names: Iterable[str]) -> str:
    every = [one_line(name, 2 * WORD_CHARACTERS_SHOWN) for name in names]
    return listed(every[:NAMES_SHOWN], len(every))
