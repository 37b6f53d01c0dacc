"""A prompt as an async function: called with the values that fill it, it gives what it promises.

What comes back is an object of a shape (a Pydantic model or a JSON Schema), or text. The model is
held to a shape's JSON Schema where its backend can do that. Whatever it writes is looked through
for JSON, checked by the shape and by a check of the caller's own, and if it doesn't fit, asked for
again with the exact errors. Text may also be streamed.

    class Summary(BaseModel):
        title: str
        points: list[str]

    summarise = llmfunc("Summarise this text: {text}", model=model, shape=Summary, retries=2)
    summary = await summarise(text=page)

Every step that asks a model for JSON or prose goes through here. A plan is neither: see
`modules.decision`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeAlias, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.text import shorten
from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest, TextListener
from core.tools.schema_check import FullCheck
from core.values import Json, JsonObject
from modules.planning.prompt.template import fill_from, names_in
from modules.planning.reply.reply_schema import held_schema, reply_schema
from modules.tools import extract_json_block

RETRIES = 3
"""How often a model is asked again, unless the caller says otherwise."""

RETRY_TEMPERATURE_STEP = 0.2
"""How much warmer each further try is: at 0 a model repeats its mistake."""

MAX_JSON_CHARACTERS = 20_000
"""Longest text that is looked through for JSON, about 5,000 tokens."""

QUICKLY_READ_CHARACTERS = 2_000
"""Longer texts are looked through in a thread: brackets by the thousand take a while."""

PROBLEMS_SHOWN = 10
"""How many errors of one reply a model is told."""

VALUE_CHARACTERS = 150
"""How much of a wrong value an error repeats."""

REPLY_CHARACTERS_SHOWN = 4_000
"""How much of an unusable reply the next prompt repeats."""

EXPLANATION_CHARACTERS = 500
"""How much of what a model says when it declines goes into the error."""

FORM = "\n\nReply with one JSON object of this JSON Schema, and nothing else:\n"
CUT_OFF = "it was cut off before its end: write less"
TOO_DEEP = "it is nested too deeply"

Shape = TypeVar("Shape", bound=BaseModel)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

Value: TypeAlias = str | int | float
"""What may fill a prompt."""

Check: TypeAlias = Callable[[Result], str | None]
"""Says in a sentence what is wrong with a result, else None."""

Lenient: TypeAlias = Callable[[JsonObject], JsonObject]
"""Puts an object right before it is held against a shape."""


class ReplyUnusable(ModelUnavailable):
    """The model answers, but never in the form that it was asked for.

    `problems` are those of its last reply.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        """Another try is no use: all that are worth it have been made."""
        super().__init__(message, transient=False)
        self.problems = tuple(problems)


class ReplyingModel(Protocol):
    """What is needed of a model here; `core.ports.CountingModel` has it."""

    @property
    def name(self) -> str:
        """For error messages."""
        ...

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer one request; raises what `core.ports.CountingModel.generate` does."""
        ...


@overload
def llmfunc(
    prompt: str | ModelRequest,
    *,
    model: ReplyingModel,
    shape: type[Shape],
    check: Check[Shape] | None = None,
    lenient: Lenient | None = None,
    retries: int = RETRIES,
    show_schema: bool = True,
    changing: str | None = None,
) -> "LlmFunction[Shape]": ...
@overload
def llmfunc(
    prompt: str | ModelRequest,
    *,
    model: ReplyingModel,
    shape: JsonObject,
    check: Check[JsonObject] | None = None,
    lenient: Lenient | None = None,
    retries: int = RETRIES,
    show_schema: bool = True,
    changing: str | None = None,
) -> "LlmFunction[JsonObject]": ...
@overload
def llmfunc(
    prompt: str | ModelRequest,
    *,
    model: ReplyingModel,
    check: Check[str] | None = None,
    retries: int = RETRIES,
    changing: str | None = None,
) -> "LlmText": ...
def llmfunc(
    prompt: str | ModelRequest,
    *,
    model: ReplyingModel,
    shape: type[BaseModel] | JsonObject | None = None,
    check: Callable[..., str | None] | None = None,
    lenient: Lenient | None = None,
    retries: int = RETRIES,
    show_schema: bool = True,
    changing: str | None = None,
) -> "LlmFunction[BaseModel | JsonObject] | LlmText":
    """Make a function of a prompt; each `{name}` in it is an argument of the function.

    The JSON may stand in a fence or in prose, or be the arguments of a native tool call. A
    further try sends the prompt, the last reply and its errors, so that prompts don't grow from
    try to try; where the limit of output tokens cut a reply, the next one has none.

    Without a shape the function gives the model's text, whole (`await tell(text=page)`) or in
    pieces as they come (`async for piece in tell.stream(text=page)`).

    Args:
        prompt: A template, or a request with one and with all else that a model is told.
        model: Who is asked; a `ModelManager`, or a part of one.
        shape: Objects with named fields: a Pydantic model that `reply_schema` takes, or a JSON
            Schema of the program's own, to which all that comes back is held.
        check: What else is wrong with a result that fits the shape.
        lenient: Puts an object right before it is held against the shape.
        retries: Further tries.
        show_schema: Off where the prompt describes the form itself.
        changing: The argument with which begins what differs from call to call, by default the
            first in the prompt: the paragraphs before it are sent as the system message.

    Raises:
        TypeError: the shape can't be asked for.
    """
    request = ModelRequest("text", prompt) if isinstance(prompt, str) else prompt
    if shape is None:
        read = _Texts(check, may_be_cut=request.max_output_tokens is not None).read
        return LlmText(request, model, read, "", "a text", retries, changing)
    if isinstance(shape, dict):
        fitted, form, held = _fitting(shape), shape, held_schema(shape)
    else:
        fitted, form = _validating(shape), (held := reply_schema(shape))
    shown = FORM + json.dumps(form, ensure_ascii=False) if show_schema else ""
    request = replace(request, schema=held)
    read = _Objects(fitted, check, lenient).read
    return LlmFunction(request, model, read, shown, "one JSON object", retries, changing)


@frozen
class LlmFunction(Generic[Result_co]):
    """A prompt as an async function; `llmfunc` makes it.

    `read` makes a result of a reply; `form`, which stands behind the prompt, says what the model
    should write, and `wanted` what that is in short.
    """

    request: ModelRequest
    model: ReplyingModel
    read: Callable[[ModelReply], Awaitable[Result_co]]
    form: str
    wanted: str
    retries: int
    changing: str | None

    async def __call__(self, **values: Value) -> Result_co:
        """Ask for a result; ask again, with what was wrong, up to `retries` times.

        Raises:
            TypeError: the prompt has a name for which there is no value.
            ReplyUnusable: no reply would do, or the model declined.
            ModelUnavailable: the model can't be reached or refused.
            BudgetSpent: the run may use no more.
        """
        filled = _filled(self.request, values, self.changing)
        first = request = replace(filled, prompt=filled.prompt + self.form)
        problems: tuple[str, ...] = ()
        for attempt in range(1, self.retries + 2):
            reply = self._taken(await self.model.generate(request))
            try:
                return await self.read(reply)
            except _Unfit as unfit:
                problems = unfit.problems
            request = replace(
                first,
                prompt=first.prompt + _feedback(reply, problems, self.wanted),
                temperature=max(first.temperature, round(RETRY_TEMPERATURE_STEP * attempt, 1)),
                max_output_tokens=None if reply.truncated else request.max_output_tokens,
            )
        tries = "1 try" if self.retries == 0 else f"{self.retries + 1} tries"
        raise self._unusable(f"reply in {tries}; of the last", problems)

    def _taken(self, reply: ModelReply) -> ModelReply:
        """The reply of a model that hasn't declined."""
        if reply.declined:
            said = reply.text.strip()[:EXPLANATION_CHARACTERS] or "it gives no reason"
            raise ReplyUnusable(f"model {self.model.name} declined: {said}")
        return reply

    def _unusable(self, what: str, problems: Sequence[str]) -> ReplyUnusable:
        return ReplyUnusable(
            f"model {self.model.name} gave no usable {what}: {'; '.join(problems)}; "
            "choose another model with --model",
            problems,
        )


@frozen
class LlmText(LlmFunction[str]):
    """The same where text is wanted, which may also come piece by piece."""

    async def stream(self, **values: Value) -> AsyncGenerator[str, None]:
        """The pieces of the text as they come; closing the iterator stops the model.

        What was given out can't be taken back. So no further try begins once there was a piece,
        and a text that is cut off, or that the check refuses, is an error at its end. Where the
        model's backend doesn't stream, the text comes as one piece.

        Raises:
            As a call does.
        """
        request = _filled(self.request, values, self.changing)
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        listener = TextListener(pieces.put_nowait)
        asking = asyncio.ensure_future(self.model.generate(replace(request, listener=listener)))
        asking.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            reply = await asking
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        try:
            text = await self.read(self._taken(reply))
        except _Unfit as unfit:
            raise self._unusable("text", unfit.problems) from None
        if not listener.has_heard:
            yield text


class _Unfit(Exception):
    """A reply can't be used; `problems` say to the model why."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        # Half a surrogate pair, which JSON can spell, can't be sent or printed.
        self.problems = tuple(each.encode("utf-8", "replace").decode() for each in problems)


@frozen
class _Texts:
    """Takes the text of a reply as it is, without what is blank around it.

    With `may_be_cut` also one that ended at the limit of output tokens.
    """

    check: Check[str] | None
    may_be_cut: bool

    async def read(self, reply: ModelReply) -> str:
        """The text."""
        text = reply.text.strip()
        problems = [CUT_OFF] if reply.truncated and not (text and self.may_be_cut) else []
        if not text:
            problems.append("it is empty; write the text that was asked for")
        elif not problems and self.check is not None and (wrong := self.check(text)) is not None:
            problems.append(wrong)
        if problems:
            raise _Unfit(*problems)
        return text


@frozen
class _Objects(Generic[Result]):
    """Finds an object of a shape in a reply; `fitted` holds one to the shape."""

    fitted: Callable[[JsonObject], Result]
    check: Check[Result] | None
    lenient: Lenient | None

    async def read(self, reply: ModelReply) -> Result:
        """The first object that fits: of the text, or of the tool calls if there are any."""
        found: list[JsonObject] = [call.arguments for call in reply.tool_calls]
        problems: tuple[str, ...] = ()
        if reply.text.strip() or not found:
            try:
                found.insert(0, await _find_object(reply.text))
            except _Unfit as unfit:
                problems = unfit.problems
        for each in found:
            try:
                return self._checked(each)
            except _Unfit as unfit:
                problems = problems or unfit.problems
        raise _Unfit(*([CUT_OFF] if reply.truncated else []), *problems)

    def _checked(self, found: JsonObject) -> Result:
        result = self.fitted(self.lenient(found) if self.lenient is not None else found)
        if self.check is not None and (wrong := self.check(result)) is not None:
            raise _Unfit(wrong)
        return result


def _validating(shape: type[Shape]) -> Callable[[JsonObject], Shape]:
    """What makes a Pydantic object of a JSON object."""

    def validated(found: JsonObject) -> Shape:
        try:
            return shape.model_validate(found)
        except ValidationError as error:
            raise _Unfit(*_validation_problems(error)) from None
        except RecursionError:
            raise _Unfit(TOO_DEEP) from None

    return validated


def _fitting(schema: JsonObject) -> Callable[[JsonObject], JsonObject]:
    """What holds a JSON object to a JSON Schema.

    Raises:
        TypeError: it is none of objects.
    """
    if schema.get("type") != "object":
        raise TypeError('the shape is no JSON Schema of objects: it needs "type": "object"')
    try:
        check = FullCheck(schema)
    except ValueError as error:
        raise TypeError(f"the shape can't be used: {error}") from error

    def fitted(found: JsonObject) -> JsonObject:
        if faults := check.faults(found, PROBLEMS_SHOWN):
            raise _Unfit(*faults)
        return found

    return fitted


async def _find_object(text: str) -> JsonObject:
    """The JSON object in a reply's text; raises `_Unfit` if there is none."""
    if len(text) <= QUICKLY_READ_CHARACTERS:
        return _object_in(text)
    return await asyncio.to_thread(_object_in, text)


def _object_in(text: str) -> JsonObject:
    if not text.strip():
        raise _Unfit("it is empty; write one JSON object")
    if len(text) > MAX_JSON_CHARACTERS:
        raise _Unfit(f"it is longer than {MAX_JSON_CHARACTERS:,} characters; write less")
    block = extract_json_block(text)
    if not block.startswith(("{", "[")):
        raise _Unfit("it holds no JSON; write one JSON object and nothing else")
    try:
        found = cast("Json", json.loads(block))
    except RecursionError:
        raise _Unfit(TOO_DEEP) from None
    except ValueError as error:
        raise _Unfit(f"it is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise _Unfit(f"it is a list, not one JSON object: {json_start(found, VALUE_CHARACTERS)}")
    return found


def _validation_problems(error: ValidationError) -> list[str]:
    """A line for each error: where, what is wrong, and what was there."""
    faults = error.errors(include_url=False, include_context=False)
    lines: list[str] = []
    for fault in faults[:PROBLEMS_SHOWN]:
        where = _path(fault["loc"]) or "the object"
        came = json_start(cast("Json", fault["input"]), VALUE_CHARACTERS)
        told = "" if fault["type"] == "missing" else f"; you wrote {came}"
        lines.append(f"{where}: {fault['msg']}{told}")
    if len(faults) > PROBLEMS_SHOWN:
        lines.append(f"and {len(faults) - PROBLEMS_SHOWN} more errors")
    return lines


def _path(place: Sequence[int | str]) -> str:
    """`items[2].name`, as a programmer would write it."""
    written = ""
    for part in place:
        written += f"[{part}]" if isinstance(part, int) else f".{part}"
    return written.removeprefix(".")


def _filled(
    request: ModelRequest, values: Mapping[str, Value], changing: str | None
) -> ModelRequest:
    """The request with its template filled; raises TypeError where a value is missing."""
    names = names_in(request.prompt)
    if missing := [name for name in names if name not in values]:
        given = ", ".join(values) or "none"
        raise TypeError(f"the prompt needs a value of {', '.join(missing)}; given: {given}")
    texts = {name: str(value) for name, value in values.items()}
    prompt = fill_from(request.prompt, texts, changing or next(iter(names), ""))
    return replace(request, prompt=prompt.text, prefix_characters=prompt.prefix_characters)


def _feedback(reply: ModelReply, problems: Sequence[str], wanted: str) -> str:
    """What stands behind the prompt when it is sent again."""
    written = reply.text.strip() or "".join(
        json_start(call.arguments, REPLY_CHARACTERS_SHOWN) for call in reply.tool_calls[:1]
    )
    shown = shorten(written, REPLY_CHARACTERS_SHOWN).encode("utf-8", "replace").decode()
    errors = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"\n\nYour last reply was:\n{shown or '(nothing)'}\n\nIt can't be used:\n{errors}\n\n"
        f"Reply again, with {wanted} that puts this right, and nothing else."
    )
