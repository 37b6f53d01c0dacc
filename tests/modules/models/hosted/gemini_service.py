"""The Gemini backend, and events and errors of the Gemini API for `fake_service` to answer with."""

import json
from contextlib import AbstractAsyncContextManager

from config.models_file import ModelEntry
from core.values import Json, JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.gemini import GeminiModel
from tests.modules.models.hosted.sdk_checks import SdkService, opened

KEY = "AIzaTest0123456789"
VARIABLE = "GEMINI_API_KEY"

USAGE: JsonObject = {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}


def part(*parts: JsonObject, reason: str | None = "STOP", **fields: Json) -> JsonObject:
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


def gemini(
    url: str, key: str = KEY, /, **fields: object
) -> AbstractAsyncContextManager[GeminiModel]:
    fixed = {"type": "gemini", "model": "gemini-test", "base_url": url, "timeout_seconds": 10.0}
    entry = ModelEntry.model_validate({**fixed, **fields})
    return opened(GeminiModel(entry, ApiKey(key, VARIABLE)))


SERVICE = SdkService(
    gemini,
    KEY,
    VARIABLE,
    key_header="x-goog-api-key: ",
    began=event(answer("x", reason=None)),
    whole=event(answer("x")),
)
asked_body, failure = SERVICE.asked_body, SERVICE.failure
