"""What the mock of models' services answers, in the form of its fixture files.

The mock puts each reply into the protocol of the path that was asked; a reply is chosen by a piece
of the user's message, or by the model's name. See `@copilotkit/aimock`, "Fixtures".
"""

from core.values import Json, JsonObject
from tests.command_line import plan
from tests.real.model_checks import CAPITAL, COLOUR, COUNTED, COUNTING, NO_SUCH_MODEL, SUM

GEMINI_MODEL = "gemini-3.8-flash-preview"
"""The mock knows version v1beta of the API only, which previews are asked for in."""

READ_TOKENS, WRITTEN_TOKENS = 21, 7

CALLS = "Call tools of your own."
THOUGHT = "Think, then answer."
LONG = "Write more than there is room for."
TOO_MANY = "Ask once too often."
PAUSE_SECONDS = 7
BROKEN = "Break inside."
GARBLED = "Send what is no JSON."
HUNG_UP = "Hang up at once."
CUT = "Break off in the middle."
FLAKY = "Refuse once, then answer"
"""Followed by who asks, for the mock counts how often something was asked."""

WHO_ASKS = ("gemini", "openai", "anthropic", "ollama")


def fixture_file() -> JsonObject:
    """Everything that the mock is told."""
    return {"fixtures": [*_replies(), *_refusals(), *_faults()]}


def _replies() -> list[Json]:
    numbers: JsonObject = {
        "prompt_tokens": READ_TOKENS,
        "completion_tokens": WRITTEN_TOKENS,
        "input_tokens": READ_TOKENS,
        "output_tokens": WRITTEN_TOKENS,
        "promptTokenCount": READ_TOKENS,
        "candidatesTokenCount": WRITTEN_TOKENS,
    }
    calls: list[Json] = [
        {"name": "add", "arguments": {"a": 1, "b": [2, "zwei"]}},
        {"name": "now", "arguments": {}},
    ]
    # Otherwise the mock gives a reason for their end that Google's API does not have.
    gemini_calls: JsonObject = {"userMessage": CALLS, "model": GEMINI_MODEL}
    body = 'total = await tools.add(a=1234, b=5678)\nreturn f"FINAL_ANSWER: {total}"'
    return [
        _asked_for_model(NO_SUCH_MODEL, _error(f"model {NO_SUCH_MODEL} not found", 404)),
        _asked(COUNTING, {"content": COUNTED, "usage": numbers}, chunkSize=9, latency=20),
        _asked(CAPITAL, {"content": {"capital": "Paris"}}),
        _asked(COLOUR, {"content": "Red."}),
        _asked(SUM, {"content": f"Here it is:\n```python\n{plan(body)}```"}),
        {**_asked(CALLS, {"toolCalls": calls, "finishReason": "stop"}), "match": gemini_calls},
        _asked(CALLS, {"toolCalls": calls}),
        _asked(THOUGHT, {"content": "42", "reasoning": "Six times seven."}, chunkSize=5),
        _asked(LONG, {"content": "One two", "finishReason": "length"}),
    ]


def _refusals() -> list[Json]:
    too_many = _error("Slow down", 429, type="rate_limit_error", code="rate_limit_exceeded")
    flaky: list[Json] = []
    for who in WHO_ASKS:
        text = f"{FLAKY}: {who}"
        flaky.append({**_asked(text, too_many), "match": {"userMessage": text, "sequenceIndex": 0}})
        flaky.append(_asked(text, {"content": "Now."}))
    return [
        _asked(TOO_MANY, {**too_many, "retryAfter": PAUSE_SECONDS}),
        _asked(BROKEN, _error("Out of order", 500, type="server_error")),
        *flaky,
    ]


def _faults() -> list[Json]:
    whole: JsonObject = {"content": COUNTED}
    return [
        _asked(GARBLED, whole, chaos={"malformedRate": 1}),
        _asked(HUNG_UP, whole, chaos={"disconnectRate": 1}),
        # Without a pause between the pieces nothing would have left the mock when it hangs up.
        _asked(CUT, whole, chunkSize=9, latency=20, truncateAfterChunks=4),
    ]


def _asked(text: str, response: JsonObject, **options: Json) -> JsonObject:
    return {"match": {"userMessage": text}, "response": response, **options}


def _asked_for_model(name: str, response: JsonObject) -> JsonObject:
    return {"match": {"model": name}, "response": response}


def _error(message: str, status: int, **fields: Json) -> JsonObject:
    return {"error": {"message": message, **fields}, "status": status}
