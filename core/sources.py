"""Where an answer comes from: the documents and pages that a run's tools have read.

They stand behind an empty line, also after an answer that is a bare number: what was found
somewhere can be checked only there. A script takes what stands before that line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from core.turn import Step, ToolCall
from core.values import Json

SOURCES_NAMED = 5
"""How many sources an answer names that names none itself."""

SEARCHED_CHARACTERS = 200_000
"""How much of one result is searched for source marks."""

NAME_CHARACTERS = 300
"""Longest name of a source."""

MARKS_READ = 200
"""How many source marks of one result are looked at."""

_MARK = re.compile(r"\[Source: ([^\]\n]{1,300})\]")
"""How document tools mark each piece of text: `[Source: file, ID: chunk]`."""


def with_sources(answer: str, steps: Sequence[Step]) -> str:
    """The answer, followed by its sources if tools read any and it names none of them."""
    calls = [call for step in steps for call in step.result.calls if call.ok]
    sources = list(islice(_distinct(calls), SOURCES_NAMED))
    if not sources or any(_names(answer, source) for source in sources):
        return answer
    return f"{answer}\n\nSources: {'; '.join(sources)}"


def _distinct(calls: Iterable[ToolCall]) -> Iterator[str]:
    seen: set[str] = set()
    for call in calls:
        for source in _sources(call):
            if source not in seen:
                seen.add(source)
                yield source


def _sources(call: ToolCall) -> Iterator[str]:
    """The files that a document tool's text names; the address of a page that was read."""
    if not isinstance(call.result, str):
        return
    for found in islice(_MARK.finditer(call.result[:SEARCHED_CHARACTERS]), MARKS_READ):
        yield found[1].partition(", ID:")[0].strip()
    if (address := _address(call.arguments)) is not None:
        yield address


def _address(arguments: Json) -> str | None:
    """The http address among a call's arguments, which may stand in the `input` wrapper."""
    if not isinstance(arguments, dict):
        return None
    for name, value in arguments.items():
        if name in ("url", "uri") and isinstance(value, str) and len(value) <= NAME_CHARACTERS:
            return value if value.startswith(("http://", "https://")) else None
    return _address(arguments.get("input"))


def _names(answer: str, source: str) -> bool:
    """Whether the answer names the source: a file by its name, a page by its address or host.

    A page's last part is often a word or a number that any answer may hold.
    """
    scheme, mark, place = source.rstrip("/").partition("://")
    name = place.partition("/")[0] if mark else scheme.rpartition("/")[2]
    whole_name = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    return bool(name) and re.search(whole_name, answer) is not None
