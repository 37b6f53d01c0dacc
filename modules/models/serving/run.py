"""One run, as its models see it: who hears of them, what they may use, and which are out."""

from core.events import Emit, ModelEvent
from modules.models.serving.budget import NO_LIMITS, Budget, RunLimits


class ModelRun:
    """What requests of one run share.

    Attributes:
        budget: what the run has used, and may use.
        emit: who hears of its requests; None is nobody.
        replaced: why models of the chain can't answer, by their place in it; for the whole run.
    """

    def __init__(self, emit: Emit | None = None, limits: RunLimits = NO_LIMITS) -> None:
        """Begin with nothing used and every model in its place."""
        self.emit = emit
        self.budget = Budget(limits)
        self.replaced: dict[int, str] = {}

    async def tell(self, event: ModelEvent) -> None:
        """Tell one event, and wait until every listener has dealt with it."""
        if self.emit is not None:
            await self.emit(event)
