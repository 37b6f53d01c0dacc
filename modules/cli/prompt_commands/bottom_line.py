"""What stands below the prompt: model, session, what it has used, servers that are not well."""

from collections.abc import Sequence
from typing import Final

from core.base.memory.exchanges import title_of
from core.turn import Usage
from modules.cli.prompt_commands.command import AtPrompt
from modules.session.history import last_prompt_tokens, usage_of
from modules.terminal.input.candidates import Part

ID_CHARACTERS: Final = 6
"""So much of a session's id stands for it: what `/resume` takes."""

_RANK_MODEL, _RANK_SERVERS, _RANK_SESSION, _RANK_CONTEXT, _RANK_COST, _RANK_PROFILE = range(6)


class BottomLine:
    """The parts of the line; what takes a look is looked at after each request alone."""

    def __init__(self, at: AtPrompt) -> None:
        """Know of no session yet."""
        self._at = at
        self._title = self._cost = self._context = ""

    async def look(self) -> None:
        """See what the session is called by now, and what it has used."""
        items = self._at.conversation.session.items
        self._title = title_of(items)
        cost = sum(usage_of(items).values(), Usage()).cost
        self._cost = f"${cost:.4f}" if cost else ""
        self._context = self._context_used(last_prompt_tokens(items))

    def _context_used(self, tokens: int) -> str:
        """How much of the model's context the newest prompt took; where nobody knows, how long."""
        window = self._at.conversation.model.traits.context_tokens
        if not tokens:
            return ""
        return f"{tokens / window:.0%} of context" if window else f"{tokens:,} tokens read"

    def parts(self) -> Sequence[Part]:
        """The parts, in the order in which they stand."""
        at = self._at
        session_id = at.conversation.session.id
        session = self._title or (session_id[-ID_CHARACTERS:] if session_id else "new session")
        unwell = [s.id for s in at.dispatcher.status() if s.state in ("failed", "set aside")]
        return (
            Part(at.conversation.model.name, _RANK_MODEL),
            Part(at.conversation.profile.agent.name, _RANK_PROFILE),
            Part(session, _RANK_SESSION),
            Part(self._context, _RANK_CONTEXT),
            Part(self._cost, _RANK_COST),
            Part(f"down: {', '.join(unwell)}" if unwell else "", _RANK_SERVERS),
        )
