"""JSON text to a raw value: no key twice, no NaN, and on request with comments.

Editors allow `//` and `/* */` comments and a comma behind the last item in the JSON that people
write by hand (VS Code calls it "JSON with comments"); RFC 8259 has neither. Both are blanked
out before parsing, so that lines and columns in error messages stay those of the file.
"""

import json
import re

_COMMENT_OR_STRING = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(\*/)?', re.DOTALL
)
"""Strings are matched to step over what looks like a comment in them. What is never closed runs
to the end of the text, and every quantifier is possessive, so that any text takes linear time."""

_TRAILING_COMMA_OR_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)
CONTAINER_KINDS = frozenset({"a list", "a section"})
"""What `kind_of` says of values that hold others."""

_NOT_A_LINE_END = re.compile(r"[^\n]")


class RepeatedKey(ValueError):
    """A JSON object names one key twice."""


class JsonProblem(Exception):
    """The text is not JSON that we read; `line` is 1-based, None where it is not known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """Keep the line beside the message."""
        super().__init__(message)
        self.line = line


def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An `object_pairs_hook` for `json.loads` that refuses what RFC 8259 calls unpredictable.

    Raises:
        RepeatedKey: one key stands twice.
    """
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise RepeatedKey(f"key {key!r} stands twice in one object; keep one")
        made[key] = value
    return made


def load_json(text: str) -> object:
    """The value in a JSON text.

    Raises:
        JsonProblem: not JSON, nested too deeply, or a key stands twice.
    """
    try:
        return json.loads(text, object_pairs_hook=without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise JsonProblem(error.msg, error.lineno) from error
    except (RecursionError, ValueError) as error:  # a repeated key, an integer of 5,000 digits
        raise JsonProblem(str(error)) from error


def load_commented_json(text: str) -> object:
    """The value in a JSON text that may hold comments and trailing commas.

    Raises:
        JsonProblem: as `load_json`; lines are those of `text`.
    """
    without_comments = _COMMENT_OR_STRING.sub(_blank_comment, text)
    return load_json(_TRAILING_COMMA_OR_STRING.sub(_blank_comma, without_comments))


def has_comments(text: str) -> bool:
    """Whether a comment stands outside of the strings of `text`."""
    return any(not found[0].startswith('"') for found in _COMMENT_OR_STRING.finditer(text))


def kind_of(value: object) -> str:
    """What a value from a JSON or YAML file is, for messages that must not quote it."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a section"
        case _:
            return f"a {type(value).__name__}"


def _blank_comment(found: re.Match[str]) -> str:
    """Spaces for a comment, with its line ends; a string stays, and so does what never closes."""
    is_open = found[0].startswith("/*") and found[1] is None
    if found[0].startswith('"') or is_open:
        return found[0]
    return _NOT_A_LINE_END.sub(" ", found[0])


def _blank_comma(found: re.Match[str]) -> str:
    return " " if found[0] == "," else found[0]


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")
