"""Words of others on our terminal, and doubtful values, set so that nobody takes them for ours."""

import difflib
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from core.base.json_text import json_start
from core.base.text import READ_AHEAD, listed, shorten, with_hidden_shown
from core.dispatch.hooks import ToolChange
from core.provenance.checks import Doubt, DoubtKind
from core.values import Json, JsonObject
from modules.terminal.printing import printable, shown_name

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
    return _marked(_shortened(_lines(text), LINES_MAX))


def fields_text(fields: Iterable[tuple[str, str]]) -> str:
    """Names and values behind `MARK`, a name at the margin, what follows it indented.

    So no value can pass for another field. None is left out: of many, each shows fewer lines.
    """
    fields = [*fields]
    share = max(LINES_MAX // max(len(fields), 1), LINES_OF_ONE_MIN)
    shown = (_lines(f"{on_one_line(name)}: {text}", _INDENT) for name, text in fields)
    return "".join(_marked(_shortened(lines, share)) for lines in shown)


def on_one_line(text: str) -> str:
    """`text` for the middle of a line of ours, cut to `LINE_CHARACTERS_MAX`."""
    line = " ".join(text[: READ_AHEAD * LINE_CHARACTERS_MAX].split())
    return printable(with_hidden_shown(shorten(line, LINE_CHARACTERS_MAX)))


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
    """Printable lines that fit the terminal behind `MARK`; `indent` as for `wrapped`."""
    from modules.terminal.screen import screen_on, wrapped  # late: rich takes 0.06 s

    columns = max(screen_on(sys.stderr).width - len(MARK) - 1, _COLUMNS_MIN)
    return wrapped(printable(with_hidden_shown(text)), columns, indent)


def _shortened(lines: Sequence[str], most: int) -> Iterable[str]:
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"[{len(lines) - most:,} more lines are not shown]"]


_WHAT: dict[DoubtKind, str] = {
    "url": "wants this address, which neither you nor a search or page for your request has named",
    "path": "wants this path, which you have not named",
    "address": "wants this e-mail address, which you have not named",
    "tool": "may change something, and your request does not ask for it",
    "name": "is to be given this name of a tool or server, which you have not named",
}

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


ARGUMENTS_MAX: Final = 50
"""A call with more arguments can't be checked by eye."""

VALUE_CHARACTERS_SHOWN: Final = 3_000
"""How much of one argument is shown; how much more there is, is said."""


def leave_text(tool: str, doubt: Doubt) -> str:
    """The question before the last line: the tool, the whole value or all arguments, warnings."""
    heading = f"\n── {shown_name(on_one_line(tool))} {_WHAT[doubt.kind]} ──\n"
    call = fields_text((name, _value_text(value)) for name, value in call_arguments(doubt).items())
    if doubt.kind == "tool":
        return heading + call
    value = quoted(doubt.value)
    warnings = url_warnings(doubt.value) if doubt.kind == "url" else ""
    whole = f"The whole call:\n{call}" if call else ""
    return f"{heading}{value}{warnings}{whole}Text that was read may have asked for it.\n"


def call_arguments(doubt: Doubt) -> JsonObject:
    """The arguments of the call that is doubted, without the object that wraps all of them."""
    inner = doubt.arguments.get("input")
    return inner if isinstance(inner, dict) and len(doubt.arguments) == 1 else doubt.arguments


def _value_text(value: Json) -> str:
    """A text of several lines as it is, and everything else as JSON."""
    if not isinstance(value, str):
        return json_start(value, VALUE_CHARACTERS_SHOWN)
    shown, more = value[:VALUE_CHARACTERS_SHOWN], len(value) - VALUE_CHARACTERS_SHOWN
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
