"""A chat in Ollama's form: the messages that are sent, and the chunks that come back.

After docs/api.md of ollama/ollama, "Generate a chat completion": a JSON object a line, each with a
`message` of `content`, `thinking` and `tool_calls`; the last says `done`, why, and how many tokens.
"""

import base64
from collections.abc import Iterator

from core.ports import ModelRequest, NativeToolCall, ReplyDelta, ReplyEnd, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.reply import ServiceReply
from modules.models.http.tool_calls import tool_call
from modules.models.ollama.api import count_in
from modules.models.thinking import ThinkingSplitter


def chat_messages(request: ModelRequest) -> list[Json]:
    """The request as messages: its stable part as the system's, images with the user's."""
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    user: JsonObject = {"role": "user", "content": request.user}
    if request.images:
        user["images"] = [base64.b64encode(image.data).decode("ascii") for image in request.images]
    return [*messages, user]


class OllamaReply:
    """Reads one reply (`ReplyReader`); it is complete with the chunk that says `done`."""

    def __init__(self, reply: ServiceReply) -> None:
        """Nothing has come yet."""
        self.is_complete = False
        self._reply = reply
        self._splitter = ThinkingSplitter()
        self._end = ReplyEnd()

    def feed(self, chunk: JsonObject, /) -> Iterator[ReplyDelta]:
        """What a chunk adds."""
        message = chunk.get("message")
        if isinstance(message, dict):
            yield from self._written(message)
        if chunk.get("done") is True:
            self.is_complete = True
            self._end = _end(chunk)

    def so_far(self) -> ReplyEnd:
        """What it has taken up to here; only the last chunk has the count of tokens."""
        return self._end

    def end(self) -> Iterator[ReplyDelta]:
        """What is known only at the end.

        Raises:
            ModelUnavailable: nobody said that this is the end.
        """
        if not self.is_complete:
            yield self._end
            raise self._reply.broke_off()
        yield from self._splitter.end()
        yield self._end

    def _written(self, message: JsonObject) -> Iterator[ReplyDelta]:
        thought, text, calls = map(message.get, ("thinking", "content", "tool_calls"))
        if isinstance(thought, str) and thought:
            yield ThinkingDelta(thought)
        if isinstance(text, str) and text:
            yield from self._splitter.feed(text)
        for call in calls if isinstance(calls, list) else []:
            yield from _native_call(call)


def _native_call(call: Json) -> Iterator[ReplyDelta]:
    match call:
        case {"function": {"name": str(name), "arguments": dict(arguments)}}:
            yield NativeToolCall(name, arguments)
        case {"function": {"name": str(name), "arguments": str(text)}}:
            yield tool_call(name, text)
        case _:
            return


def _end(chunk: JsonObject) -> ReplyEnd:
    usage = Usage(
        model_calls=1,
        input_tokens=count_in(chunk, "prompt_eval_count") or 0,
        output_tokens=count_in(chunk, "eval_count") or 0,
    )
    return ReplyEnd(usage, "length" if chunk.get("done_reason") == "length" else "stop")
