"""Small things around tools and prompts: JSON out of replies, tools by name and by hint."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import cast

from core.base.text import lazy_pattern
from core.tools.spec import ToolSpec
from core.values import Json
from modules.planning.prompt.stubs import summarize_tools
from modules.planning.prompt.template import fill_prompt, load_prompt

__all__ = [
    "extract_json_block",
    "fill_prompt",
    "filter_tools_by_hint",
    "get_tool_map",
    "load_prompt",
    "summarize_tools",
]

MAX_JSON_TRIES = 1_000
"""How many brackets of a reply are tried as the beginning of JSON."""

DEEP_CHARACTERS = 10_000
"""What a try counts for that fails for its depth: it takes as long as so many characters."""

_DECODER = json.JSONDecoder()
_FENCE = lazy_pattern(r"^[ \t]{0,8}```[ \t]*(\w*)[^\n]*\n(.*?)```", re.DOTALL | re.MULTILINE)
_BRACKET = lazy_pattern(r"[{\[]")


def extract_json_block(text: str) -> str:
    """The JSON in a model's reply, as text; the stripped reply if there is none.

    Tried in this order: a fenced block marked `json`, any fenced block, then JSON with prose
    around it: the first object that stands in no other JSON value, else the first array. A
    block counts only if it parses, except that a sole `json` block that doesn't is returned for
    the caller's error message.
    """
    fences = [(mark.lower(), body.strip()) for mark, body in _FENCE.findall(text)]
    fences.sort(key=lambda fence: fence[0] != "json")
    for _, body in fences:
        if _is_json_container(body):
            return body
    if (found := _first_container(text)) is not None:
        return found
    if fences and fences[0][0] == "json":
        return fences[0][1]
    return text.strip()


def filter_tools_by_hint(tools: Iterable[ToolSpec], hint: str | None = None) -> list[ToolSpec]:
    """The tools whose name holds `hint`, in any case; all of them if none does."""
    everything = list(tools)
    wanted = (hint or "").strip().lower()
    return [tool for tool in everything if wanted in tool.name.lower()] or everything


def get_tool_map(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Tools by name; where servers share one, by `server.tool`, so that none hides another."""
    everything = list(tools)
    names = Counter(tool.name for tool in everything)
    return {
        tool.name if names[tool.name] == 1 else tool.qualified_name: tool for tool in everything
    }


def _is_json_container(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_container(text: str) -> str | None:
    """The first outermost object in the text, else the first outermost array."""
    array: str | None = None
    for written, value in json_containers(text, MAX_JSON_TRIES, 10 * len(text) + DEEP_CHARACTERS):
        if isinstance(value, dict):
            return written
        array = array or written
    return array


def json_containers(
    text: str, tries: int, characters: int, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[str, Json]]:
    """The JSON objects and lists of a text that stand in no other, as written and as values.

    The search ends after so many brackets, or when so many characters were read, those of failed
    tries included: brackets by the thousand can't make this slow.
    """
    at = 0
    for _ in range(tries):
        bracket = _BRACKET.search(text, at)
        if bracket is None or characters <= 0:
            return
        at = bracket.start()
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            characters -= error.pos - at + 1
            at += 1
        except (ValueError, RecursionError):  # a number of thousands of digits; too deep
            characters -= DEEP_CHARACTERS
            at += 1
        else:
            yield text[at:end], cast("Json", value)
            characters -= end - at
            at = end
