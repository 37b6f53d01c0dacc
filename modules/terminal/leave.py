"""How a doubtful value is put to the user: where it goes, and what to look at."""

from urllib.parse import urlsplit

from core.provenance.doubts import Doubt, DoubtKind
from modules.terminal.quoting import on_one_line, quoted

_WHAT: dict[DoubtKind, str] = {
    "url": "wants this address, which neither you nor a search or page for your request has named",
    "path": "wants this path, which you have not named",
    "address": "wants this e-mail address, which you have not named",
    "tool": "may change something, and your request does not ask for it",
    "name": "is to be given this name of a tool or server, which you have not named",
}

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def leave_text(tool: str, doubt: Doubt) -> str:
    """The question before the last line: the tool, the whole value, and warnings."""
    heading = f"\n── {on_one_line(tool)} {_WHAT[doubt.kind]} ──\n"
    value = "" if doubt.kind == "tool" else quoted(doubt.value)
    warnings = url_warnings(doubt.value) if doubt.kind == "url" else ""
    return f"{heading}{value}{warnings}Text that was read may have asked for it.\n"


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
