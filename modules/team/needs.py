"""What a person has to give before a subtask runs: leave, or an answer to a question.

Where nobody is there, or answers in time, the subtask's own default stands for the answer; without
one the subtask fails. Question and answer are told, so that they stand in the run's trail.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from core.asking import YES
from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import seconds_text
from core.events import Emit, MessageSent, Notice
from core.team.bus import COORDINATOR
from core.team.graph import INPUT, Subtask
from core.team.messages import Message, MessageKind

PERSON: Final = "user"
DEFAULT: Final = "default"
"""Who stands for the person where there is no answer."""


@frozen
class Wanted:
    """What a person is asked for.

    Attributes:
        subtask: the one that needs it.
        asked: what the subtask would do, with what others gave in it.
        texts: what goes along with it, by name; written by anybody.
    """

    subtask: Subtask
    asked: str
    texts: Mapping[str, str]

    @property
    def question(self) -> str:
        """What the person is to answer; for leave it is beside what would be done."""
        return self.subtask.question or self.asked


@frozen
class Given:
    """The subtask may run; `text` is the answer to its question, "" where it needed leave.

    Attributes:
        is_users: whether a person said it, so that it counts as the user's word.
    """

    text: str
    is_users: bool

    def put_into(self, wanted: Wanted) -> str:
        """What the subtask asks, with the answer in it: in its place, else behind it."""
        if wanted.subtask.needs != "input":
            return wanted.asked
        place = f"{{{{{INPUT}}}}}"
        asked = wanted.asked.replace(f"{{{{ {INPUT} }}}}", place)
        if place in asked:
            return asked.replace(place, self.text)
        return f"{asked}\n\n{wanted.question}\n{self.text}"


@frozen
class Refused:
    """The subtask must not run, or can't; `reason` is for people."""

    reason: str


AskPerson: TypeAlias = Callable[[Wanted], Awaitable[str | None]]
"""Puts it to the person; "" where nothing is said, None where nobody is there."""


class Needs:
    """What persons have decided in one run; nothing is asked twice."""

    def __init__(
        self,
        ask: AskPerson | None,
        seconds: float,
        turn: asyncio.Lock | None = None,
        clock: Clock = time.time,
    ) -> None:
        """Ask with `ask`, one question after the other, and wait `seconds` for each answer.

        Waiting begins when the question has its turn. Whoever else asks the person holds `turn`
        meanwhile; `clock` gives Unix time in seconds.
        """
        self._ask = ask
        self._seconds = seconds
        self._turn = turn or asyncio.Lock()
        self._clock = clock
        self._settled: dict[Subtask, Given | Refused] = {}

    async def settle(self, wanted: Wanted, emit: Emit) -> Given | Refused:
        """What the person says to it, or what stands for that; told by `emit`."""
        subtask = wanted.subtask
        if (known := self._settled.get(subtask)) is not None:
            return known
        async with self._turn:
            await self._tell(emit, "question", COORDINATOR, PERSON, subtask, wanted.question)
            said, why = await self._answer(wanted)
        is_users = said is not None
        text = said if said is not None else subtask.default
        if text is None:
            settled: Given | Refused = Refused(f"it needs {_what(subtask)}, and {why}")
        else:
            settled = _settled(subtask, text, is_users=is_users)
        who = PERSON if is_users else DEFAULT
        told = settled.reason if isinstance(settled, Refused) else text or ""
        await self._tell(emit, "answer", who, COORDINATOR, subtask, told)
        if not is_users:
            then = f"goes on with its default: {text}" if isinstance(settled, Given) else "not done"
            await emit(Notice("loop", f"{subtask.id} needs {_what(subtask)}; {why}; {then}"))
        self._settled[subtask] = settled
        return settled

    async def _answer(self, wanted: Wanted) -> tuple[str | None, str]:
        """What the person says; None with the reason where there is no answer."""
        try:
            async with asyncio.timeout(self._seconds):
                said = None if self._ask is None else await self._ask(wanted)
        except TimeoutError:
            return None, f"nobody answered within {seconds_text(self._seconds)}"
        if said is None:
            return None, "nobody is there to be asked"
        # Enter alone takes what is proposed; to a request for leave it is a no.
        if not said and wanted.subtask.needs == "input":
            return None, "the question was left without an answer"
        return said, ""

    async def _tell(
        self,
        emit: Emit,
        kind: MessageKind,
        sender: str,
        receiver: str,
        subtask: Subtask,
        text: str,
    ) -> None:
        message = Message(sender, receiver, kind, subtask.id, text, self._clock())
        await emit(MessageSent(message))


def _settled(subtask: Subtask, text: str, *, is_users: bool) -> Given | Refused:
    if subtask.needs == "input":
        return Given(text, is_users)
    if text.strip().lower() in YES:
        return Given("", is_users)
    who = "the user" if is_users else "its default"
    words = f": {text}" if text.lower() not in ("", "n", "no") else ""
    return Refused(f"{who} did not allow it{words}")


def _what(subtask: Subtask) -> str:
    return "leave" if subtask.needs == "approval" else "an answer"
