r"""Reads a plan's text as Python, and quotes it in messages.

Models write `f"{row["name"]}"` and `f"{'\n'.join(lines)}"`, f-strings as Python has them since
3.12 (PEP 701); the sandbox's interpreter takes both. A Python older than 3.12 does not, and could
neither check such a plan nor guard its `try`. There libcst puts them in a form that older parsers
read, in a process of its own: `modules.sandbox.language.f_strings_program`.
"""

import ast
import re
import subprocess
import sys
import warnings
from pathlib import Path

from core.base.text import lazy_pattern, shorten

MAX_PARSED_CHARACTERS = 12 * 1024
"""Longer plans are not looked at before they run: Python's parser holds up all threads meanwhile,
some 40 ms for the densest text of this size."""

PLAN_FILENAME = "<plan>"
"""What Python's parser takes a plan's file name to be."""

MAX_LINE_CHARACTERS = 200
"""Longest line of a plan that is quoted."""

MAX_MESSAGE_CHARACTERS = 1000
"""Longest message about a plan; the interpreter's may hold whole values."""

OLDER_FORM_NEEDED = sys.version_info < (3, 12)

_F_STRING = lazy_pattern(r"\b[rR]?[fF][rR]?[\"']")

PROGRAM = Path(__file__).with_name("f_strings_program.py")

REWRITING_SECONDS = 10.0
"""Longest wait for the rewriting, about 0.3 s of work; it may compute for two."""


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


def parse_readable(source: str) -> tuple[str, ast.Module]:
    """A plan in a form that this Python reads, and its tree; see `older_form`.

    The text has as many lines as `source`. Raises what `parse` does.
    """
    try:
        return source, parse(source)
    except SyntaxError:
        if (text := older_form(source)) is None:
            raise
        return text, parse(text, most_characters=len(text))


def older_form(source: str) -> str | None:
    """The plan with f-strings rewritten that only newer Pythons read; None if that fails.

    Only for a text that does not parse as it is, and from a thread: it waits for a process.
    Nothing else changes.
    """
    if not may_be_newer(source):
        return None
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", str(PROGRAM)],
            input=source.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=REWRITING_SECONDS,
            check=True,
        )
        text = ran.stdout.decode()
        parse(text, most_characters=len(text))
    except (OSError, ValueError, subprocess.SubprocessError, SyntaxError, NotParsed):
        return None
    return text


def may_be_newer(source: str) -> bool:
    """Whether only this Python may think it wrong: f-strings were freed in 3.12 (PEP 701)."""
    return OLDER_FORM_NEEDED and _F_STRING.search(source) is not None


def line_text(source: str, line: int | None) -> str | None:
    """The text of a 1-based line, stripped and shortened; None where there is no such line."""
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return None
    return shorten(lines[line - 1].strip(), MAX_LINE_CHARACTERS)
