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
from config.names import LISTING_TOOLS, WallName
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
    """Opens every decision prompt."""
    id: str = Field(min_length=1)
    """Names the agent in sessions and events."""
    description: str = ""
    """What the agent is for; follows the name in decision prompts."""


class StrategyProfile(_Section):
    """How plans are made and how often they may fail."""

    planning_mode: Literal["conservative", "exploratory"] = "conservative"
    """`conservative`: one tool call a plan, or the chain that the request spells out;
    `exploratory`: several."""
    exploration_mode: Literal["parallel", "sequential"] = "parallel"
    """With `exploratory`: independent calls at once, or a chain in which each stands in for the
    one before."""
    memory_fallback_enabled: StrictBool = True
    """A new plan may fall back on tools that worked in this session."""
    max_steps: Count = Field(default=3, ge=1, le=50)
    """How many plans may follow each other, lifelines aside."""
    max_lifelines_per_step: Count = Field(default=3, ge=0, le=50)
    """Retries after a step's first plan."""
    plan_style: Literal["tools", "mcp"] = "tools"
    """The form of tool calls that the prompts teach; the sandbox runs both."""
    tool_prompt_tokens: Count = Field(default=6000, ge=100)
    """What the signatures of tools may take in one prompt."""
    perception: Literal["auto", "always", "never"] = "auto"
    """Whether the model is asked for it: where not all tools fit the prompt, always, or never (a
    ranking by words)."""
    clarify: StrictBool = True
    """A plan may ask the user back, once a request."""


class SandboxSection(_Section):
    """Bounds of one plan.

    See `modules.sandbox.SandboxLimits` for what each one stops.
    """

    cpu_seconds: Seconds = 5.0
    """Of the plan itself; waiting for tools is not counted."""
    wall_seconds: Seconds = 120.0
    """Of the whole plan, waits included."""
    memory_bytes: Count = Field(default=64 * _MEBIBYTE, ge=_MEBIBYTE)
    """What a plan may hold at once."""
    recursion_depth: Count = Field(default=200, ge=10, le=1000)
    """How deep functions may call each other."""
    printed_bytes: Count = Field(default=64 * 1024, ge=1)
    """What a plan may print."""
    result_bytes: Count = Field(default=_MEBIBYTE, ge=1)
    """The largest result of a plan."""
    source_bytes: Count = Field(default=12 * 1024, ge=1)
    """The longest plan."""
    tool_calls: Count = Field(default=5, ge=1, le=1000)
    """Calls in one plan."""
    tool_calls_at_once: Count = Field(default=5, ge=1, le=100)
    """Calls that run at the same time; others wait."""
    argument_bytes: Count = Field(default=_MEBIBYTE, ge=1)
    """Arguments of one call."""
    tool_result_bytes: Count = Field(default=4 * _MEBIBYTE, ge=1)
    """The result of one call, as the plan gets it."""
    require: tuple[WallName, ...] = ()
    """Parts of the second wall without which no plan runs."""


class StorageSection(_Section):
    """Where session memory lies, relative to CORTEX_HOME, and how it is sharded."""

    base_dir: str = Field(default="memory", min_length=1)
    """Where sessions lie, relative to CORTEX_HOME."""
    structure: Literal["date", "flat"] = "date"
    """`date`: a folder a day; `flat`: one folder."""


class MemorySection(_Section):
    """What a session keeps."""

    memory_service: StrictBool = True
    """`false` keeps sessions in this process only; nothing is written."""
    summarize_tool_results: StrictBool = True
    """Long results are shortened before they are kept."""
    tag_interactions: StrictBool = True
    """Each item gets tags."""
    storage: StorageSection = StorageSection()


class LlmSection(_Section):
    """Which model plans, and how much of it one run may use."""

    text_generation: str = Field(default="auto", min_length=1)
    """`auto`, the name of a model, or names with commas between: each stands in for the one
    before it."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that one request may cost."""
    max_tokens: Count | None = Field(default=None, ge=1)
    """Tokens that one request may read and write, in all."""
    retries: Count = Field(default=3, ge=0, le=10)
    """Further tries of a request that failed for a reason that may pass."""


class PersonaSection(_Section):
    """How answers should sound; goes into the decision prompts."""

    tone: str = "concise"
    """How answers should sound."""
    verbosity: Literal["low", "medium", "high"] = "low"
    """How long answers should be."""
    behavior_tags: tuple[str, ...] = ()
    """Words that say how the agent should behave."""


class DocumentsSection(_Section):
    """What the documents server reads and how it searches; see `servers.rag.library.options`."""

    folders: tuple[FolderName, ...] = Field(default=DEFAULT_FOLDERS, min_length=1)
    """What is indexed and may be read, relative to CORTEX_HOME."""
    index_folder: FolderName = DEFAULT_INDEX_FOLDER
    """Where the index lies, relative to CORTEX_HOME."""
    ignore: tuple[str, ...] = ()
    """Patterns as in .gitignore, beside hidden files and the usual junk."""
    chunking: Literal["structure", "llm"] = "structure"
    """`structure`: by headings and paragraphs; `llm`: by topics, which asks Ollama and is slow."""
    topics_model: str = Field(default="phi4", min_length=1)
    """The model of Ollama that `chunking: llm` asks."""
    embedder: str = Field(default="auto", pattern=r"^(auto|none|minilm|(ollama|gemini):\S+)$")
    """What computes vectors: `minilm` (what `auto` takes), `none`, `ollama:MODEL` or
    `gemini:MODEL`."""
    captions: CaptionService = "auto"
    """What describes pictures: `auto` (Ollama if a model of it sees, else OCR), `none`, `ocr`,
    `ollama:MODEL` or `gemini:MODEL`."""
    vectors: str = Field(default="faiss", pattern=r"^(faiss|milvus:\S+)$")
    """Where nearest vectors are looked up: in memory, or `milvus:ADDRESS`."""
    word_weight: float = Field(default=0.45, strict=True, ge=0, le=1)
    """The share of the words' score in a hybrid search; the rest is meaning."""
    file_bytes: Count = Field(default=100 * _MEBIBYTE, ge=1)
    """Larger files are passed over, and listed as such."""
    files: Count = Field(default=200_000, ge=1)
    """How many files are indexed."""
    watch: StrictBool = True
    """Changes are indexed while the server runs."""


class WebSection(_Section):
    """How the bundled servers search and read the web; see `servers.web.options`."""

    search: Literal["duckduckgo", "searxng", "brave", "tavily"] = "duckduckgo"
    """The engine. Brave wants BRAVE_API_KEY, Tavily TAVILY_API_KEY."""
    search_url: str | None = Field(default=None, max_length=2000)
    """Another address of the engine; for SearXNG that of your instance."""
    allow_private: tuple[str, ...] = ()
    """Hosts of your own network that may be read, as they stand in a URL; one with a port is
    open there only."""
    robots: Literal["found", "always", "never"] = "found"
    """Whose `robots.txt` counts: that of pages which a search found, of all, of none."""
    captions: CaptionService = "none"
    """What describes pictures without a text; values as for documents."""
    searches_per_minute: Count = Field(default=30, ge=1)
    """A sliding window over one minute."""
    pages_per_minute: Count = Field(default=20, ge=1)
    """A sliding window over one minute."""
    timeout_seconds: Seconds = 30.0
    """Of one try to fetch something."""
    page_bytes: Count = Field(default=10 * _MEBIBYTE, ge=1)
    """The most that is fetched of a page."""
    cache_seconds: float = Field(default=300.0, strict=True, ge=0, le=MAX_SECONDS)
    """How long pages and results of searches are kept, in memory."""

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

    Names of tools are `server.tool`, or `tool` of any server, with `*` for anything.
    """

    provenance: Annotated[Literal["auto", "strict", "ask", "off"], BeforeValidator(_as_written)] = (
        "auto"
    )
    """What happens to an address, path or name that stems from nowhere allowed: `auto` asks at a
    terminal and refuses elsewhere, `ask`, `strict` refuses, `off` lets pass."""
    approvals: Literal["never", "changing", "always"] = "changing"
    """Which calls wait for your yes: none, those that may change something and that the request
    does not ask for, or all."""
    link_sources: tuple[ToolPattern, ...] = DEFAULT_LINK_SOURCES
    """Tools whose results may name any address."""
    listing_tools: tuple[ToolPattern, ...] = DEFAULT_LISTING_TOOLS
    """Tools whose results may name any path of their own server."""


class ServerEntry(_Section):
    """One MCP server: a program, or a URL that is spoken to over Streamable HTTP.

    Texts may hold variables, see `config.expansion`.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    """The server's name in plans and commands."""
    script: str | None = Field(default=None, min_length=1)
    """A Python file that is the server."""
    command: str | None = Field(default=None, min_length=1)
    """A program that is the server."""
    args: tuple[str, ...] = ()
    """Arguments of the script or the program."""
    cwd: str | None = None
    """Its working folder; the checkout, if left out."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Variables that it gets beside PATH, HOME and the like."""
    url: str | None = Field(default=None, min_length=1)
    """Its address, for one over Streamable HTTP."""
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    """Sent with every request to the address."""
    description: str = ""
    """What it is for; perception reads this."""
    capabilities: tuple[str, ...] = ()
    """Tools or abilities, for perception."""
    basic_tools: tuple[str, ...] = ()
    """Tools that are shown first."""
    connection: ConnectionMode = "persistent"
    """`persistent`: one session; `per_call`: a new one for each call."""
    start: StartMode = "lazy"
    """`lazy`: when it is needed; `eager`: with the program."""
    disabled: StrictBool = False
    """The entry stays, and is not used."""
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS
    """How long its start may take."""
    call_timeout_seconds: Seconds = CALL_TIMEOUT_SECONDS
    """How long a call may take."""
    tool_timeout_seconds: dict[str, Seconds] = Field(default_factory=dict[str, Seconds])
    """The same for single tools, by name."""
    concurrent_calls: Count = Field(default=CONCURRENT_CALLS, ge=1, le=MAX_CONCURRENT_CALLS)
    """Calls that run at the same time; others wait."""
    result_bytes: Count = Field(
        default=RESULT_BYTES_MAX, ge=MIN_RESULT_BYTES, le=LARGEST_RESULT_BYTES
    )
    """A longer result is cut, with a note."""

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
