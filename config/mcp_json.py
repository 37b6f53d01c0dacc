"""Reads and edits an `mcp.json`: the servers that people already have set up for other tools.

Read are `mcpServers` (Claude Desktop, Claude Code, Cursor, Windsurf and many more) and VS Code's
`servers`, in JSON that may hold comments and trailing commas. One wrong entry is the `problem`
of that server and takes no other down. What is written keeps everything else in the file.

Nothing here looks for files: whoever calls names them. Standard library only, for this is read
before servers are started.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from config.env_file import EnvFileProblem, read_env_file
from config.expansion import Expander, shown
from config.http_address import header_problem, url_problem
from config.mcp_document import SECTIONS, load, load_if_there, servers_in, store
from config.mcp_entry import McpEntry, read_entry
from config.mcp_forms import SWITCH_KEYS
from config.servers import (
    ID_FORM,
    ServerSpec,
    describe_problems,
    is_server_id,
    plan_name,
    server_id_of,
    server_spec,
)
from config.settings import SettingsError
from core.base.text import near_names

_OTHER_KNOWN_KEYS = frozenset({"inputs", "$schema"})
_KEYS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class McpFile:
    """What one file says: servers to use, servers that are switched off, and what was ignored.

    All ids differ, also as plans write them. `notes` are sentences for the user.
    """

    specs: tuple[ServerSpec, ...]
    disabled: tuple[ServerSpec, ...]
    notes: tuple[str, ...]


def read_mcp_file(path: Path, environ: Mapping[str, str], project: Path | None = None) -> McpFile:
    """The servers that a file names.

    `project` is where its servers start and what `${workspaceFolder}` and relative paths mean;
    by default the folder of the file, or the one above for `.vscode/mcp.json` and the like.

    Raises:
        SettingsError: the file can't be read, is larger than MAX_CONFIG_BYTES, is no JSON, or
            has no section with servers; the message names the file, and the line if it can.
    """
    document, _ = load(path)
    folder = project if project is not None else project_folder(path)
    specs: list[ServerSpec] = []
    disabled: list[ServerSpec] = []
    notes = _notes_on_document(path, document)
    servers = servers_in(path, document)
    names = {plan_name(server_id_of(name)) for name, _ in servers}
    taken: dict[str, str] = {}
    for name, raw in servers:
        entry = read_entry(raw)
        server_id = server_id_of(name)
        problems = list(entry.problems)
        if (other := taken.get(plan_name(server_id))) is not None:
            problems.append(f"{shown(name)} and {shown(other)} mean the same id here; rename one")
            server_id = _free_id(server_id, names | taken.keys())
        elif server_id != name:
            notes.append(f"{path}: server {shown(name)} is called '{server_id}' here: {ID_FORM}")
        taken[plan_name(server_id)] = name
        notes += [f"{path}: server {shown(name)}: {note}" for note in entry.notes]
        spec = _spec(server_id, replace(entry, problems=tuple(problems)), folder, path, environ)
        (disabled if entry.disabled else specs).append(spec)
    return McpFile(tuple(specs), tuple(disabled), tuple(notes))


def project_folder(path: Path) -> Path:
    """The folder of the project that a file of this path belongs to, as an absolute path.

    `.vscode/mcp.json` and `.cursor/mcp.json` lie in a folder of the tool, one level below it.
    """
    folder = path.absolute().parent
    return folder.parent if folder.name.startswith(".") else folder


def add_server(path: Path, name: str, entry: Mapping[str, object]) -> None:
    """Write one more server into the file, which is made, for its owner alone, if it isn't there.

    `entry` is what stands behind the name in the file, in the keys that `read_mcp_file` knows.
    Variables in it need not be set yet. Everything else in the file stays as it is, but for
    white space; the file is replaced as a whole.

    Raises:
        SettingsError: no usable name, one that the file has already, an entry with a mistake, or
            a file that can't be read, holds comments, or can't be written. Nothing is written.
    """
    if not is_server_id(name):
        raise SettingsError(f"{shown(name)}: {ID_FORM}; '{server_id_of(name)}' would do")
    if problems := _problems_to_add(read_entry(dict(entry))):
        raise SettingsError(f"server '{name}' is not added: {'; '.join(problems)}")
    document, text = load_if_there(path)
    for other, _ in servers_in(path, document):
        if plan_name(server_id_of(other)) == plan_name(name):
            raise SettingsError(
                f"{path}: server {shown(other)} is there already; remove it first, or add "
                f"'{name}' under another name"
            )
    section = next((key for key in SECTIONS if key in document), SECTIONS[0])
    servers = cast("dict[str, object]", document.get(section) or {})
    store(path, {**document, section: {**servers, name: dict(entry)}}, text)


def remove_server(path: Path, name: str) -> None:
    """Take one server out of the file; `name` is its name there, or the id made from it.

    Everything else in the file stays as it is, but for white space.

    Raises:
        SettingsError: no such server, or a file that can't be read, holds comments, or can't be
            written. Nothing is written.
    """
    document, text = load_if_there(path)
    section, chosen, servers = _found(path, document, name)
    rest = {key: entry for key, entry in servers.items() if key != chosen}
    store(path, {**document, section: rest}, text)


def switch_server(path: Path, name: str, *, on: bool) -> None:
    """Switch one server of the file on or off, by its key `disabled`; `name` as in `remove_server`.

    Everything else in the file stays as it is, but for white space.

    Raises:
        SettingsError: as `remove_server`, or the server's entry is no section.
    """
    document, text = load_if_there(path)
    section, chosen, servers = _found(path, document, name)
    entry = servers[chosen]
    if not isinstance(entry, dict):
        raise SettingsError(f"{path}: server {shown(chosen)} is no section; correct it first")
    entry = cast("dict[str, object]", entry)
    kept = {key: value for key, value in entry.items() if key not in SWITCH_KEYS}
    changed = kept if on else {**kept, "disabled": True}
    if changed != entry:
        store(path, {**document, section: {**servers, chosen: changed}}, text)


def _found(
    path: Path, document: Mapping[str, object], name: str
) -> tuple[str, str, dict[str, object]]:
    """The section that has a server, the server's name in it, and all servers of the section.

    Raises:
        SettingsError: there is no such server.
    """
    names = [found for found, _ in servers_in(path, document)]
    chosen = name if name in names else next((n for n in names if server_id_of(n) == name), None)
    for section in SECTIONS:
        servers = cast("dict[str, object]", document.get(section) or {})
        if chosen is not None and chosen in servers:
            return section, chosen, servers
    raise SettingsError(_not_there(path, name, names))


def _problems_to_add(entry: McpEntry) -> list[str]:
    """What is wrong with an entry whatever its variables will be."""
    problems = list(entry.problems)
    url = str(entry.fields.get("url", ""))
    if url and "${" not in url and (wrong := url_problem(url)) is not None:
        problems.append(f"key 'url' is {wrong}")
    headers = cast("Mapping[str, str]", entry.fields.get("headers", {}))
    if (wrong := header_problem(headers)) is not None:
        problems.append(wrong)
    return problems


def _notes_on_document(path: Path, document: Mapping[str, object]) -> list[str]:
    others = [key for key in document if key not in (*SECTIONS, *_OTHER_KNOWN_KEYS)]
    if not others:
        return []
    more = f" and {len(others) - _KEYS_SHOWN} more" if len(others) > _KEYS_SHOWN else ""
    return [
        f"{path}: ignored beside the servers: {', '.join(map(shown, others[:_KEYS_SHOWN]))}{more}"
    ]


def _free_id(server_id: str, taken: Collection[str]) -> str:
    """An id like this one whose name in plans no server has."""
    number = 2
    while plan_name(f"{server_id}-{number}") in taken:
        number += 1
    return f"{server_id}-{number}"


def _spec(
    server_id: str, entry: McpEntry, folder: Path, path: Path, environ: Mapping[str, str]
) -> ServerSpec:
    origin = f"in {path}"
    problems = list(entry.problems)
    fields = {**entry.fields, "id": server_id}
    if not problems and entry.env_file is not None:
        fields["env"] = _with_env_file(entry, folder, environ, problems)
    if not problems:
        return server_spec(fields, folder, folder, environ=environ, origin=origin)
    return ServerSpec(
        server_id,
        (),
        folder,
        description=str(entry.fields.get("description", "")).strip(),
        origin=origin,
        problem=describe_problems(server_id, origin, problems),
    )


def _with_env_file(
    entry: McpEntry, folder: Path, environ: Mapping[str, str], problems: list[str]
) -> dict[str, str]:
    """The variables of the `envFile` with those of `env` over them; adds to `problems`."""
    expander = Expander(environ, folder)
    path = folder / expander.text("envFile", entry.env_file or "")
    own = cast("dict[str, str]", entry.fields["env"])
    problems += expander.problems
    if problems:
        return own
    try:
        # What stands in the file is meant as it stands.
        read = {name: value.replace("${", "$${") for name, value in read_env_file(path).items()}
    except EnvFileProblem as problem:
        problems.append(f"key 'envFile': {problem}")
        return own
    return read | own


def _not_there(path: Path, name: str, names: list[str]) -> str:
    near = near_names(name, names)
    meant = f"; did you mean {' or '.join(map(shown, near))}?" if near else ""
    meant = meant if names else "; it names no server"
    return f"{path}: there is no server {shown(name)}{meant}"
