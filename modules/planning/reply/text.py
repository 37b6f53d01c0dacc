"""The code in a model's reply: fenced blocks, and code that stands among prose without fences.

Line by line, each looked at a bounded number of times, so that any reply takes linear time.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern, with_line_feeds
from modules.models.thinking import without_thinking

SEARCHED_CHARACTERS: Final = 64 * 1024
"""How much of a reply is searched; a plan has some thousand characters at most."""

SEARCHED_LINES: Final = 3_000
"""How many lines of it are searched."""

BLOCKS_MAX: Final = 30
"""How many fenced blocks are looked at."""

_FENCE: Final = lazy_pattern(
    r"[ \t]{0,20}+(`{3,20}+|~{3,20}+)[ \t]*+([\w+#.-]{0,20}+)[^`~]*+$"  # takes nothing back
)

_SOLVE: Final = lazy_pattern(r"[ \t]*+(?:async[ \t]++)?def[ \t]++solve[ \t]*+\(")

_CODE_LINE: Final = lazy_pattern(
    r"""(?x)
    \s | $ | \#                                       # indented, empty, a remark
    | (?:from\s+[\w.]+\s+)?import\s+[\w.*(]
    | (?:async\s+def|def|class)\s+\w+\s*[(:]
    | (?:async\s+for|for|while|if|elif|with|async\s+with|except|match)\b.*:\s*(?:\#.*)?$
    | (?:else|try|finally|except)\s*:
    | (?:return|await|raise|yield|pass|break|continue)\b\s*(?:[\w"'(\[{]+[("'.\[]|f["']|\w+\s*$|$)
    | @\w
    | [A-Za-z_][\w.]*(?:\[[^\]]{0,100}\])?(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/|&%@]|//|\*\*)?=[^=]
    | [A-Za-z_][\w.]*\([^()]*(?:\(|\)\s*(?:[.\[+*/)-].*)?(?:\#.*)?$|$)
    | [)\]}]
    """
)
"""How a line begins that is code and no sentence."""


@frozen
class Block:
    """A fenced block: its language as marked (lower case, may be empty), and the text in it.

    `closed` is false where the reply ends inside of it. `before` and `after` are the prose on both
    sides of it, up to the blocks that are next.
    """

    language: str
    text: str
    closed: bool
    before: str = ""
    after: str = ""

    @property
    def may_be_python(self) -> bool:
        """Whether it is marked as Python, or not at all."""
        return self.language in ("", "tool_code", "code") or self.language.startswith("py")

    @property
    def has_solve(self) -> bool:
        """Whether it defines `solve`, on any level."""
        return defines_solve(self.text)


def answer_part(text: str) -> str:
    """The part of a reply that is searched: its beginning, after what was thought aloud.

    Lines end with a line feed alone, as syntax trees count them.
    """
    found = without_thinking(text)[0][:SEARCHED_CHARACTERS]
    return "\n".join(with_line_feeds(found).split("\n", SEARCHED_LINES)[:SEARCHED_LINES])


def defines_solve(text: str) -> bool:
    """Whether a line of the text begins the function `solve`."""
    return any(_SOLVE.match(line) is not None for line in text.split("\n") if "solve" in line)


def fenced_blocks(text: str) -> list[Block]:
    """The fenced blocks of a reply, in order, without what they have in common of indentation.

    A block ends at a fence of its own kind that is at least as long and marks no language
    (CommonMark 0.31.2, 4.5), or at the end of the text. A fence with a language inside of a block
    begins the next one: models forget to close.
    """
    blocks: list[Block] = []
    fence: str | None = None
    language, lines = "", list[str]()
    prose = ""
    for line in text.split("\n"):
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if found is None or (fence is not None and not found[1].startswith(fence)):
            lines.append(line)
            continue
        if fence is not None:
            blocks.append(_block(language, lines, prose, closed=not found[2]))
            prose = ""
        else:
            prose = "\n".join(lines)
            blocks[-1:] = [replace(block, after=prose) for block in blocks[-1:]]
        opens = fence is None or bool(found[2])
        fence, language, lines = (found[1] if opens else None), found[2].lower(), []
    if fence is not None:
        blocks.append(_block(language, lines, prose, closed=False))
    elif blocks:
        blocks[-1] = replace(blocks[-1], after="\n".join(lines))
    return [block for block in blocks if block.text][:BLOCKS_MAX]


def code_around_solve(text: str) -> str:
    """The code around the first `solve` in a text without fences: what is code before and after."""
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if _SOLVE.match(line)), None)
    if at is None:
        return ""
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    first, last = at, at
    while first > 0 and _is_code(lines[first - 1], margin):
        first -= 1
    while last + 1 < len(lines) and _is_code(lines[last + 1], margin):
        last += 1
    return _trimmed(lines[first : last + 1])


def code_lines(text: str) -> str:
    """The longest run of lines in a text without fences that all look like code; may be empty."""
    best: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), "."]:
        if _CODE_LINE.match(line):
            run.append(line)
            continue
        if len(run) > len(best):
            best = run
        run = []
    return _trimmed(best)


def _is_code(line: str, margin: str) -> bool:
    """Whether a line is code by its beginning, `margin` left of all of it."""
    inner = line.removeprefix(margin)
    return _CODE_LINE.match(inner) is not None


def _block(language: str, lines: Sequence[str], before: str, *, closed: bool) -> Block:
    return Block(language, _trimmed(lines), closed, before)


def _trimmed(lines: Sequence[str]) -> str:
    """The lines without empty ones around them and without common indentation."""
    return textwrap.dedent("\n".join(lines)).strip("\n").rstrip()
