"""Works out, once a run, what its prompts tell of the past."""

from collections.abc import Sequence
from dataclasses import replace

from core.ports import CountingModel
from core.turn import Exchange
from modules.memory.past import Past, room_characters
from modules.memory.running_summary import RunningSummary


class Remembering:
    """The past, as the prompts of one run tell it; `modules.decision.Remember`.

    Plans of one run are asked for one after the other: what the first is told, all are.
    """

    def __init__(
        self,
        model: CountingModel,
        summary: RunningSummary,
        prompt_tokens: int,
        facts: tuple[str, ...] = (),
        memories: tuple[str, ...] = (),
    ) -> None:
        """Ask `model` for notes on what there is no room for; nothing is done yet.

        `facts` and `memories` (see `Past`) are told too, and take of the room.
        """
        self._model = model
        self._summary = summary
        self._prompt_tokens = prompt_tokens
        self._facts = facts
        self._memories = memories
        self._past: Past | None = None

    async def __call__(self, history: Sequence[Exchange]) -> Past:
        """What is told of the session's exchanges, and of what outlasts it."""
        if self._past is None:
            past = await self._summary.past(history, self.session_room, self._model)
            self._past = replace(past, facts=self._facts, memories=self._memories)
        return self._past

    def told(self, history: Sequence[Exchange]) -> Past:
        """The same with the notes that there are: no model is asked."""
        past = self._summary.told(history, self.session_room)
        return replace(past, facts=self._facts, memories=self._memories)

    @property
    def session_room(self) -> int:
        """How many characters are told of the session itself."""
        room = room_characters(self._prompt_tokens, self._model.traits)
        return room - sum(map(len, (*self._facts, *self._memories)))
