"""YAML and JSON texts to raw values.

YAML: safe types only, bounded in depth, no key twice.

libyaml's loader recurses in C, so some 25,000 open brackets would end the process without a
word: depth is looked for in the flat stream of events before anything is built. Of two equal keys
PyYAML silently keeps the last (YAML 1.2.2, section 3.2.1.1, forbids them).

JSON: no key twice, no NaN, and on request with comments. Editors allow `//` and `/* */` comments
and a comma behind the last item in the JSON that people write by hand (VS Code calls it "JSON
with comments"); RFC 8259 has neither. Both are blanked out before parsing, so that lines and
columns in error messages stay those of the file.
"""

import json
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import yaml

from config.settings import SettingsError
from core.base.text import lazy_pattern

MAX_NESTING_LEVELS = 50
"""Our deepest key lies five levels down."""


class TextProblem(Exception):
    """The text is not what it should be; `line` is 1-based, None where it is not known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


_FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""That of libyaml where PyYAML was built with it, ten times faster than the other."""


class _Loader(_FastLoader):
    """Says where a key stands twice, and where a value stands that can't be built."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping of a node; asked before merge keys are looked into."""
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    problem = f"key {key.value!r} stands twice in one section; keep one"
                    raise TextProblem(problem, key.start_mark.line + 1)
                keys.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """The value of a node: no 32nd of May, no integer of 5,000 digits."""
        try:
            # The stub leaves out the type of `node`.
            return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType]
        except ValueError as error:
            raise TextProblem(str(error), node.start_mark.line + 1) from error


def load_yaml(text: str, *, takes_aliases: bool = True) -> object:
    """The value in a YAML text; None for an empty one.

    Without `takes_aliases` an alias is a mistake: for texts of others. Merge keys of aliases are
    copied out, ten times as many with each line: 375 bytes take 0.3 s, 435 bytes 3 s.

    Raises:
        TextProblem: not one YAML document, nested too deeply, or a key stands twice.
    """
    try:
        _check_depth(text, takes_aliases=takes_aliases)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 — a safe loader
    except yaml.reader.ReaderError as error:
        # `position` counts bytes or characters, as the reader likes; a line early at worst.
        line = text.count("\n", 0, error.position) + 1
        message = f"character #x{ord(_character(error)):04x} may not stand in YAML"
        raise TextProblem(message, line) from error
    except yaml.YAMLError as error:
        mark: yaml.Mark | None = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or error)
        raise TextProblem(problem, mark.line + 1 if mark is not None else None) from error


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML or JSON text with their positions; None where they can't be had."""
    try:
        _check_depth(text)
        return yaml.compose(text, Loader=_FastLoader)
    except (TextProblem, yaml.YAMLError, ValueError):
        return None


def _check_depth(text: str, *, takes_aliases: bool = True) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.AliasEvent) and not takes_aliases:
            line = event.start_mark.line + 1 if event.start_mark is not None else None
            raise TextProblem(f"the alias *{event.anchor} may not stand here", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_NESTING_LEVELS:
                line = event.start_mark.line + 1 if event.start_mark is not None else None
                raise TextProblem(f"nested deeper than {MAX_NESTING_LEVELS} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _character(error: yaml.reader.ReaderError) -> str:
    character: object = error.character
    return chr(character) if isinstance(character, int) else str(character)[:1]


_COMMENT_OR_STRING = lazy_pattern(
    r'"(?:[^"\\]++|\\.)*+"?|//[^\n]*|/\*(?:[^*]++|\*(?!/))*+(\*/)?', re.DOTALL
)
"""Strings are matched to step over what looks like a comment in them. What is never closed runs
to the end of the text, and every quantifier is possessive, so that any text takes linear time."""

_TRAILING_COMMA_OR_STRING = lazy_pattern(r'"(?:[^"\\]++|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)
CONTAINER_KINDS = frozenset({"a list", "a section"})
"""What `kind_of` says of values that hold others."""

_NOT_A_LINE_END = lazy_pattern(r"[^\n]")


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


def document_in(path: Path, text: str, load: Callable[[str], object]) -> object:
    """The value in the text of a configuration file; `load` is one of the readers above.

    Raises:
        SettingsError: `load` can't read it; names `path` and the line.
    """
    try:
        return load(text)
    except TextProblem as problem:
        form = "YAML" if load is load_yaml else "JSON"
        raise SettingsError.at(path, problem.line, f"not valid {form}: {problem}") from problem


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
