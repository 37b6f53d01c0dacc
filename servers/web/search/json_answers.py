"""The answers of engines with a JSON interface, checked before a word of them is used."""

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator

from servers.web.faults import SearchUnavailable
from servers.web.ports import Fetched, SearchResult
from servers.web.search.engine import CHANGE, Engine
from servers.web.search.results import Hit, numbered

AnswerT = TypeVar("AnswerT", bound=BaseModel)
RowT = TypeVar("RowT")

MAX_ROWS = 2_000
"""More than all engines behind one SearXNG give for one page."""


def _none_if_misshapen(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        return None


Lenient: TypeAlias = Annotated[RowT | None, WrapValidator(_none_if_misshapen)]
"""One row of a list: None if it has another shape, so that the others are still read."""


Rows: TypeAlias = Annotated[tuple[Lenient[RowT], ...], Field(max_length=MAX_ROWS)]
"""All rows of a list, if they are plausibly many."""


class Answer(BaseModel):
    """What all answers have in common: fields that we don't know are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_answer(fetched: Fetched, shape: type[AnswerT], engine: Engine) -> AnswerT:
    """The body as the documented answer.

    Raises:
        SearchUnavailable: it is no JSON, or of another shape; the message names the place.
    """
    try:
        return shape.model_validate_json(fetched.body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        kind = fetched.media_type or "something"
        raise SearchUnavailable(f"{engine.label} sent {kind} that is no JSON. {CHANGE}")
    place = ".".join(str(part) for part in first["loc"])[:80]
    raise SearchUnavailable(
        f"{engine.label} sent JSON of another shape than documented ({place}: {first['msg']}). "
        f"{CHANGE}"
    )


def results_of(hits: list[Hit], rows: int, max_results: int, engine: Engine) -> list[SearchResult]:
    """The hits of an answer with `rows` rows, numbered.

    Raises:
        SearchUnavailable: there are rows, and none of them could be read.
    """
    results = numbered(hits, max_results)
    if rows and not results:
        raise SearchUnavailable(
            f"{engine.label} sent {rows} results, and none has a link that can be read. {CHANGE}"
        )
    return results
