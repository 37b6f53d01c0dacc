"""One server of an `mcp.json`, in the words of the tool it was written for, as a profile's entry.

The keys of Claude Desktop, Claude Code, Cursor, Windsurf, VS Code, Gemini CLI, Cline and Roo
Code are read where they say how to start or reach a server, and our own beside them (those of
`config.servers.ServerEntry`). A key may hold what `_Keys` says. A wrong value is quoted
only where it can't be a secret.
"""

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

from config.checking import MAX_SECONDS, Count, Seconds
from config.servers import (
    CALL_TIMEOUT_SECONDS,
    CONCURRENT_CALLS,
    LARGEST_RESULT_BYTES,
    MAX_CONCURRENT_CALLS,
    MIN_RESULT_BYTES,
    RESULT_BYTES_MAX,
    START_TIMEOUT_SECONDS,
    ConnectionMode,
    ServerEntry,
    StartMode,
)
from config.texts import kind_of
from config.variables import shown
from core.base.frozen import frozen
from core.base.text import lazy_pattern, listed

SWITCH_KEYS = ("disabled", "enabled")
"""What switches a server off: the one set to true, or the other to false."""

MILLISECONDS_FROM = 1000
"""From here on `timeout` counts milliseconds (Claude Code, Gemini CLI, and most others); a
smaller one is taken for the seconds of Cline and Roo Code, for no server answers all its calls
in less than a second, and Claude Code does not accept such a value either."""

_URL_KEYS = ("url", "serverUrl", "httpUrl")
"""The address: everywhere, in Windsurf, in Gemini CLI."""

_TYPES_ALLOWED = "stdio, http (or streamable-http)"
_STDIO_TYPES = frozenset({"stdio", "local"})
_HTTP_TYPES = frozenset({"http", "streamablehttp"})
_PROGRAM_KEYS = ("args", "env", "cwd", "envFile")
_OWN_KEYS = {
    "description",
    "start",
    "connection",
    "start_timeout_seconds",
    "call_timeout_seconds",
    "tool_timeout_seconds",
    "concurrent_calls",
    "result_bytes",
}
"""Keys that mean what they mean in a profile."""

_SECRET_KEYS = frozenset({*_URL_KEYS, "command", "cwd", "envFile", "args", "env", "headers"})
"""Keys whose texts may be secrets, so that no message quotes them."""

_KEYS_SHOWN = 10
_BARE_VARIABLE = lazy_pattern(r"(?:\w+ )?\$[A-Za-z_]\w*")
"""How Gemini CLI writes a variable; behind `Bearer`, say. Elsewhere it is a plain text."""


def _number_as_text(value: object) -> object:
    return str(value) if _is_number(value) else value


_SECONDS = f"seconds, above 0 and at most {MAX_SECONDS:.0f}"
_Text: TypeAlias = Annotated[str, Field(min_length=1, description="a text")]
_Type: TypeAlias = Annotated[str, Field(min_length=1, description=_TYPES_ALLOWED)]
_Flag: TypeAlias = Annotated[StrictBool, Field(description="true or false")]
_Seconds: TypeAlias = Annotated[Seconds, Field(description=_SECONDS)]
_TextOrNumber: TypeAlias = Annotated[str, BeforeValidator(_number_as_text)]


class _Keys(BaseModel):
    """What every key may hold, and the same in words; what is absent is empty."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: _Text = ""
    args: list[str] = Field(default=[], description="a list of texts")
    env: dict[str, _TextOrNumber] = Field(
        default={}, description="a section of names and texts or numbers"
    )
    cwd: _Text = ""
    envFile: _Text = ""
    url: _Text = ""
    serverUrl: _Text = ""
    httpUrl: _Text = ""
    headers: dict[str, str] = Field(default={}, description="a section of names and texts")
    type: _Type = ""
    transport: _Type = ""
    disabled: _Flag = False
    enabled: _Flag = True
    timeout: float | None = Field(
        default=None,
        strict=True,
        gt=0,
        le=MAX_SECONDS * 1000,
        description="milliseconds, above 0 and at most a day",
    )
    description: str = Field(default="", description="a text")
    start: StartMode = Field(default="lazy", description="lazy or eager")
    connection: ConnectionMode = Field(default="persistent", description="persistent or per_call")
    start_timeout_seconds: _Seconds = START_TIMEOUT_SECONDS
    call_timeout_seconds: _Seconds = CALL_TIMEOUT_SECONDS
    tool_timeout_seconds: dict[str, Seconds] = Field(
        default={}, description=f"a section of tool names and {_SECONDS}"
    )
    concurrent_calls: Count = Field(
        default=CONCURRENT_CALLS,
        ge=1,
        le=MAX_CONCURRENT_CALLS,
        description=f"a whole number from 1 to {MAX_CONCURRENT_CALLS}",
    )
    result_bytes: Count = Field(
        default=RESULT_BYTES_MAX,
        ge=MIN_RESULT_BYTES,
        le=LARGEST_RESULT_BYTES,
        description=f"a whole number from {MIN_RESULT_BYTES} to {LARGEST_RESULT_BYTES}",
    )


MCP_KEYS: Mapping[str, str] = {
    key: field.description or "" for key, field in _Keys.model_fields.items()
}
"""Every key that is read, and what it may hold, in words."""


_NOTHING = ServerEntry.model_construct(id="")


@frozen
class McpEntry:
    """What one entry says.

    `server` is what is right in it, as an entry of a profile without an id; its keys have been
    checked here, by other rules. `env_file` is the path of the `envFile`, not yet expanded, empty
    if there is none. `problems` are sentences that name a key and what it may hold, `notes` what
    was passed over.
    """

    server: ServerEntry
    env_file: str
    disabled: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def read_entry(raw: object) -> McpEntry:
    """Translate one value of `mcpServers` or `servers`; nothing is raised, whatever it is."""
    if not isinstance(raw, dict):
        wrong = f"it is {kind_of(raw)}; expected a section with 'command' or 'url'"
        return McpEntry(_NOTHING, "", disabled=False, problems=(wrong,), notes=())
    given = cast("dict[str, object]", raw)
    # Tools write null for what isn't set; in `env`, VS Code means by it what isn't to be set.
    known = {
        key: _without_nulls(key, value)
        for key, value in given.items()
        if key in MCP_KEYS and value is not None
    }
    keys, wrong = _checked(known)
    problems = [
        f"key {key!r} is {wrong[key]}; allowed: {MCP_KEYS[key]}" for key in known if key in wrong
    ]
    notes: list[str] = []
    if unknown := [key for key in given if key not in MCP_KEYS]:
        notes.append(f"unknown {_listed(unknown)} ignored")
    notes += [
        f"key {shown(f'{key}.{name}')} goes as it stands, with its $; "
        "write ${NAME} for a variable"
        for key, section in (("env", keys.env), ("headers", keys.headers))
        for name, value in section.items()
        if _BARE_VARIABLE.fullmatch(value) is not None
    ]
    fields = keys.model_dump(include=_OWN_KEYS, exclude_unset=True)
    if not problems:
        fields |= _start_or_address(keys, problems, notes)
    if keys.timeout is not None:
        fields.setdefault("call_timeout_seconds", _timeout_seconds(keys.timeout, notes))
    return McpEntry(
        ServerEntry.model_construct(id="", **fields),
        keys.envFile if "command" in fields else "",
        keys.disabled or not keys.enabled,
        tuple(problems),
        tuple(notes),
    )


def _without_nulls(key: str, value: object) -> object:
    if key != "env" or not isinstance(value, dict):
        return value
    env = cast("dict[str, object]", value)
    return {name: inner for name, inner in env.items() if inner is not None}


def _checked(given: Mapping[str, object]) -> tuple[_Keys, Mapping[str, str]]:
    """The keys that hold what they may; of each other one, what stands there, in words."""
    try:
        return _Keys.model_validate(given), {}
    except ValidationError as error:
        wrong: dict[str, str] = {}
        for problem in error.errors(include_url=False, include_context=False):
            key, *member = problem["loc"]
            found = _in_words(str(key), problem["input"])
            if member:
                name = shown(member[0]) if isinstance(member[0], str) else f"item {member[0] + 1}"
                found = f"{kind_of(given[str(key)])} in which {name} is {found}"
            wrong.setdefault(str(key), found)
    right = {key: value for key, value in given.items() if key not in wrong}
    return _Keys.model_validate(right), wrong


def _in_words(key: str, value: object) -> str:
    """What a value is; the value itself where it is short and no secret."""
    if value == "":
        return "an empty text"
    if isinstance(value, str) and key not in _SECRET_KEYS:
        return shown(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not _is_number(value):
        return kind_of(value)
    try:
        return f"{value:.10g}"
    except OverflowError:
        return "a number of hundreds of digits"


def _is_number(value: object) -> bool:
    """Whether a JSON value is a number; `true` is none, though Python counts it as 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _start_or_address(keys: _Keys, problems: list[str], notes: list[str]) -> dict[str, object]:
    """The fields that say how to start or reach the server; adds to `problems` and `notes`."""
    given = keys.model_dump(exclude_unset=True)
    urls = [key for key in _URL_KEYS if key in given]
    if len(urls) > 1 or (urls and keys.command):
        wrong = _listed([*urls, *(["command"] if keys.command else [])])
        problems.append(f"{wrong} exclude each other; keep one")
        return {}
    if (wrong := _type_problem(keys, has_url=bool(urls))) is not None:
        problems.append(wrong)
        return {}
    if urls:
        _note_useless(given, _PROGRAM_KEYS, "a program", notes)
        return {"url": given[urls[0]], "headers": keys.headers}
    _note_useless(given, ("headers",), "a url", notes)
    return {
        "command": keys.command,
        "args": tuple(keys.args),
        "env": keys.env,
        "cwd": keys.cwd or None,
    }


def _type_problem(keys: _Keys, *, has_url: bool) -> str | None:
    has_command = keys.command != ""
    if not has_url and not has_command:
        return "it has neither 'command' (a program) nor 'url' (an http or https address)"
    kind = keys.type or keys.transport
    if not kind:
        return None
    word = kind.lower().replace("-", "").replace("_", "")
    if word == "sse":
        return (
            "its type 'sse' is the transport of 2024, which Cortex-R does not speak; if the server "
            "has a Streamable HTTP address, often ending in /mcp, give that with type 'http'"
        )
    if word not in _STDIO_TYPES | _HTTP_TYPES:
        return f"key 'type' is {shown(kind)}; allowed: {_TYPES_ALLOWED}"
    if (word in _STDIO_TYPES) is not has_command:
        needed = "command" if word in _STDIO_TYPES else "url"
        return f"its type {shown(kind)} needs the key '{needed}'"
    return None


def _note_useless(
    given: Mapping[str, object], keys: tuple[str, ...], owner: str, notes: list[str]
) -> None:
    if found := [key for key in keys if given.get(key)]:
        notes.append(f"{_listed(found)} ignored: only {owner} has a use for it")


def _timeout_seconds(timeout: float, notes: list[str]) -> float:
    if timeout >= MILLISECONDS_FROM:
        return timeout / 1000
    notes.append(
        f"key 'timeout' is below {MILLISECONDS_FROM} and taken for seconds; "
        "'call_timeout_seconds' says it for certain"
    )
    return timeout


def _listed(keys: list[str]) -> str:
    named = listed(map(shown, keys[:_KEYS_SHOWN]), len(keys))
    return f"{'key' if len(keys) == 1 else 'keys'} {named}"
