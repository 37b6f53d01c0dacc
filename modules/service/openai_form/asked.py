"""What a body of `POST /v1/chat/completions` asks of the agent.

Fields that would change what a client relies on, and that the agent has no use for, are refused.
Fields that tune a model are ignored, as the profile says how plans are written; `docs/openai.md`
lists both.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json

from core.base.frozen import frozen
from core.base.json_text import at_once, excess
from core.base.text import one_line
from core.errors import UsageError
from core.tools.json_schema import as_object
from core.turn import Exchange
from core.values import Json, JsonObject
from modules.planning.answer_schema import SCHEMA_BYTES_MAX, AnswerSchema
from modules.service.openai_form.errors import Unfit
from modules.service.wrong_fields import place_of, wrong_fields
from modules.session.request import MAX_REQUEST_CHARACTERS, clean_text

MESSAGES_MAX: Final = 2_000
"""The largest number of messages of one conversation."""

TEXT_CHARACTERS_MAX: Final = 1_000_000
"""All texts of all messages."""

INSTRUCTIONS_CHARACTERS_MAX: Final = 32_000
"""All system and developer messages: each prompt holds them."""

STOPS_MAX: Final = 4
"""As many as OpenAI takes."""

_OWN_TOOLS: Final = "the agent calls tools of its own, so turn off those of your program"

_NOT_DONE: Final[Mapping[str, tuple[str, Sequence[Json]]]] = {
    "tools": (_OWN_TOOLS, [None, []]),
    "functions": (_OWN_TOOLS, [None, []]),
    "n": ("there is one answer to a request", [None, 1]),
    "logprobs": ("an answer has no probabilities", [None, False]),
    "top_logprobs": ("an answer has no probabilities", [None, 0]),
    "modalities": ("answers are texts", [None, [], ["text"]]),
    "audio": ("answers are texts", [None]),
}
"""Why a field is refused, and the values of it that ask for nothing."""


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ImageUrl(_Read):
    """Where a picture is; only `data:` is taken."""

    url: str


class Part(_Read):
    """A part of a message: the field that its type names."""

    type: Literal["text", "refusal", "image_url"]
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "Part":
        if getattr(self, self.type) is None:
            raise ValueError(f"lacks `{self.type}`")
        return self


def _parts(content: Json) -> Json:
    """A text is one part, and no content none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is not None and not isinstance(content, list):
        raise ValueError("must be a text, or a list of parts")
    return content or []


class Message(_Read):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[Part], BeforeValidator(_parts)] = Field(default_factory=list[Part])
    refusal: str | None = None

    @property
    def text(self) -> str:
        """Its texts, a line break between them."""
        texts = [part.text or part.refusal or "" for part in self.content if not part.image_url]
        return clean_text("\n".join(texts) or self.refusal or "")

    @property
    def images(self) -> tuple[str, ...]:
        """The addresses of its pictures."""
        return tuple(part.image_url.url for part in self.content if part.image_url is not None)


class StreamOptions(_Read):
    """What a stream tells beside the answer."""

    include_usage: bool | None = None


class JsonSchemaFormat(_Read):
    """The form of an answer, by its schema."""

    name: str = Field(default="schema", max_length=200)
    schema_: JsonObject | bool = Field(default=True, alias="schema")


class ResponseFormat(_Read):
    """The form that an answer must have."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None


def _texts(stop: Json) -> Json:
    if stop is not None and not isinstance(stop, str | list):
        raise ValueError("must be a text, or a list of texts")
    return [stop] if isinstance(stop, str) else stop or []


class Body(_Read):
    """The fields that are looked at; those of `_NOT_DONE` are refused, all others ignored."""

    model: str
    messages: list[Message] = Field(min_length=1, max_length=MESSAGES_MAX)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    include_reasoning: bool | None = None
    response_format: ResponseFormat | None = None
    stop: Annotated[list[str], BeforeValidator(_texts), Field(max_length=STOPS_MAX)] = Field(
        default_factory=list[str]
    )


@frozen
class Asked:
    """What is asked of the agent.

    Attributes:
        body: as it came, checked.
        request: the last message of the user.
        history: the exchanges before it.
        instructions: the system and developer messages.
        images: `data:` addresses of pictures of the last message.
        earlier_images: those of the messages before, oldest first.
        schema: what the answer has to validate against.
    """

    body: Body
    request: str
    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    images: tuple[str, ...] = ()
    earlier_images: tuple[str, ...] = ()
    schema: AnswerSchema | None = None


def read_asked(data: bytes) -> Asked:
    """What a body asks; takes a while for a long one.

    Raises:
        Unfit: it can't be answered; the error says what of it, and why.
    """
    if (surplus := at_once(excess(data))) is not None:
        raise Unfit(f"the body holds {surplus}; send less")
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise Unfit(f"the body is no JSON: {error}", code="invalid_json") from None
    for param, (why, harmless) in _NOT_DONE.items():
        if as_object(value).get(param) not in harmless:
            raise Unfit(f"{why}; leave out '{param}'", param, "unsupported_parameter")
    try:
        return _asked(Body.model_validate(value))
    except ValidationError as error:
        place = one_line(place_of(error.errors()[0]), 300)
        raise Unfit(wrong_fields(error), place or None) from None


def _asked(body: Body) -> Asked:
    instructions = [m.text for m in body.messages if m.role in ("system", "developer")]
    said = [m for m in body.messages if m.role in ("user", "assistant")]
    if not said or said[-1].role != "user":
        told = "the last message has to be the user's: it is the request"
        raise Unfit(told, "messages", "invalid_value")
    *earlier, last = said
    if not last.text:
        raise Unfit("the last message is empty; say what you want", "messages")
    told = "\n\n".join(text for text in instructions if text)
    _bound("the messages have", "".join(m.text for m in said), TEXT_CHARACTERS_MAX, "begin anew")
    _bound("the last message has", last.text, MAX_REQUEST_CHARACTERS, "shorten it")
    advice = "put what is to be read into the user's message, or add it to the documents"
    _bound("the system messages have", told, INSTRUCTIONS_CHARACTERS_MAX, advice)
    return Asked(
        body,
        last.text,
        tuple(_exchanges(said)),
        told,
        last.images,
        tuple(url for message in earlier for url in message.images),
        _schema(body.response_format),
    )


def _bound(what: str, text: str, most: int, advice: str) -> None:
    if len(text) > most:
        told = f"{what} more than {most:,} characters; {advice}"
        raise Unfit(told, "messages", "context_length_exceeded")


def _exchanges(said: Sequence[Message]) -> Iterator[Exchange]:
    """Each of the user's messages but the last, with what was answered; a greeting answers none."""
    request, answers = "", list[str]()
    for message in said:
        if message.role == "assistant":
            answers.append(message.text)
            continue
        if request or answers:
            yield Exchange(request, "\n\n".join(answers) or None)
        request, answers = message.text, []


def _schema(wanted: ResponseFormat | None) -> AnswerSchema | None:
    if wanted is None or wanted.type == "text":
        return None
    form, param = wanted.json_schema or JsonSchemaFormat(), "response_format"
    any_object: JsonObject = {"type": "object"}
    schema = form.schema_ if wanted.type == "json_schema" else any_object
    if len(json.dumps(schema)) > SCHEMA_BYTES_MAX:
        raise Unfit(f"the schema has more than {SCHEMA_BYTES_MAX:,} bytes", param)
    try:
        return AnswerSchema(schema, one_line(form.name, 100))
    except UsageError as error:
        raise Unfit(str(error), param, "invalid_json_schema") from None
