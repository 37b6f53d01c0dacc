"""The door that every call of a run goes through: see the package for the rule."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from core.asking import ORIGINS, AskedCall, AskLeave, Leave, LeaveQuestion, ShownValue
from core.base.frozen import frozen
from core.provenance.arguments import (
    ArgumentText,
    inner_arguments,
    is_plain_content,
    texts_of,
    values_of,
    words_of,
)
from core.provenance.checks import (
    DOUBTS_TOLD,
    WHY_ALL,
    WHY_CHANGES,
    Doubt,
    ValueCheck,
    declined,
    name_doubts,
    named,
    refusal,
    refusal_of_change,
    why_asked,
)
from core.provenance.images import without_unknown_images
from core.provenance.known import Known
from core.provenance.permissions import EACH, SAME_CALL, Permission, Permissions
from core.provenance.rules import (
    Rule,
    RuleError,
    is_written,
    literal,
    matches,
    origin_of_url,
    read_rule,
)
from core.provenance.urls import parse_url
from core.run.kept_results import call_key
from core.tools.catalog import ToolCatalog
from core.tools.json_schema import measure_value
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

QUICK_PARTS: Final = 300
"""Arguments and results of more values, or some 20,000 characters, are looked at in a thread."""

ASKED_CHARACTERS_MAX: Final = 4_000
"""A longer address or path can't be checked by eye, and is refused without a question."""

QUESTIONS_MAX: Final = 10
"""So often a run asks; further calls are refused, or a page could wear the user out."""

LIKE_CALLS_SECONDS: Final = 0.02
"""So long a question waits for like calls that the same plan makes beside the one it is about."""

LIKE_CALLS_MAX: Final = 50
"""So many calls stand in one question."""

RULE_CHARACTERS_OFFERED: Final = 1_000
"""A rule that would be longer is not offered: nobody can check it by eye."""

VALUES_FOLLOWED: Final = 500
"""Of so many values of a call it is looked up where they come from; of further ones it is unknown,
for each is looked for in megabytes of text."""

UNFOLLOWED: Final = ORIGINS["unknown"]


@frozen
class Provenance:
    """What a run needs for it: what its session knows, who can be asked, what is allowed.

    `rules` hold beside the permissions, for this run: those of the workflow that it is.
    """

    known: Known
    ask: AskLeave | None = None
    permissions: Permissions = field(default_factory=Permissions)
    rules: tuple[Rule, ...] = ()


@frozen
class Refused:
    """Why a call is not sent, for the plan.

    `by_person`: a person said no; `has_words`: with words beside it that another plan can follow.
    `rule` would allow the call, where nobody was there to say yes; empty where none is short.
    """

    reason: str
    by_person: bool = False
    has_words: bool = False
    rule: str = ""


@dataclass(eq=False)
class _Call:
    """A call that may not be sent as it is: `needs_leave`, or there are `doubts` about values."""

    tool: ToolSpec
    arguments: JsonObject
    needs_leave: bool
    doubts: Sequence[Doubt]
    digest: str
    is_decided: bool = False
    refused: Refused | None = None

    @property
    def name(self) -> str:
        return self.tool.qualified_name

    @property
    def about(self) -> tuple[str, ...]:
        """What an answer is remembered under."""
        if self.needs_leave:
            return (self.name, "call", self.digest)
        return (self.name, *(f"{doubt.kind} {doubt.key}" for doubt in self.doubts))

    @property
    def is_too_much(self) -> bool:
        """Whether nobody can check it by eye."""
        return len(self.doubts) >= DOUBTS_TOLD or any(
            len(doubt.value) > ASKED_CHARACTERS_MAX for doubt in self.doubts
        )

    @property
    def may_repeat(self) -> bool:
        """Whether a yes for once is one for each time that it is sent: it changes no more."""
        return not self.needs_leave or self.tool.read_only or self.tool.idempotent

    def decide(self, refused: Refused | None) -> None:
        self.is_decided, self.refused = True, refused


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
        self._rules = provenance.rules
        self._catalog = catalog
        self._answers: dict[tuple[str, ...], Refused | None] = {}
        self._questions = 0
        self._asking = asyncio.Lock()
        self._waiting: list[_Call] = []
        self.known.begin_run()
        for text in words:
            self.known.user_said(text)

    def user_said(self, text: str) -> None:
        """Trust what the user has said in this run."""
        self.known.user_said(text)

    async def refusal(self, tool: ToolSpec, arguments: JsonObject) -> Refused | None:
        """Why the call may not be sent; None if it may. The user may be asked meanwhile."""
        if self._mode == "off" and self.known.policy.approvals == "never":
            return None
        if measure_value(arguments, QUICK_PARTS) is None:
            call = await asyncio.to_thread(self._checked, tool, arguments)
        else:
            call = self._checked(tool, arguments)
        if call is None:
            return None
        self._waiting.append(call)
        try:
            async with self._asking:
                if not call.is_decided:
                    await self._decide(call)
        finally:
            self._waiting.remove(call)
        return call.refused

    async def note(self, tool: ToolSpec, arguments: JsonObject, value: Json) -> None:
        """Learn from what a call gave."""
        if self._mode == "off":
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

    def _checked(self, tool: ToolSpec, arguments: JsonObject) -> _Call | None:
        """The call, if it needs leave or a value of it is doubtful."""
        needs_leave = self.known.policy.needs_leave(tool)
        doubts: Sequence[Doubt] = ()
        if not needs_leave or self.known.policy.approvals == "always":
            doubts = self._doubts(tool, arguments)
        if not needs_leave and not doubts:
            return None
        digest = call_key(tool, arguments)[1].hex()
        return _Call(tool, arguments, needs_leave, doubts, digest)

    def _doubts(self, tool: ToolSpec, arguments: JsonObject) -> list[Doubt]:
        """The first doubtful values of a call."""
        if self._mode == "off":
            return []
        found = dict[tuple[str, str], Doubt]()
        check = ValueCheck(self.known, tool)
        for argument in texts_of(tool, arguments):
            for doubt in check.doubts(argument):
                found.setdefault((doubt.kind, doubt.key), doubt)
            if len(found) >= DOUBTS_TOLD:
                return [*found.values()][:DOUBTS_TOLD]
        return [*found.values(), *name_doubts(self.known, tool, arguments, self._catalog())]

    async def _decide(self, call: _Call) -> None:
        """Decide by an earlier answer, by a rule, or by asking, like calls beside it included."""
        if call.about in self._answers:
            return call.decide(self._answers[call.about])
        if await asyncio.to_thread(self._is_allowed, call):
            return call.decide(None)
        may_ask = self._ask is not None and self._mode != "strict"
        if not may_ask or call.is_too_much or self._questions >= QUESTIONS_MAX:
            return call.decide(await asyncio.to_thread(self._refused, call))
        await asyncio.sleep(LIKE_CALLS_SECONDS)
        calls = [call, *[each for each in self._waiting if self._is_like(call, each)]]
        await self._put(calls[:LIKE_CALLS_MAX])
        return None

    def _is_like(self, call: _Call, other: _Call) -> bool:
        """Whether another call may stand in the same question."""
        return (
            other is not call
            and not other.is_too_much
            and call.needs_leave
            and other.needs_leave
            and not other.is_decided
            and other.name == call.name
            and other.about not in self._answers
        )

    async def _put(self, calls: Sequence[_Call]) -> None:
        """Ask about calls of one tool, and decide each."""
        rules = await asyncio.to_thread(lambda: [self._rule_for(call) for call in calls])
        question = await asyncio.to_thread(self._question, calls, rules)
        answer = await self._answer(question, calls)
        if answer is None:
            for call in calls:
                call.decide(await asyncio.to_thread(self._refused, call))
            return
        for number, call in enumerate(calls):
            call.decide(None if answer.allows(number) else _declined(call, answer.words))
            if call.refused is not None or call.may_repeat:
                self._answers[call.about] = call.refused
        await asyncio.to_thread(self._keep, answer, calls, rules)

    async def _answer(self, question: LeaveQuestion, calls: Sequence[_Call]) -> Leave | None:
        """The person's answer; a rule of their own that misses what it is to allow is told them."""
        asked = question
        while self._ask is not None and self._questions < QUESTIONS_MAX:
            answer = await self._ask(asked)
            self._questions += 1
            if answer is None or not answer.rule:
                return answer
            missed = await asyncio.to_thread(self._missed, answer, calls)
            if not missed:
                return answer
            asked = replace(question, why=(missed, *question.why))
        return None

    def _missed(self, answer: Leave, calls: Sequence[_Call]) -> str:
        """What is wrong with a rule that covers no call that is to be allowed by it; else nothing.

        Who narrows a rule means to narrow what happens now, too.
        """
        try:
            rule = read_rule(answer.rule)
        except RuleError:
            return ""  # told when it would be kept
        allowed = [call for number, call in enumerate(calls) if answer.allows(number)]
        if all(self._allow([rule], call) for call in allowed):
            return ""
        bare = f"; {rule}(*) does, with anything" if rule.patterns is None else ""
        which = "this call" if len(calls) == 1 else "all of these calls"
        return f"your rule {rule} does not cover {which}{bare}"

    def _question(self, calls: Sequence[_Call], rules: Sequence[Rule | None]) -> LeaveQuestion:
        why = dict.fromkeys(why_asked(doubt) for call in calls for doubt in call.doubts)
        if calls[0].needs_leave:
            always = self.known.policy.approvals == "always"
            why = {WHY_ALL if always else WHY_CHANGES: None, **why}
        shown = dict.fromkeys(map(str, rules))
        is_short = None not in rules and sum(map(len, shown)) <= RULE_CHARACTERS_OFFERED
        return LeaveQuestion(
            tuple(AskedCall(c.name, (*self._shown(c),), c.arguments) for c in calls),
            tuple(why),
            tuple(shown) if is_short else (),
        )

    def _shown(self, call: _Call) -> Iterable[ShownValue]:
        """The arguments of a call as a person sees them."""
        origins: dict[str, dict[str, None]] = {}
        for number, (argument, value) in enumerate(values_of(call.tool, call.arguments)):
            is_few = number < VALUES_FOLLOWED
            origin = self.known.origin(call.tool, argument, value).words if is_few else UNFOLLOWED
            origins.setdefault(argument.argument, {})[origin] = None
        for name, value in inner_arguments(call.tool, call.arguments).items():
            yield ShownValue(name, value, "; ".join(origins.get(name, {"no value": None})))

    def _keep(self, answer: Leave, calls: Sequence[_Call], rules: Sequence[Rule | None]) -> None:
        """Keep what the answer allows for longer, in the user's own form if there is one."""
        if answer.holds not in ("session", "always"):
            return
        server = self.known.policy.server_keys.get(calls[0].tool.server, "")
        wanted = [rule for number, rule in enumerate(rules) if answer.allows(number)]
        if answer.rule:
            try:
                wanted = [read_rule(answer.rule)]
            except RuleError as error:
                self._permissions.tell(f"allowed once only: {error}")
                return
        for rule in filter(None, dict.fromkeys(wanted)):
            new = Permission(rule, server)
            self._permissions.allow(new, for_good=answer.holds == "always")

    def _refused(self, call: _Call) -> Refused:
        """Why a call that nobody has allowed is not sent."""
        if not call.needs_leave:
            return Refused(refusal(call.name, call.doubts))
        always = self.known.policy.approvals == "always"
        rule = str(self._rule_for(call) or "")
        why = WHY_ALL if always else WHY_CHANGES
        return Refused(refusal_of_change(call.name, rule, why), rule=rule)

    async def rule_wanted(self, tool: ToolSpec, arguments: JsonObject) -> str:
        """The narrowest rule for a call that would need a yes; "": it needs none, or is too long.

        Nobody is asked, and the call is not sent.
        """

        def wanted() -> str:
            call = self._checked(tool, arguments)
            if call is None or not call.needs_leave or self._is_allowed(call):
                return ""
            return str(self._rule_for(call) or "")

        return await asyncio.to_thread(wanted)

    def _is_allowed(self, call: _Call) -> bool:
        """Whether a rule allows a call; may look at links on the disk."""
        key = self.known.policy.server_keys.get(call.tool.server, "")
        kept = () if self._mode == "strict" else self._permissions.rules_for(key)
        rules = (*self.known.policy.rules, *self._rules, *kept)
        return self._allow(rules, call)

    def _allow(self, rules: Iterable[Rule], call: _Call) -> bool:
        """Whether these rules allow a call, together."""
        rules = [rule for rule in rules if rule.is_for(call.name)]
        has_leave = not call.needs_leave or any(self._covers(rule, call) for rule in rules)
        return has_leave and all(
            any(self._covers_doubt(rule, call, doubt) for rule in rules) for doubt in call.doubts
        )

    def _covers(self, rule: Rule, call: _Call) -> bool:
        """Whether one rule allows a call that needs leave."""
        if rule.is_anything or rule.pattern(SAME_CALL) == call.digest:
            return True
        values = inner_arguments(call.tool, call.arguments)
        for name, pattern in rule.patterns or ():
            if name != EACH and (
                name not in values or not self._matches(call, pattern, name, values[name])
            ):
                return False
        if (each := rule.pattern(EACH)) is not None:
            return all(
                self._matches(call, each, a.name, value) for a, value in self._plain_values(call)
            )
        if not self.known.is_tainted or self._mode == "off":
            return True
        is_bare = rule.patterns is None
        doubts = self._place_doubts(call, in_texts_alone=is_bare)
        if any(rule.pattern(doubt.argument.argument) is None for doubt in doubts):
            return False
        if not is_bare:
            return True
        values = [*islice(self._plain_values(call), VALUES_FOLLOWED + 1)]
        return len(values) <= VALUES_FOLLOWED and all(
            self.known.origin(call.tool, argument, value).is_users for argument, value in values
        )

    def _place_doubts(self, call: _Call, *, in_texts_alone: bool) -> Iterable[Doubt]:
        """Doubts about addresses and paths in a call that changes something.

        In a text for people, about web addresses alone: who shows it may load them.
        """
        check = ValueCheck(self.known, call.tool)
        places = {argument for argument, _ in self._plain_values(call)}
        for argument in texts_of(call.tool, call.arguments):
            for doubt in check.doubts(argument):
                is_place = argument in places
                if not (is_place and in_texts_alone) and (is_place or doubt.kind == "url"):
                    yield doubt

    def _plain_values(self, call: _Call) -> Iterable[tuple[ArgumentText, Json]]:
        """The values of a call that are no text of a letter, a note or a file."""
        content = self.known.policy.said_of(call.tool).content
        return (
            (argument, value)
            for argument, value in values_of(call.tool, call.arguments)
            if not is_plain_content(call.tool, argument, value, content)
        )

    def _matches(self, call: _Call, pattern: str, name: str, value: Json) -> bool:
        argument = ArgumentText(words_of(name), "", argument=name, name=name)
        return matches(pattern, argument, value, self.known.policy.around(call.tool))

    def _covers_doubt(self, rule: Rule, call: _Call, doubt: Doubt) -> bool:
        """Whether a rule allows a doubtful value: it fits the value, or the whole argument."""
        if rule.is_anything:
            return True
        name = doubt.argument.argument
        pattern = rule.pattern(name) or rule.pattern(EACH)
        if pattern is None:
            return False
        whole = inner_arguments(call.tool, call.arguments).get(name)
        return any(self._matches(call, pattern, name, value) for value in (doubt.value, whole))

    def _rule_for(self, call: _Call) -> Rule | None:
        """The narrowest rule that allows a call: its values as they are, its texts aside.

        None where it would hold a secret, be too long for the eye, or not be read as it is written.
        """
        values = inner_arguments(call.tool, call.arguments)
        if call.needs_leave:
            plain = {argument.argument for argument, _ in self._plain_values(call)}
            patterns = {name: literal(value) for name, value in values.items() if name in plain}
        else:
            patterns = {
                doubt.argument.argument: origin_of_url(doubt.value)
                if doubt.kind == "url"
                else literal(doubt.value)
                for doubt in call.doubts
            }
        named = {name: values.get(name) for name in patterns}
        rule = Rule(call.name, tuple(patterns.items()) or None)
        is_secret = self._permissions.redactor.json(named) != named
        is_short = len(str(rule)) <= RULE_CHARACTERS_OFFERED
        return rule if is_short and not is_secret and is_written(rule) else None


def guard_of(
    provenance: Provenance | None, catalog: Callable[[], ToolCatalog], words: Iterable[str]
) -> ProvenanceGuard | None:
    """The guard of a run; none where nothing is to be checked."""
    return None if provenance is None else ProvenanceGuard(provenance, catalog, words)


def _declined(call: _Call, words: str) -> Refused:
    what = ["this call"] if call.needs_leave else map(named, call.doubts)
    return Refused(declined(call.name, what, words), by_person=True, has_words=bool(words))
