"""An `mcp.json` written for a test, and read."""

import json
from pathlib import Path

from config.mcp_file import McpFile, read_mcp_file
from config.servers import ServerSpec

HIDDEN = "s3cr3t-value"


def written(folder: Path, text: str | object) -> Path:
    """A file of this text, or of this document."""
    path = folder / "mcp.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def read(folder: Path, text: str | object, **environ: str) -> McpFile:
    """What such a file says."""
    return read_mcp_file(written(folder, text), environ)


def only(folder: Path, entry: object, **environ: str) -> ServerSpec:
    """The one server of a file that holds this entry, without a note."""
    file = read(folder, {"mcpServers": {"a": entry}}, **environ)
    assert file.notes == ()
    (spec,) = file.specs
    return spec
