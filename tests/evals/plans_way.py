"""Answering by plans: each request goes through the real conversation, in a session of its own."""

from collections.abc import Sequence

from core.turn import PlanFailed, RunOutcome, Step
from modules.conversation import Conversation
from tests.evals.answered import WROTE_CHARACTERS, Answered
from tests.evals.questions import Question
from tests.evals.recorded_replies import ReplyRecorder


class PlansWay:
    """One conversation, open, under a name."""

    def __init__(
        self, name: str, conversation: Conversation, recorder: ReplyRecorder | None = None
    ) -> None:
        """Ask `conversation`, which somebody else closes; `recorder` is told what is asked."""
        self.name = name
        self._recorder = recorder
        self._conversation = conversation

    @property
    def model(self) -> str:
        """The model that plans."""
        return self._conversation.model.name

    async def answer(self, question: Question, asked: str, before: tuple[str, ...]) -> Answered:
        """Ask in a new session."""
        if self._recorder is not None:
            self._recorder.request = question.key
        self._conversation.new_session()
        for request in before:
            await self._conversation.ask(request)
        return answered(await self._conversation.ask(asked))


def answered(outcome: RunOutcome) -> Answered:
    """A run's outcome as far as it is measured."""
    steps = outcome.steps
    failed = [step.result for step in steps if isinstance(step.result, PlanFailed)]
    return Answered(
        outcome.status,
        outcome.answer if outcome.answer is not None else outcome.message,
        outcome.usage,
        retries=_retries(steps),
        steps=max((step.number for step in steps), default=1),
        failures=tuple(result.failure.kind for result in failed),
        tools_called=tuple(call.tool for step in steps for call in step.result.calls),
        wrote=tuple(step.plan.source[:WROTE_CHARACTERS] for step in steps),
        parts=0 if outcome.graph is None else len(outcome.graph.graph.ids),
    )


def _retries(steps: Sequence[Step]) -> int:
    """How many plans were written after one that failed: the attempts beyond the first."""
    return sum(step.attempt > 1 for step in steps)
