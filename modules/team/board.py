"""The coordinator's book-keeping: what happens in a team, written on its whiteboard."""

import time
from collections.abc import Collection
from typing import Final

from core.base.clock import Clock
from core.base.text import listed, one_line
from core.events import (
    Emit,
    Event,
    GraphPlanned,
    Judged,
    Notice,
    Replanned,
    RoleChosen,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
)
from core.team.board import Topic
from core.team.bus import COORDINATOR, Bus
from core.team.facts import Arbiter, Contradiction, Facts, facts_in
from core.team.whiteboard import Whiteboard

WORKER: Final = "worker"
"""Who does a subtask that no role was chosen for."""

SOURCES_SHOWN: Final = 5
NOTICE_CHARACTERS: Final = 500


class Coordinator:
    """Holds the pen: tells each event of a run, and writes down what it means for the team.

    Attributes:
        bus: carries what the coordinator and the workers say to each other.
        board: for those who read it; workers may have its `suggest`, and nothing else of it.
    """

    def __init__(
        self,
        emit: Emit,
        clock: Clock = time.time,
        reviewer: Arbiter | None = None,
        user: Arbiter | None = None,
    ) -> None:
        """Tell by `emit`; `clock` gives Unix seconds.

        `reviewer`, then `user`, are asked where workers contradict and no rule decides.
        """
        self._emit = emit
        self._clock = clock
        self.bus = Bus(emit)
        self.board = Whiteboard()
        self._writer = self.board.writer(emit, clock)
        self._facts = Facts(self.board, self._writer, reviewer, user)
        self._roles: dict[str, str] = {}
        self._tools: dict[str, dict[str, None]] = {}
        self._decisions = 0

    @property
    def contradictions(self) -> dict[str, Contradiction]:
        """What workers say different things of, by the facts' keys, and what counts."""
        return dict(self._facts.contradictions)

    def contradictions_of(self, subtasks: Collection[str]) -> str:
        """Those in which one of these has a say, in lines; "" where there are none."""
        return "\n".join(
            f"{key}: {found.told}"
            for key, found in self.contradictions.items()
            if any(each.who.rpartition("/")[2] in subtasks for each in found.claims)
        )

    async def tell(self, event: Event) -> None:
        """Tell an event, and what it means for the team; for most that is nothing.

        Raises:
            BudgetSpent: the reviewer may not be asked any more.
        """
        # Who hears of a result, and interrupts the run at once, finds its subtask at its end.
        is_told_last = isinstance(event, SubtaskChanged)
        if not is_told_last:
            await self._emit(event)
        try:
            await self._note(event)
        finally:  # a run that is interrupted meanwhile has come to this all the same
            if is_told_last:
                await self._emit(event)

    async def _note(self, event: Event) -> None:
        match event:
            case GraphPlanned(graph):
                await self._write("mission", "request", graph.goal)
            case RoleChosen(subtask, role):
                self._roles[subtask] = role
            case SubtaskEvent(subtask, _, ToolCallFinished(call=call) | ToolCallKept(call=call)):
                if call.ok:
                    self._tools.setdefault(subtask, {})[call.tool] = None
            case SubtaskChanged():
                await self._changed(event)
            case Replanned(failed, reason):
                await self._writer.take_off("blockers", failed)
                await self._decide(f"planned anew, because {failed} failed: {reason}")
            case Judged(verdict, reason):
                await self._decide(f"judged {verdict.replace('_', ' ')}: {reason}", "reviewer")
            case _:
                pass

    async def _changed(self, event: SubtaskChanged) -> None:
        id_, state = event.subtask.id, event.state
        who = self._roles.get(id_, event.subtask.role or WORKER)
        await self._write("progress", id_, state, who)
        if state == "running":
            self._tools.pop(id_, None)
        elif state == "completed":
            await self._writer.take_off("blockers", id_)
            tools = [*self._tools.get(id_, ())]
            source = listed(tools[:SOURCES_SHOWN], len(tools)) if tools else ""
            for fact in facts_in(event.text, id_, f"{who}/{id_}", self._clock(), source):
                self.board.suggest(fact)
            before = self.contradictions
            await self._facts.take_over()
            for key, found in self.contradictions.items():
                if before.get(key) != found:
                    told = f"workers disagree about {key}: {found.told}"
                    await self._emit(Notice("team", one_line(told, NOTICE_CHARACTERS)))
        elif state == "failed":
            await self._write("blockers", id_, event.text, who)

    async def _decide(self, what: str, who: str = COORDINATOR) -> None:
        self._decisions += 1
        await self._write("decisions", str(self._decisions), what, who)

    async def _write(self, topic: Topic, key: str, value: str, who: str = COORDINATOR) -> None:
        before = self.board.entry(topic, key)
        await self._writer.write(topic, key, value, before.version if before else 0, who)
