"""All servers of a run, from the profile and from files of `mcp.json` form, each id once.

What the profile says of documents, the web and memory goes to the bundled servers that have a use
for it, each told in one variable, with absolute paths. Of what the profile leaves out, the servers
have the same defaults (`servers.rag.library.options`, `servers.web.options`,
`servers.memory.options`).
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl, urlsplit

from config.http_address import may_hold_credentials, sends_credentials_in_the_clear
from config.mcp_file import McpFile, read_mcp_file
from config.schema import AgentProfile, DocumentsSection, WebSection
from config.servers import ServerEntry, ServerSpec, plan_name
from config.settings import FileState, Places, file_state
from core.base.frozen import frozen
from core.base.redaction import MIN_SECRET_CHARACTERS, Redactor, names_a_secret, secrets_of

DOCUMENTS_VARIABLE: Final = "CORTEX_DOCUMENTS"
WEB_VARIABLE: Final = "CORTEX_WEB"
MEMORY_VARIABLE: Final = "CORTEX_MEMORY"
DOCUMENTS_SCRIPT: Final = Path("servers") / "documents_server.py"
WEBSEARCH_SCRIPT: Final = Path("servers") / "websearch_server.py"
MEMORY_SCRIPT: Final = Path("servers") / "memory_server.py"
MATH_SCRIPT: Final = Path("servers") / "math_server.py"

KEY_VARIABLES: Final[Mapping[str, str]] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""Where the keys of search engines stand, of those that need one."""

_OLLAMA_HOST: Final = "OLLAMA_HOST"
_GEMINI_KEY: Final = "GEMINI_API_KEY"


@frozen
class ServerList:
    """Servers to use, servers that are switched off, and sentences for the user.

    `files` are those of `mcp.json` form that were read, or were not there, as they were then.
    """

    specs: tuple[ServerSpec, ...]
    disabled: tuple[ServerSpec, ...]
    notes: tuple[str, ...]
    files: tuple[tuple[Path, FileState], ...] = field(default=(), compare=False)

    @property
    def everyone(self) -> tuple[ServerSpec, ...]:
        """All servers, those that are switched off last."""
        return (*self.specs, *self.disabled)

    @property
    def is_current(self) -> bool:
        """Whether the files look as they did."""
        return all(file_state(path) == state for path, state in self.files)

    def looked_at(self) -> Self:
        """The same, which counts as current until the files change once more."""
        return replace(self, files=_states(path for path, _ in self.files))


def server_list(
    profile: AgentProfile,
    places: Places,
    profile_file: Path,
    mcp_files: Sequence[Path] = (),
    environ: Mapping[str, str] = os.environ,
    more: Sequence[ServerSpec] = (),
) -> ServerList:
    """The profile's servers, those of `places.mcp_file`, those of `mcp_files`, then `more`.

    Of two with one id, or with ids that plans can't tell apart, the first counts, also when it
    is switched off; a note says which was passed over. An `mcp.json` in the working directory
    is read only if somebody names it: else a cloned repository could start programs here.

    Raises:
        SettingsError: a file is no `mcp.json`, or one of `mcp_files` is not there.
    """
    origin = f"under mcp_servers in {profile_file}"
    gathered = _Gathered()
    files = _states((places.mcp_file, *mcp_files))  # before they are read: no change is missed
    for server in profile.mcp_servers:
        spec = server.spec(places.root, profile_file.parent, environ=environ, origin=origin)
        spec = with_sections(spec, profile, places.root, places.home, environ)
        gathered.add(spec, is_disabled=server.disabled)
    own = [places.mcp_file] if _is_there(places.mcp_file) else []
    read: set[Path] = set()
    for path in (*own, *mcp_files):
        if (resolved := _resolved(path)) not in read:
            # Servers of the user's own file start where the state is, not beside the settings.
            folder = places.home if path in own else None
            gathered.add_file(read_mcp_file(path, environ, folder))
            read.add(resolved)
    for spec in more:
        gathered.add(spec, is_disabled=False)
    return ServerList(tuple(gathered.specs), tuple(gathered.disabled), tuple(gathered.notes), files)


def secret_values(specs: Iterable[ServerSpec]) -> frozenset[str]:
    """What no log, trace or terminal should show of these servers' configuration.

    Values of headers (as a whole, and what stands behind `Bearer` and other schemes), of
    variables that went into `env` and `headers`, of settings, options and URL parameters with
    names such as `API_KEY`, and passwords in addresses; only those of at least
    MIN_SECRET_CHARACTERS characters.
    """
    found: set[str] = set()
    for spec in specs:
        found |= spec.secrets
        found |= {value for name, value in spec.env.items() if names_a_secret(name)}
        for name, value in (*spec.env.items(), *_settings(spec.command)):
            found |= set(secrets_of(name, value))
        found |= {v for n, v in _url_parameters(spec.url) if names_a_secret(n)}
        for header, value in spec.headers.items():
            if may_hold_credentials(header):
                found |= {value, value.partition(" ")[2].strip()}
    return frozenset(value for value in found if len(value) >= MIN_SECRET_CHARACTERS)


def redactor_of(spec: ServerSpec, environ: Mapping[str, str] = os.environ) -> Redactor:
    """What keeps our secrets, and those in the server's entry, out of what the server says."""
    return Redactor(environ, secret_values([spec]))


@dataclass(slots=True)
class _Gathered:
    """The servers so far, each under the name that plans have for it."""

    specs: list[ServerSpec] = field(default_factory=list[ServerSpec])
    disabled: list[ServerSpec] = field(default_factory=list[ServerSpec])
    notes: list[str] = field(default_factory=list[str])
    by_plan_name: dict[str, ServerSpec] = field(default_factory=dict[str, ServerSpec])

    def add(self, spec: ServerSpec, *, is_disabled: bool) -> None:
        """Take the server in, or note why not."""
        name = plan_name(spec.id)
        if (first := self.by_plan_name.get(name)) is not None:
            alike = "one of that id" if first.id == spec.id else f"'{first.id}', alike in a plan,"
            self.notes.append(
                f"server '{spec.id}' {spec.origin} is passed over: {alike} stands {first.origin}"
            )
            return
        self.by_plan_name[name] = spec
        (self.disabled if is_disabled else self.specs).append(spec)
        if is_disabled or spec.url is None:
            return
        if sends_credentials_in_the_clear(spec.url, spec.headers):
            self.notes.append(
                f"server '{spec.id}' {spec.origin}: its headers go over plain http, where others "
                "can read them; use https if the server has it"
            )

    def add_file(self, file: McpFile) -> None:
        """Take in all that a file says."""
        self.notes += file.notes
        for spec in file.specs:
            self.add(spec, is_disabled=False)
        for spec in file.disabled:
            self.add(spec, is_disabled=True)


def _states(paths: Iterable[Path]) -> tuple[tuple[Path, FileState], ...]:
    return tuple((path, file_state(path)) for path in paths)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a home that may not be entered; writing there has its own message
        return False


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links that go round; reading has its own message
        return path


def _settings(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and values in the words of a command: `NAME=value`, `--name value`, a mere value."""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        name, sign, value = word.partition("=")
        yield (name, value) if sign else ("", word)
        if word.startswith("-") and not sign:
            yield word, following


def _url_parameters(url: str | None) -> list[tuple[str, str]]:
    if url is None:
        return []
    try:
        return parse_qsl(urlsplit(url).query)
    except ValueError:  # no usable address: the spec says so
        return []


def documents_environment(
    section: DocumentsSection, home: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """What the documents server gets in its environment beside the usual.

    Relative folders begin at `home`. Where Ollama listens is told always; the key of Gemini only
    where the section names Gemini.
    """
    given = section.model_dump(mode="json", exclude_unset=True)
    given["folders"] = [_absolute(folder, home) for folder in section.folders]
    given["index_folder"] = _absolute(section.index_folder, home)
    keys = [_GEMINI_KEY] if uses_gemini(section) else []
    return {DOCUMENTS_VARIABLE: _json(given), **_found([_OLLAMA_HOST, *keys], environ)}


def web_environment(
    section: WebSection, environ: Mapping[str, str], *, searches: bool = True
) -> dict[str, str]:
    """What a server that reads the web gets in its environment beside the usual.

    A key goes along only where the section names the service that it is for, and that of a
    search engine only to the server that `searches`.
    """
    given = section.model_dump(mode="json", exclude_unset=True)
    keys = _web_keys(section, searches=searches)
    return {WEB_VARIABLE: _json(given), **_found([_OLLAMA_HOST, *keys], environ)}


def memory_environment(
    profile: AgentProfile, home: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """What the memory server gets in its environment beside the usual.

    It embeds as the documents do; where they use Gemini, its key goes along.
    """
    embedder = profile.documents.embedder
    given = {
        "folder": str(profile.memory_folder(home)),
        "embedder": embedder,
        "mask": profile.memory.mask,
        "is_on": profile.memory.memory_service,
    }
    keys = [_GEMINI_KEY] if embedder.startswith("gemini") else []
    return {MEMORY_VARIABLE: _json(given), **_found([_OLLAMA_HOST, *keys], environ)}


def with_sections(
    spec: ServerSpec, profile: AgentProfile, root: Path, home: Path, environ: Mapping[str, str]
) -> ServerSpec:
    """The spec, which learns what the profile says if it is that of a bundled server with a use.

    What its entry sets itself counts more.
    """
    told: dict[str, str] = {}
    keys: list[str] = []
    if is_documents_server(spec, root):
        told |= documents_environment(profile.documents, home, environ)
        keys += [_GEMINI_KEY] if uses_gemini(profile.documents) else []
    searches = _starts(spec, root / WEBSEARCH_SCRIPT)
    if told or searches:
        told |= web_environment(profile.web, environ, searches=searches)
        keys += _web_keys(profile.web, searches=searches)
    if _starts(spec, root / MEMORY_SCRIPT):
        told |= memory_environment(profile, home, environ)
        keys.append(_GEMINI_KEY)
    if not told:
        return spec
    secrets = {told[key] for key in keys if len(told.get(key, "")) >= MIN_SECRET_CHARACTERS}
    return replace(spec, env={**told, **spec.env}, secrets=spec.secrets | secrets)


def memory_server(
    servers: ServerList, profile: AgentProfile, places: Places, environ: Mapping[str, str]
) -> ServerSpec:
    """The memory server of the list, else one that the list could have."""
    for spec in servers.everyone:
        if is_memory_server(spec, places.root):
            return spec
    taken = {spec.id for spec in servers.everyone}
    name = next(name for name in ("memory", "cortex-memory", "_memory") if name not in taken)
    entry = ServerEntry(id=name, script=str(MEMORY_SCRIPT))
    spec = entry.spec(places.root, places.root, environ=environ)
    return with_sections(spec, profile, places.root, places.home, environ)


def memory_server_id(specs: Iterable[ServerSpec], root: Path) -> str | None:
    """The id of the server that finds earlier sessions, if there is one."""
    return next((spec.id for spec in specs if is_memory_server(spec, root)), None)


def is_memory_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the memory server of this very program."""
    return _starts(spec, root / MEMORY_SCRIPT)


def is_documents_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the documents server of this very program."""
    return _starts(spec, root / DOCUMENTS_SCRIPT)


def is_math_server(spec: ServerSpec, root: Path) -> bool:
    """Whether this is the math server of this very program."""
    return _starts(spec, root / MATH_SCRIPT)


def uses_gemini(section: DocumentsSection) -> bool:
    """Whether texts or pictures of the documents go to Gemini."""
    return section.embedder.startswith("gemini") or section.captions.startswith("gemini")


def _web_keys(section: WebSection, *, searches: bool) -> list[str]:
    """The variables with keys that the section asks for."""
    names = [_GEMINI_KEY] if section.captions.startswith("gemini") else []
    engine = KEY_VARIABLES.get(section.search) if searches else None
    return [*names, engine] if engine is not None else names


def _starts(spec: ServerSpec, script: Path) -> bool:
    """Whether it is a server of ours that runs this script."""
    if not spec.bundled or len(spec.command) < 2:
        return False
    return Path(spec.command[1]).resolve() == script.resolve()


def _found(names: list[str], environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name in names if (value := environ.get(name))}


def _json(given: Mapping[str, object]) -> str:
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def _absolute(folder: str, home: Path) -> str:
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # no such user, or no home at all
        path = Path(folder)
    return str(home / path)
