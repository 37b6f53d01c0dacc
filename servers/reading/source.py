"""What is read, and what comes of it."""

from pathlib import PurePath

from core.base.frozen import frozen
from servers.reading.text.encodings import text_of


class ExtractionError(Exception):
    """A file can't be read: damaged, encrypted, too large, of an unknown kind.

    The message is one line for a person or a model.
    """


class TakesLong(ExtractionError):
    """It was not read within the time that was given for a first attempt."""


ENCRYPTED = "it is encrypted with a password; save a copy without one"


@frozen
class Source:
    """A file in memory, or an answer of the web, which has the `url` that it came from.

    `charset` is what its mail or its server says of it, else empty.
    """

    name: str
    data: bytes
    charset: str = ""
    url: str = ""

    @property
    def suffix(self) -> str:
        """`.pdf`, in lower case; empty without one."""
        return PurePath(self.name).suffix.lower()

    @property
    def text(self) -> str:
        """The data decoded."""
        return text_of(self.data, self.charset)


@frozen
class Extracted:
    """The content of a file or a page as markdown.

    `page_starts` are the offsets in `markdown` (characters) where its pages begin, the first one
    included; empty for a format that has no pages. `notes` say what could not be read.
    `first_line` is the file's line that the markdown's first is: 0 where that is a fence of ours.
    Of a page of the web: its `author`, its `date` (ISO 8601, the day of first publication), and
    the addresses of `pictures` without a description, whose places `picture_mark`s hold.
    """

    markdown: str
    title: str = ""
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    first_line: int = 1
    author: str = ""
    date: str = ""
    pictures: tuple[str, ...] = ()


PICTURES_MAX = 5
"""Pictures without alternative text that are described, of one page of the web."""

_MARKS = ("⎡", "⎦")
"""Around a picture's number: U+23A1 and U+23A6, pieces of tall brackets, which are taken out of
pages before and which hardly any text holds. Libraries drop characters of private use."""


def picture_mark(number: int) -> str:
    """What stands in the text in place of a picture that is to be described."""
    return f"{_MARKS[0]}{number}{_MARKS[1]}"


def without_marks(text: str) -> str:
    """Text in which no mark can stand that is not ours."""
    return text.replace(_MARKS[0], "").replace(_MARKS[1], "")
