"""The keys that a server of an `mcp.json` may have, and what each may hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard, cast

from config.expansion import shown
from config.json_text import kind_of
from config.servers import (
    LARGEST_RESULT_BYTES,
    MAX_CONCURRENT_CALLS,
    MAX_SECONDS,
    MIN_RESULT_BYTES,
)

URL_KEYS = ("url", "serverUrl", "httpUrl")
"""The address: everywhere, in Windsurf, in Gemini CLI."""

SWITCH_KEYS = ("disabled", "enabled")
"""What switches a server off: the one set to true, or the other to false."""

TYPE_KEYS = ("type", "transport")
TYPES_ALLOWED = "stdio, http (or streamable-http)"


@dataclass(frozen=True, slots=True)
class Form:
    """What a key may hold, in words and as a test; of a list or section, what each member may.

    Texts of a key that `may_hold_secrets` are never quoted.
    """

    allowed: str
    fits_alone: Callable[[object], bool]
    container: type[list[object] | dict[str, object]] | None = None
    may_hold_secrets: bool = False

    def fits(self, value: object) -> bool:
        """Whether the value has this form."""
        if self.container is None:
            return self.fits_alone(value)
        right_kind = isinstance(value, self.container)
        return right_kind and self._odd_member(cast("object", value)) is None

    def found(self, value: object) -> str:
        """What stands there instead, in words."""
        if self.container is not None and isinstance(value, self.container):
            members = cast("object", value)
            return f"{kind_of(members)} in which {self._odd_member(members)}"
        return self._in_words(value)

    def _odd_member(self, value: object) -> str | None:
        """The first member that does not fit, in words."""
        if isinstance(value, dict):
            named = {shown(str(k)): v for k, v in cast("dict[object, object]", value).items()}
        else:
            items = enumerate(cast("list[object]", value), start=1)
            named = {f"item {number}": item for number, item in items}
        odd = next((name for name, member in named.items() if not self.fits_alone(member)), None)
        return None if odd is None else f"{odd} is {self._in_words(named[odd])}"

    def _in_words(self, value: object) -> str:
        if isinstance(value, str) and value and not self.may_hold_secrets:
            return shown(value)
        return _in_words(value)


def _in_words(value: object) -> str:
    if value == "":
        return "an empty text"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not is_number(value):
        return kind_of(value)
    try:
        return f"{value:.10g}"
    except OverflowError:  # an integer of hundreds of digits
        return "a number of hundreds of digits"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_some_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number; `true` is none, though Python counts it as 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text_or_number(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def _are_seconds(value: object) -> bool:
    return is_number(value) and 0 < value <= MAX_SECONDS


def _is_timeout(value: object) -> bool:
    return is_number(value) and 0 < value <= MAX_SECONDS * 1000


def _whole(least: int, most: int) -> Form:
    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Form(f"a whole number from {least} to {most}", fits)


def _one_of(*words: str) -> Form:
    return Form(" or ".join(words), lambda value: value in words)


_TEXT = Form("a text", _is_some_text, may_hold_secrets=True)
_FLAG = Form("true or false", _is_flag)
_SECONDS = Form(f"seconds, above 0 and at most {MAX_SECONDS:.0f}", _are_seconds)

OWN_FORMS: Mapping[str, Form] = {
    "description": Form("a text", _is_text),
    "start": _one_of("lazy", "eager"),
    "connection": _one_of("persistent", "per_call"),
    "start_timeout_seconds": _SECONDS,
    "call_timeout_seconds": _SECONDS,
    "tool_timeout_seconds": Form(
        f"a section of tool names and {_SECONDS.allowed}", _are_seconds, dict
    ),
    "concurrent_calls": _whole(1, MAX_CONCURRENT_CALLS),
    "result_bytes": _whole(MIN_RESULT_BYTES, LARGEST_RESULT_BYTES),
}
"""Keys that mean what they mean in a profile."""

FORMS: Mapping[str, Form] = {
    **OWN_FORMS,
    **dict.fromkeys((*URL_KEYS, "command", "cwd", "envFile"), _TEXT),
    **dict.fromkeys(TYPE_KEYS, Form(TYPES_ALLOWED, _is_some_text)),
    **dict.fromkeys(SWITCH_KEYS, _FLAG),
    "args": Form("a list of texts", _is_text, list, may_hold_secrets=True),
    "env": Form(
        "a section of names and texts or numbers",
        _is_text_or_number,
        dict,
        may_hold_secrets=True,
    ),
    "headers": Form("a section of names and texts", _is_text, dict, may_hold_secrets=True),
    "timeout": Form("milliseconds, above 0 and at most a day", _is_timeout),
}
