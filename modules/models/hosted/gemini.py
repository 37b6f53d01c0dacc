"""Google's Gemini models, over the Gemini API's REST form (`v1beta`, which knows all models).

After ai.google.dev of November 2026, "Gemini thinking": generations up to 2.5 think by a budget in
tokens, later ones by a level, and are not to be given a temperature. Which level or budget is the
least that a model takes, its refusals say.
"""

import base64
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from config.models_file import ModelEntry, ThinkingEffort
from core.base.text import lazy_pattern
from core.ports import (
    ModelRequest,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.hosted.service import THINKING_ROOM_TOKENS, StreamingService
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.json_text import count_of
from modules.models.http.reply import ReplyReader, ServiceReply
from modules.models.serving.budget import output_limit

_LEVELS: Final[dict[ThinkingEffort, tuple[str, ...]]] = {
    "off": ("MINIMAL", "LOW"),
    "low": ("LOW",),
    "medium": ("MEDIUM", "HIGH"),
    "high": ("HIGH",),
}
"""The best value first, then those for models that refuse it."""

_BUDGETS: Final[dict[ThinkingEffort, tuple[int, ...]]] = {
    "off": (0, 128),
    "low": (1024,),
    "medium": (8192,),
    "high": (24_576,),
}

_BY_BUDGET: Final = lazy_pattern(r"gemini-[12](?![0-9])")

_AT_THE_LIMIT: Final = ("MAX_TOKENS", "CONTINUATION")
"""The reply goes on, but there is no room for it."""

_TOOL_SLIPS: Final = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
"""The model called tools in a form of its own. It does so now and then, hence another try."""

_MODELS_OWN: Final = ("STOP", *_AT_THE_LIMIT, *_TOOL_SLIPS)
"""The model itself came to an end, or to its limit."""


class GeminiService(StreamingService[list[JsonObject]]):
    """One Gemini model; its manner are the values for its thinking that it has not refused."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        model = entry.model or ""
        by_budget, is_gemini = _BY_BUDGET.search(model) is not None, "gemini" in model
        named = quote(model if "/" in model else f"models/{model}")
        super().__init__(
            errors,
            f"/v1beta/{named}:streamGenerateContent?alt=sse",
            GeminiReply,
            _thinking_values(entry.thinking, by_budget=by_budget),
            {"x-goog-api-key": errors.key.value} if errors.key is not None else {},
        )
        self._output_tokens_max = entry.max_output_tokens
        self._room_tokens = 0 if by_budget and entry.thinking == "off" else THINKING_ROOM_TOKENS
        self._takes_temperature = by_budget or not is_gemini
        self._takes_schemas = is_gemini

    async def narrower(
        self, manner: list[JsonObject], body: JsonObject, error: ServiceError
    ) -> list[JsonObject] | None:
        """The values but the first, if the refusal is about thinking."""
        named = "thinking" in error.said.message.lower()
        if error.status != HTTPStatus.BAD_REQUEST or not (named and manner):
            return None
        self.manner = manner[1:]
        return self.manner

    def body(self, request: ModelRequest, manner: list[JsonObject]) -> JsonObject:
        """The JSON to send: images first, as Google advises, then the text.

        A prompt that is all prefix is the user's turn, because an empty one is refused.
        """
        has_user_text = bool(request.user.strip())
        parts: list[Json] = [
            {
                "inlineData": {
                    "mimeType": image.media_type,
                    "data": base64.b64encode(image.data).decode("ascii"),
                }
            }
            for image in request.images
        ]
        parts.append({"text": request.user if has_user_text else request.prompt})
        body: JsonObject = {"contents": [{"role": "user", "parts": parts}]}
        if has_user_text and request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        schema = request.schema if self._takes_schemas else None
        config: JsonObject = {
            "temperature": request.temperature if self._takes_temperature else None,
            "seed": request.seed,
            "maxOutputTokens": output_limit(request, self._output_tokens_max, self._room_tokens),
            "responseMimeType": "application/json" if schema is not None else None,
            "responseJsonSchema": schema,
            "thinkingConfig": manner[0] if manner else None,
        }
        said: JsonObject = {name: value for name, value in config.items() if value is not None}
        if said:
            body["generationConfig"] = said
        return body


def _thinking_values(effort: ThinkingEffort | None, *, by_budget: bool) -> list[JsonObject]:
    """How long to think, with a summary of the thoughts; the best value first."""
    if effort is None:
        return []
    shown: JsonObject = {} if effort == "off" else {"includeThoughts": True}
    if by_budget:
        return [{"thinkingBudget": tokens, **shown} for tokens in _BUDGETS[effort]]
    return [{"thinkingLevel": level, **shown} for level in _LEVELS[effort]]


class GeminiReply(ReplyReader):
    """Reads one reply; it is complete once the model has said why it stops.

    Follows GenerateContentResponse, Candidate and FinishReason of the Gemini API.
    """

    def __init__(self, reply: ServiceReply) -> None:
        super().__init__(reply)
        self._has_content = False
        self._reason: str | None = None

    def feed(self, piece: JsonObject, /) -> Iterator[ReplyDelta]:
        """What one more piece adds.

        Raises:
            ModelUnavailable: the service refuses the prompt.
        """
        match piece.get("promptFeedback"):
            case {"blockReason": str() as reason}:
                raise self.errors.refused_prompt(reason)
            case _:
                pass
        counts = piece.get("usageMetadata")
        if isinstance(counts, dict):
            self._count(counts)
        match piece.get("candidates"):
            case [dict() as candidate, *_]:
                yield from self._take_candidate(candidate)
            case _:
                return

    def end(self) -> Iterator[ReplyDelta]:
        """What is left when no piece comes any more.

        Raises:
            ModelUnavailable: the reply is empty, was stopped, or is not whole; behind `ReplyEnd`,
                as it is billed.
        """
        was_cut = self._reason in _AT_THE_LIMIT
        yield ReplyEnd(self.usage, "length" if was_cut else "stop")
        if self._reason is None:
            raise self.errors.broke_off()
        if not self._has_content:
            slipped = self._reason in _TOOL_SLIPS
            raise self.errors.without_text(self._reason, was_cut=was_cut, transient=slipped)
        if self._reason not in _MODELS_OWN:  # a filter
            raise self.errors.stopped(self._reason)

    def _count(self, counts: JsonObject) -> None:
        """Tokens as they are billed: thoughts are output, what was cached is part of the input.

        Every piece may tell the sums so far; what the last does not tell stands as it was.
        """
        read = count_of(counts.get("promptTokenCount"))
        cached = count_of(counts.get("cachedContentTokenCount"))
        written = count_of(counts.get("candidatesTokenCount"))
        thought = count_of(counts.get("thoughtsTokenCount"))
        before = self.usage
        self.usage = Usage(
            model_calls=1,
            input_tokens=before.input_tokens if read is None else read,
            output_tokens=max(before.output_tokens, (written or 0) + (thought or 0)),
            cached_tokens=before.cached_tokens if cached is None else cached,
        )

    def _take_candidate(self, candidate: JsonObject) -> Iterator[ReplyDelta]:
        reason = candidate.get("finishReason")
        if isinstance(reason, str):
            self.check_finish("finishReason", reason)
            self._reason, self.is_complete = reason, True
        match candidate.get("content"):
            case {"parts": list() as parts}:
                for part in parts:
                    yield from self._take_part(part)
            case _:
                return

    def _take_part(self, part: Json) -> Iterator[ReplyDelta]:
        match part:
            case {"text": str() as thought, "thought": True} if thought:
                yield ThinkingDelta(thought)
            case {"text": str() as text} if text:
                self._has_content = True
                yield TextDelta(text)
            case {"functionCall": {"name": str() as name, **call}} if name:
                self._has_content = True
                arguments = call.get("args")
                yield NativeToolCall(name, arguments if isinstance(arguments, dict) else {})
            case _:
                return
