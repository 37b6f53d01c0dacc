"""The texts in a call's arguments, each with what its name says it is for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.tools.ranking import WORD
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject

DESCRIPTION_CHARACTERS: Final = 300
"""How much of a parameter's description is read."""

_PATH_TEXT: Final = (
    "path paths file files filename filenames filepath folder folders dir dirs directory "
    "directories uri uris root cwd"
)
_PLACE_TEXT: Final = "source destination src dst dest target input output attachment attachments"
_URL_TEXT: Final = (
    "url urls uri uris link links href site website webpage page host hostname domain endpoint "
    "webhook callback origin server"
)
_CONTENT_TEXT: Final = (
    "body content contents text texts message messages markdown html note notes summary "
    "description comment comments caption details observation observations"
)
_QUERY_TEXT: Final = (
    "query queries q question search keyword keywords term terms topic prompt subject title"
)
_COMMAND_TEXT: Final = "command commands cmd args argv script shell code"
_SLUG_TEXT: Final = (
    "repo repository branch ref tag version package type mime model format unit units timezone "
    "language locale category label labels"
)
_NAMING_TEXT: Final = "tool tools server servers mcp"

_PROPERTY_TEXT: Final = (
    "id ids uuid guid number no index hash checksum type format size mode encoding extension count "
    "version"
)

PATH_WORDS: Final = frozenset(_PATH_TEXT.split())
PLACE_WORDS: Final = frozenset(_PLACE_TEXT.split())
URL_WORDS: Final = frozenset(_URL_TEXT.split())
CONTENT_WORDS: Final = frozenset(_CONTENT_TEXT.split())
QUERY_WORDS: Final = frozenset(_QUERY_TEXT.split())
COMMAND_WORDS: Final = frozenset(_COMMAND_TEXT.split())
SLUG_WORDS: Final = frozenset(_SLUG_TEXT.split())
NAMING_WORDS: Final = frozenset(_NAMING_TEXT.split())
PROPERTY_WORDS: Final = frozenset(_PROPERTY_TEXT.split())
"""With these a name says what belongs to a thing, not where it is: `file_id`, `page_count`."""


@dataclass(frozen=True, slots=True)
class ArgumentText:
    """A text in an argument; `words` are those of its parameter's name.

    `hints` are those of the parameter's description where the text is the whole argument.
    """

    words: frozenset[str]
    text: str
    hints: frozenset[str] = frozenset()

    @property
    def is_path(self) -> bool:
        """Whether it is said to be a path, so that a bare name is one."""
        return bool(self.words & PATH_WORDS) and not self._is_property

    @property
    def may_be_path(self) -> bool:
        """Whether what looks like a path is one."""
        return not (self.is_content or self.is_query or self.words & SLUG_WORDS)

    @property
    def is_place(self) -> bool:
        """Whether it is the place of something, so that what looks like a file's name is one."""
        return bool(self.words & PLACE_WORDS or self.hints & PATH_WORDS) and not self._is_property

    @property
    def is_url(self) -> bool:
        """Whether it is said to be an address, so that a bare host is one."""
        return bool(self.words & URL_WORDS) and not self._is_property

    @property
    def is_content(self) -> bool:
        """Whether it is written for people to read."""
        return bool(self.words & CONTENT_WORDS) and not self.words & (URL_WORDS | PATH_WORDS)

    @property
    def is_query(self) -> bool:
        """Whether it is searched for, and names nothing that is opened."""
        return bool(self.words & QUERY_WORDS) and not self.words & (URL_WORDS | PATH_WORDS)

    @property
    def is_command(self) -> bool:
        """Whether it is run: each word in it may be a path."""
        return bool(self.words & COMMAND_WORDS)

    @property
    def _is_property(self) -> bool:
        return bool(self.words & PROPERTY_WORDS)

    @property
    def names_tools(self) -> bool:
        """Whether it is said to name a tool or a server."""
        return bool(self.words & NAMING_WORDS)


def texts_of(tool: ToolSpec, arguments: JsonObject) -> Iterator[ArgumentText]:
    """Every text in the arguments, the names in objects included."""
    hints = {parameter.name: _hints(parameter.schema) for parameter in tool.parameters}
    waiting: list[tuple[str, Json]] = [("", arguments)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            yield ArgumentText(words_of(name), value, hints.get(name, frozenset()))
        elif isinstance(value, list):
            waiting += [(name, item) for item in value]
        elif isinstance(value, dict):
            for key, inner in value.items():
                if not key.isidentifier():
                    yield ArgumentText(words_of(name), key)
                waiting.append((key, inner))


def words_of(name: str) -> frozenset[str]:
    """The words of a name, in `snake_case` or `camelCase`."""
    return frozenset(word.lower() for word in WORD.findall(name[:DESCRIPTION_CHARACTERS]))


def _hints(schema: JsonObject) -> frozenset[str]:
    described, form = schema.get("description"), schema.get("format")
    texts = [text for text in (described, form) if isinstance(text, str)]
    return words_of(" ".join(texts))
