"""The same weights behind llama.cpp's own server, which answers several requests at once.

A batch of four tokens takes two cores hardly longer than one (0.145 s against 0.114 s), so four
evaluations run side by side: `--served URL --shard 1/4` and so on. The prompts are to the letter
those of the local backend.
"""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, TypedDict, cast

from core.errors import ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta, ReplyEnd, TextDelta
from core.turn import Usage

if TYPE_CHECKING:
    import httpx2

OUTPUT_TOKENS = 2_048
"""Bound on a reply where the request names none."""

TOP_P = 0.95
SEED = 1
"""As the local backend samples."""


class _Timings(TypedDict):
    prompt_n: int


class _Completion(TypedDict):
    """What `POST /completion` gives (llama.cpp, tools/server/README.md)."""

    content: str
    stop_type: str
    tokens_evaluated: int
    tokens_predicted: int
    timings: _Timings


class ServedWeights:
    """A model with ChatML marks, as the Qwen family has them, behind `llama-server`."""

    def __init__(self, address: str, file: str, context_tokens: int) -> None:
        """Ask the server at `address`, which runs the weights of `file`."""
        self._address = address.rstrip("/")
        self._file = file
        self._context_tokens = context_tokens
        self._client: httpx2.AsyncClient | None = None

    @property
    def name(self) -> str:
        """`llama-server:FILE`."""
        return f"llama-server:{self._file}"

    @property
    def traits(self) -> ModelTraits:
        """Those of the local backend."""
        return ModelTraits(context_tokens=self._context_tokens)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply in one piece.

        Raises:
            ModelUnavailable: the server does not answer.
        """
        import httpx2

        if self._client is None:
            # The manager bounds the time; the server drops idle connections while they are reused.
            limits = httpx2.Limits(max_keepalive_connections=0)
            self._client = httpx2.AsyncClient(timeout=None, limits=limits)
        body: dict[str, object] = {
            "prompt": chat_ml(request.system, request.user),
            "temperature": request.temperature,
            "top_p": TOP_P,
            "seed": SEED,
            "n_predict": request.max_output_tokens or OUTPUT_TOKENS,
            "cache_prompt": True,
        }
        if request.schema is not None:
            body["json_schema"] = request.schema
        try:
            response = await self._client.post(f"{self._address}/completion", json=body)
            response.raise_for_status()
        except httpx2.HTTPError as error:
            why = f"{type(error).__name__} {error}"
            raise ModelUnavailable(f"{self._address}: {why}", transient=True) from error
        reply = cast("_Completion", response.json())
        yield TextDelta(reply["content"])
        read = reply["tokens_evaluated"]
        yield ReplyEnd(
            Usage(
                model_calls=1,
                input_tokens=read,
                output_tokens=reply["tokens_predicted"],
                cached_tokens=max(0, read - reply["timings"]["prompt_n"]),
            ),
            "length" if reply["stop_type"] == "limit" else "stop",
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


def chat_ml(system: str, user: str) -> str:
    """The two messages between their marks, and the mark that begins the reply."""
    return (
        f"<|im_start|>system\n{system.strip()}<|im_end|>\n"
        f"<|im_start|>user\n{user.strip()}<|im_end|>\n<|im_start|>assistant\n"
    )
