"""What a body of `POST /v1/chat/completions` asks of the agent.

Fields that would change what a client relies on, and that the agent has no use for, are refused:
tools of the client, several answers, probabilities, sound. Fields that tune a model are ignored,
as the profile says how plans are written; `docs/openai.md` lists both.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, Tag, ValidationError
from pydantic.types import Discriminator

from core.base.frozen import frozen
from core.base.text import one_line
from core.errors import UsageError
from core.turn import Exchange
from core.values import Json, JsonObject
from modules.planning.answer_schema import SCHEMA_BYTES_MAX, AnswerSchema
from modules.service.openai_form.errors import Refused
from modules.session.request import MAX_REQUEST_CHARACTERS, clean_text

MESSAGES_MAX: Final = 2_000
"""The largest number of messages of one conversation."""

TEXT_CHARACTERS_MAX: Final = 1_000_000
"""All texts of all messages."""

INSTRUCTIONS_CHARACTERS_MAX: Final = 32_000
"""All system and developer messages: each prompt holds them."""

STOPS_MAX: Final = 4
"""As many as OpenAI takes."""

ERROR_CHARACTERS: Final = 300

_CHOICES: Final = ("content", "stop", "schema")
"""Behind these fields Pydantic names the form that it took."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class TextPart(_Part):
    """A text of a message."""

    type: Literal["text"]
    text: str


class RefusalPart(_Part):
    """Why an earlier answer was none."""

    type: Literal["refusal"]
    refusal: str


class ImageUrl(_Part):
    """Where a picture is; only `data:` is taken."""

    url: str


class ImagePart(_Part):
    """A picture of a message."""

    type: Literal["image_url"]
    image_url: ImageUrl


Part: TypeAlias = Annotated[TextPart | RefusalPart | ImagePart, Field(discriminator="type")]


def _form_of(content: object) -> str:
    return "parts" if isinstance(content, list) else "text"


Content: TypeAlias = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[Part], Tag("parts")], Discriminator(_form_of)
]


class Message(_Part):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """Its texts, a line break between them."""
        if isinstance(self.content, str):
            return self.content
        texts: list[str] = []
        for part in self.content or ():
            match part:
                case TextPart():
                    texts.append(part.text)
                case RefusalPart():
                    texts.append(part.refusal)
                case ImagePart():
                    pass
        return "\n".join(texts) if self.content is not None else self.refusal or ""

    @property
    def images(self) -> list[str]:
        """The addresses of its pictures."""
        parts = self.content if isinstance(self.content, list) else ()
        return [part.image_url.url for part in parts if isinstance(part, ImagePart)]


class StreamOptions(_Part):
    """What a stream tells beside the answer."""

    include_usage: bool | None = None


class JsonSchemaFormat(_Part):
    """The form of an answer, by its schema."""

    name: str = Field(default="schema", max_length=200)
    schema_: JsonObject | bool = Field(default=True, alias="schema")


class ResponseFormat(_Part):
    """The form that an answer must have."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None


class Body(_Part):
    """The fields that are looked at; all others are ignored."""

    model: str
    messages: list[Message] = Field(min_length=1, max_length=MESSAGES_MAX)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    include_reasoning: bool | None = None
    response_format: ResponseFormat | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    tools: list[Json] | None = None
    functions: list[Json] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    modalities: list[str] | None = None
    audio: JsonObject | None = None


@frozen
class Asked:
    """What is asked of the agent.

    Attributes:
        model: the name of the model, as the client gave it.
        request: the last message of the user.
        history: the exchanges before it.
        instructions: the system and developer messages.
        images: `data:` addresses of pictures, oldest first; how many are the last message's own.
        own_images: so many of the last of them came with the last message.
        is_stream: the answer is to come as a stream.
        tells_usage: the stream tells at its end what was used.
        tells_steps: the steps of the run are told as reasoning.
        schema: what the answer has to validate against.
        stops: the answer ends before the first of these texts.
    """

    model: str
    request: str
    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    images: tuple[str, ...] = ()
    own_images: int = 0
    is_stream: bool = False
    tells_usage: bool = False
    tells_steps: bool = False
    schema: AnswerSchema | None = None
    stops: tuple[str, ...] = ()


def read_asked(value: Json) -> Asked:
    """What a body asks; takes a while for a long one.

    Raises:
        Refused: it can't be answered; the error says what of it, and why.
    """
    try:
        body = Body.model_validate(value)
    except ValidationError as error:
        raise _misfit(error) from None
    _refuse_what_is_not_done(body)
    return _asked(body)


def _misfit(error: ValidationError) -> Refused:
    """The first of what is wrong."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place, before = "", None
    for step in first["loc"]:
        is_choice = before in _CHOICES or (isinstance(before, int) and "content" in place)
        if isinstance(step, int):
            place += f"[{step}]"
        elif not is_choice:
            place += f".{step}"
        before = step
    place = one_line(place.removeprefix("."), ERROR_CHARACTERS)
    where = f"{place}: " if place else "the body is no object of the API: "
    return Refused(400, f"{where}{one_line(first['msg'], ERROR_CHARACTERS)}", place or None)


def _refuse_what_is_not_done(body: Body) -> None:
    is_sound = body.audio is not None or any(kind != "text" for kind in body.modalities or ())
    refusals = {
        "tools": (bool(body.tools), "the agent calls tools of its own; leave out 'tools'"),
        "functions": (bool(body.functions), "the agent calls tools of its own; leave it out"),
        "n": (body.n not in (None, 1), "there is one answer to a request; leave out 'n'"),
        "logprobs": (bool(body.logprobs), "an answer has no probabilities; leave out 'logprobs'"),
        "top_logprobs": (bool(body.top_logprobs), "an answer has no probabilities; leave it out"),
        "modalities": (is_sound, "answers are texts; ask for 'text' alone"),
    }
    for param, (is_asked, message) in refusals.items():
        if is_asked:
            raise Refused(400, message, param, "unsupported_parameter")
    for place, message in enumerate(body.messages):
        if message.role in ("tool", "function"):
            raise Refused(
                400,
                f"a message of the role '{message.role}' answers a call of the client's own tools, "
                "and the agent makes none; leave it out",
                f"messages[{place}].role",
                "unsupported_value",
            )


def _asked(body: Body) -> Asked:
    if sum(len(message.text) for message in body.messages) > TEXT_CHARACTERS_MAX:
        told = f"the messages have more than {TEXT_CHARACTERS_MAX:,} characters; begin a new chat"
        raise Refused(400, told, "messages", "context_length_exceeded")
    instructions = [m for m in body.messages if m.role in ("system", "developer")]
    said = [m for m in body.messages if m.role in ("user", "assistant")]
    if not said or said[-1].role != "user":
        told = "the last message has to be the user's: it is the request"
        raise Refused(400, told, "messages", "invalid_value")
    *earlier, last = said
    request = clean_text(last.text)
    if not request:
        raise Refused(400, "the last message is empty; say what you want", "messages")
    if len(request) > MAX_REQUEST_CHARACTERS:
        told = f"the last message has more than {MAX_REQUEST_CHARACTERS:,} characters; shorten it"
        raise Refused(400, told, "messages", "context_length_exceeded")
    own, before = last.images, [url for message in earlier for url in message.images]
    return Asked(
        body.model,
        request,
        tuple(_exchanges(earlier)),
        _instructions(instructions),
        (*before, *own),
        len(own),
        is_stream=bool(body.stream),
        tells_usage=body.stream_options is not None and bool(body.stream_options.include_usage),
        tells_steps=bool(body.include_reasoning),
        schema=_schema(body.response_format),
        stops=_stops(body.stop),
    )


def _instructions(messages: Sequence[Message]) -> str:
    text = "\n\n".join(said for message in messages if (said := clean_text(message.text)))
    if len(text) > INSTRUCTIONS_CHARACTERS_MAX:
        told = f"the system messages have more than {INSTRUCTIONS_CHARACTERS_MAX:,} characters"
        what = "put what is to be read into the user's message, or add it to the documents"
        raise Refused(400, f"{told}; {what}", "messages", "context_length_exceeded")
    return text


def _exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Each of the user's messages with what was answered; a greeting answers nothing."""
    request, answers = "", list[str]()
    for message in messages:
        if message.role == "assistant":
            answers.append(clean_text(message.text))
            continue
        if request or answers:
            yield Exchange(request, "\n\n".join(answers) or None)
        request, answers = clean_text(message.text), []
    if request or answers:
        yield Exchange(request, "\n\n".join(answers) or None)


def _schema(wanted: ResponseFormat | None) -> AnswerSchema | None:
    if wanted is None or wanted.type == "text":
        return None
    form, param = wanted.json_schema or JsonSchemaFormat(), "response_format"
    any_object: JsonObject = {"type": "object"}
    schema = form.schema_ if wanted.type == "json_schema" else any_object
    if len(json.dumps(schema)) > SCHEMA_BYTES_MAX:
        raise Refused(400, f"the schema has more than {SCHEMA_BYTES_MAX:,} bytes", param)
    try:
        return AnswerSchema(schema, one_line(form.name, 100))
    except UsageError as error:
        raise Refused(400, str(error), param, "invalid_json_schema") from None


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop or []
    if len(stops) > STOPS_MAX:
        raise Refused(400, f"'stop' takes up to {STOPS_MAX} texts", "stop", "invalid_value")
    return tuple(filter(None, stops))
