"""A chat in Ollama's form: the messages that are sent, and the chunks that come back.

After docs/api.md of ollama/ollama, "Generate a chat completion": a JSON object a line, each with a
`message` of `content`, `thinking` and `tool_calls`; the last says `done`, why, and how many tokens.
"""

import base64
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress

from core.errors import ModelUnavailable
from core.ports import ModelRequest, NativeToolCall, ReplyDelta, ReplyEnd, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.hosted.reply import WireReply, json_value
from modules.models.ollama.api import count_in, object_in
from modules.models.thinking import ThinkingSplitter

END_SECONDS = 0.5
"""How long the end of the connection's data is waited for, behind the end of the reply."""


def chat_messages(request: ModelRequest) -> list[Json]:
    """The request as messages: its stable part as the system's, images with the user's."""
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    user: JsonObject = {"role": "user", "content": request.user}
    if request.images:
        user["images"] = [base64.b64encode(image.data).decode("ascii") for image in request.images]
    return [*messages, user]


async def chat_deltas(reply: WireReply) -> AsyncGenerator[ReplyDelta, None]:
    """The deltas in a stream of chat chunks.

    Raises:
        ModelUnavailable: the stream reports a failure, breaks off, or is none.
    """
    splitter = ThinkingSplitter()
    async with aclosing(reply.lines()) as lines:
        async for line in lines:
            chunk = object_in(reply, line)
            for delta in _chunk_deltas(chunk, splitter):
                yield delta
            if chunk.get("done") is True:
                break
        else:
            raise reply.broke_off()
        for delta in splitter.end():
            yield delta
        yield _end(chunk)
        # Read to its end the connection can be used again.
        reply.expect_end(END_SECONDS)
        with suppress(ModelUnavailable):
            await anext(lines, None)


def _chunk_deltas(chunk: JsonObject, splitter: ThinkingSplitter) -> Iterator[ReplyDelta]:
    match chunk.get("message"):
        case dict() as message:
            pass
        case _:
            return
    match message.get("thinking"):
        case str() as thought if thought:
            yield ThinkingDelta(thought)
        case _:
            pass
    match message.get("content"):
        case str() as text if text:
            yield from splitter.feed(text)
        case _:
            pass
    match message.get("tool_calls"):
        case list() as calls:
            yield from _native_calls(calls)
        case _:
            pass


def _native_calls(calls: list[Json]) -> Iterator[NativeToolCall]:
    for call in calls:
        match call:
            case {"function": {"name": str(name), "arguments": dict(arguments)}}:
                yield NativeToolCall(name, arguments)
            case {"function": {"name": str(name), "arguments": str(text)}}:
                parsed = json_value(text.encode("utf-8", "replace"))
                yield NativeToolCall(name, parsed if isinstance(parsed, dict) else {})
            case _:
                continue


def _end(chunk: JsonObject) -> ReplyEnd:
    usage = Usage(
        model_calls=1,
        input_tokens=count_in(chunk, "prompt_eval_count") or 0,
        output_tokens=count_in(chunk, "eval_count") or 0,
    )
    return ReplyEnd(usage, "length" if chunk.get("done_reason") == "length" else "stop")
