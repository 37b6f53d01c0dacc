"""What a model replied to the requests, kept so that its replies can be used again.

Replies are told apart by request, turn of the talk, step and attempt, not by their prompts: those
may change without making the replies useless.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from core.ports import (
    DecisionInputs,
    ModelReply,
    ModelRequest,
    ModelTraits,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    TextModel,
)

FOLDER = Path(__file__).with_name("recordings")


@dataclass(frozen=True)
class Recorded:
    """One reply; `turn` is the number of exchanges before it in its session."""

    request: str
    turn: int
    step: int
    attempt: int
    text: str
    calls: tuple[NativeToolCall, ...] = ()
    truncated: bool = False

    @property
    def reply(self) -> ModelReply:
        """The reply as planning gets it."""
        return ModelReply(self.text, tool_calls=self.calls, truncated=self.truncated)


def load(file: Path) -> list[Recorded]:
    """All replies of a recording, in order.

    Raises:
        ValueError: a line is no recorded reply.
    """
    adapter = TypeAdapter(Recorded)
    lines = file.read_text(encoding="utf-8").splitlines()
    return [adapter.validate_json(line) for line in lines]


class ReplyRecorder:
    """Passes requests on to a model, and adds what it replies for plans to a file.

    Attributes:
        request: The key of the request that is being asked.
    """

    def __init__(self, model: TextModel, file: Path) -> None:
        """Ask `model`, which somebody else closes."""
        self.request = ""
        self._model = model
        self._file = file

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def traits(self) -> ModelTraits:
        """The model's own."""
        return self._model.traits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The model's reply; it is in the file before its end is told."""
        heard: list[ReplyDelta] = []
        async with contextlib.aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                heard.append(delta)
                if isinstance(delta, ReplyEnd) and isinstance(request.inputs, DecisionInputs):
                    self._write(request.inputs, heard, delta)
                yield delta

    async def aclose(self) -> None:
        """Leave the model open."""

    def _write(self, inputs: DecisionInputs, heard: list[ReplyDelta], end: ReplyEnd) -> None:
        recorded = Recorded(
            self.request,
            len(inputs.history),
            inputs.step,
            len(inputs.failed) + 1,
            "".join(delta.text for delta in heard if isinstance(delta, TextDelta)),
            tuple(delta for delta in heard if isinstance(delta, NativeToolCall)),
            end.finish == "length",
        )
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(dict(_told(recorded)), ensure_ascii=False)}\n")


def _told(recorded: Recorded) -> Iterator[tuple[str, object]]:
    """The fields of a reply, but for those that say nothing."""
    for name, value in asdict(recorded).items():
        if value or name == "turn":
            yield name, value
