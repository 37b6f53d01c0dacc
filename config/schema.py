"""The shape of `profiles.yaml`: every key that exists, and what it may hold.

Unknown keys and values are errors, whose messages `config.checking` makes.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias, cast
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    field_validator,
    model_validator,
)

from config.checking import MAX_SECONDS, Count, Seconds, Section, check
from config.http_address import is_host, url_problem
from config.models_file import IDLE_SECONDS
from config.servers import ServerEntry, plan_name
from config.settings import SettingsError, read_text
from config.texts import document_in, load_yaml
from core.base.text import near_names

WallName: TypeAlias = Literal["rlimits", "no_new_privs", "landlock", "seccomp"]
"""A part of the second wall, which Linux gives; see `modules.sandbox.walls.launcher`."""

WALL_NAMES: tuple[WallName, ...] = ("rlimits", "no_new_privs", "landlock", "seccomp")
"""All of them, in the order in which they are put up."""

LISTING_TOOLS: Final = (
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "list_allowed_directories",
    "list_files",
    "git_status",
)
"""Tools of widespread servers, whatever these are called, that name files and show none of them."""


_MEBIBYTE = 1024 * 1024

CaptionService: TypeAlias = Annotated[str, Field(pattern=r"^(auto|none|ocr|(ollama|gemini):\S+)$")]
"""What describes pictures."""

FolderName: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
"""A path of a folder."""

ToolPattern: TypeAlias = Annotated[str, Field(pattern=r"^\S+$", max_length=200)]
"""Tools by their names, `server.tool` or `tool` of any server; `*` stands for anything."""

DEFAULT_FOLDERS = ("documents",)
DEFAULT_INDEX_FOLDER = "faiss_index"
DEFAULT_LINK_SOURCES = ("websearch.duckduckgo_search_results",)
DEFAULT_LISTING_TOOLS = ("documents.list_documents", *LISTING_TOOLS)
"""The bundled one, and those of widespread servers for files and git."""


SHIPPED_AGENT_ID: Final = "cortex_r_002"
"""The `agent.id` of the profile that ships: its sessions lie in the memory folder itself."""

PROFILES_FOLDER: Final = "profiles"
"""Below the memory folder: a folder for each other `agent.id`."""

PROFILE_NAME_MAX: Final = 100
"""A longer name of such a folder is cut, and told apart by a digest of the whole id."""

MASKS_MAX: Final = 50


def _is_pattern(text: str) -> str:
    """A regular expression that matches something, but not everywhere."""
    try:
        matches_nothing = re.compile(text).search("") is not None
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    if matches_nothing:
        raise ValueError(f"{text!r} matches the empty text too, and would mask everything")
    return text


Mask: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_is_pattern)]
"""A regular expression of Python."""


class AgentSection(Section):
    """Who the agent is; name and description open every decision prompt."""

    name: str = Field(min_length=1)
    """Opens every decision prompt."""
    id: str = Field(min_length=1)
    """Names the agent in prompts, and keeps its memory apart from that of every other id."""
    description: str = ""
    """What the agent is for; follows the name in decision prompts."""


GraphMode: TypeAlias = Literal["auto", "never", "always"]


class StrategyProfile(Section):
    """How plans are made and how often they may fail."""

    planning_mode: Literal["conservative", "exploratory"] = "conservative"
    """`conservative`: one tool call a plan, or the chain that the request spells out;
    `exploratory`: several."""
    exploration_mode: Literal["parallel", "sequential"] = "parallel"
    """With `exploratory`: independent calls at once, or a chain in which each stands in for the
    one before."""
    memory_fallback_enabled: StrictBool = True
    """A new plan may fall back on tools that worked in this session, and is told how tools did in
    earlier ones."""
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
    """A plan may ask the user back, up to three times a request."""
    graph: GraphMode = "auto"
    """Whether a request is answered in parts, each planned by itself: `auto` where it shows
    independent parts, `never`, or `always`."""


class SandboxSection(Section):
    """Bounds of one plan.

    See `modules.sandbox.SandboxLimits` for what each one stops.
    """

    cpu_seconds: Seconds = 5.0
    """Of the plan itself; waiting for tools is not counted."""
    wall_seconds: Seconds = 120.0
    """Of the whole plan, waits included."""
    memory_bytes: Count = Field(default=256 * _MEBIBYTE, ge=64 * _MEBIBYTE)
    """What a plan may hold at once; some 40 MiB of it are Python's own."""
    recursion_depth: Count = Field(default=1000, ge=10, le=1000)
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


class StorageSection(Section):
    """Where session memory lies, relative to CORTEX_HOME, and how it is sharded."""

    base_dir: str = Field(default="memory", min_length=1)
    """Where sessions lie, relative to CORTEX_HOME."""
    structure: Literal["date", "flat"] = "date"
    """`date`: a folder a day; `flat`: one folder."""
    sync: Literal["item", "run", "never"] = "item"
    """When the disk is waited for: with each item, at the end of a run, or never. Only a crash of
    the machine can cost what was not waited for; a kill of the program never does."""


class MemorySection(Section):
    """What a session keeps."""

    memory_service: StrictBool = True
    """`false` keeps sessions in this process only; nothing is written."""
    summarize_tool_results: StrictBool = True
    """Long results are shortened before they are kept."""
    tag_interactions: StrictBool = True
    """Each item gets tags."""
    mask: tuple[Mask, ...] = Field(default=(), max_length=MASKS_MAX)
    """Regular expressions: what they match is masked wherever something is written or shown, as
    secrets are."""
    prompt_tokens: Count = Field(default=2000, ge=500)
    """What a prompt may tell of this session and of earlier ones, and never more than a quarter of
    the model's context; what is too old is summarised."""
    storage: StorageSection = StorageSection()


class LlmSection(Section):
    """Which model plans, and how much of it one run may use."""

    moved: ClassVar[Mapping[str, str]] = {
        "embedding": "documents.embedder, such as minilm or ollama:nomic-embed-text"
    }

    text_generation: str = Field(default="auto", min_length=1)
    """`auto`, the name of a model, or names with commas between: each stands in for the one
    before it."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that one request may cost."""
    max_tokens: Count | None = Field(default=None, ge=1)
    """Tokens that one request may read and write, in all."""
    retries: Count = Field(default=3, ge=0, le=10)
    """Further tries of a request that failed for a reason that may pass."""


class ModelsSection(Section):
    """How services of models are asked. Which models there are, `models.json` says."""

    idle_seconds: Seconds = IDLE_SECONDS
    """How long a service may send nothing in the middle of a reply; then the request is sent
    again. Before a reply begins, `timeout_seconds` of the model's entry counts."""


class RunBudget(Section):
    """What one run may spend; its tokens and cost are `llm.max_tokens` and `llm.max_cost`."""

    calls: Count | None = Field(default=None, ge=1)
    """Tool calls that are sent."""
    seconds: float | None = Field(default=None, strict=True, gt=0)
    """Wall time, from the request to its answer."""

    @model_validator(mode="before")
    @classmethod
    def _has_no_second_key(cls, found: object) -> object:
        if isinstance(found, dict):
            for name in {"tokens", "cost"} & cast("dict[object, object]", found).keys():
                raise ValueError(f"what a run may have of {name} is 'llm.max_{name}', not here")
        return cast("object", found)


class SharedBudget(Section):
    """What several runs may spend together."""

    tokens: Count | None = Field(default=None, ge=1)
    """Tokens that models read and write."""
    cost: float | None = Field(default=None, strict=True, gt=0)
    """US dollars of models; each must have a known price then."""
    calls: Count | None = Field(default=None, ge=1)
    """Tool calls that are sent."""
    seconds: float | None = Field(default=None, strict=True, gt=0)
    """Wall time of runs; those at the same time add up."""


class BudgetsSection(Section):
    """What may be spent by one run, by a session's runs, and by all of a CORTEX_HOME in a day.

    `user` is the same for ever. A day is one of this machine's calendar. A request that finds
    nothing left, or uses up the rest, ends with exit code 3.
    """

    run: RunBudget = RunBudget()
    conversation: SharedBudget = SharedBudget()
    day: SharedBudget = SharedBudget()
    user: SharedBudget = SharedBudget()

    @property
    def are_set(self) -> bool:
        """Whether there is any limit."""
        return self != BudgetsSection()


class PersonaSection(Section):
    """How answers should sound; goes into the decision prompts."""

    tone: str = "concise"
    """How answers should sound."""
    verbosity: Literal["low", "medium", "high"] = "low"
    """How long answers should be."""
    behavior_tags: tuple[str, ...] = ()
    """Words that say how the agent should behave."""


class DocumentsSection(Section):
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


class WebSection(Section):
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


class ToolSection(Section):
    """What you say of a tool, in place of what its server says or its name lets expect."""

    reads: StrictBool | None = None
    """`true`: its calls change nothing; `false`: they may, and need a yes."""
    content: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = None
    """The parameters that take the text of a letter, a note or a file, which may come from
    anywhere; an empty list: none does."""
    yours: StrictBool = False
    """What it gives stands where only you can write, so that it counts like your words."""


DEFAULT_APPROVE: Final = ("memory.remember",)
DEFAULT_TOOLS: Final = {"memory.remember": ToolSection(content=())}
"""Nothing that a page says is remembered, unless the user said it too."""


class SecuritySection(Section):
    """Where the addresses, paths and names that plans pass to tools may come from.

    Names of tools are `server.tool`, or `tool` of any server, with `*` for anything.
    """

    provenance: Annotated[Literal["auto", "strict", "ask", "off"], BeforeValidator(_as_written)] = (
        "auto"
    )
    """What happens to an address, path or name that stems from nowhere allowed: `auto` and
    `ask` ask whoever can be asked and refuse elsewhere, `strict` refuses, `off` lets pass."""
    approvals: Literal["never", "changing", "always"] = "changing"
    """Which calls need your yes: none, those that may change something, or all."""
    approve: tuple[Annotated[str, Field(min_length=1, max_length=4_096)], ...] = DEFAULT_APPROVE
    """Rules for calls that need no question: `TOOL`, `TOOL(argument=pattern, …)`, or `TOOL(*)`
    for anything; as `--approve`."""
    tools: Mapping[ToolPattern, ToolSection] = Field(default_factory=lambda: {**DEFAULT_TOOLS})
    """What you say of tools, by their names."""
    link_sources: tuple[ToolPattern, ...] = DEFAULT_LINK_SOURCES
    """Tools whose results may name any address."""
    listing_tools: tuple[ToolPattern, ...] = DEFAULT_LISTING_TOOLS
    """Tools whose results may name any path of their own server."""


class GuidanceSection(Section):
    """Which texts for the agent reach prompts; those of a project once you have trusted them."""

    instructions: StrictBool = True
    """`CORTEX.md` under CORTEX_HOME, and `CORTEX.md` or `AGENTS.md` of the project."""
    skills: StrictBool = True
    """Folders with a `SKILL.md`: under CORTEX_HOME, and of the project."""


NotifyMode: TypeAlias = Literal["auto", "bell", "off"]


class TerminalSection(Section):
    """How the prompt behaves."""

    keys: Literal["emacs", "vi"] = "emacs"
    """The keys that edit a line."""
    plain: StrictBool = False
    """For screen readers: nothing is drawn anew, no line below the prompt, as with TERM=dumb."""
    shell: StrictBool = False
    """A line that begins with `!` is run by your shell, with the terminal to itself; its output
    stays out of prompts, and our keys out of its environment."""
    notify: Annotated[NotifyMode, BeforeValidator(_as_written)] = "auto"
    """What calls you when a run of over 10 s ends, or a question waits: `auto`: a notification
    where the terminal is known to make one (OSC 9), else a bell."""


def _as_switched(value: object) -> object:
    """A bare `on` or `off` as text: YAML 1.1 takes them for truth values."""
    return "on" if value is True else _as_written(value)


OTEL_ASKS: Final = (
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    *("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"),
)
"""Variables of OpenTelemetry that ask for an export, each by itself."""


class TraceSection(Section):
    """What is told of runs beside a session's items; see `docs/tracing.md`."""

    prompts: StrictBool = False
    """What models were asked and replied is kept in the session, word for word, secrets masked."""
    otel: Annotated[Literal["auto", "on", "off"], BeforeValidator(_as_switched)] = "auto"
    """Whether runs are sent to a collector of OpenTelemetry: `auto` where a variable asks, such as
    OTEL_EXPORTER_OTLP_ENDPOINT."""

    def is_exported(self, environ: Mapping[str, str]) -> bool:
        """Whether runs go to a collector, by this section and the environment."""
        if self.otel == "off" or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return False
        asked = (environ.get(name, "").strip() for name in OTEL_ASKS)
        return self.otel == "on" or any(value not in ("", "none") for value in asked)


class ServiceSection(Section):
    """What the agent offers to other programs; see `docs/mcp.md`."""

    gateway: StrictBool = False
    """`agent.py mcp-server` also offers the tools of all servers, as `server__tool`."""


PRESET_ROLES: Final = (
    "generalist",
    "researcher",
    "analyst",
    "writer",
    "coder",
    "reviewer",
    "query_rewriter",
    "synthesizer",
    "analyzer",
    "retriever",
    "searcher",
)
"""Roles that are there without the profile; `modules.team.roles` says what each may use."""

RoleName: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""Small letters, digits and `_`."""


class RoleEntry(Section):
    """One role of the team. What is left out is as in the preset of that name, if there is one."""

    purpose: str | None = Field(default=None, min_length=1, max_length=500)
    """What it is for, in words that subtasks use; a role of your own needs one."""
    servers: tuple[str, ...] | None = None
    """Servers all of whose tools it may use."""
    tools: tuple[ToolPattern, ...] | None = None
    """Tools that it may use beside these: `server.tool`, or `tool` of any server, with `*` for
    anything. A role of your own with neither may use all; with two empty lists, none."""
    persona: PersonaSection | None = None
    """How it writes: the keys of `persona`, in place of that section."""
    model: str | None = Field(default=None, min_length=1)
    """Its model, as in `llm.text_generation`."""
    max_steps: Count | None = Field(default=None, ge=1, le=50)
    """How many plans it may make for a subtask, in place of `strategy.max_steps`."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that one of its subtasks may cost."""
    max_tokens: Count | None = Field(default=None, ge=1)
    """Tokens that one of its subtasks may read and write."""


class TeamSection(Section):
    """Who works on a request that is answered in parts, and how; see `docs/team.md`."""

    max_parallel: Count = Field(default=8, ge=1, le=50)
    """Subtasks that run at the same time."""
    max_parts: Count = Field(default=20, ge=1, le=200)
    """Subtasks of one request; a graph with more is not run."""
    deadline_seconds: Seconds = 600.0
    """Of one run of one subtask."""
    ask_seconds: Seconds = 300.0
    """How long a person is waited for who has to allow or answer something; then the subtask's own
    default counts."""
    pattern: Literal["coordinator", "committee", "bids"] = "coordinator"
    """`coordinator`: the role that fits best does a subtask; `committee`: several roles do it, and
    vote; `bids`: each role says how well it fits and what it takes, and the best gets it."""
    bids: Literal["words", "model"] = "words"
    """What estimates a bid: the words of subtask and purpose, or the model."""
    roles: Mapping[RoleName, RoleEntry] = Field(default_factory=dict[RoleName, RoleEntry])
    """Roles by name: your own, and changes to the presets."""

    @model_validator(mode="after")
    def _say_what_they_are_for(self) -> Self:
        for name, role in self.roles.items():
            if role.purpose is None and name not in PRESET_ROLES:
                near = near_names(name, PRESET_ROLES, most=1)
                meant = (
                    f"did you mean {near[0]}?" if near else f"presets: {', '.join(PRESET_ROLES)}"
                )
                raise ValueError(
                    f"role {name!r} is no preset, and so needs a 'purpose' that says what it is "
                    f"for; {meant}"
                )
        return self


class AgentProfile(Section):
    """The whole of `profiles.yaml`."""

    agent: AgentSection
    strategy: StrategyProfile = StrategyProfile()
    memory: MemorySection = MemorySection()
    llm: LlmSection = LlmSection()
    models: ModelsSection = ModelsSection()
    budgets: BudgetsSection = BudgetsSection()
    persona: PersonaSection = PersonaSection()
    sandbox: SandboxSection = SandboxSection()
    documents: DocumentsSection = DocumentsSection()
    web: WebSection = WebSection()
    guidance: GuidanceSection = GuidanceSection()
    terminal: TerminalSection = TerminalSection()
    security: SecuritySection = SecuritySection()
    trace: TraceSection = TraceSection()
    team: TeamSection = TeamSection()
    service: ServiceSection = ServiceSection()
    mcp_servers: tuple[ServerEntry, ...] = ()

    def memory_folder(self, home: Path) -> Path:
        """Where this profile's sessions lie: no two ids share a folder."""
        folder = home / self.memory.storage.base_dir
        if self.agent.id == SHIPPED_AGENT_ID:
            return folder
        # A name that leads nowhere else: `..`, say, becomes `%2E%2E`.
        name = quote(self.agent.id, safe="").replace(".", "%2E")
        if len(name) > PROFILE_NAME_MAX:
            digest = blake2b(self.agent.id.encode(), digest_size=8).hexdigest()
            name = f"{name[:PROFILE_NAME_MAX]}-{digest}"
        return folder / PROFILES_FOLDER / name

    def document_folders(self, home: Path) -> tuple[Path, ...]:
        """The folders of documents, with absolute paths."""
        return tuple(home / Path(folder).expanduser() for folder in self.documents.folders)

    def index_folder(self, home: Path) -> Path:
        """Where the index of documents lies."""
        return home / Path(self.documents.index_folder).expanduser()

    def without_memory(self) -> Self:
        """The same, except that sessions are neither read nor kept."""
        unkept = self.memory.model_copy(update={"memory_service": False})
        return self.model_copy(update={"memory": unkept})

    def with_strategy(self, **changed: str | int) -> Self:
        """The same with other values in its strategy."""
        return self.model_copy(update={"strategy": self.strategy.model_copy(update=changed)})

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


def load_profile(path: Path) -> AgentProfile:
    """Read and check a profile.

    Raises:
        SettingsError: the file is missing, too large, not UTF-8 or not YAML, or it has unknown
            keys or wrong values; every one of these is listed, a line each.
    """
    return profile_of(read_text(path), path)


def profile_of(text: str, path: Path) -> AgentProfile:
    """The checked profile in a text, which is or will be that of `path`.

    Raises:
        SettingsError: see `load_profile`.
    """
    document = document_in(path, text, load_yaml)
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping with keys such as 'agent' and 'strategy'")
    keys = {str(key): value for key, value in cast("dict[object, object]", document).items()}
    return check(keys, AgentProfile, path, text)
