"""What outlasts a session: the facts that the user has stated, and what earlier sessions said."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Final

from core.base.frozen import frozen
from core.base.memory.facts import Fact, FactError, FactStore
from core.base.memory.statements import stated_facts
from core.base.redaction import Redactor
from core.errors import StorageError
from core.tools.ranking import stems

FACTS_SHARE: Final = 0.2
"""The part of the room that facts take at most."""


@frozen
class LongTermMemory:
    """The memory folder of one profile, as a conversation reads and extends it.

    Methods wait for the disk in a thread. Without a folder there is no memory, and none is made.
    Secrets that `redactor` knows are masked before they are written.
    """

    folder: Path | None
    redactor: Redactor

    async def learn(self, request: str, session_id: str) -> str:
        """Keep the facts that a request states; what the user should be told of it, if anything.

        Raises:
            StorageError: a fact can't be kept.
        """
        if self.folder is None:
            return ""
        return await asyncio.to_thread(self._learn, self.folder, request, session_id)

    async def facts(self, request: str, room: int, *, is_learnt: bool = True) -> tuple[str, ...]:
        """What the user has stated, with its date, in so many characters.

        What shares words with the request is told first, then what is newest. An unreadable file
        tells nothing here: who asks for the facts hears why. Of a request that is not `is_learnt`,
        it is told as if it were what that states; nothing is written.
        """
        if self.folder is None:
            return ()
        try:
            store = FactStore(self.folder, self.redactor)
            stated = () if is_learnt else stated_facts(request)
            facts = await asyncio.to_thread(store.all_with, stated)
        except (OSError, FactError):
            return ()
        asked = frozenset(stems(request))
        facts = sorted(facts, key=lambda fact: (-len(asked & {*stems(fact.text)}), -fact.when))
        told: list[str] = []
        for line in map(_line, facts):
            room -= len(line) + len("- \n")
            if room < 0:
                break
            told.append(line)
        return tuple(told)

    def _learn(self, folder: Path, request: str, session_id: str) -> str:
        if not (facts := stated_facts(request)):
            return ""
        store, told = FactStore(folder, self.redactor), list[str]()
        for stated in facts:
            try:
                before = {fact.fact_id: fact.text for fact in store.all()}
                kept = store.keep(stated, session_id)
            except (OSError, FactError) as error:
                told.append(f"not remembered: {_why(error, store.path)}")
                raise StorageError("; ".join([*told, *store.notes])) from error
            if before.get(kept.fact_id) != kept.text:
                instead = f" (before: {kept.older[0].text})" if kept.older else ""
                told.append(f"remembered: {kept.text}{instead}")
        return "; ".join([*told, *store.notes])


def _why(error: OSError | FactError, path: Path) -> str:
    if isinstance(error, FactError):
        return str(error)
    return (
        f"{path} can't be written: {error.strerror or error}; set CORTEX_HOME to a folder that you "
        "can write to and that has room"
    )


def _line(fact: Fact) -> str:
    return f"{fact.text} ({datetime.fromtimestamp(fact.when).astimezone():%Y-%m-%d})"
