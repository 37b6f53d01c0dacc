"""Markdown files for an agent: read within bounds, their YAML front matter apart from the rest.

Files of other agents are often no YAML to the letter (`argument-hint: [file] [line]`,
`description: Note: ask first`). A front matter that can't be read is tried once more with such
values in quotes.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from config.settings import SettingsError
from config.texts import TextProblem, kind_of, load_yaml
from core.base.files import FileTooLarge, read_regular
from core.base.frozen import frozen
from core.base.text import lazy_pattern, with_line_feeds

TEXT_BYTES_MAX: Final = 256 * 1024
"""A longer file for an agent is not read."""

FRONT_CHARACTERS_MAX: Final = 16 * 1024

_BORDER: Final = lazy_pattern(r"^---[ \t]*$", re.MULTILINE)
_PLAIN_VALUE: Final = lazy_pattern(
    r"^(name|description|argument-hint|allowed-tools|model):[ \t]+(?!['\"|>&*])(\S.*)$",
    re.MULTILINE,
)


@frozen
class Markdown:
    """A file's front matter and what follows it; `path` is for messages."""

    path: Path
    front: Mapping[str, object]
    body: str

    def value(self, key: str) -> str:
        """What the front matter says there, as text on one line; empty where it says nothing.

        Raises:
            SettingsError: it is no text.
        """
        value = self.front.get(key)
        if isinstance(value, list):  # [file] is a list to YAML, and a hint to its writer
            value = f"[{', '.join(map(str, cast('list[object]', value)))}]"
        if value is None or isinstance(value, str | int | float):
            return " ".join(str("" if value is None else value).split())
        raise SettingsError.at(self.path, None, f"'{key}' is {kind_of(value)}; it should be text")


def read_text(path: Path) -> str:
    r"""The text of a file, line ends as `\n`; waits for no pipe.

    Raises:
        SettingsError: it can't be read, is too long, or no text.
    """
    return as_text(read_data(path), path)


def read_data(path: Path, bytes_max: int = TEXT_BYTES_MAX) -> bytes:
    """What a file holds.

    Raises:
        SettingsError: it can't be read, or is too long.
    """
    try:
        return read_regular(path, bytes_max)
    except (FileTooLarge, ValueError) as error:  # ValueError: a path with a NUL
        raise SettingsError.at(path, None, str(error)) from error
    except OSError as error:
        raise SettingsError.at(path, None, error.strerror or str(error)) from error


def as_text(data: bytes, path: Path) -> str:
    """The text that a file's bytes are.

    Raises:
        SettingsError: they are none.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError.at(path, None, f"not UTF-8 text (byte {error.start})") from error
    if "\0" in text:
        raise SettingsError.at(path, None, "no text: it holds a NUL character")
    return with_line_feeds(text)


def parse_markdown(text: str, path: Path) -> Markdown:
    """A text with its front matter read, where it has one.

    Raises:
        SettingsError: the front matter is never closed, too long, or no section of YAML.
    """
    if _BORDER.match(text) is None:
        return Markdown(path, {}, text)
    begin = text.find("\n") + 1
    end = _BORDER.search(text, begin, begin + FRONT_CHARACTERS_MAX) if begin else None
    if end is None:
        most = f"{FRONT_CHARACTERS_MAX:,} characters"
        raise SettingsError.at(path, 1, f"the front matter has no end, a line '---', in {most}")
    front = _front(text[begin : end.start()], path)
    return Markdown(path, front, text[end.end() :].lstrip("\n"))


def _front(text: str, path: Path) -> Mapping[str, object]:
    try:
        value = load_yaml(text, takes_aliases=False)
    except TextProblem as problem:
        try:
            value = load_yaml(_PLAIN_VALUE.sub(_in_quotes, text), takes_aliases=False)
        except TextProblem:
            line = problem.line + 1 if problem.line is not None else None
            raise SettingsError.at(path, line, f"front matter: {problem}") from problem
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError.at(path, 2, f"the front matter is {kind_of(value)}, not a section")
    return {str(key): each for key, each in cast("dict[object, object]", value).items()}


def _in_quotes(found: re.Match[str]) -> str:
    return f"{found[1]}: {json.dumps(found[2].rstrip())}"
