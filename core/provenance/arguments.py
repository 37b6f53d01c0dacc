"""The texts in a call's arguments, each with what its name says it is for."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from core.base.frozen import frozen
from core.tools.ranking import WORD
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

DESCRIPTION_CHARACTERS: Final = 300
"""How much of a parameter's description is read."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PATH: Final = _words(
    "path paths file files filename filenames filepath folder folders dir dirs directory "
    "directories uri uris root cwd"
)
_PLACE: Final = _words("source destination src dst dest target input output attachment attachments")
_URL: Final = _words(
    "url urls uri uris link links href site website webpage page host hostname domain endpoint "
    "webhook callback origin server"
)
_CONTENT: Final = _words(
    "body content contents text texts message messages markdown html note notes summary "
    "description comment comments caption details observation observations"
)
_QUERY: Final = _words(
    "query queries q question search keyword keywords term terms topic prompt subject title"
)
_COMMAND: Final = _words("command commands cmd cmdline args argv script shell bash powershell code")
_SLUG: Final = _words(
    "repo repository branch ref tag version package type mime model format unit units timezone "
    "language locale category label labels"
)
_NAMING: Final = _words("tool tools server servers mcp")
_FOR_PEOPLE: Final = _CONTENT | _words("subject title topic heading")
_PROPERTY: Final = _words(
    "id ids uuid guid number no index hash checksum type format size mode encoding extension count "
    "version"
)
"""With these a name says what belongs to a thing, not where it is: `file_id`, `page_count`."""


@frozen
class ArgumentText:
    """A text in an argument; `words` are those of its parameter's name.

    `hints` are those of the parameter's description where the text is the whole argument.
    `argument` is the name of the argument that it stands in, `name` the nearest one.
    """

    words: frozenset[str]
    text: str
    hints: frozenset[str] = frozenset()
    argument: str = ""
    name: str = ""

    @property
    def is_path(self) -> bool:
        """Whether it is said to be a path, so that a bare name is one."""
        return bool(self.words & _PATH) and not self._is_property

    @property
    def may_be_path(self) -> bool:
        """Whether what looks like a path is one."""
        return not (self.is_content or self.is_query or self.words & _SLUG)

    @property
    def is_place(self) -> bool:
        """Whether it is the place of something, so that what looks like a file's name is one."""
        return bool(self.words & _PLACE or self.hints & _PATH) and not self._is_property

    @property
    def is_url(self) -> bool:
        """Whether it is said to be an address, so that a bare host is one."""
        return bool(self.words & _URL) and not self._is_property

    @property
    def is_content(self) -> bool:
        """Whether it is written for people to read."""
        return bool(self.words & _CONTENT) and not self.words & (_URL | _PATH)

    @property
    def is_query(self) -> bool:
        """Whether it is searched for, and names nothing that is opened."""
        return bool(self.words & _QUERY) and not self.words & (_URL | _PATH)

    @property
    def is_command(self) -> bool:
        """Whether it is run: each word in it may be a path."""
        return bool(self.words & _COMMAND)

    @property
    def _is_property(self) -> bool:
        return bool(self.words & _PROPERTY)

    @property
    def names_tools(self) -> bool:
        """Whether it is said to name a tool or a server."""
        return bool(self.words & _NAMING)


def texts_of(tool: ToolSpec, arguments: JsonObject) -> Iterator[ArgumentText]:
    """Every text in the arguments, names that no schema has included."""
    return (text for text, value in values_of(tool, arguments) if isinstance(value, str))


def values_of(tool: ToolSpec, arguments: JsonObject) -> Iterator[tuple[ArgumentText, Json]]:
    """Every value in the arguments that is no list or object, and names that no schema has."""
    hints = {parameter.name: _hints(parameter.schema) for parameter in tool.parameters}
    waiting: list[tuple[str, str, Json]] = [
        (name, name, value) for name, value in inner_arguments(tool, arguments).items()
    ]
    declared = tool.property_names
    for name, _, _ in waiting:
        if name not in declared:
            yield ArgumentText(frozenset(), name, argument=name, name=name), name
    while waiting:
        argument, name, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(argument, name, item) for item in value]
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key not in declared:
                    yield ArgumentText(words_of(name), key, argument=argument, name=name), key
                waiting.append((argument, key, inner))
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            hinted = hints.get(name, frozenset[str]())
            yield ArgumentText(words_of(name), text, hinted, argument, name), value


def inner_arguments(tool: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments by their names, the object that wraps them taken off."""
    inner = arguments.get(tool.wrapper) if tool.wrapper is not None else None
    return inner if isinstance(inner, dict) and len(arguments) == 1 else arguments


PROSE_CHARACTERS_MIN: Final = 200
PROSE_WORDS_MIN: Final = 25
"""A longer text of more words is one for people to read, whatever its parameter is called."""


def is_plain_content(
    tool: ToolSpec, argument: ArgumentText, value: Json, named: Sequence[str] | None
) -> bool:
    """Whether a value is the text of a letter, a note or a file, which says nothing else.

    By `named`, the parameters that the profile names for the tool, if it does; else by the last
    word of the parameter's name, its schema and the text's length.
    """
    if not isinstance(value, str):
        return False
    if named is not None:
        return argument.name in named
    schemas = [p.schema for p in tool.parameters if p.name == argument.name]
    says_more = any({"enum", "const", "format", "pattern"} & {*schema} for schema in schemas)
    if says_more or argument.is_command:
        return False
    words = WORD.findall(argument.name[:DESCRIPTION_CHARACTERS])
    if words and words[-1].lower() in _FOR_PEOPLE:
        return True
    is_place = argument.is_path or argument.is_url or argument.is_place or argument.names_tools
    is_long = len(value) >= PROSE_CHARACTERS_MIN
    return is_long and not is_place and len(value.split(None, PROSE_WORDS_MIN)) > PROSE_WORDS_MIN


def words_of(name: str) -> frozenset[str]:
    """The words of a name, in `snake_case` or `camelCase`."""
    return frozenset(word.lower() for word in WORD.findall(name[:DESCRIPTION_CHARACTERS]))


def _hints(schema: JsonObject) -> frozenset[str]:
    described, form = schema.get("description"), schema.get("format")
    texts = [text for text in (described, form) if isinstance(text, str)]
    return words_of(" ".join(texts))
