r"""F-strings as Python has them since 3.12 (PEP 701), put in the form that older parsers read.

Models write `f"{row["name"]}"` and `f"{'\n'.join(lines)}"`; the sandbox's interpreter takes both.
A Python older than 3.12 does not, and could neither check such a plan nor guard its `try`.
"""

import re
import sys
from collections.abc import Iterator

from modules.plans.names import NotParsed, parse

OLDER_FORM_NEEDED = sys.version_info < (3, 12)

_PLACEHOLDER = re.compile(r"\{[^{}\n]+\}")

_PLAIN_TEXT = {quote: re.compile(f"{quote}([^\"'\\\\{{}}\\n]*){quote}") for quote in ('"', "'")}
"""A text in these quotes that means the same in the others: no quotes, no escapes in it."""

_ESCAPES = {r"\n": "chr(10)", r"\t": "chr(9)"}

_OPENING = re.compile(r"\b[rR]?[fF][rR]?([\"'])(?!\1\1)")


def older_form(source: str) -> tuple[str, tuple[int, ...]] | None:
    """The plan with such f-strings rewritten, and the 1-based lines of those; None if that fails.

    Only for a text that does not parse as it is. Nothing changes but the quotes of plain texts,
    and how a lone line end or tab is written, inside the braces of lines that hold an f-string.
    """
    lines = source.split("\n")
    changed: list[int] = []
    for number, line in enumerate(lines, start=1):
        if (rewritten := _line(line)) != line:
            lines[number - 1] = rewritten
            changed.append(number)
    text = "\n".join(lines)
    if not changed or not _parses(text):
        return None
    return text, tuple(changed)


def _line(line: str) -> str:
    opening = _OPENING.search(line)
    if opening is None:
        return line
    quote = opening[1]
    start = opening.end()
    return line[:start] + _PLACEHOLDER.sub(lambda m: _placeholder(m[0], quote), line[start:])


def _placeholder(text: str, quote: str) -> str:
    other = "'" if quote == '"' else '"'
    for escape, plain in _ESCAPES.items():
        for around in ('"', "'"):
            text = text.replace(f"{around}{escape}{around}", plain)
    return _PLAIN_TEXT[quote].sub(rf"{other}\1{other}", text)


def _parses(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, NotParsed):
        return False
    return True


def phrases(lines: tuple[int, ...]) -> Iterator[str]:
    """What was repaired, a phrase each."""
    for line in lines:
        yield f"wrote an f-string with other quotes (line {line})"
