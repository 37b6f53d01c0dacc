"""Other people's words on our terminal, set so that nobody can take them for ours."""

import difflib
import shutil
import textwrap
from collections.abc import Iterable, Sequence

from core.dispatch.hidden_text import with_hidden_shown
from core.dispatch.hooks import ToolChange
from modules.terminal.safe_text import printable, shown_name

MARK = "│ "
"""Stands before every line that a server wrote."""

LINES_MAX = 200
"""How much of one quotation, or of one set of changes, is shown, in lines."""

LINES_OF_ONE_MIN = 12
"""Of many changed tools, each is shown by so many lines at least."""

LINE_CHARACTERS_MAX = 200
"""How much of a title or name stands in a line of ours."""

NAMES_MAX = 20
"""How many tools are named."""

_COLUMNS_MIN = 20
_INDENT = "    "


def quoted(text: str) -> str:
    """`text` line by line behind `MARK`; long lines are broken by us, not by the terminal."""
    return "".join(f"{MARK}{line}\n" for line in _shortened(_lines(text), LINES_MAX))


def fields_text(fields: Iterable[tuple[str, str]]) -> str:
    """Names and values behind `MARK`, a name at the margin, what follows it indented.

    So no value can pass for another field. None is left out: of many, each shows fewer lines.
    """
    fields = [*fields]
    share = max(LINES_MAX // max(len(fields), 1), LINES_OF_ONE_MIN)
    lines = [
        line
        for name, text in fields
        for line in _shortened(_lines(f"{on_one_line(name)}: {text}", _INDENT), share)
    ]
    return "".join(f"{MARK}{line}\n" for line in lines)


def on_one_line(text: str) -> str:
    """`text` for the middle of a line of ours, cut to `LINE_CHARACTERS_MAX`."""
    line = " ".join(text[: 4 * LINE_CHARACTERS_MAX].split())
    cut = line if len(line) <= LINE_CHARACTERS_MAX else f"{line[:LINE_CHARACTERS_MAX]}…"
    return printable(with_hidden_shown(cut))


def changes_text(changes: Sequence[ToolChange]) -> str:
    """Names of the tools, then how each definition differs, as unified diffs behind `MARK`."""
    names = [f"'{shown_name(on_one_line(change.tool))}'" for change in changes[:NAMES_MAX]]
    more = len(changes) - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    share = max(LINES_MAX // max(len(changes), 1), LINES_OF_ONE_MIN)
    shown = changes[: LINES_MAX // LINES_OF_ONE_MIN]
    lines = [line for change in shown for line in _shortened(_difference(change), share)]
    if left := len(changes) - len(shown):
        lines.append(f"[{left:,} more changed tools are not shown]")
    return f"{listed}\n" + "".join(f"{MARK}{line}\n" for line in lines)


def _difference(change: ToolChange) -> list[str]:
    name = shown_name(on_one_line(change.tool))
    lines = difflib.unified_diff(
        change.before.split("\n"),
        change.after.split("\n"),
        f"{name}, as it was",
        f"{name}, as it is now",
        lineterm="",
        n=2,
    )
    return [piece for line in lines for piece in _lines(line)]


def _lines(text: str, indent: str = "") -> list[str]:
    """Printable lines that fit the terminal behind `MARK`, nothing lost.

    `indent` stands before all lines but the first.
    """
    lines: list[str] = []
    for line in printable(with_hidden_shown(text)).expandtabs(4).split("\n"):
        lines += textwrap.wrap(
            line,
            _columns(line),
            initial_indent=indent if lines else "",
            subsequent_indent=indent,
            replace_whitespace=False,
            drop_whitespace=False,
            break_on_hyphens=False,
        ) or [""]
    return lines


def _columns(line: str) -> int:
    """How many characters fit; those beyond ASCII may be two columns wide."""
    columns = max(shutil.get_terminal_size().columns - len(MARK) - 1, _COLUMNS_MIN)
    return columns if line.isascii() else columns // 2


def _shortened(lines: Sequence[str], most: int) -> Iterable[str]:
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"[{len(lines) - most:,} more lines are not shown]"]
