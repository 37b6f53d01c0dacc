"""What an editor sends (Agent Client Protocol, version 1), as far as we read it.

What we don't know is passed over: editors are ahead of us at times.
"""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from core.mcp.peer import RpcError
from core.values import Json, JsonObject
from modules.service.wrong_fields import wrong_fields

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""The protocol's code for a session that is not there."""

SERVERS_MAX: Final = 50
"""So many MCP servers an editor may bring for one session."""

WORDS_MAX: Final = 1_000
BLOCKS_MAX: Final = 1_000


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Pair(_Message):
    """A variable or a header."""

    name: str
    value: str


class EditorServer(_Message):
    """An MCP server that the editor wants used: a program, or an address where `type` says so."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: list[str] = Field(default_factory=list[str], max_length=WORDS_MAX)
    env: list[Pair] = Field(default_factory=list[Pair], max_length=WORDS_MAX)
    url: str = ""
    headers: list[Pair] = Field(default_factory=list[Pair], max_length=WORDS_MAX)


class Resource(_Message):
    """A file that the editor embeds: its text, or what it holds in base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class Block(_Message):
    """A part of a prompt; which fields it has depends on its type."""

    type: str
    text: str = ""
    data: str = ""
    uri: str | None = None
    resource: Resource | None = None


class Meta(_Message):
    """The editor's own trace, as W3C writes it."""

    model_config = ConfigDict(alias_generator=None)

    traceparent: str | None = None
    tracestate: str | None = None


class Params(_Message):
    """The parameters of all methods; each has some of them."""

    meta: Meta | None = Field(default=None, alias="_meta")
    client_info: dict[str, Json] | None = None
    client_capabilities: dict[str, Json] | None = None
    session_id: str = ""
    cwd: Path | None = None
    mcp_servers: list[EditorServer] = Field(
        default_factory=list[EditorServer], max_length=SERVERS_MAX
    )
    cursor: str | None = Field(default=None, pattern=r"^[0-9]{1,9}$")
    config_id: str = ""
    value: str | bool = ""
    prompt: list[Block] = Field(default_factory=list[Block], max_length=BLOCKS_MAX)


def read(params: JsonObject) -> Params:
    """The parameters of a request.

    Raises:
        RpcError: they are not what the protocol wants; the text says what is wrong where.
    """
    try:
        return Params.model_validate(params)
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"invalid parameters: {wrong_fields(error)}") from None
