"""Tools and prompts as text: signatures for the planner, JSON out of replies, filled templates."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from core.base.text import one_line
from core.errors import ConfigurationError
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from modules.planning.prompt.stubs import parameter_lines, tool_signature, tool_stub

__all__ = [
    "describe_tool",
    "extract_json_block",
    "fill_prompt",
    "filter_tools_by_hint",
    "get_tool_map",
    "load_prompt",
    "summarize_tools",
    "tool_signature",
    "tool_stub",
]

DESCRIPTION_CHARS = 300
"""Longest description of a tool in a prompt; the rest is cut."""

SUMMARY_CHARACTERS = 24_000
"""How long a list of tools may become by the lines of their parameters, unless said otherwise."""

MAX_JSON_TRIES = 1_000
"""How many brackets of a reply are tried as the beginning of JSON."""

PACKAGE_ROOT = Path(__file__).resolve().parent.parent
"""The checkout, or site-packages: where `prompts/` lies."""

_FENCE = re.compile(r"^[ \t]{0,8}```[ \t]*(\w*)[^\n]*\n(.*?)```", re.DOTALL | re.MULTILINE)
_BRACKET = re.compile(r"[{\[]")


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


def describe_tool(tool: ToolSpec, catalog: ToolCatalog) -> str:
    """One line for a prompt, `- signature: description`, by the name that plans use."""
    description = one_line(tool.description, DESCRIPTION_CHARS) or "No description provided."
    return f"- {tool_signature(tool, catalog.plan_name(tool))}: {description}"


def summarize_tools(tools: Iterable[ToolSpec], budget_characters: int = SUMMARY_CHARACTERS) -> str:
    """One line a tool, in the order given; see `describe_tool`.

    Below a tool's line stand those of its parameters, from the first tool on as long as all
    stays within the budget. Tools that a catalogue knows and doesn't offer are counted at the
    end, with how a plan finds them.
    """
    catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(tools)
    briefs = [describe_tool(tool, catalog) for tool in catalog]
    notes = [_left_out(catalog.left_out)] if catalog.left_out else []
    room = budget_characters - sum(len(line) + 1 for line in [*briefs, *notes])
    lines: list[str] = []
    for tool, brief in zip(catalog, briefs, strict=True):
        lines.append(brief)
        details = [f"    {line}" for line in parameter_lines(tool)]
        room -= sum(len(line) + 1 for line in details)
        if room >= 0:
            lines += details
    return "\n".join([*lines, *notes])


def _left_out(count: int) -> str:
    more, exist, it = (
        ("1 more tool", "exists", "it") if count == 1 else (f"{count} more tools", "exist", "them")
    )
    return (
        f"{more} {exist}. To find {it}, search inside the plan: "
        'found = await search_tools("words that say what is needed", limit=10) gives a list of '
        "{'name', 'signature', 'description'}; then "
        'await mcp.call_tool(found[0]["name"], {…}) or await tools.<name>(…), in the same plan '
        "or, after FURTHER_PROCESSING_REQUIRED, in the next."
    )


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


def load_prompt(path: str | Path) -> str:
    """The text of a prompt template; a relative path starts at the checkout.

    Raises:
        ConfigurationError: there is no such file, or it is not UTF-8 text.
    """
    file = PACKAGE_ROOT / path
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"prompt template {file} can't be read: {error.strerror or error}; "
            "restore it, or install Cortex-R again"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"prompt template {file} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error


def fill_prompt(template: str, values: Mapping[str, str]) -> str:
    """The template with each `{name}` that `values` holds replaced by its value.

    One pass: braces in values are text, and so are braces in the template around anything
    else, such as JSON examples. A name that the template lacks is no error.
    """
    if not values:
        return template
    names = "|".join(re.escape(name) for name in values)
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], template)


def _is_json_container(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_container(text: str) -> str | None:
    """The first outermost object in the text, else the first outermost array.

    The search ends after `MAX_JSON_TRIES` brackets that begin no JSON, or when ten times the
    reply's length was read in vain: brackets by the thousand can't make this slow.
    """
    decoder = json.JSONDecoder()
    array: str | None = None
    budget_chars = 10 * len(text) + 10_000
    start = _next_bracket(text, 0)
    for _ in range(MAX_JSON_TRIES):
        if start is None or budget_chars <= 0:
            break
        try:
            end = decoder.raw_decode(text, start)[1]
        except json.JSONDecodeError as error:
            budget_chars -= error.pos - start + 1
            end = start + 1
        except (ValueError, RecursionError):
            budget_chars -= 10_000  # what a deep nest costs before it is found out
            end = start + 1
        else:
            if text[start] == "{":
                return text[start:end]
            array = array or text[start:end]
        start = _next_bracket(text, end)
    return array


def _next_bracket(text: str, start: int) -> int | None:
    found = _BRACKET.search(text, start)
    return found.start() if found is not None else None
