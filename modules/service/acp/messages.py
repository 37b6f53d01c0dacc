"""What a client sends (Agent Client Protocol, version 1), as far as we read it.

What we don't know is passed over, for clients are ahead of us at times.
"""

from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from core.base.frozen import frozen
from core.base.text import one_line
from core.mcp.peer import RpcError
from core.values import Json, JsonObject

PROTOCOL_VERSION: Final = 1

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""The protocol's code for a session that is not there."""

SERVERS_MAX: Final = 50
"""So many MCP servers a client may bring for one session."""

WORDS_MAX: Final = 1_000
BLOCKS_MAX: Final = 1_000

_FAULTS_SHOWN: Final = 3
_VALUE_CHARACTERS: Final = 200

_Read = TypeVar("_Read", bound="Message")


class Message(BaseModel):
    """Base of what is read; names are those of the protocol, in camel case."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class Pair(Message):
    """A variable or a header."""

    name: str
    value: str


class ClientServer(Message):
    """An MCP server that the client wants used: a program, or an address where `type` says so."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: list[str] = Field(default_factory=list[str], max_length=WORDS_MAX)
    env: list[Pair] = Field(default_factory=list[Pair], max_length=WORDS_MAX)
    url: str = ""
    headers: list[Pair] = Field(default_factory=list[Pair], max_length=WORDS_MAX)


class OpenSession(Message):
    """`session/new`, and with an id `session/load` and `session/resume`."""

    cwd: str
    mcp_servers: list[ClientServer] = Field(
        default_factory=list[ClientServer], max_length=SERVERS_MAX
    )
    session_id: str = ""


class OfSession(Message):
    """What is about one session: `session/cancel`, `session/close` and `session/delete`."""

    session_id: str


class SetMode(OfSession):
    """`session/set_mode`."""

    mode_id: str


class SetOption(OfSession):
    """`session/set_config_option`."""

    config_id: str
    value: str | bool


class ListSessions(Message):
    """`session/list`."""

    cwd: str | None = None
    cursor: str | None = None


class Resource(Message):
    """A file that the client embeds: its text, or what it holds in base64."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class Block(Message):
    """A part of a prompt; which fields it has depends on its type."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str | None = None
    uri: str | None = None
    name: str = ""
    resource: Resource | None = None


class Prompt(OfSession):
    """`session/prompt`."""

    prompt: list[Block] = Field(min_length=1, max_length=BLOCKS_MAX)


@frozen
class Abilities:
    """What the client can do that we make use of; `name` is what it calls itself."""

    forms: bool = False
    visits: bool = False
    name: str = ""


def read(kind: type[_Read], params: JsonObject) -> _Read:
    """The message in the parameters of a request.

    Raises:
        RpcError: they are not what the protocol wants; the text says what is wrong where.
    """
    try:
        return kind.model_validate(params)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        faults = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_FAULTS_SHOWN]
        ]
        raise RpcError(INVALID_PARAMS, f"invalid parameters: {'; '.join(faults)}") from None


def abilities_in(params: JsonObject) -> Abilities:
    """What the parameters of `initialize` say of the client; what is malformed counts as absent."""
    asking = _object(_object(params.get("clientCapabilities")).get("elicitation"))
    name = _object(params.get("clientInfo")).get("name")
    return Abilities(
        isinstance(asking.get("form"), dict),
        isinstance(asking.get("url"), dict),
        one_line(name, _VALUE_CHARACTERS) if isinstance(name, str) else "",
    )


def trace_in(params: JsonObject) -> tuple[str | None, str | None]:
    """`traceparent` and `tracestate` of a request's `_meta`, which the client's own trace is in."""
    meta = _object(params.get("_meta"))
    found = (meta.get(name) for name in ("traceparent", "tracestate"))
    parent, state = (value if isinstance(value, str) else None for value in found)
    return parent, state


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
