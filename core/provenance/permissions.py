"""What the user has allowed for longer than one call: a tool, and the one target that was meant.

A target is never wider than the doubt that was answered, so that no page widens an «always»:

* of an address, for a tool that only reads: its scheme, host and port, where it is one plain URL;
* of a path, an e-mail address or a name, for such a tool: that one;
* of a call that may change something: the one path that it is given, where it is given nothing
  else but text that is written (`write_file(path, content)`); else all of its arguments, and so
  where the doubt is about what stands in that text.

A tool with any arguments is allowed where the user says so by name (`/permissions allow`), and
even then the addresses and paths in them are looked at, as with `--approve`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from core.base.files import KeptEntries
from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.redaction import Redactor
from core.base.text import counted, lazy_pattern
from core.provenance import paths
from core.provenance.arguments import texts_of
from core.provenance.checks import Doubt
from core.provenance.known import ProvenancePolicy
from core.provenance.urls import addresses_in, parse_url
from core.run.kept_results import call_key
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

TargetKind: TypeAlias = Literal["any", "host", "url", "path", "address", "name", "call"]

PERMISSIONS_MAX: Final = 500
"""So many are kept, those of all agents together, and so many hold for a session."""

TARGET_CHARACTERS_MAX: Final = 4_096
"""A longer target is not kept."""

CALL_CHARACTERS_SHOWN: Final = 200
"""How much of a call's arguments is kept, to be recognised by."""

_PLAIN_URL: Final = lazy_pattern(r"[A-Za-z]+://[^\s@\\/?#,;:\"'<>]+(:\d+)?([/?#][!-\[\]-~]*)?")
"""One address, whoever reads it: no white space or user name, and no second one in it."""


@frozen
class Permission:
    """A tool (`server.tool`) that may be called with a target; `shown` is the target for people.

    `server` is what the server was when that was said (`server_key`): another one that gets its
    id has no leave.
    """

    tool: str
    kind: TargetKind
    target: str = ""
    shown: str = field(default="", compare=False)
    server: str = ""


def permission_for(
    tool: ToolSpec,
    arguments: JsonObject,
    doubt: Doubt,
    policy: ProvenancePolicy,
    *,
    changes: bool,
) -> Permission:
    """What «always» means as the answer to this doubt; `changes`: the tool may change something."""
    meant = _target(tool, arguments, doubt, policy.home, changes=changes)
    return replace(meant, server=policy.server_keys.get(tool.server, ""))


def _target(
    tool: ToolSpec, arguments: JsonObject, doubt: Doubt, home: str, *, changes: bool
) -> Permission:
    name = tool.qualified_name
    if not changes and doubt.kind != "tool":
        if doubt.kind == "url" and (origin := _origin(doubt.value)) is not None:
            return Permission(name, "host", origin, origin)
        return Permission(name, doubt.kind, doubt.key, doubt.value)
    path = _only_path(tool, arguments, home)
    if path is not None and (doubt.kind == "tool" or (doubt.kind, doubt.key) == ("path", path)):
        return Permission(name, "path", path, path)
    digest = call_key(tool, arguments)[1].hex()
    return Permission(name, "call", digest, json_start(arguments, CALL_CHARACTERS_SHOWN))


def sufficient(always: Permission, doubt: Doubt) -> Iterator[Permission]:
    """What must be allowed for a doubt to be no doubt: one of these; `always` is the answer's."""
    yield always
    if doubt.kind == "tool":
        yield replace(always, kind="any", target="")
        return
    yield replace(always, kind=doubt.kind, target=doubt.key)
    if doubt.kind == "url" and (origin := _origin(doubt.value)) is not None:
        yield replace(always, kind="host", target=origin)


def named_permission(tool: str, target: str, policy: ProvenancePolicy) -> Permission | None:
    """What the user allows by name: any arguments, an address, its host, an e-mail, a path.

    None where the target is said to be an address and is none.
    """
    named = _named(tool, target.strip(), policy.home)
    server = policy.server_keys.get(tool.partition(".")[0], "")
    return None if named is None else replace(named, server=server)


def _named(tool: str, text: str, home: str) -> Permission | None:
    if not text:
        return Permission(tool, "any")
    if "://" in text and not text.lower().startswith("file:"):
        url, origin = parse_url(text), _origin(text)
        if url is None:
            return None
        if origin is not None and origin == url.key:
            return Permission(tool, "host", origin, origin)
        return Permission(tool, "url", url.key, text)
    for written, key in addresses_in(text):
        if written == text:
            return Permission(tool, "address", key, text)
    return Permission(tool, "path", paths.normal(text, home), text)


def _origin(text: str) -> str | None:
    """Scheme, host and port of a text that is one plain web address."""
    url = parse_url(text)
    if url is None or url.scheme not in ("http", "https") or not _PLAIN_URL.fullmatch(text.strip()):
        return None
    if text.count("://") > 1:
        return None
    return "/".join(url.key.partition("?")[0].split("/")[:3])


def _only_path(tool: ToolSpec, arguments: JsonObject, home: str) -> str | None:
    """The path of a call that is given nothing else but text to be written; in its plain form."""
    inner = arguments.get("input")
    whole = inner if isinstance(inner, dict) and len(arguments) == 1 else arguments
    if not all(map(_is_text, whole.values())):
        return None
    places = [each for each in texts_of(tool, arguments) if not each.is_content]
    if len(places) != 1 or not places[0].is_path:
        return None
    path = places[0].text
    return path if paths.normal(path, home) == path else None


def _is_text(value: Json) -> bool:
    """Whether a value is text to its last part: a number or a switch may mean anything."""
    if isinstance(value, list):
        return all(map(_is_text, value))
    if isinstance(value, dict):
        return all(map(_is_text, value.values()))
    return isinstance(value, str)


@dataclass
class Permissions:
    """What one agent may do unasked: for this session, and for good in a file of all agents.

    The file is read anew each time, so that what is taken back elsewhere holds at once. Every
    method but `begin_session` and `use` may block for a moment.

    Attributes:
        file: holds what is allowed for good; None where nothing can be.
        agent: whose lines in the file count.
        redactor: a call that holds a secret is not kept.
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

    def cover(self, wanted: Iterable[Permission]) -> bool:
        """Whether one of these is allowed."""
        asked = {*wanted}
        return any(each in asked for each in (*self.session, *self.kept))

    def allow(self, new: Permission, arguments: Json = None, *, for_good: bool) -> None:
        """Allow it for this session, or keep it; what can't be kept holds for the session.

        It was asked about in a call with these `arguments`: no secret of theirs is kept.
        """
        why_not = self._keep(new, arguments) if for_good else ""
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

    def _keep(self, new: Permission, arguments: Json) -> str:
        """Keep it; why that can't be, else nothing."""
        if self._store is None:
            return "nothing is kept here"
        seen: Json = [new.target, new.shown, arguments]
        if self.redactor.json(seen) != seen:
            return "a secret is in it, and none is kept"
        if len(new.target) > TARGET_CHARACTERS_MAX:
            return "it is too long to be kept"
        try:
            with self._store.changing() as agents:
                kept = _of_agent(agents, self.agent)
                number = sum(len(rows) for rows in agents.values() if isinstance(rows, list))
                if number >= PERMISSIONS_MAX:
                    return f"{counted(PERMISSIONS_MAX, 'permission')} are kept already; forget some"
                if new not in kept:
                    agents[self.agent] = _rows([*kept, new])
        except OSError as error:
            return f"{self.file} can't be written: {error.strerror or error}"
        return ""


def _rows(permissions: Iterable[Permission]) -> list[Json]:
    return [
        {
            "tool": p.tool,
            "kind": p.kind,
            "target": p.target,
            "shown": p.shown,
            "server": p.server,
        }
        for p in permissions
    ]


def _of_agent(agents: JsonObject, agent: str) -> tuple[Permission, ...]:
    rows = agents.get(agent)
    return tuple(_permissions(rows)) if isinstance(rows, list) else ()


def _permissions(rows: list[Json]) -> Iterator[Permission]:
    for row in rows[:PERMISSIONS_MAX]:
        match row:
            case {
                "tool": str(tool),
                "kind": str(kind),
                "target": str(target),
                "shown": str(shown),
                "server": str(server),  # what was kept without it, is asked about anew
            }:
                for known in get_args(TargetKind):
                    if kind == known:
                        yield Permission(tool, known, target, shown, server)
            case _:
                continue
