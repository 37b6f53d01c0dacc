"""Text files and folders in requests: `@notes.txt` goes along as a named text, as stdin's does."""

import builtins
import keyword
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Final

from core.base.files import FileTooLarge, read_regular
from core.base.text import lazy_pattern, one_line, size_text
from core.errors import UsageError
from core.turn import TextInput
from modules.session.request import STDIN_BYTES_MAX

TEXT_SUFFIXES: Final = frozenset(
    (
        *(".txt", ".md", ".rst", ".org", ".tex", ".log", ".csv", ".tsv", ".json", ".jsonl"),
        *(".ndjson", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".xml", ".html"),
        *(".htm", ".css", ".scss", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".py", ".pyi"),
        *(".ipynb", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".swift"),
        *(".go", ".rs", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".sh", ".bash"),
        *(".zsh", ".fish", ".ps1", ".bat", ".sql", ".diff", ".patch", ".pdf", ".docx", ".pptx"),
        *(".xlsx", ".odt", ".epub", ".eml", ".srt", ".vtt", ".svg", ".dockerfile"),
    )
)
"""How names of files end that are asked about; a word that ends so means a file, or a mistake."""

ENTRIES_MAX: Final = 500
"""So many entries of a folder are listed."""

_TAKEN: Final = frozenset(
    {"tools", "mcp", "json", "re", "math", "asyncio", "datetime", "statistics", "string", "stdin"}
    | {"memory", "solve", *dir(builtins), *keyword.kwlist, *keyword.softkwlist}
)
"""What means something else in a plan."""

_NO_NAME: Final = lazy_pattern(r"[^0-9A-Za-z]+")
NAME_CHARACTERS: Final = 40
"""Longest name of a variable."""


def read_text(path: Path, name: str, taken: Collection[str] = ()) -> TextInput:
    """The text of a file; `name` is its path as the user wrote it, `taken` other texts' names.

    Raises:
        UsageError: it can't be read, is no text, or too long.
    """
    try:
        data = read_regular(path, STDIN_BYTES_MAX)
    except FileTooLarge:
        raise UsageError(
            f"@{name} holds more than {STDIN_BYTES_MAX:,} bytes; take a part of it, by head or "
            "grep, say, or add it to your documents: agent.py docs add"
        ) from None
    except OSError as error:
        raise UsageError(f"@{name} can't be attached: {error.strerror or error} ({path})") from None
    if b"\0" in data or data.startswith(b"%PDF-"):
        raise UsageError(
            f"@{name} holds no text; add it to your documents, which reads many formats: "
            "agent.py docs add"
        )
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return TextInput(variable_name(path.name, taken), text, name)


def list_folder(path: Path, name: str, taken: Collection[str] = ()) -> TextInput:
    """The entries of a folder, a line each, folders with a slash; hidden ones are left out.

    Raises:
        UsageError: it can't be read.
    """
    try:
        found = (entry for entry in path.iterdir() if not entry.name.startswith("."))
        entries = sorted(islice(found, ENTRIES_MAX + 1), key=lambda entry: entry.name.lower())
    except OSError as error:
        raise UsageError(f"@{name} can't be attached: {error.strerror or error} ({path})") from None
    lines = [_line(entry) for entry in entries[:ENTRIES_MAX]]
    if len(entries) > ENTRIES_MAX:
        lines.append(f"(and more; {ENTRIES_MAX} are listed)")
    listing = "\n".join(lines) or "(nothing is in it)"
    folder = path.resolve().name or "root"
    return TextInput(
        variable_name(f"{folder}_listing", taken), listing, f"{name} (a folder's list)"
    )


def _line(entry: Path) -> str:
    name = one_line(entry.name)
    try:
        return f"{name}/" if entry.is_dir() else f"{name}  {size_text(entry.stat().st_size)}"
    except OSError:
        return name


def variable_name(name: str, taken: Collection[str], characters: int = NAME_CHARACTERS) -> str:
    """A name that a plan can have it under: `notes.txt` is `notes_txt`."""
    plain = _NO_NAME.sub("_", name)[:characters].strip("_").lower() or "text"
    plain = f"file_{plain}" if plain[0].isdigit() or plain in _TAKEN else plain
    number, chosen = 1, plain
    while chosen in taken:
        number += 1
        chosen = f"{plain}_{number}"
    return chosen
