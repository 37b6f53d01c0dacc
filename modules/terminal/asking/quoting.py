"""Words of others on our terminal, and doubtful values, set so that nobody takes them for ours."""

import difflib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from core.asking import AskedCall, LeaveQuestion, ShownValue
from core.base.json_text import json_start
from core.base.text import READ_AHEAD, listed, shorten, with_hidden_shown
from core.dispatch.hooks import ToolChange
from core.values import Json
from modules.terminal.asking.file_changes import FileChange
from modules.terminal.display.region import CYAN, DIM, GREEN, RED, has_colours, terminal_size
from modules.terminal.streams import printable, shown_name

MARK = "│ "
"""Stands before every line that a server wrote."""

LINES_MAX = 200
"""How much of one quotation, or of one set of changes, is shown, in lines."""

LINES_OF_ONE_MIN = 12
"""Of many changed tools, each is shown by so many lines at least."""

LINE_CHARACTERS_MAX = 200
"""How much of a title or name stands in a line of ours."""

PATH_CHARACTERS_MAX = 4_096
"""How much of a file's path is shown: no system has longer ones."""

NAMES_MAX = 20
"""How many tools are named."""

_COLOURS: Final = {"+": GREEN, "-": RED, "@": CYAN}
"""Of a diff's lines, by how they begin."""

_BOLD: Final = "1"

_NAMES_LINES: Final = 2
"""A unified diff begins with so many lines that name what is compared."""

_NO_END: Final = "\\ No newline at end of file"

_COLUMNS_MIN = 20
_INDENT = "    "


def quoted(text: str) -> str:
    """`text` line by line behind `MARK`; long lines are broken by us, not by the terminal."""
    return _marked(_shortened(_lines(text), LINES_MAX))


def fields_text(fields: Iterable[tuple[str, str]], most: int) -> str:
    """Names and values behind `MARK`, a name at the margin, what follows it indented.

    So no value can pass for another field. None is left out, and none shows more than `most`
    lines: of many, each shows fewer.
    """
    fields = [*fields]
    share = min(max(LINES_MAX // max(len(fields), 1), LINES_OF_ONE_MIN), most)
    shown = (_lines(f"{on_one_line(name)}: {text}", _INDENT) for name, text in fields)
    return "".join(_marked(_shortened(lines, share)) for lines in shown)


def on_one_line(text: str, most: int = LINE_CHARACTERS_MAX) -> str:
    """`text` for the middle of a line of ours, cut to so many characters."""
    line = " ".join(text[: READ_AHEAD * most].split())
    return printable(with_hidden_shown(shorten(line, most)))


def changes_text(changes: Sequence[ToolChange]) -> str:
    """Names of the tools, then how each definition differs, as unified diffs behind `MARK`."""
    first = [f"'{shown_name(on_one_line(change.tool))}'" for change in changes[:NAMES_MAX]]
    names = listed(first, len(changes))
    share = max(LINES_MAX // max(len(changes), 1), LINES_OF_ONE_MIN)
    shown = changes[: LINES_MAX // LINES_OF_ONE_MIN]
    text = "".join(_marked(_shortened(_difference(change), share)) for change in shown)
    if left := len(changes) - len(shown):
        text += _marked([f"[{left:,} more changed tools are not shown]"])
    return f"{names}\n{text}"


def _marked(lines: Iterable[str]) -> str:
    return "".join(f"{MARK}{line}\n" for line in lines)


def _difference(change: ToolChange) -> list[str]:
    name = shown_name(on_one_line(change.tool))
    return _unified(change.before, change.after, f"{name}, as it was", f"{name}, as it is now")


def change_text(change: FileChange, most: int) -> str:
    """How a file would differ, as a unified diff behind `MARK` of so many lines."""
    name = on_one_line(change.name, PATH_CHARACTERS_MAX)
    lines = _unified(change.before, change.after, f"{name}, as it is", f"{name}, as it would be")
    return _marked(_shortened(lines, most)) or f"No line of {name} would change.\n"


def _unified(before: str, after: str, name_before: str, name_after: str) -> list[str]:
    """A unified diff in lines that fit, coloured where the terminal is.

    As diff(1) writes it: a last line without an end is told.
    """
    compared = difflib.unified_diff(
        _ended_lines(before), _ended_lines(after), name_before, name_after, lineterm="", n=2
    )
    lines: list[str] = []
    for number, line in enumerate(compared):
        is_ended = number < _NAMES_LINES or line.startswith("@@") or line.endswith("\n")
        lines += [line.removesuffix("\n"), *([] if is_ended else [_NO_END])]
    return [
        _tinted(piece, _COLOURS.get(line[:1])) for line in lines for piece in _lines(line, _INDENT)
    ]


def _ended_lines(text: str) -> list[str]:
    """The lines of a text with their ends; there is none behind the last end."""
    *ended, rest = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([rest] if rest else [])]


def _tinted(line: str, number: str | None) -> str:
    """A line of ours in a colour, where the terminal has colours."""
    is_plain = number is None or not (sys.stderr.isatty() and has_colours(os.environ))
    return line if is_plain else f"\x1b[{number}m{line}\x1b[m"


def _lines(text: str, indent: str = "", margin: int = 0) -> list[str]:
    """Printable lines that fit the terminal behind `MARK` and a margin; `indent` as `wrapped`."""
    from modules.terminal.screen import wrapped  # late: rich takes 0.06 s

    columns = max(terminal_size().columns - len(MARK) - 1 - margin, _COLUMNS_MIN)
    return wrapped(printable(with_hidden_shown(text)), columns, indent)


def _shortened(lines: Sequence[str], most: int) -> Iterable[str]:
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"[{len(lines) - most:,} more lines are not shown]"]


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


ARGUMENTS_MAX: Final = 50
"""A call with more arguments can't be checked by eye."""

VALUE_CHARACTERS_SHOWN: Final = 1_500
"""How much of one argument is shown at first; how much more there is, is said."""

VALUE_CHARACTERS_MAX: Final = 20_000
"""How much of one argument is shown at most."""

LINES_FOLDED: Final = 15
"""How many lines of one argument are shown at first."""

LINES_OF_CALL_MIN: Final = 3
"""Of several calls, each argument is shown by so many lines at least."""

LINES_BESIDE_CHANGE: Final = 3
"""The same, where the difference that they make to a file is shown below."""

CHANGE_LINES_FOLDED: Final = 40
"""How many lines of such a difference are shown at first."""


def heading(who: str, does: str) -> str:
    """The line above a question: who asks, and what they do. Printable words."""
    return f"\n{_filled(f'── {who} {does} ──', '   ', _BOLD)}"


def keys(*meanings: str) -> str:
    """The line above a prompt that tells what may be typed there."""
    return _filled(f"  {' · '.join(meanings)}", "  ", DIM)


def complaint(why: str) -> str:
    """What is said of a line that will not do. Printable words."""
    return _filled(f"  {why}", "  ")


def prompt_line(question: str, default: str) -> str:
    """What stands before the cursor: the question, and in brackets what there is to choose."""
    return " ".join(
        [*([question] if question else []), *([f"[{default}]"] if default else []), "> "]
    )


def rules_text(rules: Sequence[str]) -> str:
    """The rules that an answer for longer keeps, each behind `MARK`."""
    return _marked(line for rule in rules for line in _lines(rule, _INDENT))


def leave_text(question: LeaveQuestion, change: FileChange | None, *, is_whole: bool) -> str:
    """The question before the last lines: tool, values and where they come from, difference, why.

    `is_whole`: as much of each argument as can be shown; else its beginning.
    """
    server, _, name = question.tool.partition(".")
    number = len(question.calls)
    times = f" {number} times" if number > 1 else ""
    asks = heading("the plan", f"wants to call {_named(name)} of server {_named(server)}{times}")
    folded = LINES_FOLDED if change is None else LINES_BESIDE_CHANGE
    share = max((LINES_MAX if is_whole else folded) // number, LINES_OF_CALL_MIN)
    calls = "".join(
        call_text(call, f"{at}." if number > 1 else "", share, is_whole=is_whole)
        for at, call in enumerate(question.calls, 1)
    )
    lines = LINES_MAX if is_whole else CHANGE_LINES_FOLDED
    differs = "" if change is None else change_text(change, lines)
    why = "".join(
        _filled(f"{'And' if number else 'Why you are asked'}: {each}.")
        for number, each in enumerate(question.why)
    )
    return f"{asks}{calls}{differs}{why}{_warnings(question)}"


def call_text(
    call: AskedCall, number: str = "", most: int = LINES_FOLDED, *, is_whole: bool = False
) -> str:
    """The arguments of a call behind `MARK`, with its number in a list of them.

    Where a value comes from stands behind it, if both fit into the line, else behind the name: so
    no value can tell of itself where it comes from. None shows more than `most` lines.
    """
    margin = " " * (len(number) + 1) if number else ""
    shown = [line for each in call.values for line in _value_lines(each, margin, most, is_whole)]
    first = number.ljust(len(margin))
    lines = enumerate(shown or ["no arguments"])
    return _marked(f"{margin if at else first}{line}" for at, line in lines)


def _value_lines(shown: ShownValue, margin: str, most: int, is_whole: bool) -> Iterable[str]:
    name = on_one_line(_name_text(shown.name, shown.value))
    value = _value_text(shown.value, is_whole)
    origin = f"← {on_one_line(shown.origin)}"
    beside = _lines(f"{name}: {value}  {origin}", _INDENT, len(margin))
    if len(beside) == 1:
        return [f"{beside[0].removesuffix(origin)}{_tinted(origin, DIM)}"]
    head = _lines(f"{name}:  {origin}", _INDENT, len(margin))
    lines = _lines(value.strip("\n"), "", len(margin) + len(_INDENT))
    return [*head, *_shortened([f"{_INDENT}{line}" for line in lines], most)]


def _warnings(question: LeaveQuestion) -> str:
    """What is odd about the addresses in the calls."""
    texts = (each.value for call in question.calls for each in call.values)
    found = (url_warnings(text) for text in texts if isinstance(text, str) and "://" in text[:12])
    return "".join(dict.fromkeys(found))


def _name_text(name: str, value: Json) -> str:
    """An argument's name, and how long a text is that is not shown whole at first."""
    if isinstance(value, str) and len(value) > VALUE_CHARACTERS_SHOWN:
        return f"{name} ({len(value):,} characters)"
    return name


def _named(name: str) -> str:
    return f"'{shown_name(on_one_line(name))}'"


def _filled(text: str, indent: str = "", number: str | None = None) -> str:
    return "".join(f"{_tinted(line.rstrip(), number)}\n" for line in _lines(text, indent))


def _value_text(value: Json, is_whole: bool) -> str:
    """A text of several lines as it is, and everything else as JSON."""
    most = VALUE_CHARACTERS_MAX if is_whole else VALUE_CHARACTERS_SHOWN
    if not isinstance(value, str):
        return json_start(value, most)
    shown, more = value[:most], len(value) - most
    text = f"\n{shown}" if "\n" in shown else json.dumps(shown, ensure_ascii=False)
    return f"{text}\n[{more:,} more characters are not shown]" if more > 0 else text


def url_warnings(url: str) -> str:
    """What about an address should make a person careful, a line each."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "  Careful: it is no proper address.\n"
    warnings: list[str] = []
    if parts.scheme == "http" and host not in _LOOPBACK:
        warnings.append("the connection is not encrypted")
    if "@" in parts.netloc:
        warnings.append("what stands before the @ is not the host")
    if "xn--" in host or not host.isascii():
        warnings.append("the host's name is spelt with characters that may look like others")
    return "".join(f"  Careful: {warning}.\n" for warning in warnings)
