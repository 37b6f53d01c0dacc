"""The session that a conversation is in: one that goes on, or one that its first request begins."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from config.schema import AgentProfile
from core.base.redaction import Redactor
from core.errors import StorageError
from core.events import Emit, Notice
from core.turn import MemoryItem, Usage
from modules.memory.running_summary import RunningSummary
from modules.session.history import usage_item
from modules.session.ids import check_session_id, new_session_id
from modules.session.memory import MemoryManager
from modules.session.recorder import SessionRecorder


@dataclass
class _Begun:
    """What belongs to a session: its items, who writes them, and the notes on the oldest.

    Notes are for planners that read text.
    """

    memory: MemoryManager
    recorder: SessionRecorder
    summary: RunningSummary | None = None


class CurrentSession:
    """Where requests are kept; nothing is read or begun before there is one.

    Attributes:
        profile: what is kept, and how; another holds from the next session on.
        folder: where it is kept.
        redactor: goes over what is kept.
    """

    def __init__(
        self,
        profile: AgentProfile,
        folder: Path,
        listener: Emit,
        session_id: str | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """Go on with `session_id` where it is given; `listener` hears what can't be kept.

        Raises:
            UsageError: the id is not of a known form.
        """
        self.profile = profile
        self.folder = folder
        self.redactor = redactor or Redactor(os.environ)
        self._listener = listener
        self._resume_id = check_session_id(session_id) if session_id is not None else None
        self._begun: _Begun | None = None

    @property
    def id(self) -> str | None:
        """None before the first request of a new session."""
        return self._begun.memory.session_id if self._begun is not None else self._resume_id

    @property
    def kept_id(self) -> str | None:
        """The id if the session is on the disk, so that it can be continued."""
        memory = self._begun.memory if self._begun is not None else None
        return memory.session_id if memory is not None and memory.is_kept else None

    @property
    def items(self) -> list[MemoryItem]:
        """What it has kept, as far as this process has looked."""
        return self._begun.memory.get_session_items() if self._begun is not None else []

    @property
    def memory(self) -> MemoryManager:
        """Its items; it is begun if need be."""
        return self._opened().memory

    @property
    def recorder(self) -> SessionRecorder:
        """What writes a run's events into it."""
        return self._opened().recorder

    @property
    def summary(self) -> RunningSummary:
        """What has notes written on its oldest exchanges."""
        begun = self._opened()
        if begun.summary is None:
            where = begun.memory, begun.memory.session_id
            begun.summary = RunningSummary(*where, self.redactor, self._listener)
        return begun.summary

    def leave(self, go_on_with: str | None = None) -> None:
        """Let the next request begin another session, or go on with the one of that id."""
        self._begun = None
        self._resume_id = go_on_with

    async def load(self) -> list[MemoryItem]:
        """All that it has kept so far, in earlier processes too; nothing is begun for it.

        Raises:
            StorageError: its file can't be read.
        """
        if self._begun is None and self._resume_id is None:
            return []
        memory = self.memory
        await asyncio.to_thread(memory.load)
        for warning in memory.take_warnings():
            await self._listener(Notice("memory", warning))
        return memory.get_session_items()

    async def keep(self, item: MemoryItem) -> None:
        """Keep a further item, which gets the session's id.

        Raises:
            StorageError: it can't be written; it stays in this process.
        """
        memory = self.memory
        own = item.model_copy(update={"session_id": memory.session_id})
        await asyncio.to_thread(memory.add, own)

    async def keep_usage(self, used_by: Mapping[str, Usage]) -> None:
        """Keep what models were asked for beside all runs, so that it is counted."""
        if any(used.tokens for used in used_by.values()):
            with contextlib.suppress(StorageError):  # it stays in this process
                await self.keep(usage_item(used_by, time.time()))

    def _opened(self) -> _Begun:
        if self._begun is None:
            settings = self.profile.memory
            memory = MemoryManager(
                self._resume_id or new_session_id(datetime.now().astimezone(), uuid.uuid4().hex),
                self.folder,
                enabled=settings.memory_service,
                structure=settings.storage.structure,
                sync=settings.storage.sync,
                is_new=self._resume_id is None,
            )
            recorder = SessionRecorder(
                memory,
                settings,
                redactor=self.redactor,
                keeps_prompts=self.profile.trace.prompts,
            )
            self._begun = _Begun(memory, recorder)
        return self._begun
