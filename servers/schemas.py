"""Pydantic inputs and outputs of the bundled servers' tools.

Every tool takes one model as its argument `input`, on the wire `{"input": {…}}`, and answers one
with the field `result`. Numbers are read leniently where the meaning is beyond doubt: "3" and
" 2.5 " are numbers (models write them so), and 3.0 is a whole number, so that the result of a
division can go on into a factorial. `true`, NaN and infinity are not numbers.
"""

import math
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from core.base.text import shorten
from servers.shared.errors import ToolInputError

LIST_ITEMS_MAX = 100_000
"""Longest list of numbers that a tool takes."""

STRING_CHARACTERS_MAX = 100_000
"""Longest text that a tool takes apart."""

PATH_CHARACTERS_MAX = 4096
"""Longest file path (PATH_MAX of Linux)."""

QUERY_CHARACTERS_MAX = 2000
"""Longest question that documents or the web are searched for; engines take less, and say so."""

TOP_K_MAX = 50
"""How many passages or pages one search gives at most."""

URL_CHARACTERS_MAX = 8_000
"""Longest address of a page: what RFC 9110, section 4.1, wants to work everywhere."""

QUOTED_CHARACTERS_MAX = 40
"""How much of a rejected value an error message quotes."""


def read_number(value: object) -> int | float:
    """`value` as a finite number; text that spells one counts, whole numbers stay whole.

    Raises:
        ToolInputError: it is something else.
    """
    match value:
        case bool():
            number = None
        case int() | float():
            number = value
        case str():
            number = _spelled_number(value.strip())
        case _:
            number = None
    if number is None:
        raise ToolInputError(f"must be a number such as 3 or 2.5, not {_quoted(value)}")
    if isinstance(number, float) and not math.isfinite(number):
        raise ToolInputError(f"must be a finite number, not {_quoted(value)}")
    return number


def read_whole_number(value: object) -> int:
    """`value` as a whole number; 3.0 counts.

    Raises:
        ToolInputError: it is something else.
    """
    number = read_number(value)
    if isinstance(number, float) and not number.is_integer():
        raise ToolInputError(f"must be a whole number, not {_quoted(value)}")
    return int(number)


def _spelled_number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _quoted(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case list() | dict():
            return "a list" if isinstance(value, list) else "an object"
        case _:
            return shorten(repr(value), QUOTED_CHARACTERS_MAX)


Number: TypeAlias = Annotated[
    int | float, PlainValidator(read_number), WithJsonSchema({"type": "number"})
]
"""A whole or decimal number; integers keep every digit."""

WholeNumber: TypeAlias = Annotated[
    int, PlainValidator(read_whole_number), WithJsonSchema({"type": "integer"})
]
"""A whole number."""


def _check_count(count: int) -> int:
    if not 1 <= count <= TOP_K_MAX:
        raise ToolInputError(f"must be from 1 to {TOP_K_MAX}")
    return count


def _check_offset(offset: int) -> int:
    if offset < 0:
        raise ToolInputError("must be 0 or more")
    return offset


Count: TypeAlias = Annotated[
    int,
    PlainValidator(read_whole_number),
    AfterValidator(_check_count),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": TOP_K_MAX}),
]
"""How many passages or pages are wanted."""

Offset: TypeAlias = Annotated[
    int,
    PlainValidator(read_whole_number),
    AfterValidator(_check_offset),
    WithJsonSchema({"type": "integer", "minimum": 0}),
]
"""How much is passed over."""


Address: TypeAlias = Annotated[
    str,
    Field(description="an http or https address", min_length=1, max_length=URL_CHARACTERS_MAX),
]
"""A page's address; whether it may be asked is decided where it is fetched."""


class ToolInput(BaseModel):
    """Base of all inputs: an argument that a tool doesn't know is an error, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolOutput(BaseModel):
    """Base of all outputs; each has the one field `result`."""

    model_config = ConfigDict(frozen=True)


class AddInput(ToolInput):
    """The two numbers to add."""

    a: Number = Field(description="first number")
    b: Number = Field(description="second number")


class SubtractInput(ToolInput):
    """What to subtract, and from what."""

    a: Number = Field(description="number to subtract from")
    b: Number = Field(description="number that is taken away")


class MultiplyInput(ToolInput):
    """The two factors."""

    a: Number = Field(description="first factor")
    b: Number = Field(description="second factor")


class DivideInput(ToolInput):
    """Dividend and divisor."""

    a: Number = Field(description="number that is divided")
    b: Number = Field(description="number to divide by, not 0")


class PowerInput(ToolInput):
    """Base and exponent."""

    a: Number = Field(description="base")
    b: Number = Field(description="exponent")


class CbrtInput(ToolInput):
    """What to take the cube root of."""

    a: Number = Field(description="number whose cube root is wanted; may be negative")


class FactorialInput(ToolInput):
    """What to take the factorial of."""

    a: WholeNumber = Field(description="whole number, 0 or more")


class RemainderInput(ToolInput):
    """Dividend and divisor of a division whose rest is wanted."""

    a: Number = Field(description="number that is divided")
    b: Number = Field(description="number to divide by, not 0; the result has its sign")


class AngleInput(ToolInput):
    """An angle."""

    a: Number = Field(description="angle in radians; math.radians(x) if it is in degrees")


class StringInput(ToolInput):
    """A text to take apart."""

    string: str = Field(
        description="text whose characters are wanted", max_length=STRING_CHARACTERS_MAX
    )


class NumbersInput(ToolInput):
    """The exponents of an exponential sum."""

    numbers: list[Number] = Field(
        description="exponents, each 709 at most", max_length=LIST_ITEMS_MAX, fail_fast=True
    )


class FibonacciInput(ToolInput):
    """How much of the Fibonacci sequence."""

    n: WholeNumber = Field(description="how many numbers, counted from 0, 1")


class ThumbnailInput(ToolInput):
    """Which image to shrink."""

    image_path: str = Field(
        description="path of an image file", min_length=1, max_length=PATH_CHARACTERS_MAX
    )


class NumberOutput(ToolOutput):
    """A number, whole where the computation is exact."""

    result: Number


class WholeNumberOutput(ToolOutput):
    """A whole number."""

    result: WholeNumber


class WholeNumbersOutput(ToolOutput):
    """Whole numbers, in order."""

    result: list[int]


class ThumbnailSize(BaseModel):
    """What a thumbnail is like; the picture itself is the image block beside it."""

    model_config = ConfigDict(frozen=True)

    format: Literal["png"] = "png"
    width: int = Field(description="pixels")
    height: int = Field(description="pixels")
    original_width: int = Field(description="pixels, before orientation is applied")
    original_height: int = Field(description="pixels, before orientation is applied")
    size_bytes: int = Field(description="bytes of the PNG")


class ThumbnailOutput(ToolOutput):
    """The size of the thumbnail that was made."""

    result: ThumbnailSize


class SearchDocumentsInput(ToolInput):
    """What to look for in the stored documents, and how."""

    query: str = Field(
        description="what to look for: a question or words",
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
    )
    top_k: Count = Field(default=5, description="how many passages")
    file: str | None = Field(
        default=None,
        max_length=PATH_CHARACTERS_MAX,
        description="only in this document, named as list_documents shows it",
    )
    mode: Literal["hybrid", "words", "vectors"] = Field(
        default="hybrid", description="words: exact words; vectors: meaning; hybrid: both"
    )


class ListDocumentsInput(ToolInput):
    """Which part of the list of documents."""

    offset: Offset = Field(default=0, description="how many documents to pass over")


class GetDocumentInput(ToolInput):
    """Which document to read, and from where on."""

    file: str = Field(
        description="a document, named as list_documents shows it",
        min_length=1,
        max_length=PATH_CHARACTERS_MAX,
    )
    offset: Offset = Field(default=0, description="characters to pass over")


class ExtractPdfInput(ToolInput):
    """Which PDF to turn into markdown."""

    file_path: str = Field(
        description="a PDF inside the document folders",
        min_length=1,
        max_length=PATH_CHARACTERS_MAX,
    )


class WebpageInput(ToolInput):
    """Which page to turn into markdown."""

    url: Address
    offset: Offset = Field(default=0, description="characters to pass over, to read on")


class SearchWebInput(ToolInput):
    """What to look for on the web."""

    query: str = Field(
        description="what to look for: a few words or a question",
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
    )
    max_results: Count = Field(default=10, description="how many results")


class DownloadInput(ToolInput):
    """Which page to read, and from where on."""

    url: Address
    offset: Offset = Field(default=0, description="characters to pass over, to read on")
    raw: bool = Field(default=False, description="true: the HTML source, not the text")


class SearchMemoryInput(ToolInput):
    """What to look for in earlier conversations, and how."""

    query: str = Field(
        description="what was spoken about: a question or words",
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
    )
    top_k: Count = Field(default=5, description="how many exchanges")
    mode: Literal["hybrid", "words", "vectors"] = Field(
        default="hybrid", description="words: exact words; vectors: meaning; hybrid: both"
    )
    as_json: bool = Field(default=False, description="for programs: a JSON text, not prose")


class RememberInput(ToolInput):
    """What to keep about the user."""

    text: str = Field(
        description="the fact or preference in one sentence, as the user stated it",
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
    )


class RecallInput(ToolInput):
    """Which remembered facts are wanted."""

    subject: str = Field(
        default="",
        description="what the facts are about; empty: all facts",
        max_length=QUERY_CHARACTERS_MAX,
    )


class ForgetInput(ToolInput):
    """Which remembered fact to forget."""

    fact: str = Field(
        description="what the fact says, some of its words, or its id",
        min_length=1,
        max_length=QUERY_CHARACTERS_MAX,
    )


class TextOutput(ToolOutput):
    """A text."""

    result: str
