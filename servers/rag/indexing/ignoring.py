"""Which files and folders are passed over, by patterns as in .gitignore.

Matched by `pathspec`: such patterns have corners (`**`, `!`, a slash at either end, spaces) in
which rules of our own would differ from what people know. As in Git, nothing below an ignored
folder can be taken in again.
"""

import fnmatch
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

JUNK = (
    ".*",  # hidden: of programs, not of people
    "~$*",  # what Office locks a document with
    "*~",
    "*.tmp",
    "*.part",
    "*.crdownload",
    "Thumbs.db",
    "desktop.ini",
    "__MACOSX/",
    "__pycache__/",
    "node_modules/",
)
"""Passed over by default; a pattern `!…` in the profile takes some in again."""


class IgnoreRules:
    """The junk that everybody has, then the profile's patterns; the last that matches decides."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = (*JUNK, *patterns)
        self._spec: GitIgnoreSpec | None = None
        # Asking pathspec is most of the work of a scan; without patterns of one's own only names
        # that look like junk are worth the question.
        names = (fnmatch.translate(pattern.rstrip("/")) for pattern in JUNK)
        self._suspect = re.compile("" if patterns else "|".join(names))

    def ignores(self, relative: str, *, is_folder: bool) -> bool:
        """Whether a path, given from its document folder on with `/`, is passed over."""
        if not self._suspect.match(relative[relative.rfind("/") + 1 :]):
            return False
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(self._patterns)
        return self._spec.match_file(f"{relative}/" if is_folder else relative)
