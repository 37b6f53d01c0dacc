"""Holds servers to the tool definitions that were first used ("rug pull" protection).

A server can show harmless tools when it is added and others later (tool poisoning, Invariant Labs
2025). So each definition is pinned on first use, and a server whose definition differs from its pin
keeps that tool out of reach until the user accepts the change. Trust on first use: what a new
tool says is taken as it is, and so is everything after the user edits a server's command or URL.

The record itself is as safe as the user's home: a program that can write there could as well
replace this one.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.text import has_hidden, listed, with_hidden_shown
from core.dispatch.definitions import changed_parts, definition_text, digest, tool_without_hidden
from core.dispatch.hooks import Approve, ToolChange
from core.dispatch.pin_file import Pin, PinStore
from core.tools.spec import ToolSpec

SERVER_PINS_MAX = 10_000
"""So many names are pinned for one server; tools beyond are left out, none is forgotten."""

SERVER_TEXT_CHARACTERS_MAX = 1_000_000
"""So much text is kept for one server; of further tools only the hash."""

REFUSALS_MAX = 3
"""A server whose changes were refused so often is not asked about again in this process."""

NAMES_SHOWN = 5
"""How many tools a note names."""

ALLOW_OPTION = "--allow-tool-changes"
"""What accepts changes without asking, as messages name it."""


@frozen
class Admitted:
    """What became of a server's list: tools that may be used, names left out, lines to tell."""

    tools: list[ToolSpec]
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class _Change:
    """A listed tool that isn't what was pinned under its name."""

    name: str
    sha256: str
    shown: ToolChange

    @property
    def words(self) -> str:
        """`'tool' (description)`."""
        return f"'{self.name}' ({changed_parts(self.shown.before, self.shown.after)})"


@frozen
class _Seen:
    """What a look at a list found.

    `hashes` are those of the tools that can be held to their definitions; `unfit` are names left
    out whatever the user says.
    """

    hashes: dict[str, str] = field(default_factory=dict[str, str])
    changes: list[_Change] = field(default_factory=list[_Change])
    unfit: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


@dataclass
class ToolPins:
    """The pins of all servers, in one file that is shared by all processes of the user.

    With `allow_changes`, changes are accepted without asking.
    """

    file: Path
    allow_changes: bool = False
    _declined: dict[tuple[str, str], set[str]] = field(
        init=False, default_factory=dict[tuple[str, str], set[str]]
    )
    _refusals: Counter[str] = field(init=False, default_factory=Counter[str])

    @cached_property
    def _store(self) -> PinStore:
        return PinStore(self.file)

    async def admit(
        self, spec: ServerSpec, tools: Sequence[ToolSpec], approve: Approve
    ) -> Admitted:
        """Compare a server's list with the pins; `approve` is asked once about all changes.

        A new tool is pinned, an unchanged one passes; a note names what a server adds to tools
        that are pinned already, for a changed tool may come back under another name. A changed
        one passes and is pinned anew if it is approved; else it is left out, this process does
        not ask again about the same change, nor about any of this server after `REFUSALS_MAX`
        refusals, and the note says how to allow it. A tool that disappears stays pinned. Of tools
        of the same name the first counts, as in a catalogue.

        Tools whose names hold hidden characters are left out: they pose as others. Descriptions
        lose them, so that the planner reads what a person would see; a note says so.
        """
        first: dict[str, ToolSpec] = {}
        for tool in tools:
            first.setdefault(tool.name, tool)
        seen = await asyncio.to_thread(self._look, spec, first)
        refused, told = await self._judge(spec, seen.changes, approve)
        left_out = tuple(dict.fromkeys([*seen.unfit, *refused]))
        out = set(left_out)
        kept = [tool for name, tool in first.items() if name not in out]
        admitted, cleaned = await asyncio.to_thread(_cleaned, spec, kept)
        return Admitted(admitted, left_out, (*seen.notes, *told, *self._store.warnings(), *cleaned))

    def _look(self, spec: ServerSpec, tools: Mapping[str, ToolSpec]) -> _Seen:
        """Compare, and pin what is new; blocks."""
        seen = _hashed(spec, tools)
        added: list[str] = []

        def choose(known: Mapping[str, Pin]) -> dict[str, Pin]:
            pins = _new_pins(known, seen.hashes, tools)
            added[:] = [f"'{name}'" for name in pins] if known else added
            return pins

        known = self._store.known(spec.key, choose)
        if added:
            seen.notes.append(
                f"server '{spec.id}' offers what it did not have at first: {_some(added)}"
            )
        beyond: list[str] = []
        for name, sha256 in seen.hashes.items():
            pin = known.get(name)
            if pin is None:
                seen.unfit.append(name)
                beyond.append(f"'{name}'")
            elif pin.sha256 != sha256:
                seen.changes.append(_Change(name, sha256, _shown(tools[name], pin)))
        if beyond:
            seen.notes.append(
                f"server '{spec.id}' has named over {SERVER_PINS_MAX:,} tools so far; "
                f"left out: {_some(beyond)}"
            )
        return seen

    async def _judge(
        self, spec: ServerSpec, changes: list[_Change], approve: Approve
    ) -> tuple[list[str], list[str]]:
        """Names refused, and notes; accepted changes are pinned."""
        if not changes:
            return [], []
        if self.allow_changes:
            await asyncio.to_thread(self._pin, spec, changes)
            return [], [f"{_changed(spec, changes)}; accepted, as {ALLOW_OPTION} says"]
        new = [change for change in changes if not self._has_declined(spec, change)]
        key = spec.key
        if self._refusals[key] >= REFUSALS_MAX:
            return [change.name for change in changes], []
        if new and await approve([change.shown for change in new]):
            await asyncio.to_thread(self._pin, spec, new)
            accepted = {change.name for change in new}
            return [change.name for change in changes if change.name not in accepted], []
        for change in new:
            self._declined.setdefault((key, change.name), set()).add(change.sha256)
        self._refusals[key] += bool(new)
        is_last = self._refusals[key] == REFUSALS_MAX
        notes = [
            f"{_changed(spec, new)} since first use; left out until you accept that: at a "
            f"terminal, where each run shows the change and asks, or with {ALLOW_OPTION}"
            f"{'; further changes of this server are left out unasked' if is_last else ''}"
        ]
        return [change.name for change in changes], notes if new else []

    def _has_declined(self, spec: ServerSpec, change: _Change) -> bool:
        return change.sha256 in self._declined.get((spec.key, change.name), ())

    def _pin(self, spec: ServerSpec, changes: Sequence[_Change]) -> None:
        """Accept these definitions, whatever was pinned before; blocks."""
        pins = {change.name: Pin(change.sha256, change.shown.after) for change in changes}
        self._store.put(spec.key, lambda known: _within_room(known, pins))


def _hashed(spec: ServerSpec, tools: Mapping[str, ToolSpec]) -> _Seen:
    """The hashes of the tools that can be held to their definitions."""
    seen = _Seen()
    for name, tool in tools.items():
        where = f"server '{spec.id}': the tool '{with_hidden_shown(name)}' is left out"
        if has_hidden(name):
            seen.notes.append(f"{where}: its name holds characters that nobody can see")
            seen.unfit.append(name)
            continue
        try:
            seen.hashes[name] = digest(tool)
        except ValueError as error:
            seen.notes.append(f"{where}: its definition can't be checked ({error})")
            seen.unfit.append(name)
    return seen


def _new_pins(
    known: Mapping[str, Pin], hashes: Mapping[str, str], tools: Mapping[str, ToolSpec]
) -> dict[str, Pin]:
    """Pins for what is not known, as far as the bounds allow."""
    new = [name for name in hashes if name not in known]
    room = max(SERVER_PINS_MAX - len(known), 0)
    pins = {name: Pin(hashes[name], definition_text(tools[name])) for name in new[:room]}
    return _within_room(known, pins)


def _within_room(known: Mapping[str, Pin], pins: Mapping[str, Pin]) -> dict[str, Pin]:
    """The pins, without texts where the server's room for texts is used up."""
    used = sum(len(pin.text) for name, pin in known.items() if name not in pins)
    room = SERVER_TEXT_CHARACTERS_MAX - used
    kept: dict[str, Pin] = {}
    for name, pin in pins.items():
        kept[name] = pin if len(pin.text) <= room else replace(pin, text="")
        room -= len(kept[name].text)
    return kept


def _shown(tool: ToolSpec, pin: Pin) -> ToolChange:
    before = pin.text or "the first definition:\n  its text was not kept"
    return ToolChange(tool.server, tool.name, before, definition_text(tool))


def _changed(spec: ServerSpec, changes: Sequence[_Change]) -> str:
    kind = "tool" if len(changes) == 1 else f"{len(changes)} tools"
    return f"server '{spec.id}' changed its {kind} {_some([c.words for c in changes])}"


def _cleaned(spec: ServerSpec, tools: Sequence[ToolSpec]) -> tuple[list[ToolSpec], tuple[str, ...]]:
    """The tools with descriptions as a person sees them, and a note if that changed any."""
    cleaned = [tool_without_hidden(tool) for tool in tools]
    changed = [f"'{new.name}'" for new, old in zip(cleaned, tools, strict=True) if new is not old]
    if not changed:
        return cleaned, ()
    return cleaned, (
        f"server '{spec.id}' hides characters that a model reads and nobody sees in what it says "
        f"of {_some(changed)}; its descriptions are used without them",
    )


def _some(names: Sequence[str]) -> str:
    return listed(names[:NAMES_SHOWN], len(names))
