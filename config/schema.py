"""The shape of `profiles.yaml`: every key that exists, and what it may hold.

Unknown keys and values are errors; `config.settings` turns them into messages that name the
file, the line, the key and what is allowed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    field_validator,
    model_validator,
)

from config.documents import DEFAULT_FOLDERS, DEFAULT_INDEX_FOLDER
from config.http_address import url_problem
from config.listing_tools import LISTING_TOOLS
from config.servers import (
    CALL_TIMEOUT_SECONDS,
    CONCURRENT_CALLS,
    LARGEST_RESULT_BYTES,
    MAX_CONCURRENT_CALLS,
    MAX_SECONDS,
    MIN_RESULT_BYTES,
    PROFILE_ORIGIN,
    RESULT_BYTES_MAX,
    START_TIMEOUT_SECONDS,
    ConnectionMode,
    ServerSpec,
    StartMode,
    plan_name,
    server_spec,
)
from config.wall_names import WallName
from config.web import is_host

_MEBIBYTE = 1024 * 1024

Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=MAX_SECONDS)]
"""A bound on a wait. Strict numbers: YAML's `yes` and `"5"` are mistakes, not numbers."""

Count: TypeAlias = Annotated[int, Field(strict=True)]
"""A whole number of things; every field says its own bounds, which would not add up with these."""

CaptionService: TypeAlias = Annotated[str, Field(pattern=r"^(auto|none|ocr|(ollama|gemini):\S+)$")]
"""What describes pictures."""

FolderName: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
"""A path of a folder."""

ToolPattern: TypeAlias = Annotated[str, Field(pattern=r"^\S+$", max_length=200)]
"""Tools by their names, `server.tool` or `tool` of any server; `*` stands for anything."""

DEFAULT_LINK_SOURCES = ("websearch.duckduckgo_search_results",)
DEFAULT_LISTING_TOOLS = ("documents.list_documents", *LISTING_TOOLS)
"""The bundled one, and those of widespread servers for files and git."""


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
    is the form of tool calls that the prompts teach; the sandbox runs both. `tool_prompt_tokens`
    bounds the signatures of tools in one prompt. `perception: auto` asks the model for it only
    where not all tools fit into the prompt, `never` leaves it to the ranking by words. With
    `clarify`, a plan may ask the user back once a run.
    """

    planning_mode: Literal["conservative", "exploratory"] = "conservative"
    exploration_mode: Literal["parallel", "sequential"] = "parallel"
    memory_fallback_enabled: StrictBool = True
    max_steps: Count = Field(default=3, ge=1, le=50)
    max_lifelines_per_step: Count = Field(default=3, ge=0, le=50)
    plan_style: Literal["tools", "mcp"] = "tools"
    tool_prompt_tokens: Count = Field(default=6000, ge=100)
    perception: Literal["auto", "always", "never"] = "auto"
    clarify: StrictBool = True


class SandboxSection(_Section):
    """Bounds of one plan; see `modules.sandbox.SandboxLimits` for what each one stops.

    `require` names the parts of the second wall without which no plan is run.
    """

    cpu_seconds: Seconds = 5.0
    wall_seconds: Seconds = 120.0
    memory_bytes: Count = Field(default=64 * _MEBIBYTE, ge=_MEBIBYTE)
    recursion_depth: Count = Field(default=200, ge=10, le=1000)
    printed_bytes: Count = Field(default=64 * 1024, ge=1)
    result_bytes: Count = Field(default=_MEBIBYTE, ge=1)
    source_bytes: Count = Field(default=12 * 1024, ge=1)
    tool_calls: Count = Field(default=5, ge=1, le=1000)
    tool_calls_at_once: Count = Field(default=5, ge=1, le=100)
    argument_bytes: Count = Field(default=_MEBIBYTE, ge=1)
    tool_result_bytes: Count = Field(default=4 * _MEBIBYTE, ge=1)
    require: tuple[WallName, ...] = ()


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
    """Which model plans, and how much of it one run may use.

    `text_generation` is `auto`, a name (see `modules.models.choosing`), or names with commas
    between: each stands in for the one before it. `max_cost` is in US dollars, `max_tokens`
    counts tokens read and written; without them a run is not bounded. `retries` are further tries
    of a request that failed for a reason that may pass.
    """

    text_generation: str = Field(default="auto", min_length=1)
    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: Count | None = Field(default=None, ge=1)
    retries: Count = Field(default=3, ge=0, le=10)


class PersonaSection(_Section):
    """How answers should sound; goes into the decision prompts."""

    tone: str = "concise"
    verbosity: Literal["low", "medium", "high"] = "low"
    behavior_tags: tuple[str, ...] = ()


class DocumentsSection(_Section):
    """What the bundled documents server reads and how it searches; see `servers.rag.options`.

    `folders` and `index_folder` are relative to CORTEX_HOME. `ignore` holds patterns as in
    .gitignore. `embedder` and `captions` are `auto`, `none`, or name what computes vectors and
    reads pictures; `topics_model` is the model of Ollama that `chunking: llm` asks; `vectors` says
    where nearest vectors are looked up. `word_weight` is the share of the words' score in a
    hybrid search. `file_bytes` and `files` bound what is indexed.
    """

    folders: tuple[FolderName, ...] = Field(default=DEFAULT_FOLDERS, min_length=1)
    index_folder: FolderName = DEFAULT_INDEX_FOLDER
    ignore: tuple[str, ...] = ()
    chunking: Literal["structure", "llm"] = "structure"
    topics_model: str = Field(default="phi4", min_length=1)
    embedder: str = Field(default="auto", pattern=r"^(auto|none|minilm|(ollama|gemini):\S+)$")
    captions: CaptionService = "auto"
    vectors: str = Field(default="faiss", pattern=r"^(faiss|milvus:\S+)$")
    word_weight: float = Field(default=0.45, strict=True, ge=0, le=1)
    file_bytes: Count = Field(default=100 * _MEBIBYTE, ge=1)
    files: Count = Field(default=200_000, ge=1)
    watch: StrictBool = True


class WebSection(_Section):
    """How the bundled servers search and read the web; see `servers.web.options`.

    `search` names the engine, whose address `search_url` replaces. `allow_private` names hosts, as
    they stand in a URL, that are read although they are not on the public internet; one with a
    port is open there only. `robots` says
    whose pages are left out where their site asks for it. `timeout_seconds` bounds one try to fetch
    something, `page_bytes` what is fetched; results of a search are kept for `cache_seconds`.
    """

    search: Literal["duckduckgo", "searxng", "brave", "tavily"] = "duckduckgo"
    search_url: str | None = Field(default=None, max_length=2000)
    allow_private: tuple[str, ...] = ()
    robots: Literal["found", "always", "never"] = "found"
    captions: CaptionService = "none"
    searches_per_minute: Count = Field(default=30, ge=1)
    pages_per_minute: Count = Field(default=20, ge=1)
    timeout_seconds: Seconds = 30.0
    page_bytes: Count = Field(default=10 * _MEBIBYTE, ge=1)
    cache_seconds: float = Field(default=300.0, strict=True, ge=0, le=MAX_SECONDS)

    @field_validator("search_url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is not None and url_problem(url) is not None:
            raise ValueError("no address of an engine; allowed: http or https, without a password")
        return url

    @field_validator("allow_private")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not is_host(host):
                raise ValueError(
                    f"{host!r} is no host; allowed: names and addresses as they stand in a URL, "
                    "such as wiki.local or 192.168.1.5:8080, without scheme, path or wildcard"
                )
        return hosts

    @model_validator(mode="after")
    def _has_an_engine(self) -> "WebSection":
        if self.search == "searxng" and self.search_url is None:
            raise ValueError("searxng needs 'search_url', the address of your instance of it")
        return self


def _as_written(value: object) -> object:
    """A bare `off` as text: YAML 1.1 takes it for false."""
    return "off" if value is False else value


class SecuritySection(_Section):
    """Where the addresses, paths and names that plans pass to tools may come from.

    `provenance` says what happens to one that stems from nowhere allowed: the call is refused
    (`strict`), you are asked (`ask`), or nothing (`off`); `auto` asks at a terminal and refuses
    elsewhere. Results of `link_sources` may name any address, those of `listing_tools` any path of
    their own server. Both hold names, `server.tool` or `tool` of any server, with `*` for anything.
    `approvals` says which calls wait for your yes: none, those that may change something and that
    the request does not ask for, or all; where nobody is there to say it, they are refused.
    """

    provenance: Annotated[Literal["auto", "strict", "ask", "off"], BeforeValidator(_as_written)] = (
        "auto"
    )
    approvals: Literal["never", "changing", "always"] = "changing"
    link_sources: tuple[ToolPattern, ...] = DEFAULT_LINK_SOURCES
    listing_tools: tuple[ToolPattern, ...] = DEFAULT_LISTING_TOOLS


class ServerEntry(_Section):
    """One MCP server: a program, or a URL that is spoken to over Streamable HTTP.

    `script` is a Python file; `command` and `args` start anything else. `headers` go with every
    request to a `url`. `start: eager` starts the server with the program, `lazy` when it is
    needed. Texts may hold variables, see `config.expansion`.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    script: str | None = Field(default=None, min_length=1)
    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = Field(default_factory=dict[str, str])
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    description: str = ""
    capabilities: tuple[str, ...] = ()
    basic_tools: tuple[str, ...] = ()
    connection: ConnectionMode = "persistent"
    start: StartMode = "lazy"
    disabled: StrictBool = False
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS
    call_timeout_seconds: Seconds = CALL_TIMEOUT_SECONDS
    tool_timeout_seconds: dict[str, Seconds] = Field(default_factory=dict[str, Seconds])
    concurrent_calls: Count = Field(default=CONCURRENT_CALLS, ge=1, le=MAX_CONCURRENT_CALLS)
    result_bytes: Count = Field(
        default=RESULT_BYTES_MAX, ge=MIN_RESULT_BYTES, le=LARGEST_RESULT_BYTES
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        """One that holds a variable is looked at when its value is known."""
        if url is not None and "${" not in url and (wrong := url_problem(url)) is not None:
            raise ValueError(wrong)
        return url

    @model_validator(mode="after")
    def _is_a_program_or_an_address(self) -> "ServerEntry":
        if self.url is None:
            if self.script is None and self.command is None:
                raise ValueError(
                    "a server needs 'script' (a Python file), 'command', or 'url' (an http or "
                    "https address)"
                )
            if self.headers:
                raise ValueError("'headers' go with a 'url'; a program gets 'env'")
        elif self.script is not None or self.command is not None:
            raise ValueError("a server is a program or a 'url', not both; keep one of them")
        elif self.args or self.env:
            raise ValueError("'args' and 'env' go with a program; a 'url' gets 'headers'")
        return self

    def spec(
        self,
        root: Path,
        profile_folder: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        origin: str = PROFILE_ORIGIN,
    ) -> ServerSpec:
        """How to start or reach it; arguments as in `config.servers.server_spec`."""
        entry = self.model_dump(mode="json", exclude_none=True)
        return server_spec(entry, root, profile_folder, environ=environ, origin=origin)


class AgentProfile(_Section):
    """The whole of `profiles.yaml`."""

    agent: AgentSection
    strategy: StrategyProfile = StrategyProfile()
    memory: MemorySection = MemorySection()
    llm: LlmSection = LlmSection()
    persona: PersonaSection = PersonaSection()
    sandbox: SandboxSection = SandboxSection()
    documents: DocumentsSection = DocumentsSection()
    web: WebSection = WebSection()
    security: SecuritySection = SecuritySection()
    mcp_servers: tuple[ServerEntry, ...] = ()

    @field_validator("mcp_servers")
    @classmethod
    def _ids_are_unique(cls, servers: tuple[ServerEntry, ...]) -> tuple[ServerEntry, ...]:
        """Ids differ also as plans write them: `tools.<id>.<tool>`, where `-` becomes `_`."""
        seen: dict[str, str] = {}
        for server in servers:
            name = plan_name(server.id)
            if (other := seen.get(name)) is not None:
                both = f"{other!r} and {server.id!r} look the same in a plan"
                raise ValueError(f"id used twice: {server.id}" if other == server.id else both)
            seen[name] = server.id
        return servers
