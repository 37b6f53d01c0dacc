"""What is said of a call that a server did not answer: who, what, whether it took effect, where."""

from urllib.parse import urlsplit

from config.servers import ServerSpec
from core.base.redaction import Redactor
from core.errors import ServerLost, ToolTimeout
from core.process.server import SpawnedServer, last_log_line


def evidence(spec: ServerSpec, spawned: SpawnedServer | None, stray_text: str | None) -> str:
    """Stray text, the last line of its stderr, where its log or address is; each with `; `."""
    parts: list[str] = []
    if stray_text:
        parts.append(f"it printed text where JSON-RPC belongs: '{stray_text}'")
    if spawned is not None and spawned.log_path is not None:
        if line := last_log_line(spawned.log_path):
            parts.append(f"its last error output: '{line}'")
        parts.append(f"log: {spawned.log_path}")
    if spec.url is not None:
        parts.append(f"address: {public_address(spec)}")
    return "".join(f"; {part}" for part in parts)


def public_address(spec: ServerSpec) -> str:
    """The server's URL without what may hold a secret: user, query, fragment, known secrets."""
    try:
        parts = urlsplit(spec.url or "")
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(not an address)"
    return Redactor({}, spec.secrets).text(f"{parts.scheme}://{host}{parts.path}")


def timed_out(
    spec: ServerSpec, tool: str, waited_seconds: float, is_well: bool | None, evidence: str
) -> ToolTimeout:
    """No answer in time. `is_well` says whether a ping was answered since; None: not yet known.

    `waited_seconds` went by before it was the call's turn.
    """
    match is_well:
        case True:
            health = "the server itself is well: it answers a ping"
        case False:
            health = "it did not answer a ping either, and was recycled"
        case None:
            health = "unless it answers a ping soon, it is recycled"
    queue = f", {waited_seconds:.3g} s of them before its turn came" if waited_seconds else ""
    return ToolTimeout(
        spec.id,
        f"server '{spec.id}' did not answer '{tool}' within {spec.timeout_of(tool):g} s"
        f"{queue} ({_limit(spec, tool)}); the call was cancelled, and whether it took effect is "
        f"unknown; {health}{evidence}",
    )


def never_sent_in_time(spec: ServerSpec, tool: str, evidence: str) -> ToolTimeout:
    """The call's time went by before its turn came."""
    count = spec.concurrent_calls
    calls = "another call" if count == 1 else f"{count} other calls"
    return ToolTimeout(
        spec.id,
        f"server '{spec.id}' did not get to '{tool}' within {spec.timeout_of(tool):g} s "
        f"({_limit(spec, tool)}): it was busy with {calls}, as many as it is given at once "
        f"(concurrent_calls); the call was not sent{evidence}",
    )


def lost(
    spec: ServerSpec,
    tool: str,
    how: str,
    evidence: str,
    *,
    is_gone: bool,
    was_sent: bool,
    was_repeated: bool,
) -> ServerLost:
    """The call was lost; `how` is the end of a sentence that begins with the server.

    `is_gone`: the server went away; else the transport failed this one call.
    """
    effect = "whether the call took effect is unknown"
    if was_repeated:
        effect = f"it was repeated once, and {effect}"
    elif not was_sent:
        effect = "it took no effect" if is_gone else f"'{tool}' took no effect"
    if not is_gone:
        what = f"gave no result of '{tool}': it {how}"
    elif was_sent or was_repeated:
        what = f"{how} before it answered '{tool}'"
    else:
        what = f"{how} before '{tool}' could be sent"
    return ServerLost(spec.id, f"server '{spec.id}' {what}; {effect}{evidence}")


def closed(spec: ServerSpec) -> ServerLost:
    """The connection was closed by us."""
    return ServerLost(spec.id, f"server '{spec.id}' was closed")


def _limit(spec: ServerSpec, tool: str) -> str:
    key = "tool_timeout_seconds" if tool in spec.tool_timeout_seconds else "call_timeout_seconds"
    return f"{key} of '{spec.id}' {spec.origin}"
