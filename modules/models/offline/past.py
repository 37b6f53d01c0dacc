"""Requests to the long-term memory: keep this, what do you know of me, what did I ask about it."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from core.base.memory.statements import stated_facts, states_only
from core.base.text import lazy_pattern
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from modules.models.offline.plan_source import AS_IT_IS, call_line, takes, whole_plan
from modules.models.offline.quotes.asking import asks_more, bare, matched

_WHEN: Final = (
    r"(?:\s+(?:last (?:time|week|month|year|night)|yesterday|today|earlier|before|recently|lately"
    r"|in the past|the other day|(?:\d+|a|an|two|three|some|few) (?:days?|weeks?|months?) ago))?"
)
_TOPIC: Final = rf"(?P<query>.+?){_WHEN}"
_TALKS: Final = r"(?:conversations?|sessions?|chats?|talks|requests|questions)"
_SEARCHES: Final = (
    rf"(?:search|look in|look through)\s+(?:(?:my|our|your|the)\s+)?(?:long-term\s+)?"
    rf"(?:memory|memories|(?:past|earlier|old|previous)\s+{_TALKS})\s+(?:for|about)\s+{_TOPIC}",
    rf"what (?:did|have) (?:i|we) (?:ever )?(?:ask|asked|say|said|talk|talked|discuss|discussed|"
    rf"speak|spoken)(?: you)?(?: about| of) {_TOPIC}",
    rf"when did (?:i|we) (?:last )?(?:ask|talk|speak)(?: you)? about {_TOPIC}",
    rf"what did you (?:answer|say|tell me|find)(?: out)? about {_TOPIC}",
    rf"(?:have|did) (?:i|we) (?:ever |already )?(?:asked?|talk(?:ed)?|spoken|speak)(?: you)? about "
    rf"{_TOPIC}",
)
_ALL_FACTS: Final = (
    r"what do you (?:(?:know|keep|have stored) about me|remember(?: about me)?)"
    r"|what have i told you(?: about (?:me|myself))?|what are my preferences|recall"
    r"|(?:recall|list|show(?: me)?|tell me) (?:all |everything )?(?:(?:that |what )?you (?:know|"
    r"remember)(?: about me)?|my (?:facts|preferences)(?: and (?:facts|preferences))?)"
)
_SOME_FACTS: Final = r"(?:recall|what do you (?:know|remember) about) (?P<query>my .+)"
_OWN: Final = (
    r"(?:what|who|when|where)(?:'s| is| are| was) my (?P<query>[\w' -]{2,40})",
    r"what (?:kind of |sort of )?(?P<query>[\w' -]{2,30}?) do i (?:have|own|drive|like|prefer|use)",
    r"where do i (?P<query>live|work)",
)
"""Questions that what the user has stated may answer."""

_FORGET: Final = (
    r"forget (?:that |about )?"
    r"(?P<fact>(?!(?:it|this|that|everything|all|what|the last)\b).+)"
)
_REMEMBER: Final = lazy_pattern(
    r"(?:\w+ you (?:please )?|i \w+ you to )?(?:remember|memori[sz]e)\b", re.I
)


class MemoryCall(NamedTuple):
    """A tool of the memory server, and what it is called with."""

    tool: ToolSpec
    arguments: dict[str, str]


def memory_call(request: str, tools: ToolCatalog) -> MemoryCall | None:
    """What a request asks of the memory; None if nothing, or more than that."""
    name, arguments = _meant(request)
    if not name:
        return None
    named = [tool for tool in tools if tool.name == name and _takes_all(tool, arguments)]
    return MemoryCall(named[0], arguments) if len(named) == 1 else None


def write_memory_plan(inputs: DecisionInputs) -> str | None:
    """A plan that calls the memory, and answers with what it says."""
    call = memory_call(inputs.user_input, inputs.tools)
    if call is None:
        return None
    return whole_plan([call_line(inputs, call.tool, {**call.arguments}), AS_IT_IS])


def write_own_facts_plan(inputs: DecisionInputs) -> str | None:
    """A plan for a question about the user themselves, which only they have told the answer to."""
    found = [found for pattern in _OWN if (found := matched(pattern, bare(inputs.user_input)))]
    recall = [tool for tool in inputs.tools if tool.name == "recall" and takes(tool, "subject")]
    if not found or len(recall) != 1:
        return None
    return whole_plan([call_line(inputs, recall[0], {"subject": found[0]["query"]}), AS_IT_IS])


def _meant(request: str) -> tuple[str, dict[str, str]]:
    """The name of the tool and its arguments; an empty name where none is meant."""
    text = bare(request)
    if states_only(request):  # kept before any plan: what is told is what is there
        facts = stated_facts(request)
        return "recall", {"subject": facts[0]} if len(facts) == 1 else {}
    if _REMEMBER.match(text):
        return "", {}
    if matched(_ALL_FACTS, text):
        return "recall", {}
    if found := matched(_SOME_FACTS, text):
        return "recall", {"subject": found["query"]}
    if asks_more(text):
        return "", {}
    if found := matched(_FORGET, text):
        return "forget", {"fact": found["fact"]}
    for pattern in _SEARCHES:
        if found := matched(pattern, text):
            return "search_memory", {"query": found["query"]}
    return "", {}


def _takes_all(tool: ToolSpec, names: Iterable[str]) -> bool:
    return all(takes(tool, name) for name in names)
