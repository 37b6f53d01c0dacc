"""A reply as one piece and as the stream of deltas that it comes in."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator

from core.errors import ModelUnavailable
from core.ports import (
    FinishReason,
    ModelReply,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    TextModel,
    ThinkingDelta,
)

MAX_REPLY_CHARACTERS = 1_000_000
"""Longest reply, and longest thinking, that is taken; a plan has some thousand characters."""

MAX_NATIVE_CALLS = 50
"""How many tool calls in the provider's form one reply may hold; more are dropped."""


async def collect_reply(
    model: TextModel,
    deltas: AsyncGenerator[ReplyDelta, None],
    on_delta: Callable[[ReplyDelta], None] | None = None,
) -> ModelReply:
    """The whole reply of `model.stream(…)`; the stream is closed, whatever happens.

    `on_delta` sees every delta first.

    Raises:
        ModelUnavailable: what the stream raises; a reply that is too long, or that just ends.
    """
    text: list[str] = []
    thinking: list[str] = []
    calls: list[NativeToolCall] = []
    end: ReplyEnd | None = None
    room = MAX_REPLY_CHARACTERS
    async with contextlib.aclosing(deltas):
        async for delta in deltas:
            if on_delta is not None:
                on_delta(delta)
            match delta:
                case TextDelta(piece):
                    text.append(piece)
                    room -= len(piece)
                case ThinkingDelta(piece):
                    thinking.append(piece)
                    room -= len(piece)
                case NativeToolCall():
                    calls = [*calls, delta][:MAX_NATIVE_CALLS]
                case ReplyEnd():
                    end = delta
            if room < 0:
                raise ModelUnavailable(
                    f"model {model.name} sent more than the {MAX_REPLY_CHARACTERS:,} characters "
                    "that a reply may have; choose another with --model"
                )
    if end is None:
        raise ModelUnavailable(
            f"model {model.name} ended its reply before it was complete; try again", transient=True
        )
    return ModelReply(
        "".join(text),
        end.usage,
        declined=end.finish == "refused",
        thinking="".join(thinking),
        tool_calls=tuple(calls),
        truncated=end.finish == "length",
        model=model.name,
    )


def deltas_of(reply: ModelReply) -> Iterator[ReplyDelta]:
    """The deltas that `collect_reply` puts together to `reply`, each part in one piece."""
    if reply.thinking:
        yield ThinkingDelta(reply.thinking)
    if reply.text:
        yield TextDelta(reply.text)
    yield from reply.tool_calls
    yield ReplyEnd(reply.usage, finish_of(reply))


def finish_of(reply: ModelReply) -> FinishReason:
    """Why a reply ended."""
    if reply.declined:
        return "refused"
    return "length" if reply.truncated else "stop"
