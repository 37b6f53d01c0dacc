"""The shape of `profiles.yaml` and `models.json`: every key that exists, and what it may hold.

Unknown keys and values are errors; `config.settings` turns them into messages that name the
file, the line, the key and what is allowed.
"""

import keyword
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator, model_validator

from config.servers import (
    CALL_TIMEOUT_SECONDS,
    START_TIMEOUT_SECONDS,
    ConnectionMode,
    ServerSpec,
    server_spec,
)

_MEBIBYTE = 1024 * 1024

MAX_SECONDS = 24 * 60 * 60.0
"""No wait is longer than a day; beyond some centuries the operating system refuses the number."""

Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=MAX_SECONDS)]
"""A bound on a wait. Strict numbers: YAML's `yes` and `"5"` are mistakes, not numbers."""

Count: TypeAlias = Annotated[int, Field(strict=True)]
"""A whole number of things; every field says its own bounds, which would not add up with these."""


class _Section(BaseModel):
    """Base of all sections: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AgentSection(_Section):
    """Who the agent is; name and description open every decision prompt."""

    name: str = Field(min_length=1)
    id: str = Field(min_length=1)
    description: str = ""


class StrategyProfile(_Section):
    """How plans are made and how often they may fail.

    `max_lifelines_per_step` is the number of retries after a step's first plan. `plan_style`
    is the form of tool calls that the prompts teach; the sandbox runs both.
    """

    planning_mode: Literal["conservative", "exploratory"] = "conservative"
    exploration_mode: Literal["parallel", "sequential"] = "parallel"
    memory_fallback_enabled: StrictBool = True
    max_steps: Count = Field(default=3, ge=1, le=50)
    max_lifelines_per_step: Count = Field(default=3, ge=0, le=50)
    plan_style: Literal["tools", "mcp"] = "tools"


class SandboxSection(_Section):
    """Bounds of one plan; see `modules.sandbox.SandboxLimits` for what each one stops."""

    cpu_seconds: Seconds = 5.0
    wall_seconds: Seconds = 120.0
    memory_bytes: Count = Field(default=256 * _MEBIBYTE, ge=_MEBIBYTE)
    recursion_depth: Count = Field(default=200, ge=10, le=1000)
    printed_bytes: Count = Field(default=64 * 1024, ge=1)
    result_bytes: Count = Field(default=_MEBIBYTE, ge=1)
    source_bytes: Count = Field(default=64 * 1024, ge=1)
    tool_calls: Count = Field(default=5, ge=1, le=1000)


class StorageSection(_Section):
    """Where session memory lies, relative to CORTEX_HOME, and how it is sharded."""

    base_dir: str = Field(default="memory", min_length=1)
    structure: Literal["date", "flat"] = "date"


class MemorySection(_Section):
    """What a session keeps.

    `memory_service: false` keeps it in this process only; `summarize_tool_results` shortens
    long results before they are kept; `tag_interactions` adds tags to every item.
    """

    memory_service: StrictBool = True
    summarize_tool_results: StrictBool = True
    tag_interactions: StrictBool = True
    storage: StorageSection = StorageSection()


class LlmSection(_Section):
    """Which model plans: a name from `models.json`, or `auto`."""

    text_generation: str = Field(default="auto", min_length=1)


class PersonaSection(_Section):
    """How answers should sound; goes into the decision prompts."""

    tone: str = "concise"
    verbosity: Literal["low", "medium", "high"] = "low"
    behavior_tags: tuple[str, ...] = ()


class ServerEntry(_Section):
    """One MCP server. `script` is a Python file; `command` and `args` start anything else."""

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    script: str | None = Field(default=None, min_length=1)
    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = Field(default_factory=dict[str, str])
    description: str = ""
    capabilities: tuple[str, ...] = ()
    basic_tools: tuple[str, ...] = ()
    connection: ConnectionMode = "persistent"
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS
    call_timeout_seconds: Seconds = CALL_TIMEOUT_SECONDS

    @model_validator(mode="after")
    def _has_something_to_start(self) -> "ServerEntry":
        if self.script is None and self.command is None:
            raise ValueError("a server needs 'script' (a Python file) or 'command'")
        return self

    def spec(self, root: Path, profile_folder: Path) -> ServerSpec:
        """How to start it; paths as in `config.servers.server_spec`."""
        return server_spec(self.model_dump(mode="json", exclude_none=True), root, profile_folder)


class AgentProfile(_Section):
    """The whole of `profiles.yaml`."""

    agent: AgentSection
    strategy: StrategyProfile = StrategyProfile()
    memory: MemorySection = MemorySection()
    llm: LlmSection = LlmSection()
    persona: PersonaSection = PersonaSection()
    sandbox: SandboxSection = SandboxSection()
    mcp_servers: tuple[ServerEntry, ...] = ()

    @field_validator("mcp_servers")
    @classmethod
    def _ids_are_unique(cls, servers: tuple[ServerEntry, ...]) -> tuple[ServerEntry, ...]:
        """Ids differ also as plans write them: `tools.<id>.<tool>`, where `-` becomes `_`."""
        seen: dict[str, str] = {}
        for server in servers:
            name = server.id.replace("-", "_")
            name = f"{name}_" if keyword.iskeyword(name) else name
            if (other := seen.get(name)) is not None:
                both = f"{other!r} and {server.id!r} look the same in a plan"
                raise ValueError(f"id used twice: {server.id}" if other == server.id else both)
            seen[name] = server.id
        return servers


class ModelEntry(_Section):
    """One model of `models.json`; `type` is the backend, `api_key_env` where its key lies."""

    type: Literal["gemini", "offline"]
    model: str | None = None
    api_key_env: str | None = None


class ModelsFile(_Section):
    """The whole of `models.json`."""

    models: dict[str, ModelEntry]
