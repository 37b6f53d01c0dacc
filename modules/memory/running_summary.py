"""The notes on what of a session no prompt has room for any more; they lie in the session."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Final

from core.base.clock import Clock
from core.base.memory.exchanges import LEFT
from core.base.redaction import Redactor
from core.errors import BudgetSpent, ModelUnavailable, StorageError
from core.events import Emit, Notice
from core.ports import CountingModel, SessionMemory
from core.turn import Exchange, MemoryItem
from modules.memory.past import Past, newest_within
from modules.planning.prompt.summaries import notes_on

PROMPT_PATH: Final = "prompts/session_summary_prompt.txt"

SUMMARY_SHARE: Final = 0.25
"""The part of the room that notes take at most."""

SUMMARY_CHARACTERS_MIN: Final = 500
"""Notes may have so much in any case; shorter ones say little."""

TURNS_SHARE: Final = 0.4
"""The part that turns still take when the others have gone into notes, so that notes are written
seldom."""

PAUSE_EXCHANGES: Final = 5
"""So many exchanges after a summary failed, the next one is tried."""

SUMMARY: Final = "summary"
EXCHANGES: Final = "exchanges"
"""Keys of the metadata under which notes stand, and how many of the first exchanges they cover."""

LEFT_OUT: Final = "the oldest requests of this session are left out, without notes on them"
NOT_WRITTEN: Final = "there are no notes on this session's requests"
WRITES_NONE: Final = "the model wrote none that fits what was said"


class RunningSummary:
    """Summarises one session's oldest exchanges when there is no room for them."""

    def __init__(
        self,
        memory: SessionMemory,
        session_id: str,
        redactor: Redactor,
        listener: Emit,
        clock: Clock = time.time,
    ) -> None:
        """Keep notes in `memory`, without secrets; `listener` hears why there are none.

        `clock` gives Unix seconds.
        """
        self._memory = memory
        self._session_id = session_id
        self._redactor = redactor
        self._listener = listener
        self._clock = clock
        self._next_try = 0  # how many exchanges there have to be

    async def past(self, history: Sequence[Exchange], room: int, model: CountingModel) -> Past:
        """What is told of the session in `room` characters, after asking for notes if need be.

        Where the model can't write them, the oldest exchanges are left out, and that is told.
        """
        past = self.told(history, room)
        if not past.left_out or len(history) < self._next_try:
            return past
        kept = newest_within(history[past.summarised :], int(room * TURNS_SHARE))
        older = history[: len(history) - len(kept)]
        if await self._write(past, older, room, model, LEFT_OUT):
            return self.told(history, room)
        self._next_try = len(history) + PAUSE_EXCHANGES
        return past

    def told(self, history: Sequence[Exchange], room: int) -> Past:
        """What is told of the session in `room` characters, with the notes that there are."""
        summary, covered = self._latest(len(history))
        turns = newest_within(history[covered:], room - len(summary))
        return Past(turns, summary, covered, len(history) - covered - len(turns))

    async def compact(self, history: Sequence[Exchange], room: int, model: CountingModel) -> bool:
        """Have notes written on all exchanges but the last; whether there are new ones."""
        past = self.told(history, room)
        is_due = past.summarised < len(history) - 1
        return is_due and await self._write(past, history[:-1], room, model, NOT_WRITTEN)

    async def _write(
        self, past: Past, first: Sequence[Exchange], room: int, model: CountingModel, failed: str
    ) -> bool:
        """Keep notes on the `first` exchanges, of which `past` has notes on some."""
        notes_room = max(int(room * SUMMARY_SHARE), SUMMARY_CHARACTERS_MIN)
        pushed = first[past.summarised :]
        written = await self._summarise(past.summary, pushed, notes_room, model, failed)
        if written:
            await self._keep(written, len(first))
        return bool(written)

    async def _summarise(
        self,
        summary: str,
        pushed: Sequence[Exchange],
        room: int,
        model: CountingModel,
        failed: str,
    ) -> str:
        """The notes on the exchanges and on what was noted before; empty where there are none."""
        try:
            written = await notes_on(model, "", _as_text(summary, pushed), room, PROMPT_PATH)
        except (ModelUnavailable, BudgetSpent) as error:
            written, why = "", str(error)
        else:
            why = WRITES_NONE
        if not written:
            await self._listener(Notice("memory", f"{failed}: {why}"))
        return self._redactor.text(written)

    def _latest(self, exchanges: int) -> tuple[str, int]:
        """The session's notes, and how many exchanges they cover; none where they can't be its."""
        for item in reversed(self._memory.get_session_items()):
            if item.type != "run_metadata":
                continue
            if isinstance(left := item.metadata.get(LEFT), int):  # older notes tell of what is gone
                exchanges = min(exchanges, left)
            text, covered = item.metadata.get(SUMMARY), item.metadata.get(EXCHANGES)
            if not isinstance(text, str):
                continue
            if isinstance(covered, int) and 0 < covered <= exchanges:
                return text, covered
        return "", 0

    async def _keep(self, summary: str, covered: int) -> None:
        item = MemoryItem(
            timestamp=self._clock(),
            type="run_metadata",
            text=f"Notes on the first {covered} requests",
            metadata={SUMMARY: summary, EXCHANGES: covered},
            session_id=self._session_id,
        )
        with contextlib.suppress(StorageError):  # it stays in this process, and the recorder tells
            await asyncio.to_thread(self._memory.add, item)


def _as_text(summary: str, exchanges: Sequence[Exchange]) -> str:
    before = [f"Notes on what came before:\n{summary}"] if summary else []
    turns = [f"User: {each.request}\nAnswer: {each.answer or '(none)'}" for each in exchanges]
    return "\n\n".join([*before, *turns])
