"""Events and errors of Anthropic's Messages API, as documented, for a service to send."""

import json

from core.values import Json, JsonObject


def event(kind: str, **fields: Json) -> bytes:
    """One event: its type is in the name and in the data."""
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


def begin(**usage: int) -> bytes:
    message: JsonObject = {
        "type": "message",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 3, "output_tokens": 1, **usage},
    }
    return event("message_start", message=message)


def block(index: int, content: JsonObject, *deltas: JsonObject) -> bytes:
    return (
        event("content_block_start", index=index, content_block=content)
        + event("ping")
        + b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
        + event("content_block_stop", index=index)
    )


def text(*pieces: str, index: int = 0) -> bytes:
    deltas: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def end(reason: str | None = "end_turn", output_tokens: int = 7, **delta: Json) -> bytes:
    stop: JsonObject = {"stop_reason": reason, "stop_sequence": None, **delta}
    usage: JsonObject = {"output_tokens": output_tokens}
    return event("message_delta", delta=stop, usage=usage) + event("message_stop")


def refusal(kind: str, message: str, **details: Json) -> JsonObject:
    """The body of an error."""
    error: JsonObject = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return {"type": "error", "error": error, "request_id": "req_1"}
