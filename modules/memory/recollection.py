"""What the requests of a conversation leave behind, and what prompts are told of the past."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from config.schema import MemorySection
from core.base.memory.statements import may_state_facts, stated_facts
from core.base.redaction import Redactor
from core.ports import CountingModel
from core.session import MultiMCP
from core.turn import Exchange
from modules.memory.earlier import MEMORIES_SHARE, EarlierSessions, search_memory
from modules.memory.long_term import FACTS_SHARE, LongTermMemory
from modules.memory.past import Past, room_characters
from modules.memory.running_summary import RunningSummary


class Remembering:
    """The past, as the prompts of one run tell it; `modules.decision.Remember`.

    Plans of one run are asked for one after the other: what the first is told, all are, as long
    as the model is not known to read less.
    """

    def __init__(
        self,
        model: CountingModel,
        summary: RunningSummary,
        prompt_tokens: int,
        facts: tuple[str, ...] = (),
        memories: tuple[str, ...] = (),
        kept: tuple[str, ...] = (),
    ) -> None:
        """Ask `model` for notes on what there is no room for; nothing is done yet.

        `facts`, `memories` and `kept` (see `Past`) are told too, and take of the room.
        """
        self._model = model
        self._summary = summary
        self._prompt_tokens = prompt_tokens
        self._facts = facts
        self._memories = memories
        self._kept = kept
        self._past: Past | None = None
        self._context_tokens: int | None = None

    async def __call__(self, history: Sequence[Exchange]) -> Past:
        """What is told of the session's exchanges, and of what outlasts it."""
        context_tokens = self._model.traits.context_tokens
        if self._past is None or context_tokens != self._context_tokens:
            self._context_tokens = context_tokens
            past = await self._summary.past(history, self.session_room, self._model)
            self._past = self._with_what_outlasts(past)
        return self._past

    def told(self, history: Sequence[Exchange]) -> Past:
        """The same with the notes that there are: no model is asked."""
        past = self._summary.told(history, self.session_room)
        return self._with_what_outlasts(past)

    def _with_what_outlasts(self, past: Past) -> Past:
        return replace(past, facts=self._facts, memories=self._memories, kept=self._kept)

    @property
    def lasting(self) -> tuple[str, ...]:
        """The facts and what earlier sessions said, as they are told."""
        return (*self._facts, *self._memories, *self._kept)

    @property
    def session_room(self) -> int:
        """How many characters are told of the session itself."""
        room = room_characters(self._prompt_tokens, self._model.traits)
        return room - sum(map(len, self.lasting))


class Recollection:
    """Facts and earlier sessions in one memory folder; `aclose` ends a question that is open.

    `server` is the id of the server that finds earlier sessions, None where there is none.
    """

    def __init__(
        self,
        dispatcher: MultiMCP,
        redactor: Redactor,
        settings: MemorySection,
        folder: Path,
        server: str | None,
    ) -> None:
        """Read nothing yet."""
        self._settings = settings
        self._folder = folder
        self._search = None if server is None else partial(search_memory, dispatcher, server)
        self._earlier: EarlierSessions | None = None
        self._long_term = LongTermMemory(folder if settings.memory_service else None, redactor)

    async def learn(self, request: str, session_id: str) -> str:
        """As `LongTermMemory.learn`."""
        if not may_state_facts(request):
            return ""
        return await self._long_term.learn(request, session_id)

    async def remembering(
        self,
        request: str,
        session_id: str,
        model: CountingModel,
        summary: RunningSummary,
        on_memories: Callable[[str], object] | None,
        *,
        is_learnt: bool,
    ) -> Remembering:
        """What the prompts of a run tell of the past.

        `on_memories` hears what is told of earlier sessions. `is_learnt` says that what the
        request states was kept by `learn`; where it was not, the prompts tell it all the same.
        """
        prompt_tokens = self._settings.prompt_tokens
        room = room_characters(prompt_tokens, model.traits)
        share = int(room * FACTS_SHARE)
        facts = await self._long_term.facts(request, share, is_learnt=is_learnt)
        memories: tuple[str, ...] = ()
        if request and self._settings.memory_service:
            if self._earlier is None:
                self._earlier = EarlierSessions(self._folder, self._search)
            share = int(room * MEMORIES_SHARE)
            memories = await self._earlier.find(request, session_id, share)
        if memories and on_memories is not None:
            on_memories("\n".join(memories))
        kept = stated_facts(request) if self._settings.memory_service else ()
        return Remembering(model, summary, prompt_tokens, facts, memories, kept)

    async def aclose(self) -> None:
        """End what is still looked for in earlier sessions."""
        if self._earlier is not None:
            await self._earlier.aclose()
