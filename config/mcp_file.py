"""Reads and edits an `mcp.json`: the servers that people already have set up for other tools.

Read are `mcpServers` (Claude Desktop, Claude Code, Cursor, Windsurf and many more) and VS Code's
`servers`, in JSON that may hold comments and trailing commas. One wrong entry is the `problem`
of that server and takes no other down. What is written keeps everything else in the file.

Nothing here looks for files: whoever calls names them.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from config.http_address import header_problem, url_problem
from config.mcp_entry import SWITCH_KEYS, McpEntry, read_entry
from config.servers import (
    ID_FORM,
    ServerSpec,
    describe_problems,
    is_server_id,
    plan_name,
    server_id_of,
)
from config.settings import MAX_CONFIG_BYTES, SettingsError, read_text
from config.texts import document_in, has_comments, load_commented_json
from config.variables import EnvFileProblem, Expander, read_env_file, shown
from core.base.files import folder_locked, write_atomically
from core.base.frozen import frozen
from core.base.text import lazy_pattern, listed, near_names

SECTIONS = ("mcpServers", "servers")
"""The two names of the section with the servers, in the order in which they are read."""

MAX_SERVERS = 200
"""How many servers one file may name; each may hold 128 KiB of expanded variables."""

_INDENT = lazy_pattern(r'\n([ \t]+)"')
_OTHER_KNOWN_KEYS = frozenset({"inputs", "$schema"})
_KEYS_SHOWN = 10


@frozen
class McpFile:
    """What one file says: servers to use, servers that are switched off, and what was ignored.

    All ids differ, also as plans write them. `notes` are sentences for the user.
    """

    specs: tuple[ServerSpec, ...]
    disabled: tuple[ServerSpec, ...]
    notes: tuple[str, ...]


def read_mcp_file(path: Path, environ: Mapping[str, str], project: Path | None = None) -> McpFile:
    """The servers that a file names.

    `project` is what `${workspaceFolder}` and relative paths mean; by default the folder of the
    file, or the one above for `.vscode/mcp.json` and the like. In this its servers start, too;
    those of a `project` that is given start where the user is, see `ServerEntry.spec`.

    Raises:
        SettingsError: the file can't be read, is larger than MAX_CONFIG_BYTES, is no JSON, or
            has no section with servers; the message names the file, and the line if it can.
    """
    document, _ = _load(path)
    folder = project if project is not None else project_folder(path)
    specs: list[ServerSpec] = []
    disabled: list[ServerSpec] = []
    notes = _notes_on_document(path, document)
    servers = _servers_in(path, document)
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
        entry = replace(entry, problems=tuple(problems))
        spec = _spec(server_id, entry, folder, path, environ, follows_user=project is not None)
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
    document, text = _load_if_there(path)
    for other, _ in _servers_in(path, document):
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
    document, text = _load_if_there(path)
    section, chosen, servers = _found(path, document, name)
    rest = {key: entry for key, entry in servers.items() if key != chosen}
    store(path, {**document, section: rest}, text)


def switch_server(path: Path, name: str, *, on: bool) -> None:
    """Switch one server of the file on or off, by its key `disabled`; `name` as in `remove_server`.

    Everything else in the file stays as it is, but for white space.

    Raises:
        SettingsError: as `remove_server`, or the server's entry is no section.
    """
    document, text = _load_if_there(path)
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
    names = [found for found, _ in _servers_in(path, document)]
    chosen = name if name in names else next((n for n in names if server_id_of(n) == name), None)
    for section in SECTIONS:
        servers = cast("dict[str, object]", document.get(section) or {})
        if chosen is not None and chosen in servers:
            return section, chosen, servers
    raise SettingsError(_not_there(path, name, names))


def _problems_to_add(entry: McpEntry) -> list[str]:
    """What is wrong with an entry whatever its variables will be."""
    problems = list(entry.problems)
    url = entry.server.url
    if url is not None and "${" not in url and (wrong := url_problem(url)) is not None:
        problems.append(f"key 'url' is {wrong}")
    if (wrong := header_problem(entry.server.headers)) is not None:
        problems.append(wrong)
    return problems


def _notes_on_document(path: Path, document: Mapping[str, object]) -> list[str]:
    others = [key for key in document if key not in (*SECTIONS, *_OTHER_KNOWN_KEYS)]
    if not others:
        return []
    named = listed(map(shown, others[:_KEYS_SHOWN]), len(others))
    return [f"{path}: ignored beside the servers: {named}"]


def _free_id(server_id: str, taken: Collection[str]) -> str:
    """An id like this one whose name in plans no server has."""
    number = 2
    while plan_name(f"{server_id}-{number}") in taken:
        number += 1
    return f"{server_id}-{number}"


def _spec(
    server_id: str,
    entry: McpEntry,
    folder: Path,
    path: Path,
    environ: Mapping[str, str],
    *,
    follows_user: bool,
) -> ServerSpec:
    origin = f"in {path}"
    problems = list(entry.problems)
    server = entry.server.model_copy(update={"id": server_id})
    if not problems and entry.env_file:
        env = _with_env_file(entry, folder, environ, problems)
        server = server.model_copy(update={"env": env})
    if not problems:
        return server.spec(
            folder, folder, environ=environ, origin=origin, follows_user=follows_user
        )
    return ServerSpec(
        server_id,
        (),
        folder,
        description=server.description.strip(),
        origin=origin,
        problem=describe_problems(server_id, origin, problems),
    )


def _with_env_file(
    entry: McpEntry, folder: Path, environ: Mapping[str, str], problems: list[str]
) -> dict[str, str]:
    """The variables of the `envFile` with those of `env` over them; adds to `problems`."""
    expander = Expander(environ, folder)
    path = folder / expander.text("envFile", entry.env_file)
    problems += expander.problems
    if problems:
        return {}
    try:
        # What stands in the file is meant as it stands.
        read = {name: value.replace("${", "$${") for name, value in read_env_file(path).items()}
    except EnvFileProblem as problem:
        problems.append(f"key 'envFile': {problem}")
        return {}
    return read | entry.server.env


def _not_there(path: Path, name: str, names: list[str]) -> str:
    near = near_names(name, names)
    meant = f"; did you mean {' or '.join(map(shown, near))}?" if near else ""
    meant = meant if names else "; it names no server"
    return f"{path}: there is no server {shown(name)}{meant}"


def _load(path: Path) -> tuple[dict[str, object], str]:
    """The document of the file and its text.

    Raises:
        SettingsError: the file can't be read, is too large or no JSON, or names no servers.
    """
    text = read_text(path)
    document = document_in(path, text, load_commented_json)
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a section with the key 'mcpServers' or 'servers'")
    made = cast("dict[str, object]", document)
    if made and not any(section in made for section in SECTIONS):
        raise SettingsError(
            f"{path}: there is no key 'mcpServers' or 'servers'; the servers stand under one of "
            'them: {"mcpServers": {"name": {"command": "…"}}}'
        )
    return made, text


def _load_if_there(path: Path) -> tuple[dict[str, object], str]:
    """As `_load`; an empty document and text if there is no such file."""
    try:
        return _load(path)
    except SettingsError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}, ""
        raise


def _servers_in(path: Path, document: Mapping[str, object]) -> list[tuple[str, object]]:
    """Names and entries of all sections, in the order of the file.

    Raises:
        SettingsError: a section is none, or there are more than MAX_SERVERS; names `path`.
    """
    servers: list[tuple[str, object]] = []
    for section in SECTIONS:
        found = document.get(section)
        if found is not None and not isinstance(found, dict):
            raise SettingsError(f"{path}: '{section}' is not a section of names and servers")
        servers += cast("dict[str, object]", found or {}).items()
    if len(servers) > MAX_SERVERS:
        raise SettingsError(f"{path}: {len(servers)} servers; at most {MAX_SERVERS} are read")
    return servers


def store(path: Path, document: Mapping[str, object], old_text: str) -> None:
    """Write the document, laid out as the old text was.

    Raises:
        SettingsError: the old text holds comments, which JSON values can't carry over; the file
            has changed since it was read; the document can't be written.
    """
    if has_comments(old_text):
        raise SettingsError(
            f"{path}: it holds comments, which would be lost; change it in an editor"
        )
    text = _json_text(path, document, old_text)
    if len(text.encode()) > MAX_CONFIG_BYTES:
        raise SettingsError(f"{path}: it would be larger than {MAX_CONFIG_BYTES} bytes")
    try:
        with folder_locked(path):
            if (read_text(path) if path.exists() else "") != old_text:
                raise SettingsError(f"{path}: somebody has changed it just now; try again")
            write_atomically(path, text.encode(), keeps_mode=True)
    except OSError as error:
        raise SettingsError(f"{path}: can't be written: {error.strerror or error}") from error


def _json_text(path: Path, document: Mapping[str, object], old_text: str) -> str:
    """The document with the indentation and the kind of escapes that the old text has."""
    indent = found[1] if (found := _INDENT.search(old_text)) is not None else "  "
    only_ascii = old_text != "" and old_text.isascii()
    try:
        text = json.dumps(document, indent=indent, ensure_ascii=only_ascii, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # half a character can only be written as an escape
        text = json.dumps(document, indent=indent, allow_nan=False)
    except ValueError as error:  # 1e999 was read as infinity
        raise SettingsError(f"{path}: it holds a number that JSON can't write") from error
    return f"{text}\n"
