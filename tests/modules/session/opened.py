"""A session as a later process finds it."""

from pathlib import Path

from modules.session.ids import Structure
from modules.session.memory import MemoryManager


def opened(
    session_id: str, folder: str | Path, *, enabled: bool = True, structure: Structure = "date"
) -> MemoryManager:
    """The items of a session with its file read."""
    memory = MemoryManager(session_id, folder, enabled=enabled, structure=structure)
    memory.load()
    return memory
