"""How a doubtful value is put to the user: where it goes, and what to look at."""

import json
from typing import Final
from urllib.parse import urlsplit

from core.json_preview import json_start
from core.provenance.doubts import Doubt, DoubtKind
from core.values import Json, JsonObject
from modules.terminal.quoting import fields_text, on_one_line, quoted
from modules.terminal.safe_text import shown_name

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
