"""The worked examples of the decision prompts: a pool for each plan style, some for each prompt.

Six examples were clearly better than three with a small model (figures on the design page). They
are chosen by the tools that are on offer, never by the request, so that the beginning of the
prompt stays the same and providers' caches hold.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.tools.catalog import ToolCatalog
from core.turn import PlanStyle
from modules.planning.prompt.template import load_prompt

EXAMPLES_MAX = 14
"""How many examples a prompt holds at most."""

EXAMPLES_MIN = 7
"""... and at least, even if their tools are not at hand."""

UNFIT = 3
"""The rank of an example whose tools are not all at hand."""

STYLES = 2
"""How many files of examples there are, each read for every prompt and taken apart once."""

_EXAMPLE = lazy_pattern(
    r"^(?P<title>[^\n]+):\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_CALLED = lazy_pattern(r"tools\.(\w+)\(|call_tool\(\"(\w+)\"")


@frozen
class Example:
    """One example as it stands in its file; `tools` are the names that its plan calls."""

    text: str
    tools: frozenset[str]


def plan_examples(style: PlanStyle, tools: ToolCatalog) -> str:
    """The introduction of a style's file, and the examples that fit the tools best, in its order.

    First those whose tools are all there, then those that need none, then the others, which show
    the form at least.

    Raises:
        ConfigurationError: the file can't be read.
    """
    text = load_prompt(f"prompts/plan_examples_{style}.txt")
    introduction, examples = parse_examples(text)
    chosen = choose_examples(examples, tools)
    return "\n\n".join([introduction, *(example.text for example in chosen)])


@lru_cache(STYLES)
def parse_examples(text: str) -> tuple[str, tuple[Example, ...]]:
    """What stands before the first example, and the examples."""
    found = list(_EXAMPLE.finditer(text))
    introduction = text[: found[0].start()] if found else text
    examples: list[Example] = []
    for match in found:
        called = (bare or named for bare, named in _CALLED.findall(match["code"]))
        examples.append(Example(match[0], frozenset(called)))
    return introduction.strip(), tuple(examples)


def choose_examples(examples: Sequence[Example], tools: ToolCatalog) -> list[Example]:
    """At most `EXAMPLES_MAX` of them, in their order.

    First those that need no tool, to show that this may be so; then those whose tools are all
    there, one for each server before others; then any, which show the form at least, until there
    are `EXAMPLES_MIN`.
    """
    servers = {name: tool.server for tool in tools for name in (tool.identifier, tool.name)}
    shown_servers: set[str] = set()

    def rank(example: Example) -> int:
        if not example.tools:
            return 0
        if not example.tools <= servers.keys():
            return UNFIT
        news = {servers[name] for name in example.tools} - shown_servers
        shown_servers.update(news)
        return 1 if news else 2

    ranked = sorted(((rank(example), example) for example in examples), key=lambda pair: pair[0])
    fitting = sum(order < UNFIT for order, _ in ranked)
    best = [example for _, example in ranked[: min(EXAMPLES_MAX, max(EXAMPLES_MIN, fitting))]]
    return [example for example in examples if example in best]
