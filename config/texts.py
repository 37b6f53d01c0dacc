"""YAML and JSON texts to raw values.

YAML: safe types only, bounded in depth, no key twice.

libyaml's loader recurses in C, so some 25,000 open brackets would end the process without a
word, and of two equal keys it silently keeps the last (YAML 1.2.2, section 3.2.1.1, forbids
them). Both are looked for in the flat stream of events before anything is built.

JSON: no key twice, no NaN, and on request with comments. Editors allow `//` and `/* */` comments
and a comma behind the last item in the JSON that people write by hand (VS Code calls it "JSON
with comments"); RFC 8259 has neither. Both are blanked out before parsing, so that lines and
columns in error messages stay those of the file.
"""

import json
import re
from dataclasses import dataclass, field

import yaml

MAX_NESTING_LEVELS = 50
"""Our deepest key lies five levels down."""


class TextProblem(Exception):
    """The text is not what it should be; `line` is 1-based, None where it is not known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; in a mapping, keys and values take turns."""

    is_mapping: bool
    at_key: bool = True
    keys: set[str] = field(default_factory=set[str])


def load_yaml(text: str) -> object:
    """The value in a YAML text; None for an empty one.

    Raises:
        TextProblem: not one YAML document, nested too deeply, or a key stands twice.
    """
    try:
        _check_events(text)
        return yaml.load(text, Loader=_fast_loader())  # noqa: S506 — both are safe loaders
    except yaml.reader.ReaderError as error:
        # `position` counts bytes or characters, as the reader likes; a line early at worst.
        line = text.count("\n", 0, error.position) + 1
        message = f"character #x{ord(_character(error)):04x} may not stand in YAML"
        raise TextProblem(message, line) from error
    except yaml.YAMLError as error:
        mark: yaml.Mark | None = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or error)
        raise TextProblem(problem, mark.line + 1 if mark is not None else None) from error
    except ValueError as error:  # the 32nd of May, an integer of 5,000 digits
        raise TextProblem(str(error), _line_of_unusable_scalar(text)) from error


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML or JSON text with their positions; None where they can't be had."""
    try:
        _check_events(text)
        return yaml.compose(text, Loader=_fast_loader())
    except (TextProblem, yaml.YAMLError, ValueError):
        return None


def _check_events(text: str) -> None:
    opened: list[_Open] = []
    for event in yaml.parse(text, Loader=_fast_loader()):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        elif isinstance(event, yaml.NodeEvent):
            if opened and opened[-1].is_mapping:
                _note_key(opened[-1], event)
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(_Open(isinstance(event, yaml.MappingStartEvent)))
                if len(opened) > MAX_NESTING_LEVELS:
                    raise TextProblem(
                        f"nested deeper than {MAX_NESTING_LEVELS} levels", _line(event)
                    )


def _note_key(mapping: _Open, event: yaml.NodeEvent) -> None:
    if mapping.at_key and isinstance(event, yaml.ScalarEvent):
        key: str = event.value
        if key in mapping.keys:
            raise TextProblem(f"key {key!r} stands twice in one section; keep one", _line(event))
        mapping.keys.add(key)
    mapping.at_key = not mapping.at_key


def _fast_loader() -> type[yaml.SafeLoader]:
    """The loader of libyaml where PyYAML was built with it, ten times faster than the other."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line_of_unusable_scalar(text: str) -> int | None:
    """Where the first value stands that looks like a date or number, and can't be one."""
    events = yaml.parse(text, Loader=_fast_loader())
    return next((_line(event) for event in events if _is_unusable(event)), None)


def _is_unusable(event: yaml.Event) -> bool:
    if not isinstance(event, yaml.ScalarEvent) or not event.implicit[0]:
        return False
    try:
        yaml.safe_load(event.value)
    except yaml.YAMLError:  # wrong in another way
        return False
    except ValueError:
        return True
    return False


def _line(event: yaml.Event) -> int | None:
    return event.start_mark.line + 1 if event.start_mark is not None else None


def _character(error: yaml.reader.ReaderError) -> str:
    character: object = error.character
    return chr(character) if isinstance(character, int) else str(character)[:1]


_COMMENT_OR_STRING = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(\*/)?', re.DOTALL
)
"""Strings are matched to step over what looks like a comment in them. What is never closed runs
to the end of the text, and every quantifier is possessive, so that any text takes linear time."""

_TRAILING_COMMA_OR_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)
CONTAINER_KINDS = frozenset({"a list", "a section"})
"""What `kind_of` says of values that hold others."""

_NOT_A_LINE_END = re.compile(r"[^\n]")


class _RepeatedKey(ValueError):
    """A JSON object names one key twice."""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An `object_pairs_hook` for `json.loads` that refuses what RFC 8259 calls unpredictable.

    Raises:
        _RepeatedKey: one key stands twice.
    """
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise _RepeatedKey(f"key {key!r} stands twice in one object; keep one")
        made[key] = value
    return made


def load_json(text: str) -> object:
    """The value in a JSON text.

    Raises:
        TextProblem: not JSON, nested too deeply, or a key stands twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise TextProblem(error.msg, error.lineno) from error
    except (RecursionError, ValueError) as error:  # a repeated key, an integer of 5,000 digits
        raise TextProblem(str(error)) from error


def load_commented_json(text: str) -> object:
    """The value in a JSON text that may hold comments and trailing commas.

    Raises:
        TextProblem: as `load_json`; lines are those of `text`.
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
