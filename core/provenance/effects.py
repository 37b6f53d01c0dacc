"""Whether a call of a tool may change something: the server's word, else the tool's name."""

import re
from itertools import pairwise
from typing import Final

from core.tools.ranking import WORD
from core.tools.spec import ToolSpec

_READING: Final = frozenset(
    [
        *("get", "list", "read", "search", "fetch", "find", "show", "view", "query", "lookup"),
        *("look", "describe", "count", "browse", "inspect", "check", "summarize", "summarise"),
        *("retrieve", "grep", "stat", "status", "diff", "preview", "explain", "compare"),
        *("calculate", "compute", "is", "has"),
    ]
)
"""First words of tools that only read, where the server does not say what its tool does."""

_PARTICLES: Final = frozenset({"in", "out", "off"})
"""They make another verb of the word before them: `check_in`."""


def may_change(tool: ToolSpec) -> bool:
    """Whether a call may change something, as far as server and name tell."""
    if tool.read_only:
        return False
    if tool.says_effects:
        return True
    words = [word.lower() for word in WORD.findall(tool.name)] or [tool.name.lower()]
    if len(words) > 1 and words[0] in re.split(r"[\W_]+", tool.server.lower()):
        words = words[1:]  # it only says whose tool it is: `github_list_issues`
    joined = [word for joint, word in pairwise(words) if joint in ("and", "or", "then")]
    is_reading = all(reads(word) for word in (words[0], *joined))
    return not is_reading or bool(_PARTICLES & {*words[1:2]})


def reads(word: str) -> bool:
    """Whether this is a word for reading."""
    return word.lower() in _READING
