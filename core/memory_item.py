"""One item of session memory: the record that is kept on disk, as a list of JSON objects."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from core.values import Json, JsonObject

MemoryItemType: TypeAlias = Literal["run_metadata", "tool_call", "tool_output", "final_answer"]

SANDBOX_STEP = "solve_sandbox"
"""Under this name a whole plan is recorded as if it were a tool; it is none."""

USAGE = "usage"
"""Key of a run's last item under which its use of models stands, by their names."""


class MemoryItem(BaseModel):
    """What happened at one moment of a session; `timestamp` is Unix time in seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=True)

    timestamp: float
    type: MemoryItemType
    text: str
    tool_name: str | None = None
    tool_args: JsonObject | None = None
    tool_result: JsonObject | None = None
    final_answer: str | None = None
    tags: list[str] = Field(default_factory=list[str])
    success: bool | None = None
    metadata: JsonObject = Field(default_factory=dict[str, Json])
    session_id: str | None = None
    user_query: str | None = None
