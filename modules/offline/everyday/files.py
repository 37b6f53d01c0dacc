"""Files of a connected server: "read FILE", "list the files in FOLDER"."""

import re
from collections.abc import Sequence
from typing import Final

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec

_READING: Final = re.compile(
    r"(?:read|show|open|print|display|cat|view)(?: me)?(?: the)?(?: contents? of)?(?: the)?"
    r"(?: (?:text )?file)? (?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s\"'`]*[./~][^\s\"'`]*)",
    re.IGNORECASE,
)
_LISTING: Final = re.compile(
    r"(?:(?:list|show)(?: me)?(?: all)?(?: of)?(?: the)? (?:files|contents?)|"
    r"(?:what|which) files are(?: there)?) (?:in|of|at|under)(?: the)?"
    r"(?: (?:folder|directory))? (?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s\"'`]+)"
    r"(?: (?:folder|directory))?",
    re.IGNORECASE,
)
_NAMES: Final[tuple[tuple[re.Pattern[str], Sequence[str]], ...]] = (
    (_LISTING, ("list_directory", "list_files", "list_dir", "ls")),
    (_READING, ("read_text_file", "read_file", "get_file_contents", "view_file", "cat")),
)
"""Names that public servers give to such tools, the best first."""

_PATHS: Final = frozenset({"path", "file", "filename", "file_path", "directory", "dir", "folder"})


def file_call(text: str, tools: ToolCatalog) -> tuple[ToolSpec, dict[str, str]] | None:
    """The tool that the request needs and its arguments; None without a tool, or a path."""
    for pattern, names in _NAMES:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        path = found["path"].strip("\"'`")
        for name in names:
            for tool in tools:
                needed = [p.name for p in tool.parameters if p.required]
                if tool.name == name and len(needed) == 1 and needed[0].lower() in _PATHS:
                    return tool, {needed[0]: path}
    return None
