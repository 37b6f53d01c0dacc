"""One server of an `mcp.json`, in the words of the tool it was written for, as a profile's entry.

The keys of Claude Desktop, Claude Code, Cursor, Windsurf, VS Code, Gemini CLI, Cline and Roo
Code are read where they say how to start or reach a server, and our own beside them (those of
`config.schema.ServerEntry`). Everything is checked by hand: Pydantic is too heavy for what is
read before servers are started. No message quotes a value: any of them may hold a secret.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from config.expansion import shown
from config.json_text import kind_of
from config.mcp_forms import FORMS, OWN_FORMS, TYPE_KEYS, TYPES_ALLOWED, URL_KEYS

MILLISECONDS_FROM = 1000
"""From here on `timeout` counts milliseconds (Claude Code, Gemini CLI, and most others); a
smaller one is taken for the seconds of Cline and Roo Code, for no server answers all its calls
in less than a second, and Claude Code does not accept such a value either."""

_KEYS_SHOWN = 10
_BARE_VARIABLE = r"(?:\w+ )?\$[A-Za-z_]\w*"
"""How Gemini CLI writes a variable; behind `Bearer`, say. Elsewhere it is a plain text."""

_STDIO_TYPES = frozenset({"stdio", "local"})
_HTTP_TYPES = frozenset({"http", "streamablehttp"})
_PROGRAM_KEYS = ("args", "env", "cwd", "envFile")


@dataclass(frozen=True, slots=True)
class McpEntry:
    """What one entry says.

    `fields` is an entry as `config.servers.server_spec` takes it, but for the id; `env_file`
    the path of the `envFile`, not yet expanded. `problems` are sentences that name a key and
    what it may hold, `notes` what was passed over.
    """

    fields: Mapping[str, object]
    env_file: str | None
    disabled: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def read_entry(raw: object) -> McpEntry:
    """Translate one value of `mcpServers` or `servers`; nothing is raised, whatever it is."""
    if not isinstance(raw, dict):
        wrong = f"it is {kind_of(raw)}; expected a section with 'command' or 'url'"
        return McpEntry({}, None, disabled=False, problems=(wrong,), notes=())
    given = {str(key): value for key, value in cast("dict[object, object]", raw).items()}
    # Tools write null for what isn't set; in `env`, VS Code means by it what isn't to be set.
    present = {key: _without_nulls(key, value) for key, value in given.items() if value is not None}
    known = {key: value for key, value in present.items() if key in FORMS}
    right = {key: value for key, value in known.items() if FORMS[key].fits(value)}
    problems = [
        f"key {key!r} is {FORMS[key].found(value)}; allowed: {FORMS[key].allowed}"
        for key, value in known.items()
        if key not in right
    ]
    notes: list[str] = []
    if unknown := [key for key in given if key not in FORMS]:
        notes.append(f"unknown {_listed(unknown)} ignored")
    notes += [
        f"key {shown(f'{key}.{name}')} goes as it stands, with its $; "
        "write ${NAME} for a variable"
        for key in ("env", "headers")
        for name, value in cast("Mapping[str, object]", right.get(key, {})).items()
        if re.fullmatch(_BARE_VARIABLE, str(value)) is not None
    ]
    fields = {key: value for key, value in right.items() if key in OWN_FORMS}
    if not problems:
        fields |= _start_or_address(right, problems, notes)
    if "timeout" in right:
        fields.setdefault("call_timeout_seconds", _timeout_seconds(right["timeout"], notes))
    is_disabled = right.get("disabled") is True or right.get("enabled") is False
    env_file = right.get("envFile") if "command" in fields else None
    return McpEntry(
        fields,
        str(env_file) if env_file is not None else None,
        is_disabled,
        tuple(problems),
        tuple(notes),
    )


def _without_nulls(key: str, value: object) -> object:
    if key != "env" or not isinstance(value, dict):
        return value
    env = cast("dict[object, object]", value)
    return {name: inner for name, inner in env.items() if inner is not None}


def _start_or_address(
    given: Mapping[str, object], problems: list[str], notes: list[str]
) -> dict[str, object]:
    """The fields that say how to start or reach the server; adds to `problems` and `notes`."""
    urls = [key for key in URL_KEYS if key in given]
    if len(urls) > 1 or (urls and "command" in given):
        wrong = _listed([*urls, *(["command"] if "command" in given else [])])
        problems.append(f"{wrong} exclude each other; keep one")
        return {}
    kind = next((str(given[key]) for key in TYPE_KEYS if key in given), None)
    if (
        wrong := _type_problem(kind, has_url=bool(urls), has_command="command" in given)
    ) is not None:
        problems.append(wrong)
        return {}
    if urls:
        _note_useless(given, _PROGRAM_KEYS, "a program", notes)
        return {"url": given[urls[0]], "headers": given.get("headers", {})}
    _note_useless(given, ("headers",), "a url", notes)
    env = cast("Mapping[str, object]", given.get("env", {}))
    fields: dict[str, object] = {"command": given["command"], "args": given.get("args", [])}
    fields["env"] = {name: str(value) for name, value in env.items()}
    return fields | ({"cwd": given["cwd"]} if "cwd" in given else {})


def _type_problem(kind: str | None, *, has_url: bool, has_command: bool) -> str | None:
    if not has_url and not has_command:
        return "it has neither 'command' (a program) nor 'url' (an http or https address)"
    if kind is None:
        return None
    word = kind.lower().replace("-", "").replace("_", "")
    if word == "sse":
        return (
            "its type 'sse' is the transport of 2024, which Cortex-R does not speak; if the server "
            "has a Streamable HTTP address, often ending in /mcp, give that with type 'http'"
        )
    if word not in _STDIO_TYPES | _HTTP_TYPES:
        return f"key 'type' is {shown(kind)}; allowed: {TYPES_ALLOWED}"
    if (word in _STDIO_TYPES) is not has_command:
        needed = "command" if word in _STDIO_TYPES else "url"
        return f"its type {shown(kind)} needs the key '{needed}'"
    return None


def _note_useless(
    given: Mapping[str, object], keys: tuple[str, ...], owner: str, notes: list[str]
) -> None:
    if found := [key for key in keys if given.get(key)]:
        notes.append(f"{_listed(found)} ignored: only {owner} has a use for it")


def _timeout_seconds(value: object, notes: list[str]) -> float:
    number = float(cast("int | float", value))
    if number >= MILLISECONDS_FROM:
        return number / 1000
    notes.append(
        f"key 'timeout' is below {MILLISECONDS_FROM} and taken for seconds; "
        "'call_timeout_seconds' says it for certain"
    )
    return number


def _listed(keys: list[str]) -> str:
    named = [shown(key) for key in keys[:_KEYS_SHOWN]]
    rest = f" and {len(keys) - len(named)} more" if len(keys) > len(named) else ""
    return f"{'key' if len(keys) == 1 else 'keys'} {', '.join(named)}{rest}"
