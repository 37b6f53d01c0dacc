r"""F-strings as Python has them since 3.12 (PEP 701), put in a form that older parsers read.

Models write `f"{row["name"]}"` and `f"{'\n'.join(lines)}"`; the sandbox's interpreter takes both.
A Python older than 3.12 does not, and could neither check such a plan nor guard its `try`. There
libcst reads it, in a process of its own; see `modules.sandbox.language.f_strings_program`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from modules.planning.names import NotParsed, parse

OLDER_FORM_NEEDED = sys.version_info < (3, 12)

_F_STRING = re.compile(r"\b[rR]?[fF][rR]?[\"']")

PROGRAM = Path(__file__).with_name("f_strings_program.py")

REWRITING_SECONDS = 10.0
"""Longest wait for the rewriting, about 0.3 s of work; it may compute for two."""


def older_form(source: str) -> tuple[str, tuple[int, ...]] | None:
    """The plan with such f-strings rewritten, and the 1-based lines of those; None if that fails.

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
    pairs = zip(source.split("\n"), text.split("\n"), strict=True)
    return text, tuple(n for n, (old, new) in enumerate(pairs, start=1) if old != new)


def may_be_newer(source: str) -> bool:
    """Whether only this Python may think it wrong: f-strings were freed in 3.12 (PEP 701)."""
    return OLDER_FORM_NEEDED and _F_STRING.search(source) is not None


def phrases(lines: tuple[int, ...]) -> Iterator[str]:
    """What was repaired, a phrase each."""
    for line in lines:
        yield f"wrote an f-string as format() (line {line})"
