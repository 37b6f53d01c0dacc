"""The door that every call of a run goes through: see the package for the rule."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final, Literal, Protocol

from core.base.frozen import frozen
from core.provenance import paths
from core.provenance.arguments import ArgumentText, texts_of
from core.provenance.asked import Request, is_assent
from core.provenance.checks import DOUBTS_TOLD, Doubt, ValueCheck, declined, refusal
from core.provenance.effects import may_change, name_doubts, tool_doubts
from core.provenance.images import without_unknown_images
from core.provenance.known import Known
from core.provenance.permissions import Permission, Permissions, permission_for, sufficient
from core.provenance.urls import addresses_in, parse_url
from core.run.kept_results import call_key
from core.tools.catalog import ToolCatalog
from core.tools.json_schema import measure_value
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

QUICK_PARTS: Final = 300
"""Arguments and results of more values, or some 20,000 characters, are looked at in a thread."""

ASKED_CHARACTERS_MAX: Final = 4_000
"""A longer value can't be checked by eye, and is refused without a question."""

QUESTIONS_MAX: Final = 10
"""So often a run asks; further doubts are refused, or a page could wear the user out."""


@frozen
class Leave:
    """The user's answer to a doubt: for how long a yes holds, and what is said beside a no."""

    holds: Literal["no", "once", "session", "always"]
    words: str = ""


class AskLeave(Protocol):
    """Puts all doubts about a call to the user, as one question."""

    async def __call__(
        self, tool: str, doubts: Sequence[Doubt], always: Sequence[Permission]
    ) -> Leave | None:
        """Whether the call of `tool` may go on; None where nobody is there to be asked.

        `always` is what is allowed by an answer that holds for longer than this run.
        """
        ...


@frozen
class Provenance:
    """What a run needs for it: what its session knows, who can be asked, what is allowed."""

    known: Known
    ask: AskLeave | None = None
    permissions: Permissions = field(default_factory=Permissions)


class ProvenanceGuard:
    """Checks the calls of one run; answers of the user hold for the run, if not for longer."""

    def __init__(
        self, provenance: Provenance, catalog: Callable[[], ToolCatalog], words: Iterable[str]
    ) -> None:
        """Trust the user's `words`, the request at their end; `catalog` gives all tools."""
        self.known = provenance.known
        self._mode = provenance.known.policy.mode
        self._ask = provenance.ask
        self._permissions = provenance.permissions
        self._catalog = catalog
        self._answers: dict[tuple[str, ...], Leave] = {}
        self._asking = asyncio.Lock()
        self._words = tuple(words)
        self.known.begin_run()
        for text in self._words:
            self.known.user_said(text)

    @cached_property
    def _requests(self) -> list[Request]:
        """What the user wants now; "yes, do so" speaks of the request before."""
        is_assenting = is_assent("".join(self._words[-1:]))
        return [Request(text) for text in self._words[-2 if is_assenting else -1 :]]

    def user_said(self, text: str) -> None:
        """Trust what the user has said in this run."""
        self._requests.append(Request(text))
        self.known.user_said(text)

    async def refusal(self, tool: ToolSpec, arguments: JsonObject) -> str | None:
        """Why the call may not be sent, for the plan; None if it may.

        The user may be asked meanwhile.
        """
        if self._mode == "off" and self.known.policy.approvals == "never":
            return None
        if measure_value(arguments, QUICK_PARTS) is None:
            doubts = await asyncio.to_thread(self._doubts, tool, arguments)
        else:
            doubts = self._doubts(tool, arguments)
        if len(doubts) >= DOUBTS_TOLD:
            return refusal(tool.qualified_name, doubts)
        return await self._objection(tool, arguments, doubts) if doubts else None

    async def note(self, tool: ToolSpec, arguments: JsonObject, value: Json) -> None:
        """Learn from what a call gave."""
        if self._mode == "off" or self.known.policy.is_trusted(tool):
            self.known.add(tool, None)  # borders stand in any case
            return
        if measure_value(value, QUICK_PARTS) is None:
            learnt = await asyncio.to_thread(self.known.learn, tool, arguments, value)
        else:
            learnt = self.known.learn(tool, arguments, value)
        self.known.add(tool, learnt)

    def note_failure(self, tool: ToolSpec) -> None:
        """A call failed; its message may be anybody's."""
        self.known.add(tool, None)

    def without_unknown_images(self, answer: str) -> str:
        """The answer without what a viewer would load from an address that is not known."""
        if "![" not in answer and "<" not in answer:  # how markdown and HTML begin an image
            return answer
        return without_unknown_images(answer, self._may_load)

    def _may_load(self, url: str) -> bool:
        """Whether a viewer of the answer may load this address by itself."""
        parsed = parse_url(url)
        return self._mode == "off" or (parsed is not None and self.known.is_url_known(parsed))

    def _doubts(self, tool: ToolSpec, arguments: JsonObject) -> Sequence[Doubt]:
        """The first doubts about a call."""
        policy = self.known.policy
        texts = [*texts_of(tool, arguments)] if _may_hold_text(tool, arguments) else []
        if (
            not texts
            and policy.approvals != "always"
            and (tool.read_only or policy.is_trusted(tool))
        ):
            return []  # it tells nobody anything, and changes nothing that is asked about
        found = dict[tuple[str, str], Doubt]()
        check = ValueCheck(self.known, tool)
        for argument in texts if self._mode != "off" else ():
            for doubt in check.doubts(argument):
                found.setdefault((doubt.kind, doubt.key), doubt)
            if len(found) >= DOUBTS_TOLD:
                return [*found.values()][:DOUBTS_TOLD]
        has_own_value = not found and any(map(self._is_users, texts))
        catalog = self._catalog()
        doubts = tool_doubts(
            self.known, tool, arguments, catalog, self._requests, has_own_value=has_own_value
        )
        if self._mode == "off":
            return doubts
        doubts += [*found.values(), *name_doubts(self.known, tool, arguments, catalog)]
        return [replace(doubt, arguments=arguments) for doubt in doubts]

    def _is_users(self, argument: ArgumentText) -> bool:
        """Whether a text is an address, path or the like that stands in the user's words."""
        text, known = argument.text.strip(), self.known
        if argument.is_content or not any(map(str.isalpha, text)):
            return False
        if argument.is_path:
            home = known.policy.home
            return paths.is_named(paths.normal(text, home), known.words, home)
        if any(known.is_address_known(key, written) for written, key in addresses_in(text)):
            return True
        return any(mark in text for mark in "@/.#") and len(text) > 2 and text in known.words

    async def _objection(
        self, tool: ToolSpec, arguments: JsonObject, doubts: Sequence[Doubt]
    ) -> str | None:
        """Why a doubted call may not be sent; None if the user allows it, or has done so.

        A call is asked about once, and a doubt once a run. For a tool that may change something,
        an answer covers a call with the same arguments. What was allowed before holds where
        nobody can be asked, too, but not where the policy is strict.
        """
        name, policy = tool.qualified_name, self.known.policy
        if self._mode == "strict":
            return refusal(name, doubts)
        changes = may_change(tool, self._catalog())
        digest = (await asyncio.to_thread(_digest, tool, arguments),) if changes else ()
        asked: dict[tuple[str, ...], tuple[Doubt, Permission]] = {}
        async with self._asking:
            for doubt in doubts:
                about = (name, doubt.kind, doubt.key, *digest)
                if (known := self._answers.get(about)) is not None:
                    if known.holds == "no":
                        return declined(name, [doubt], known.words)
                    continue
                always = await asyncio.to_thread(
                    permission_for, tool, arguments, doubt, policy, changes=changes
                )
                if not await asyncio.to_thread(self._permissions.cover, sufficient(always, doubt)):
                    asked[about] = (doubt, always)
            if not asked:
                return None
            open_doubts = [doubt for doubt, _ in asked.values()]
            meant = [*dict.fromkeys(always for _, always in asked.values())]
            is_too_much = any(len(doubt.value) > ASKED_CHARACTERS_MAX for doubt in open_doubts)
            if self._ask is None or is_too_much or len(self._answers) >= QUESTIONS_MAX:
                return refusal(name, open_doubts)
            answer = await self._ask(name, open_doubts, meant)
            if answer is None:
                return refusal(name, open_doubts)
            self._answers.update(dict.fromkeys(asked, answer))
            for each in meant if answer.holds in ("session", "always") else ():
                for_good = answer.holds == "always"
                await asyncio.to_thread(self._permissions.allow, each, arguments, for_good=for_good)
        return declined(name, open_doubts, answer.words) if answer.holds == "no" else None


def guard_of(
    provenance: Provenance | None, catalog: Callable[[], ToolCatalog], words: Iterable[str]
) -> ProvenanceGuard | None:
    """The guard of a run; none where nothing is to be checked."""
    return None if provenance is None else ProvenanceGuard(provenance, catalog, words)


def _may_hold_text(tool: ToolSpec, arguments: JsonObject) -> bool:
    """Whether there is more than numbers under plain names, so that what they are for matters."""
    wrapper = tool.wrapper
    inner = arguments[wrapper] if wrapper is not None and {*arguments} == {wrapper} else arguments
    return not isinstance(inner, dict) or any(
        isinstance(value, str | list | dict) or not name.isidentifier()
        for name, value in inner.items()
    )


def _digest(tool: ToolSpec, arguments: JsonObject) -> str:
    return call_key(tool, arguments)[1].hex()
