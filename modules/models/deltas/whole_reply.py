"""Gives a whole reply out as the stream that it would have come in."""

from collections.abc import Iterator

from core.ports import FinishReason, ModelReply, ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta


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
