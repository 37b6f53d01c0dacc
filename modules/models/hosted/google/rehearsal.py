"""Has google-genai build its data models before the first request, in the thread that opens it.

The SDK does so at first use, which held up every task for some 60 ms. One made-up exchange, with
an HTTP client that is connected to nothing, walks the same way. Heavy: imports google.genai.
"""

import json

import httpx2
from google.genai import Client

from config.models_file import ModelEntry
from core.ports import ImageInput, ModelRequest
from core.values import JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.google.family import GeminiFamily
from modules.models.hosted.google.reply import GeminiReply
from modules.models.hosted.google.request import contents, generation_config
from modules.models.hosted.sdk.errors import SdkFaults

_REPLY: JsonObject = {
    "candidates": [
        {
            "content": {"parts": [{"text": "x"}, {"functionCall": {"name": "f", "args": {}}}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {},
    "promptFeedback": {},
}


def silent_client() -> httpx2.Client:
    """A client that sends nothing, and answers every request with the same reply."""
    event = b"data: " + json.dumps(_REPLY).encode() + b"\n\n"
    return httpx2.Client(
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=event)),
        trust_env=False,
    )


def rehearse(client: Client, family: GeminiFamily) -> None:
    """Go through one exchange; `client` was given a `silent_client`."""
    image = ImageInput("x", "image/png", b"x")
    request = ModelRequest("text", "xy", prefix_characters=1, images=(image,), schema={})
    entry = ModelEntry(type="gemini", thinking="low")
    reply = GeminiReply(SdkFaults("rehearsal", ApiKey("", ""), 0.0))
    for piece in client.models.generate_content_stream(
        model=family.model,
        contents=contents(request),
        config=generation_config(family, entry, request),
    ):
        list(reply.take(piece))
