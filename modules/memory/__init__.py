"""What is remembered: a session's items (`modules.session`), and what prompts tell of the past."""

from core.turn import MemoryItem
from modules.session.history import exchanges, usage_of
from modules.session.ids import check_session_id, new_session_id, session_path
from modules.session.memory import MemoryManager

__all__ = [
    "MemoryItem",
    "MemoryManager",
    "check_session_id",
    "exchanges",
    "new_session_id",
    "session_path",
    "usage_of",
]
