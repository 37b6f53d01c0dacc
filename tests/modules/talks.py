"""Real conversations over a model that is given."""

from pathlib import Path

from config.schema import AgentProfile
from config.settings import ROOT, Places
from core.events import Emit, Event
from core.ports import TextModel
from core.session import MultiMCP
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.sandbox import Sandbox
from tests.doubles import profile


async def nobody(_: Event) -> None:
    """Hear an event."""


def conversation(
    home: Path,
    model: TextModel,
    listener: Emit = nobody,
    session_id: str | None = None,
    *,
    by: AgentProfile | None = None,
    servers: MultiMCP | None = None,
) -> Conversation:
    """One that is kept under `home`, by the profile of the doubles and without servers."""
    parts = ModelManager(model), servers or MultiMCP([]), Sandbox()
    return Conversation(by or profile(), Places(ROOT, home), *parts, listener, session_id)
