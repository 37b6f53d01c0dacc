"""The tools that a plan may call, as they stand in a prompt."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from modules.planning.prompt.stubs import one_line, parameter_lines, tool_signature

DESCRIPTION_CHARS = 300
"""Longest description of a tool in a prompt; the rest is cut."""

SUMMARY_CHARACTERS = 24_000
"""How long a list of tools may become by the lines of their parameters, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """A tool in a prompt: a line for it, and one for each parameter with something to say."""

    line: str
    details: tuple[str, ...]


def tool_text(tool: ToolSpec, name: str) -> ToolText:
    """The text of a tool that plans call `name`; written once, and kept with the tool.

    Strategy and prompt ask for it at every plan, and most of a prompt's time would go into it.
    """
    kept: dict[str, ToolText] = vars(tool).setdefault("_texts", {})
    if name not in kept:
        description = one_line(tool.description, DESCRIPTION_CHARS) or "No description provided."
        details = tuple(f"    {line}" for line in parameter_lines(tool))
        kept[name] = ToolText(f"- {tool_signature(tool, name)}: {description}", details)
    return kept[name]


def describe_tool(tool: ToolSpec, catalog: ToolCatalog) -> str:
    """One line for a prompt, `- signature: description`, by the name that plans use."""
    return tool_text(tool, catalog.plan_name(tool)).line


def summarize_tools(tools: Iterable[ToolSpec], budget_characters: int = SUMMARY_CHARACTERS) -> str:
    """One line a tool, in the order given; see `describe_tool`.

    Below a tool's line stand those of its parameters, from the first tool on as long as all
    stays within the budget. Tools that a catalogue knows and doesn't offer are counted at the
    end, with how a plan finds them.
    """
    catalog = tools if isinstance(tools, ToolCatalog) else ToolCatalog(tools)
    texts = [tool_text(tool, catalog.plan_name(tool)) for tool in catalog]
    notes = [_left_out(catalog.left_out)] if catalog.left_out else []
    room = budget_characters - sum(len(line) + 1 for line in [*(t.line for t in texts), *notes])
    lines: list[str] = []
    for text in texts:
        lines.append(text.line)
        room -= sum(len(line) + 1 for line in text.details)
        if room >= 0:
            lines += text.details
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
