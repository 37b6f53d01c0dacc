"""What a plan is: Python with a `solve()`; how it is read before it runs, and quoted.

A plan runs in CPython 3.14, which judges its syntax (`modules.sandbox.guest`). The Python that runs
us may be older and know less: a text that it can't read is left to the other.
"""

import ast
import re
import warnings

from core.base.text import shorten
from core.run.working_memory import MEMORY

ENTRY_POINT = "solve"
"""The function that a plan must define."""

NO_SOLVE = f"no {ENTRY_POINT}(): define `async def {ENTRY_POINT}():` at the top level of the plan"
"""What a plan without an entry point is told."""

SEARCH = "search_tools"
"""What a plan calls to find tools. A server's tool of that name is `tools.search_tools`."""

PLAN_LANGUAGE_NOTES = f"""\
- Python 3.14 with its standard library; no other package. No import is needed for tools.
- There are no files, no network, no processes, no threads, no input() and no environment.
- Run independent calls at once with `a, b = await asyncio.gather(tools.x(…), tools.y(…))`.
- A failing tool raises RuntimeError: catch it with try/except to try another tool.
- What later plans of this task need, put into the dict `{MEMORY}`: `{MEMORY}["rates"] = rates`.
"""
"""What the prompts tell a model about the language of plans."""

MAX_PARSED_CHARACTERS = 12 * 1024
"""Longer plans are not looked at before they run: Python's parser holds up all threads meanwhile,
some 40 ms for the densest text of this size."""

PLAN_FILENAME = "<plan>"
"""What Python's parser takes a plan's file name to be."""

MAX_LINE_CHARACTERS = 200
"""Longest line of a plan that is quoted."""

MAX_MESSAGE_CHARACTERS = 1000
"""Longest message about a plan; the interpreter's may hold whole values."""


class NotParsed(Exception):
    """Python's own parser gave up on the plan for a reason other than its syntax (its depth)."""


class TooLong(NotParsed):
    """The plan is too long to be parsed within the time that the event loop can spare."""


def parse(source: str, *, most_characters: int = MAX_PARSED_CHARACTERS) -> ast.Module:
    """The syntax tree of a plan. Nothing is compiled or run.

    Raises:
        SyntaxError: it isn't Python, as far as this Python knows.
        NotParsed: it is nested too deeply or holds characters that no parser takes.
        TooLong: it is longer than `most_characters`.
    """
    if len(source) > most_characters:
        raise TooLong(f"the plan is longer than {most_characters:,} characters")
    # Python says nothing of odd escapes in a plan, which are not the user's business. A filter for
    # plans alone, which stays: `catch_warnings` would change those of all threads.
    warnings.filterwarnings("ignore", module=re.escape(PLAN_FILENAME))
    try:
        return ast.parse(source, PLAN_FILENAME)
    except (RecursionError, MemoryError):
        raise NotParsed("the plan is nested too deeply") from None
    except SyntaxError:
        raise
    except ValueError as error:  # null bytes, lone surrogates
        raise NotParsed(f"the plan holds characters that can't be parsed: {error}") from None


def line_text(source: str, line: int | None) -> str | None:
    """The text of a 1-based line, stripped and shortened; None where there is no such line."""
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return None
    return shorten(lines[line - 1].strip(), MAX_LINE_CHARACTERS)
