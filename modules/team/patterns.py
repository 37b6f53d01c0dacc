"""How a team does a subtask: one role does it, or several do it and vote, or the best bid gets it.

Whatever a member of a committee does, or fails to do, costs no more than its vote.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, Field

from config.schema import TeamSection
from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import counted, one_line, shorten
from core.errors import BudgetSpent, ModelUnavailable
from core.events import RoleChosen
from core.ports import Dispatcher
from core.provenance.borders import Borders
from core.strategy import CHARACTERS_PER_TOKEN
from core.team.bus import COORDINATOR
from core.team.facts import Arbiter
from core.team.graph import Subtask
from core.team.messages import Message, MessageKind
from core.team.schedule import Result
from core.team.whiteboard import Suggestion
from modules.planning.llmfunc import ReplyingModel, llmfunc
from modules.planning.prompt.template import load_prompt
from modules.team.roles import GENERALIST, Assignment, Role, Team

REVIEWER: Final = "reviewer"

COMMITTEE_SIZE: Final = 3
"""So many do the same subtask; the cost is theirs together."""

MEMBER_SHARE: Final = 0.75
"""The part of a subtask's time that the members of a committee have; the rest is for the judge."""

JUDGE_SHARE: Final = 0.2

BIDDERS_MAX: Final = 6

CLOSE_BID: Final = 0.8
"""A bid whose fit is at least this share of the best one's may win by being cheaper."""

CAPABLE_FIT: Final = 0.5
"""The least that a role bids that fits: by its tools, if not by its words."""

GENERALIST_FIT: Final = 0.2
"""What the whole agent bids: it can do anything, and is made for nothing."""

ANSWER_CHARACTERS: Final = 4_000

RULING_SECONDS: Final = 60.0
"""So long a reviewer may think about one fact."""

REASON_CHARACTERS: Final = 300
COMMITTEE_PROMPT: Final = "prompts/committee_prompt.txt"
BIDS_PROMPT: Final = "prompts/bids_prompt.txt"
RETRIES: Final = 1

RunAs: TypeAlias = Callable[[Role, Dispatcher], Awaitable[Result]]
"""Runs the subtask as this role, which may call these tools; raises BudgetSpent."""

Tell: TypeAlias = Callable[[RoleChosen], Awaitable[None]]
Send: TypeAlias = Callable[[Message], Awaitable[object]]

_Reply = TypeVar("_Reply")


@frozen
class Answer:
    """What a member of a committee says; without a text it has no vote, and `why` says why."""

    role: str
    text: str = ""
    why: str = ""


@frozen
class Bid:
    """What a role says of itself: its fit from 0 to 1, and the tokens that its prompts may take."""

    assignment: Assignment
    fit: float
    tokens: int

    @property
    def told(self) -> str:
        """The bid in words."""
        return f"fit {self.fit:.2f}, about {self.tokens:,} tokens"


class Ruling(BaseModel):
    """Which of several answers is the best."""

    best: int = Field(ge=0, description="number of the best answer, 0 if none is of use")
    reason: str = Field(description="one sentence")


class RoleBid(BaseModel):
    """What one role would do with a task."""

    role: str
    fit: float = Field(ge=0, le=1)
    steps: int = Field(ge=1, le=10)


class Bids(BaseModel):
    """A bid for each role."""

    bids: list[RoleBid]


class Judge(Protocol):
    """Says which of several answers is the best."""

    async def __call__(self, asked: str, answers: Sequence[str]) -> Ruling:
        """The number of one, from 1, or 0 for none.

        Raises:
            ModelUnavailable: it can't be asked, or gives no usable reply.
            BudgetSpent: the run may use no more.
        """
        ...


class Estimate(Protocol):
    """Says how well each of several roles fits a task."""

    async def __call__(self, asked: str, roles: Sequence[Role]) -> Bids:
        """A bid for each; raises as `Judge` does."""
        ...


class Teamwork:
    """Does subtasks by the pattern that the profile names; one for a run of a graph.

    Attributes:
        section: what the profile says.
    """

    def __init__(
        self,
        team: Team,
        section: TeamSection,
        tell: Tell,
        send: Send,
        clock: Clock,
        judge: Judge | None = None,
        estimate: Estimate | None = None,
        *,
        keeps_roles: bool = True,
    ) -> None:
        """Choose from `team`; `clock` gives Unix time.

        Without `judge` the larger number decides, and without `estimate` the words. A role that a
        subtask names keeps it after a failure, or else another one is tried.
        """
        self._team = team
        self.section = section
        self._tell = tell
        self._bus = send
        self._clock = clock
        self._judge = judge
        self._estimate = estimate
        self._keeps_roles = keeps_roles
        self._busy: list[str] = []
        self._failed: dict[Subtask, dict[str, None]] = {}  # roles, in their order

    async def do(self, subtask: Subtask, asked: str, run: RunAs) -> Result:
        """Have a subtask done, which asks `asked` once its references are filled.

        Raises:
            BudgetSpent: nobody could be paid for.
        """
        failed = self._failed.setdefault(subtask, {})
        if subtask.role in failed and not self._keeps_roles:
            subtask = replace(subtask, role=None)
        ranked = self._team.ranked(subtask, self._busy, failed)
        chosen = ranked[0]
        if self.section.pattern == "committee":
            if not self._team.changes_something(subtask):
                return await self._committee(ranked[:COMMITTEE_SIZE], subtask, asked, run)
            alone = "one role alone, as a tool of the subtask may change something"
            chosen = replace(chosen, reason=f"{chosen.reason}; {alone}")
        elif self.section.pattern == "bids" and subtask.role not in self._team.roles:
            chosen = await self._best_bid(ranked, subtask, asked)
        dispatcher = self._team.dispatcher_for(chosen.role, subtask)
        failed[chosen.role.name] = None  # unless it comes to something; it may be cut off
        result = await self._work(chosen, subtask, asked, lambda role: run(role, dispatcher))
        if result.ok:
            del failed[chosen.role.name]
        return result

    async def _work(
        self, who: Assignment, subtask: Subtask, asked: str,
        run: Callable[[Role], Awaitable[Result]],
    ) -> Result:  # fmt: skip
        """One role's work, with what it is told and what it says in messages."""
        name = who.role.name
        self._busy.append(name)  # before anything is waited for: others are chosen meanwhile
        try:
            await self._tell(RoleChosen(subtask.id, name, who.reason))
            await self._send(COORDINATOR, name, "task", subtask, asked)
            result = await run(who.role)
            kind: MessageKind = "result" if result.ok else "failure"
            await self._send(name, COORDINATOR, kind, subtask, result.text)
            return result
        finally:
            self._busy.remove(name)

    # A committee: several roles at once, a vote, and a judge where the vote decides nothing.

    async def _committee(
        self, members: Sequence[Assignment], subtask: Subtask, asked: str, run: RunAs
    ) -> Result:
        async def member(who: Assignment) -> Result:
            dispatcher = self._team.dispatcher_for(who.role, subtask, harmless=True)
            async with asyncio.timeout(self.section.deadline_seconds * MEMBER_SHARE):
                return await self._work(who, subtask, asked, lambda role: run(role, dispatcher))

        came = await asyncio.gather(*map(member, members), return_exceptions=True)
        answers = [
            _answer(who.role.name, result) for who, result in zip(members, came, strict=True)
        ]
        for answer in answers:
            vote = answer.text or f"(no vote: {answer.why})"
            await self._send(answer.role, COORDINATOR, "vote", subtask, vote)
        votes = [answer for answer in answers if answer.text]
        if not votes:
            for result in came:
                if isinstance(result, BudgetSpent):
                    raise result
            told = "; ".join(f"{answer.role}: {answer.why}" for answer in answers)
            again = any(isinstance(result, Result) and result.again for result in came)
            return Result(False, f"no member of the committee has an answer: {told}", again)
        return await self._decided(votes, answers, subtask, asked)

    async def _decided(
        self, votes: Sequence[Answer], answers: Sequence[Answer], subtask: Subtask, asked: str
    ) -> Result:
        groups: dict[str, list[Answer]] = {}
        for vote in votes:
            groups.setdefault(_key(vote.text), []).append(vote)
        largest = max(groups.values(), key=len)  # the first of several: its first voter fits best
        who, reason = COORDINATOR, f"{len(largest)} of {len(answers)} agree"
        if len(votes) > 1 and 2 * len(largest) <= len(votes):
            ruling = "nobody can judge"
            if self._judge is not None:
                texts = [group[0].text for group in groups.values()]
                ruling = await self._said(self._judge(asked, texts))
            if isinstance(ruling, str):
                reason = f"no majority, and no ruling: {ruling}; {largest[0].role} fits best"
            else:
                who, reason = REVIEWER, one_line(ruling.reason, REASON_CHARACTERS)
                largest = [*groups.values()][ruling.best - 1] if ruling.best else []
        if not largest:
            text = f"the reviewer finds no answer of use: {reason}"
            await self._send(who, None, "verdict", subtask, text)
            return Result(False, text)
        others = [answer for answer in answers if answer not in largest]
        note = f"{who} decides: {reason}{_dissent(others)}"
        await self._send(who, None, "verdict", subtask, note)
        return Result(True, largest[0].text, note=note if others else "")

    async def _said(self, question: Awaitable[_Reply]) -> _Reply | str:
        """What a model says of several answers or roles, or why it says nothing."""
        try:
            async with asyncio.timeout(self.section.deadline_seconds * JUDGE_SHARE):
                return await question
        except (ModelUnavailable, BudgetSpent) as error:
            return one_line(str(error), REASON_CHARACTERS)
        except TimeoutError:
            return "it does not answer in time"

    # Bids: what fits about as well as the best, and costs the least.

    async def _best_bid(
        self, ranked: Sequence[Assignment], subtask: Subtask, asked: str
    ) -> Assignment:
        bids, by = self._by_words(ranked, subtask, asked), "words"
        if self.section.bids == "model" and self._estimate is not None and len(bids) > 1:
            roles = [bid.assignment.role for bid in bids]
            said = await self._said(self._estimate(asked, roles))
            if isinstance(said, str):
                by = f"words, as the model gave no bids: {said}"
            else:
                bids, by = _by_model(bids, said), "model"
        for bid in bids:
            await self._send(bid.assignment.role.name, COORDINATOR, "bid", subtask, bid.told)
        least = CLOSE_BID * max(bid.fit for bid in bids)
        best = min(
            (bid for bid in bids if bid.fit >= least),
            key=lambda bid: (bid.tokens, bid.assignment.load),
        )
        reason = f"the best of {counted(len(bids), 'bid')} by {by}: {best.told}"
        return Assignment(best.assignment.role, reason, best.fit, best.assignment.load)

    def _by_words(self, ranked: Sequence[Assignment], subtask: Subtask, asked: str) -> list[Bid]:
        """The bids of who fits, the generalist's last."""
        place = [each.role.name for each in ranked].index(GENERALIST)
        bidders = [*ranked[:place][: BIDDERS_MAX - 1], ranked[place]]
        best = max(each.fit for each in bidders) or 1.0
        return [
            Bid(
                each,
                GENERALIST_FIT
                if each.role.name == GENERALIST
                else max(each.fit / best, CAPABLE_FIT),
                (self._team.tool_characters(each.role, subtask) + len(asked))
                // CHARACTERS_PER_TOKEN,
            )
            for each in bidders
        ]

    async def _send(
        self, sender: str, receiver: str | None, kind: MessageKind, subtask: Subtask, text: str
    ) -> None:
        await self._bus(Message(sender, receiver, kind, subtask.id, text, self._clock()))


def judge_by(model: ReplyingModel) -> Judge:
    """The reviewer role as a judge, by a model that reads texts."""

    async def judge(asked: str, answers: Sequence[str]) -> Ruling:
        borders, most = Borders(), len(answers)
        shown = (
            f"{number}.\n{borders.around(shorten(text, ANSWER_CHARACTERS))}"
            for number, text in enumerate(answers, 1)
        )

        def check(ruling: Ruling) -> str | None:
            return None if ruling.best <= most else f"best: the last answer is number {most}"

        prompt = load_prompt(COMMITTEE_PROMPT)
        ask = llmfunc(prompt, model=model, shape=Ruling, check=check, retries=RETRIES)
        return await ask(note=borders.note, answers="\n".join(shown), asked=asked)

    return judge


def reviewer_by(judge: Judge, seconds: float = RULING_SECONDS) -> Arbiter:
    """The reviewer, who says within so many seconds which of several claims about a fact counts."""

    async def reviewer(key: str, claims: Sequence[Suggestion]) -> int | None:
        asked = f"Workers disagree about {key}. Which of these statements is right?"
        try:
            async with asyncio.timeout(seconds):
                ruling = await judge(asked, [_claim(claim) for claim in claims])
        except TimeoutError:
            return None
        return ruling.best - 1 if ruling.best else None

    return reviewer


def person_by(ask: Callable[[str], Awaitable[str | None]]) -> Arbiter:
    """The user, who is asked for the number of the claim that counts."""

    async def person(key: str, claims: Sequence[Suggestion]) -> int | None:
        listed = "".join(f"\n{number}. {_claim(claim)}" for number, claim in enumerate(claims, 1))
        said = await ask(f"Workers disagree about {key}; which number is right?{listed}")
        found = re.fullmatch(r"\s*(\d{1,2})\.?\s*", said or "")
        return int(found[1]) - 1 if found is not None else None

    return person


def _claim(claim: Suggestion) -> str:
    source = f", from {claim.source}" if claim.source else ""
    return one_line(f"{claim.value} ({claim.who}{source})", REASON_CHARACTERS)


def estimate_by(model: ReplyingModel) -> Estimate:
    """Bids as a model estimates them."""

    async def estimate(asked: str, roles: Sequence[Role]) -> Bids:
        shown = "\n".join(f"- {role.name}: {one_line(role.purpose, 500)}" for role in roles)

        def check(bids: Bids) -> str | None:
            missing = sorted({role.name for role in roles} - {bid.role for bid in bids.bids})
            return f"bids: there is none of {', '.join(missing)}" if missing else None

        prompt = load_prompt(BIDS_PROMPT)
        ask = llmfunc(prompt, model=model, shape=Bids, check=check, retries=RETRIES)
        return await ask(roles=shown, asked=asked)

    return estimate


def _by_model(bids: Sequence[Bid], said: Bids) -> list[Bid]:
    found = {bid.role: bid for bid in said.bids}
    return [
        Bid(bid.assignment, own.fit, bid.tokens * own.steps)
        for bid in bids
        if (own := found.get(bid.assignment.role.name)) is not None
    ]


def _answer(role: str, result: Result | BaseException) -> Answer:
    """A member's vote; a blank text is none."""
    match result:
        case Result(ok=True, text=text) if text.strip():
            return Answer(role, text)
        case Result(ok=ok, text=text):
            return Answer(role, why="an empty answer" if ok else one_line(text, REASON_CHARACTERS))
        case TimeoutError():
            return Answer(role, why="no answer in time")
        case _:
            return Answer(role, why=one_line(str(result), REASON_CHARACTERS) or repr(result))


def _dissent(others: Sequence[Answer]) -> str:
    said = (
        f"{each.role} says: {one_line(each.text, REASON_CHARACTERS)}" if each.text
        else f"{each.role} has no vote: {each.why}"
        for each in others
    )  # fmt: skip
    return "".join(f"; {each}" for each in said)


def _key(text: str) -> str:
    """What two answers have in common that say the same: letter case, marks and spaces aside."""
    bare = " ".join(text.lower().split()).strip(" .!*_`\"'")
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", bare)
    if re.fullmatch(r"[+-]?\d{1,30}(\.\d{1,30})?", plain):
        return f"{Decimal(plain).normalize():f}"
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return bare
