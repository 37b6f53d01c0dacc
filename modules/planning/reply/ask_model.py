"""A prompt as a typed function: what comes back is an object of a Pydantic shape.

The model is held to the shape's JSON Schema where its backend can do that. Whatever it writes is
looked through for JSON, checked by Pydantic and by a check of the caller's own, and if it doesn't
fit, asked for again with the exact errors.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ValidationError

from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.text import shorten
from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest
from core.values import Json, JsonObject
from modules.planning.reply.reply_schema import reply_schema
from modules.tools import extract_json_block

RETRIES = 3
"""How often a model is asked again, unless the caller says otherwise."""

RETRY_TEMPERATURE_STEP = 0.2
"""What each further try adds to the temperature: at 0 a model repeats its mistake."""

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

Shape = TypeVar("Shape", bound=BaseModel)


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


async def ask_model(
    model: ReplyingModel,
    request: ModelRequest,
    shape: type[Shape],
    *,
    check: Callable[[Shape], str | None] | None = None,
    lenient: Callable[[JsonObject], JsonObject] | None = None,
    retries: int = RETRIES,
    show_schema: bool = True,
) -> Shape:
    """Ask for an object of `shape`; ask again, with what was wrong, up to `retries` times.

    The JSON may stand in a fence or in prose, or be the arguments of a native tool call. A
    further try sends the prompt, the last reply and its errors, so that prompts don't grow from
    try to try; where the limit of output tokens cut a reply, the next one has none.

    Args:
        model: Who is asked.
        request: What for; it goes with the shape's schema, and with `show_schema` its prompt
            ends with the form of the reply.
        shape: Objects with named fields, as `modules.planning.reply.reply_schema` takes them.
        check: Says in a sentence what is wrong with an object that fits the shape, else None.
        lenient: Puts an object right before it is held against the shape.
        retries: Further tries.
        show_schema: Off where the prompt describes the form itself.

    Raises:
        ReplyUnusable: no reply would do, or the model declined.
        ModelUnavailable: the model can't be reached or refused.
        BudgetSpent: the run may use no more.
    """
    reader = _Reader(shape, check, lenient)
    schema = reply_schema(shape)
    shown = _with_form(request.prompt, schema) if show_schema else request.prompt
    first = request = replace(request, prompt=shown, schema=schema)
    problems: list[str] = []
    for attempt in range(1, retries + 2):
        reply = await model.generate(request)
        if reply.declined:
            said = reply.text.strip()[:EXPLANATION_CHARACTERS] or "it gives no reason"
            raise ReplyUnusable(f"model {model.name} declined: {said}")
        result, problems = await reader.read(reply)
        if result is not None:
            return result
        request = replace(
            first,
            prompt=first.prompt + _feedback(reply, problems),
            temperature=round(RETRY_TEMPERATURE_STEP * attempt, 1),
            max_output_tokens=None if reply.truncated else request.max_output_tokens,
        )
    tries = "1 try" if retries == 0 else f"{retries + 1} tries"
    raise ReplyUnusable(
        f"model {model.name} gave no usable reply in {tries}; of the last: "
        f"{'; '.join(problems)}; choose another model with --model",
        problems,
    )


@frozen
class _Reader(Generic[Shape]):
    """Finds an object of a shape in a reply."""

    shape: type[Shape]
    check: Callable[[Shape], str | None] | None
    lenient: Callable[[JsonObject], JsonObject] | None

    async def read(self, reply: ModelReply) -> tuple[Shape | None, list[str]]:
        """The object, or what is wrong with the reply: with its text, if there is any."""
        found: list[JsonObject] = [call.arguments for call in reply.tool_calls]
        problems: list[str] = []
        if reply.text.strip() or not found:
            block, problems = await _find_object(reply.text)
            found = [block, *found] if block is not None else found
        for each in found:
            result, wrong = self._fitted(each)
            if result is not None:
                return result, []
            problems = problems or wrong
        if reply.truncated:
            problems = ["it was cut off before its end: write less", *problems]
        return None, problems

    def _fitted(self, found: JsonObject) -> tuple[Shape | None, list[str]]:
        try:
            result = self.shape.model_validate(self.lenient(found) if self.lenient else found)
        except ValidationError as error:
            return None, _validation_problems(error)
        except RecursionError:
            return None, ["it is nested too deeply"]
        wrong = self.check(result) if self.check is not None else None
        return (result, []) if wrong is None else (None, [wrong])


async def _find_object(text: str) -> tuple[JsonObject | None, list[str]]:
    """The JSON object in a reply's text, or why there is none."""
    if len(text) <= QUICKLY_READ_CHARACTERS:
        return _object_in(text)
    return await asyncio.to_thread(_object_in, text)


def _object_in(text: str) -> tuple[JsonObject | None, list[str]]:
    if not text.strip():
        return None, ["it is empty; write one JSON object"]
    if len(text) > MAX_JSON_CHARACTERS:
        return None, [f"it is longer than {MAX_JSON_CHARACTERS:,} characters; write less"]
    block = extract_json_block(text)
    if not block.startswith(("{", "[")):
        return None, ["it holds no JSON; write one JSON object and nothing else"]
    try:
        found = cast("Json", json.loads(block))
    except RecursionError:
        return None, ["it is nested too deeply"]
    except ValueError as error:
        return None, [f"it is not valid JSON: {error}"]
    if not isinstance(found, dict):
        return None, [f"it is a list, not one JSON object: {json_start(found, VALUE_CHARACTERS)}"]
    return found, []


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


def _with_form(prompt: str, schema: JsonObject) -> str:
    return (
        f"{prompt}\n\nReply with one JSON object of this JSON Schema, and nothing else:\n"
        f"{json.dumps(schema, ensure_ascii=False)}"
    )


def _feedback(reply: ModelReply, problems: Sequence[str]) -> str:
    """What stands behind the prompt when it is sent again."""
    written = reply.text.strip() or "".join(
        json_start(call.arguments, REPLY_CHARACTERS_SHOWN) for call in reply.tool_calls[:1]
    )
    shown = shorten(written, REPLY_CHARACTERS_SHOWN) or "(nothing)"
    errors = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"\n\nYour last reply was:\n{shown}\n\nIt can't be used:\n{errors}\n\n"
        "Reply again, with one JSON object that puts this right, and nothing else."
    )
