"""Whether the user's words ask for a tool that may change something, and for the names in a call.

A tool's first word that says what is done ("send", "delete") has to be among the user's, in these
or other words; then its object too, or something that only the user can have given it. So a
request to read mail asks for no mail to be deleted, though both speak of mail.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from core.catalog import ToolCatalog
from core.provenance.arguments import texts_of
from core.provenance.doubts import Doubt
from core.provenance.known import Known
from core.ranking import WORD, stem, stems
from core.tool_spec import ToolSpec
from core.values import JsonObject

_ACTIONS: Final = (
    "write save store put keep record note remember log create make add new append insert edit",
    "send mail email forward post share publish message tell notify reply submit invite comment",
    "delete remove erase drop clear trash discard cancel forget unlink purge close",
    "update change edit modify rename replace set move patch convert fix correct",
    "run execute start launch call invoke eval",
    "click press type fill select",
    "commit push merge tag checkout",
    "book order buy pay purchase reserve transfer",
    "download upload copy export import",
)
"""Words for the same, a line a kind. Words for reading are none: many servers mark nothing."""

_NOT_OBJECTS: Final = frozenset({"the", "and", "mcp", "server", "tool", "tools"})


def _kinds() -> Mapping[str, frozenset[int]]:
    kinds: dict[str, set[int]] = {}
    for kind, words in enumerate(_ACTIONS):
        for word in words.split():
            kinds.setdefault(stem(word), set()).add(kind)
    return MappingProxyType({word: frozenset(found) for word, found in kinds.items()})


KINDS_OF_ACTION: Final = _kinds()
"""The kinds of an action, by the stem of each word for it."""


def tool_doubts(
    known: Known, tool: ToolSpec, catalog: ToolCatalog, words: str, *, has_own_value: bool
) -> list[Doubt]:
    """Doubt about a call that may change something.

    `words` are what the user wants now; `has_own_value`: the user gave a value of the call.
    None while no untrusted text was read.
    """
    if tool.read_only or not known.is_tainted or known.policy.is_trusted(tool):
        return []
    name = tool.qualified_name
    if name in known.used_before or known.is_planned(tool):
        return []
    if _is_asked_for(tool, words, catalog, has_own_value=has_own_value):
        return []
    return [Doubt("tool", name, name)]


def name_doubts(
    known: Known, tool: ToolSpec, arguments: JsonObject, catalog: ToolCatalog
) -> list[Doubt]:
    """Doubts about names of tools and servers, in arguments that are said to be such names."""
    if not known.is_tainted:
        return []
    given = dict.fromkeys(a.text.strip() for a in texts_of(tool, arguments) if a.names_tools)
    if not given:
        return []
    names = {
        name for each in catalog.known for name in (each.qualified_name, each.name, each.server)
    }
    return [
        Doubt("name", name, name)
        for name in given
        if name in names and not _is_said(name, known.words)
    ]


def _is_asked_for(tool: ToolSpec, words: str, catalog: ToolCatalog, *, has_own_value: bool) -> bool:
    if _is_said(tool.qualified_name, words) or ("_" in tool.name and _is_said(tool.name, words)):
        return True
    said = {*stems(words)}
    own = [stem(word) for word in WORD.findall(tool.name)]
    action = next((word for word in own if word in KINDS_OF_ACTION), None)
    if action is not None and not _has_action(said, action):
        return False
    objects = {word for word in own if word != action} | {
        stem(word) for word in WORD.findall(tool.server)
    }
    is_about = bool((objects - _NOT_OBJECTS) & said)
    return is_about or has_own_value or catalog.is_tool_near(words, tool)


def _has_action(said: Iterable[str], action: str) -> bool:
    kinds = KINDS_OF_ACTION[action]
    return any(kinds & KINDS_OF_ACTION.get(word, frozenset[int]()) for word in said)


def _is_said(name: str, words: str) -> bool:
    """Whether a name stands in the user's words as a whole."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", words, re.IGNORECASE) is not None
