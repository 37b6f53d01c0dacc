"""Whether the user's words ask for a tool that may change something, and for the names in a call.

A tool's action is the first word of its name ("send", "delete"): the request must ask for it
(`core.provenance.asked`), in this or another word for it, and for its object too, or for something
that only the user can have given it. So a request to read mail asks for no mail to be deleted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from core.provenance.arguments import texts_of
from core.provenance.asked import Request, WantedAction, names_in
from core.provenance.checks import Doubt
from core.provenance.known import Known
from core.run.kept_results import call_key
from core.tools.catalog import ToolCatalog
from core.tools.ranking import STOP_WORDS, WORD, stem
from core.tools.spec import ToolSpec
from core.values import JsonObject

_READING: Final = (
    "get list read search fetch find show view query lookup look describe count browse inspect "
    "check summarize summarise retrieve grep stat status diff preview explain compare calculate "
    "compute is has"
)
"""First words of tools that change nothing, where the server does not say what its tool does."""

_ACTIONS: Final = (
    "write save store put keep record note remember log create make add append insert edit draft "
    "compose generate",
    "send mail email forward post share publish message tell notify reply respond submit invite "
    "write announce text",
    "delete remove erase drop clear trash discard cancel forget unlink purge close revoke wipe",
    "update change edit modify rename replace set move patch convert fix correct adjust alter "
    "amend revise reschedule extend increase decrease reset configure",
    "run execute start launch call invoke eval",
    "click press type fill select",
    "commit push merge tag checkout",
    "add stage",
    "checkout switch",
    "book order buy pay purchase reserve transfer refund reimburse send",
    "schedule create add book plan arrange remind",
    "download upload copy export import",
    "add invite share",
)
"""Words for the same, a line a kind."""

_SAME_OBJECTS: Final = (
    "email mail message inbox",
    "message channel chat dm",
    "event meeting appointment calendar",
    "file document",
    "folder directory",
    "git repository repo branch",
    "money payment transaction transfer bill amount",
    "note memo",
    "task todo reminder",
    "user account profile",
    "info information detail",
    "page webpage website site",
)
"""Words for the same thing, a line a kind."""

_IMPLIED: Final = MappingProxyType(
    {
        "mail": "email", "email": "email", "pay": "money", "refund": "money",
        "reimburse": "money", "transfer": "money", "message": "message", "text": "message",
        "dm": "message", "reply": "message", "note": "note", "remind": "reminder",
        "schedule": "event", "reschedule": "event", "reserve": "reservation",
        "book": "reservation", "invite": "user", "commit": "commit",
    }
)  # fmt: skip
"""What some verbs are about without its being said."""

_GENERAL: Final = "add create make set put run update change move open start write"
"""Verbs that many things are done with: alone, they say too little."""

_NOT_OBJECTS: Final = STOP_WORDS | {"mcp", "server", "tool", "tools", "by", "with"}


def _kinds(lines: Iterable[str]) -> Mapping[str, frozenset[int]]:
    kinds: dict[str, set[int]] = {}
    for kind, words in enumerate(lines):
        for word in words.split():
            kinds.setdefault(stem(word), set()).add(kind)
    return MappingProxyType({word: frozenset(found) for word, found in kinds.items()})


KINDS_OF_ACTION: Final = _kinds(_ACTIONS)
"""The kinds of an action, by the stem of each word for it."""

KINDS_OF_OBJECT: Final = _kinds(_SAME_OBJECTS)
"""The same of objects."""

READING_STEMS: Final = frozenset(map(stem, _READING.split()))
"""The stems of these words."""

_FORGET: Final = stem("forget")
_GENERAL_STEMS: Final = frozenset(map(stem, _GENERAL.split()))
_IMPLIED_STEMS: Final = {stem(verb): stem(thing) for verb, thing in _IMPLIED.items()}


def may_change(tool: ToolSpec, catalog: ToolCatalog) -> bool:
    """Whether a call may change something: the server's word, else the name's first word."""
    if tool.read_only:
        return False
    if tool.says_effects:
        return True
    action, *others = _name_words(tool, catalog)
    joins = any(
        joint in ("and", "or") and stem(word) in KINDS_OF_ACTION for joint, word in pairwise(others)
    )
    return stem(action) not in READING_STEMS or joins or others[:1] in (["in"], ["out"], ["off"])


def tool_doubts(
    known: Known,
    tool: ToolSpec,
    arguments: JsonObject,
    catalog: ToolCatalog,
    requests: Sequence[Request],
    *,
    has_own_value: bool,
) -> list[Doubt]:
    """Doubt about a call that the user has to allow: by the policy's `approvals`.

    `requests` are what the user wants now; `has_own_value`: the user gave a value of the call.
    """
    policy = known.policy
    if policy.approvals == "never" or policy.is_approved(tool):
        return []
    if policy.approvals == "changing" and (
        policy.is_trusted(tool)
        or not may_change(tool, catalog)
        or is_asked_for(tool, requests, catalog, has_own_value=has_own_value)
    ):
        return []
    name, digest = call_key(tool, arguments)
    return [Doubt("tool", name, digest.hex(), arguments)]


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
        if name in names and not names_in(known.words, [name])
    ]


def is_asked_for(
    tool: ToolSpec, requests: Sequence[Request], catalog: ToolCatalog, *, has_own_value: bool
) -> bool:
    """Whether one of the requests asks for what the tool does, or for the tool by its name."""
    words = [word.lower() for word in WORD.findall(tool.name)]
    names = [tool.qualified_name, *([tool.name] if len(words) > 1 else [])]
    if any(names_in(request.text, names) for request in requests):
        return True
    action, *others = _name_words(tool, catalog)
    action = stem(action)
    named = {*others, *(word.lower() for word in WORD.findall(tool.server))}
    objects = {stem(word) for word in named - _NOT_OBJECTS}
    if not others and (len(words) < 2 or action not in _GENERAL_STEMS):
        objects.add(action)  # nothing else is in its name
    for wanted in (one for request in requests for one in request.actions):
        verb = stem(wanted.verb)
        if verb != action and (
            verb == _FORGET or not _same(KINDS_OF_ACTION, verb, action)
        ):  # what is to be forgotten need not be deleted anywhere else
            continue
        if has_own_value or any(_is_about(wanted, verb, thing) for thing in objects):
            return True
    return False


def _is_about(wanted: WantedAction, verb: str, thing: str) -> bool:
    said = {*wanted.about, verb, _IMPLIED_STEMS.get(verb, verb)}
    return any(word == thing or _same(KINDS_OF_OBJECT, word, thing) for word in said)


def _same(kinds: Mapping[str, frozenset[int]], one: str, other: str) -> bool:
    return bool(kinds.get(one, frozenset[int]()) & kinds.get(other, frozenset[int]()))


def _name_words(tool: ToolSpec, catalog: ToolCatalog) -> list[str]:
    """The words of a tool's name, without those that all the server's tools begin with."""
    words = [word.lower() for word in WORD.findall(tool.name)] or [tool.name.lower()]
    if len(words) > 1 and _is_prefix(words[0], tool, catalog):
        return words[1:]
    return words


def _is_prefix(word: str, tool: ToolSpec, catalog: ToolCatalog) -> bool:
    """Whether the word only says whose tool it is: `browser_click`, `github_create_issue`."""
    if stem(word) in KINDS_OF_ACTION or stem(word) in READING_STEMS:
        return False
    if word in re.split(r"[\W_]+", tool.server.lower()):
        return True
    firsts = [*_firsts(each for each in catalog.known if each.server == tool.server)]
    return len(firsts) > 1 and set(firsts) == {word}


def _firsts(tools: Iterable[ToolSpec]) -> Iterator[str]:
    for tool in tools:
        if found := WORD.search(tool.name):
            yield found[0].lower()
