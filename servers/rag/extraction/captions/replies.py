"""JSON over HTTP with the services that describe pictures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from servers.rag.extraction.captions.captioner import CaptionerUnavailable

if TYPE_CHECKING:
    import httpx2

REPLY_BYTES_MAX = 1_000_000


def post_json(
    client: "httpx2.Client",
    url: str,
    request: Mapping[str, object],
    name: str,
    seconds: float,
    headers: Mapping[str, str] | None = None,
) -> object:
    """The JSON that a service answers.

    Raises:
        CaptionerUnavailable: it does not answer, refuses, or answers something else.
    """
    import httpx2

    try:
        with client.stream(
            "POST", url, json=dict(request), headers=dict(headers or {}), timeout=seconds
        ) as reply:
            if reply.status_code >= 400:
                raise CaptionerUnavailable(f"{name} refused a picture: HTTP {reply.status_code}")
            return _read(reply, name)
    except httpx2.HTTPError as error:
        raise CaptionerUnavailable(f"{name} can't be reached: {type(error).__name__}") from None
    except httpx2.InvalidURL:
        raise CaptionerUnavailable(f"{name} has no valid address") from None


def _read(reply: "httpx2.Response", name: str) -> object:
    import json

    body = bytearray()
    for piece in reply.iter_bytes():
        body += piece
        if len(body) > REPLY_BYTES_MAX:
            raise CaptionerUnavailable(f"{name} answered more than {REPLY_BYTES_MAX:,} bytes")
    try:
        return cast(object, json.loads(body))
    except (ValueError, RecursionError):
        raise CaptionerUnavailable(f"{name} answered something that is no JSON") from None


def at(value: object, *keys: str) -> object:
    """What lies in nested objects; None where it does not."""
    for key in keys:
        value = cast(dict[object, object], value).get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *keys: str) -> str:
    """The text there; empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def values_at(value: object, *keys: str) -> list[object]:
    """The list there; empty where there is none."""
    found = at(value, *keys)
    return cast(list[object], found) if isinstance(found, list) else []
