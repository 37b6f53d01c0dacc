"""The offline planner behind the protocol of all models: no weights, no key, no network."""

from typing import assert_never

from core.ports import DecisionInputs, ModelReply, ModelRequest, PerceptionInputs
from core.turn import Usage
from modules.offline.perception import perceive
from modules.offline.planner import plan
from modules.offline.refusal import Refusal, explain


class OfflineModel:
    """Plans with a grammar; the same request always gets the same reply."""

    @property
    def name(self) -> str:
        """`offline`."""
        return "offline"

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer from the request's `inputs`; the prompt's text is not read.

        A request that the planner does not understand is declined with the reason. Usage is one
        call without tokens, as no language model is involved.
        """
        match request.inputs:
            case PerceptionInputs() as inputs:
                return _reply(perceive(inputs))
            case DecisionInputs() as inputs:
                return _decide(inputs)
            case None:
                return _reply(explain(Refusal("it writes plans, not texts")), declined=True)
            case _:
                assert_never(request.inputs)

    async def aclose(self) -> None:
        """Nothing to release."""


def _decide(inputs: DecisionInputs) -> ModelReply:
    try:
        return _reply(plan(inputs))
    except Refusal as refusal:
        return _reply(explain(refusal), declined=True)


def _reply(text: str, *, declined: bool = False) -> ModelReply:
    return ModelReply(text, Usage(model_calls=1), declined)
