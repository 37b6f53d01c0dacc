"""Facts on the whiteboard: taken out of results, and settled where two workers contradict.

The rule, in its order: what has a source beats what is remembered; newer beats older; what most
workers say; what the reviewer says; what the user says. A step that leaves one value settles it.
Where none does, the fact is a blocker, and what stood there stays.
"""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final, Literal, TypeAlias

from core.base.frozen import frozen
from core.base.text import one_line
from core.errors import ModelUnavailable
from core.team.bus import COORDINATOR
from core.team.graph import is_number
from core.team.whiteboard import (
    BoardWriter,
    StaleVersion,
    Suggestion,
    Whiteboard,
)
from core.values import Json

FACTS_MAX: Final = 20
"""So many facts are taken out of one result."""

FACTS_CHARACTERS_MAX: Final = 20_000
"""A longer result is a text, and not looked through for facts."""

CLAIMS_MAX: Final = 20
"""So many workers have a say about one fact; the oldest is forgotten."""

SAME_AGE_SECONDS: Final = 3_600.0
"""Claims of the same hour are of one age: which worker of a run ends first says nothing."""

CLAIM_CHARACTERS_SHOWN: Final = 120

Rule: TypeAlias = Literal["source", "newer", "majority", "reviewer", "user"]

Arbiter: TypeAlias = Callable[[str, Sequence[Suggestion]], Awaitable[int | None]]
"""Which of the claims about a fact is right, as its place; None if that can't be said."""

_REASONS: Final[dict[Rule, str]] = {
    "source": "a source beats a memory",
    "newer": "newer beats older",
    "majority": "most workers say so",
    "reviewer": "the reviewer says so",
    "user": "the user says so",
}


@frozen
class Settled:
    """The claim that counts, and the step of the rule that decided so."""

    claim: Suggestion
    rule: Rule


@frozen
class Contradiction:
    """A fact of which workers say different things.

    Attributes:
        told: what counts and why, or that nobody can say.
        claims: who says what.
    """

    told: str
    claims: tuple[Suggestion, ...]


def facts_in(result: str, about: str, who: str, time: float, source: str) -> Iterator[Suggestion]:
    """The facts that a result states, if it is a JSON object: one a key, none that is null.

    `{"acme": {"months": 3}}` says something of acme, whoever says it: `acme.months`. What names no
    thing of its own (`{"months": 3}`) is said of `about`, such as the id of the subtask: two that
    look at different things do not contradict each other. "" is where all look at the same.
    """
    if len(result) > FACTS_CHARACTERS_MAX or not result.lstrip().startswith("{"):
        return
    try:
        found: Json = json.loads(result)
    except (ValueError, RecursionError):
        return
    for key, value in islice(_stated(found, about), FACTS_MAX):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield Suggestion("facts", key, text, who, time, source)


def _stated(found: Json, about: str) -> Iterator[tuple[str, Json]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        inside = value.items() if isinstance(value, dict) else ()
        for thing, key, said in [(name, *each) for each in inside] or [(about, name, value)]:
            if said is not None:
                yield _key(thing, key), said


def _key(*names: str) -> str:
    return ".".join(filter(None, (re.sub(r"\W+", "_", name.lower()).strip("_") for name in names)))


async def settle(
    key: str,
    claims: Sequence[Suggestion],
    reviewer: Arbiter | None = None,
    user: Arbiter | None = None,
) -> Settled | None:
    """Which of several claims about a fact counts; None where nobody can say."""
    left = [*claims]
    if (sourced := [claim for claim in left if claim.source]) and len(sourced) < len(left):
        left = sourced
        if _agree(left):
            return Settled(left[-1], "source")
    newest = max(claim.time for claim in left)
    if recent := [claim for claim in left if claim.time >= newest - SAME_AGE_SECONDS]:
        is_narrower, left = len(recent) < len(left), recent
        if is_narrower and _agree(left):
            return Settled(left[-1], "newer")
    value, votes = Counter(_form(claim.value) for claim in left).most_common(1)[0]
    if 2 * votes > len(left):
        return Settled(next(c for c in reversed(left) if _form(c.value) == value), "majority")
    arbiters: tuple[tuple[Rule, Arbiter | None], ...] = (("reviewer", reviewer), ("user", user))
    for rule, arbiter in arbiters:
        if arbiter is not None and (place := await _asked(arbiter, key, left)) is not None:
            return Settled(left[place], rule)
    return None


async def _asked(arbiter: Arbiter, key: str, claims: Sequence[Suggestion]) -> int | None:
    try:
        place = await arbiter(key, claims)
    except ModelUnavailable:
        return None  # who can't be reached has no say
    return place if place is not None and 0 <= place < len(claims) else None


class Facts:
    """Takes what workers suggest over onto the whiteboard; one worker's last claim counts.

    Attributes:
        contradictions: those that there are, by the keys of their facts.
    """

    def __init__(
        self,
        board: Whiteboard,
        writer: BoardWriter,
        reviewer: Arbiter | None = None,
        user: Arbiter | None = None,
    ) -> None:
        """Write by `writer`; ask the reviewer, then the user, where no rule decides."""
        self._board = board
        self._writer = writer
        self._reviewer = reviewer
        self._user = user
        self._claims: dict[str, dict[str, Suggestion]] = {}
        self.contradictions: dict[str, Contradiction] = {}

    async def take_over(self) -> None:
        """Deal with all that has been suggested.

        Raises:
            BudgetSpent: the reviewer may not be asked any more.
        """
        for suggestion in self._writer.take_suggestions():
            if suggestion.topic == "facts":
                claims = self._claims.setdefault(suggestion.key, {})
                claims.pop(suggestion.who, None)
                claims[suggestion.who] = suggestion
                if len(claims) > CLAIMS_MAX:
                    del claims[next(iter(claims))]
                await self._decide(suggestion.key)
            else:
                await self._write(suggestion)

    async def _decide(self, key: str) -> None:
        """Write the fact; where claims differ, as the rule has it, and tell that as a decision.

        An arbiter takes time, in which somebody else may write: then all is looked at once more.
        """
        while True:
            standing = self._board.entry("facts", key)
            claims = [*self._claims[key].values()]
            if standing is not None and standing.who not in self._claims[key]:
                said = (standing.value, standing.who, standing.time, standing.source)
                claims.insert(0, Suggestion("facts", key, *said))
            is_new = standing is None or _form(standing.value) != _form(claims[-1].value)
            if _agree(claims):
                if is_new:
                    await self._write(claims[-1])
                self.contradictions.pop(key, None)
                await self._writer.take_off("blockers", f"facts.{key}")
                return
            if not is_new and self._board.entry("blockers", f"facts.{key}") is None:
                return
            settled = await settle(key, claims, self._reviewer, self._user)
            if settled is None:
                told = f"nobody can say which is right: {_listed(claims)}"
                await self._write(Suggestion("blockers", f"facts.{key}", told, COORDINATOR, 0.0))
                self.contradictions[key] = Contradiction(told, tuple(claims))
                return
            claim, version = settled.claim, standing.version if standing is not None else 0
            if standing is None or _form(standing.value) != _form(claim.value):
                said = (claim.value, version, claim.who, claim.source)
                try:
                    await self._writer.write("facts", key, *said)
                except StaleVersion:
                    continue
            await self._tell(key, settled, claims)
            return

    async def _tell(self, key: str, settled: Settled, claims: Sequence[Suggestion]) -> None:
        others = [c for c in claims if _form(c.value) != _form(settled.claim.value)]
        who = settled.rule if settled.rule in ("reviewer", "user") else COORDINATOR
        told = f"{_listed([settled.claim])}, not {_listed(others)}: {_REASONS[settled.rule]}"
        name = f"facts.{key}"
        before = self._board.entry("decisions", name)
        await self._writer.write("decisions", name, told, before.version if before else 0, who)
        await self._writer.take_off("blockers", name)
        self.contradictions[key] = Contradiction(told, tuple(claims))

    async def _write(self, said: Suggestion) -> None:
        before = self._board.entry(said.topic, said.key)
        version = before.version if before is not None else 0
        await self._writer.write(said.topic, said.key, said.value, version, said.who, said.source)


def _agree(claims: Sequence[Suggestion]) -> bool:
    return len({_form(claim.value) for claim in claims}) == 1


def _form(value: str) -> str | Decimal:
    """A value such that what says the same is equal: 12 and 12.0, "Three months" and its like."""
    bare = " ".join(value.lower().split())
    return Decimal(bare) if is_number(bare) else bare


def _listed(claims: Sequence[Suggestion]) -> str:
    shown = (f"«{one_line(c.value, CLAIM_CHARACTERS_SHOWN)}» ({c.who})" for c in claims)
    return " and ".join(shown)
