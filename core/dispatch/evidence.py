"""What may tell the user why a server failed, to be put behind the message that says so."""

from config.servers import ServerSpec
from core.base.redaction import Redactor
from core.process.spawn import SpawnedServer, last_log_line


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
    from urllib.parse import urlsplit  # late: 2 ms, and most runs have no such server

    try:
        parts = urlsplit(spec.url or "")
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(not an address)"
    return Redactor({}, spec.secrets).text(f"{parts.scheme}://{host}{parts.path}")
