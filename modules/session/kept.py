"""The sessions that a profile keeps: found by a part of their ids, read, told in a line or two."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from config.schema import AgentProfile
from core.base.clock import moment
from core.base.files import DAMAGED, drafts_of, folder_locked
from core.base.frozen import frozen
from core.base.memory.exchanges import TITLE, dated_exchanges, title_of
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import StorageError, UsageError
from core.turn import MemoryItem
from modules.session.history import folder_of
from modules.session.ids import Structure, find_session, kept_sessions, session_path
from modules.session.memory import MemoryManager

TITLE_CHARACTERS_MAX: Final = 200
"""The longest title."""

TITLE_CHARACTERS: Final = 60
"""How much of a title, or of the first request in its place, a list shows."""

RECALLED: Final = 3
"""How many of the last exchanges are shown when a session goes on."""

RECALLED_CHARACTERS: Final = 200
"""How much of a request or answer is shown then."""


@frozen
class SessionSummary:
    """A session as a list shows it; `last_used` is Unix time in seconds.

    `folder` is where an editor began it; None for a session that was begun elsewhere.
    """

    session_id: str
    last_used: float
    requests: int
    title: str
    first_request: str
    folder: str | None = None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The cells of its row under `SUMMARY_HEADS`."""
        shown = one_line(self.title or self.first_request, TITLE_CHARACTERS)
        return self.session_id, moment(self.last_used), str(self.requests), shown


SUMMARY_HEADS: Final = ("session", "last used", "requests", "title or first request")


class KeptSessions:
    """The sessions of one profile; files are read when they are asked for."""

    def __init__(self, profile: AgentProfile, home: Path, say: Callable[[str, str], None]) -> None:
        """`say` hears, under a stage, of files that are damaged."""
        self.folder = profile.memory_folder(home)
        self.is_on = profile.memory.memory_service
        self._structure: Structure = profile.memory.storage.structure
        self._say = say

    def ids(self) -> list[str]:
        """All of them, those that were used last first."""
        return kept_sessions(self.folder, self._structure)

    def find(self, text: str, listing: str = "agent.py sessions") -> str:
        """The id that `text` means: it, or a part of it that no other has; see `find_session`.

        Raises:
            UsageError: there is none, or there are several.
        """
        return find_session(text, self.folder, self._structure, listing)

    def path(self, session_id: str) -> Path:
        """The session's file."""
        return session_path(session_id, self.folder, self._structure)

    def items(self, session_id: str) -> list[MemoryItem]:
        """All that the session holds.

        Raises:
            StorageError: its file can't be read.
        """
        return self._loaded(session_id).get_session_items()

    def rename(self, session_id: str, title: str, redactor: Redactor) -> str:
        """Give a session a title, without secrets and on one line; its id stays. Gives the title.

        Raises:
            UsageError: the title is blank.
            StorageError: it could not be written.
        """
        # Secrets first: half of one, cut off, would not be found any more.
        title = one_line(redactor.text(title), TITLE_CHARACTERS_MAX)
        if not title:
            raise UsageError("a title has something to read, such as The lease")
        item = MemoryItem(
            timestamp=time.time(),
            type="run_metadata",
            text=f"Titled: {title}",
            metadata={TITLE: title},
            session_id=session_id,
        )
        self._loaded(session_id).add(item)
        return title

    def delete(self, session_id: str, used_before: float = math.inf) -> bool:
        """Delete a session for good, with what was set aside of it and what killed writers left.

        False: nothing was done, as somebody has used it at `used_before` (Unix time in seconds)
        or later, or it is gone.

        Raises:
            StorageError: it can't be deleted.
        """
        path = self.path(session_id)
        try:
            with folder_locked(path):
                if path.stat().st_mtime >= used_before:
                    return False
                for each in (path, *path.parent.glob(f"{path.name}.{DAMAGED}*"), *drafts_of(path)):
                    each.unlink(missing_ok=True)
                with suppress(OSError):  # other sessions of that day are there
                    if path.parent != self.folder:
                        path.parent.rmdir()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"{path} can't be deleted: {error.strerror or error}") from error
        return True

    def summaries(self, session_ids: Sequence[str]) -> Iterator[SessionSummary]:
        """A line for each; one that can't be read is told and left out."""
        for session_id in session_ids:
            try:
                used = self.path(session_id).stat().st_mtime
                items = self.items(session_id)
            except (OSError, StorageError) as error:
                self._say("memory", str(error))
                continue
            asked = dated_exchanges(items, with_undone=True)
            first = asked[0].request if asked else ""
            title, folder = title_of(items), folder_of(items)
            yield SessionSummary(session_id, used, len(asked), title, first, folder)

    def recap(self, session_id: str) -> str:
        """The last exchanges, a line for each request and each answer; empty if there are none.

        Raises:
            StorageError: the session's file can't be read.
        """
        lines: list[str] = []
        for each in dated_exchanges(self.items(session_id))[-RECALLED:]:
            answer = "(no answer)" if each.answer is None else each.answer
            lines.append(f"> {one_line(each.request, RECALLED_CHARACTERS)}")
            lines.append(one_line(answer, RECALLED_CHARACTERS))
        return "\n".join(lines)

    def _loaded(self, session_id: str) -> MemoryManager:
        memory = MemoryManager(session_id, self.folder, structure=self._structure)
        memory.load()
        for warning in memory.take_warnings():
            self._say("memory", warning)
        return memory
