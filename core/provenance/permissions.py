"""What the user has allowed for longer than one call: rules, for a session or kept in a file.

A rule that an answer keeps names each value of the call as it stood there, so that no page widens
an «always»; of an address that only reads, all of its host. The user may write another in its
place. A rule of the file holds for the server that it was written for, not for another one that
gets its id. With a bare TOOL or TOOL(argument=…) addresses and paths that the rule does not name
are looked at all the same.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.base.files import KeptEntries
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import counted
from core.provenance.rules import Rule, RuleError, literal, read_rule
from core.values import Json, JsonObject

PERMISSIONS_MAX: Final = 500
"""So many are kept, those of all agents together, and so many hold for a session."""

EACH: Final = "*"
"""Stands for the name of every argument in a rule that a version before 2026-11-28 kept."""

SAME_CALL: Final = "#"
"""The name under which such a rule has the digest of all arguments."""


@frozen
class Permission:
    """A rule, and what its server was when the user allowed it (`server_key`)."""

    rule: Rule
    server: str = ""

    @property
    def tool(self) -> str:
        """The tool that it is for."""
        return self.rule.tool


@dataclass
class Permissions:
    """What one agent may do unasked: for this session, and for good in a file of all agents.

    The file is read anew each time, so that what is taken back elsewhere holds at once. Every
    method but `begin_session` and `use` may block for a moment.

    Attributes:
        file: holds what is allowed for good; None where nothing can be.
        agent: whose lines in the file count.
        redactor: a rule that holds a secret is not kept.
        tell: says a line to the user.
        session: what is allowed for this session.
    """

    file: Path | None = None
    agent: str = ""
    redactor: Redactor = field(default_factory=lambda: Redactor({}))
    tell: Callable[[str], None] = lambda text: None
    session: tuple[Permission, ...] = ()

    @property
    def _store(self) -> KeptEntries | None:
        return None if self.file is None else KeptEntries(self.file, "agents")

    def use(self, agent: str) -> None:
        """Go by what another agent may do, if it is another."""
        if agent != self.agent:
            self.agent, self.session = agent, ()

    def begin_session(self) -> None:
        """Forget what holds for a session: another one begins."""
        self.session = ()

    @property
    def kept(self) -> tuple[Permission, ...]:
        """Those that outlast a session, the oldest first; none of a file that is damaged."""
        return _of_agent({} if self._store is None else self._store.read(), self.agent)

    def rules_for(self, server: str) -> Iterator[Rule]:
        """The rules that hold where a server is this one (`server_key`)."""
        return (each.rule for each in (*self.session, *self.kept) if each.server == server)

    def allow(self, new: Permission, *, for_good: bool) -> None:
        """Allow it for this session, or keep it; what can't be kept holds for the session."""
        why_not = self._keep(new) if for_good else ""
        if why_not:
            self.tell(f"allowed for this session only: {why_not}")
        if (why_not or not for_good) and new not in self.session:
            self.session = (*self.session, new)[-PERMISSIONS_MAX:]

    def forget(self, gone: Iterable[Permission]) -> None:
        """Take these back.

        Raises:
            OSError: the file can't be written.
        """
        forgotten = {*gone}
        self.session = tuple(each for each in self.session if each not in forgotten)
        if self._store is not None and forgotten & {*self.kept}:
            with self._store.changing() as agents:
                left = [p for p in _of_agent(agents, self.agent) if p not in forgotten]
                agents[self.agent] = _rows(left)

    def _keep(self, new: Permission) -> str:
        """Keep it; why that can't be, else nothing."""
        if self._store is None:
            return "nothing is kept here"
        text = str(new.rule)
        if self.redactor.text(text) != text:
            return "a secret is in it, and none is kept"
        try:
            if read_rule(text) != new.rule:
                return "it can't be written down"
            with self._store.changing() as agents:
                kept = _of_agent(agents, self.agent)
                number = sum(len(rows) for rows in agents.values() if isinstance(rows, list))
                if number >= PERMISSIONS_MAX:
                    return f"{counted(PERMISSIONS_MAX, 'permission')} are kept already; forget some"
                if new not in kept:
                    agents[self.agent] = _rows([*kept, new])
        except RuleError:
            return "it is too long to be kept"
        except OSError as error:
            return f"{self.file} can't be written: {error.strerror or error}"
        return ""


def _rows(permissions: Iterable[Permission]) -> list[Json]:
    return [{"rule": str(each.rule), "server": each.server} for each in permissions]


def _of_agent(agents: JsonObject, agent: str) -> tuple[Permission, ...]:
    rows = agents.get(agent)
    return tuple(_permissions(rows)) if isinstance(rows, list) else ()


def _permissions(rows: list[Json]) -> Iterator[Permission]:
    for row in rows[:PERMISSIONS_MAX]:
        match row:
            case {"rule": str(text), "server": str(server)}:
                try:
                    yield Permission(read_rule(text), server)
                except RuleError:
                    continue
            case {"tool": str(tool), "kind": str(kind), "target": str(target), "server": str(key)}:
                if kind in _FORMER_KINDS:
                    yield Permission(Rule(tool, _former(kind, target)), key)
            case _:
                continue


def _former(kind: str, target: str) -> tuple[tuple[str, str], ...] | None:
    """The patterns of what a version before 2026-11-28 kept; its target fits them."""
    if kind == "any":
        return None
    if kind == "call":
        return ((SAME_CALL, target),)
    return ((EACH, f"{literal(target)}/*" if kind == "host" else literal(target)),)


_FORMER_KINDS: Final = ("any", "call", "host", "url", "path", "address", "name")
