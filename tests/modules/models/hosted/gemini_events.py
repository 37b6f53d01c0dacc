"""Events and errors of the Gemini API, as documented, for a service to send."""

import json

from core.values import Json, JsonObject

USAGE: JsonObject = {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}


def part(*parts: Json, reason: str | None = "STOP", **fields: Json) -> JsonObject:
    """A GenerateContentResponse as documented."""
    content: JsonObject = {"role": "model", "parts": list(parts)}
    candidate: JsonObject = {"content": content, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "test", **fields}


def answer(text: str, reason: str | None = "STOP", **fields: Json) -> JsonObject:
    return part({"text": text}, reason=reason, **fields)


def event(document: Json) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\r\n\r\n"


def refusal(
    code: int, status: str, message: str, reason: str = "OTHER", *details: JsonObject
) -> JsonObject:
    """An error body as Google's APIs send it (google.rpc.Status)."""
    info: JsonObject = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    return {
        "error": {
            "code": code,
            "message": message,
            "status": status,
            "details": [info, *details],
        }
    }


def quota(quota_id: str) -> JsonObject:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaMetric": "requests", "quotaId": quota_id}],
    }


def retry_in(delay: str) -> JsonObject:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
