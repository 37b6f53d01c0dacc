"""The texts in a call's arguments, each with what its name says it is for."""

from collections.abc import Iterator
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
_COMMAND: Final = _words("command commands cmd args argv script shell code")
_SLUG: Final = _words(
    "repo repository branch ref tag version package type mime model format unit units timezone "
    "language locale category label labels"
)
_NAMING: Final = _words("tool tools server servers mcp")
_PROPERTY: Final = _words(
    "id ids uuid guid number no index hash checksum type format size mode encoding extension count "
    "version"
)
"""With these a name says what belongs to a thing, not where it is: `file_id`, `page_count`."""


@frozen
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
