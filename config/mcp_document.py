"""The document of an `mcp.json`: loading it, the servers in it, and storing it changed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from config.json_text import JsonProblem, has_comments, load_commented_json
from config.settings import MAX_CONFIG_BYTES, SettingsError, read_text
from core.base.files import folder_locked, write_atomically

SECTIONS = ("mcpServers", "servers")
"""The two names of the section with the servers, in the order in which they are read."""

MAX_SERVERS = 200
"""How many servers one file may name; each may hold 128 KiB of expanded variables."""

_INDENT = re.compile(r'\n([ \t]+)"')


def load(path: Path) -> tuple[dict[str, object], str]:
    """The document of the file and its text.

    Raises:
        SettingsError: the file can't be read, is too large or no JSON, or names no servers.
    """
    text = read_text(path)
    try:
        document = load_commented_json(text)
    except JsonProblem as problem:
        where = f"{path}:{problem.line}" if problem.line is not None else str(path)
        raise SettingsError(f"{where}: not valid JSON: {problem}") from problem
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a section with the key 'mcpServers' or 'servers'")
    made = cast("dict[str, object]", document)
    if made and not any(section in made for section in SECTIONS):
        raise SettingsError(
            f"{path}: there is no key 'mcpServers' or 'servers'; the servers stand under one of "
            'them: {"mcpServers": {"name": {"command": "…"}}}'
        )
    return made, text


def load_if_there(path: Path) -> tuple[dict[str, object], str]:
    """As `load`; an empty document and text if there is no such file."""
    try:
        return load(path)
    except SettingsError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}, ""
        raise


def servers_in(path: Path, document: Mapping[str, object]) -> list[tuple[str, object]]:
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
            if load_if_there(path)[1] != old_text:
                raise SettingsError(f"{path}: somebody has changed it just now; try again")
            write_atomically(path, text)
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
