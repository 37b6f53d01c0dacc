"""What a call would do to a file that is there: its text now, and the text it would have.

Only where that is certain: a tool that writes a whole text to a path, or replaces texts that stand
in the file word for word, and is given nothing else. Only files in folders that the configuration
names for the tool's server are read.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from core.base.files import FileTooLarge, read_regular
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.provenance.known import ProvenancePolicy
from core.values import Json, JsonObject

TEXT_BYTES_MAX: Final = 256 * 1024
"""Larger files and texts are not compared."""

LINES_MAX: Final = 2_000
"""Nor are longer ones: the time that takes may grow with the square of the lines (1 s)."""

_PATHS: Final = ("path", "file_path", "filepath", "filename", "file")
_CONTENTS: Final = ("content", "contents", "text", "file_text", "new_content")
_WRITES: Final = ("write", "save", "create", "overwrite")
"""First words of tools that put a text in place of the whole file."""

_PAIRS: Final = (
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
)


@frozen
class FileChange:
    """A file, by its whole path with all links followed, and its text before and after."""

    name: str
    before: str
    after: str

    def redacted(self, redactor: Redactor) -> Self:
        """The same without secrets."""
        return type(self)(*map(redactor.text, (self.name, self.before, self.after)))


def file_change(tool: str, arguments: JsonObject, policy: ProvenancePolicy) -> FileChange | None:
    """What a call of `tool` (`server.tool`) would change; None where that can't be said. Blocks."""
    server, _, name = tool.partition(".")
    rest = dict(arguments)
    paths = [rest.pop(key) for key in _PATHS if key in rest]
    if len(paths) != 1 or not isinstance(paths[0], str) or not rest:
        return None
    path = f"{policy.home}{paths[0][1:]}" if paths[0].startswith("~/") else paths[0]
    roots = (*policy.texts.get(server, ()), *policy.relative_to.get(server, ()))
    try:
        found = _found(path, [root for root in map(Path, roots) if root.is_absolute()])
    except (OSError, ValueError):  # no such path can be
        return None
    if found is None:
        return None
    file, before = found
    after = _after(name, rest, before)
    if after is None or len(after) > TEXT_BYTES_MAX:
        return None
    if max(before.count("\n"), after.count("\n")) > LINES_MAX:
        return None
    return FileChange(str(file), before, after)


def _found(path: str, roots: Sequence[Path]) -> tuple[Path, str] | None:
    """A file in one of these folders, wherever links lead, and its text; None if it is none."""
    folders = [root.resolve() for root in roots]
    for folder in folders:
        file = (folder / path).resolve()
        if any(file.is_relative_to(each) for each in folders):
            with suppress(OSError, FileTooLarge, ValueError):
                return file, read_regular(file, TEXT_BYTES_MAX).decode()
    return None


def _after(name: str, rest: JsonObject, before: str) -> str | None:
    """The text that the file would have; None where that is not certain."""
    if len(rest) == 1 and name.lower().startswith(_WRITES):
        ((key, value),) = rest.items()
        if key in _CONTENTS and isinstance(value, str):
            return value
    edits = rest.get("edits") if len(rest) == 1 else None
    after = before
    for edit in edits if isinstance(edits, list) else [rest]:
        pair = _pair(edit)
        if pair is None or not pair[0] or after.count(pair[0]) != 1:
            return None
        after = after.replace(*pair)
    return after


def _pair(edit: Json) -> tuple[str, str] | None:
    """What an edit replaces, and with what."""
    for old, new in _PAIRS:
        match edit:
            case dict() if edit.keys() == {old, new}:
                before, after = edit[old], edit[new]
                return (
                    (before, after) if isinstance(before, str) and isinstance(after, str) else None
                )
            case _:
                continue
    return None
