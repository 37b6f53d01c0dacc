"""The offline planner behind the protocol of all models: no weights, no key, no network."""

from collections.abc import AsyncGenerator
from typing import assert_never

from core.ports import (
    DecisionInputs,
    ModelRequest,
    ModelTraits,
    PerceptionInputs,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
)
from modules.offline.perception import perceive
from modules.offline.planner import plan
from modules.offline.refusal import Refusal, explain


class OfflineModel:
    """Plans with a grammar; the same request always gets the same reply."""

    name = "offline"
    traits = ModelTraits(deterministic=True, reads_text=False)
    """It sees no images, and no prompts either: it reads what would fill them."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply in one piece, from the request's `inputs`; the prompt's text is not read.

        A request that the planner does not understand is declined with the reason. Usage is one
        call without tokens, as no language model is involved.
        """
        try:
            yield TextDelta(_reply(request))
            yield ReplyEnd()
        except Refusal as refusal:
            yield TextDelta(explain(refusal))
            yield ReplyEnd(finish="refused")

    async def aclose(self) -> None:
        """Nothing to release."""


def _reply(request: ModelRequest) -> str:
    """The text for a request.

    Raises:
        Refusal: there is none.
    """
    match request.inputs:
        case PerceptionInputs() as inputs:
            return perceive(inputs)
        case DecisionInputs() as inputs:
            return plan(inputs)
        case None:
            raise Refusal("it writes plans, not texts")
        case _:
            assert_never(request.inputs)
