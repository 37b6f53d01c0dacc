"""What a run says that has no answer: plainly, with the best that there is."""

from collections.abc import Sequence

from core.base.sentences import sentence
from core.json_preview import json_start
from core.turn import PlanFailure, Step

PARTIAL_RESULT_CHARACTERS = 500
"""How much of a tool's result is told when a run has no answer."""

NO_PLAN_ANSWER = "Could not generate valid solve()"
"""What a run says when the model never wrote a plan, in the mission's own words."""

INTERRUPTED = "interrupted before there was an answer"
"""What a run says that was stopped."""


def after_failed_step(steps: Sequence[Step], failure: PlanFailure) -> str:
    """All plans of the last of `steps` failed, the last one with `failure`."""
    if failure.kind == "no_plan":
        return NO_PLAN_ANSWER
    plans = _counted(steps[-1].attempt, "plan")
    why = sentence(str(failure))
    return (
        f"No answer: {plans} for step {steps[-1].number} failed, the last so: {why}"
        f"{_refused(steps, str(failure))}{_partial(steps)}"
    )


def after_last_step(steps: Sequence[Step], max_steps: int) -> str:
    """The steps are spent, and the last one wanted another."""
    return (
        f"No answer within {_counted(max_steps, 'step')}: the last one still asked for further "
        f"processing.{_refused(steps)}{_partial(steps)}"
    )


def after_budget(steps: Sequence[Step], why: str) -> str:
    """The run may use no more of the model."""
    return f"No answer: {sentence(why)}{_partial(steps)}"


def _refused(steps: Sequence[Step], told: str = "") -> str:
    """Why the newest call that was not allowed was not made, unless that was `told`."""
    for step in reversed(steps):
        for call in reversed(step.result.calls):
            if call.refused:
                reason = str(call.result)
                return "" if reason in told else f" Refused: {sentence(reason)}"
    return ""


def _partial(steps: Sequence[Step]) -> str:
    """The newest result of a tool that there is, as a sentence."""
    for step in reversed(steps):
        for call in reversed(step.result.calls):
            if call.ok:
                shown = json_start(call.result, PARTIAL_RESULT_CHARACTERS)
                return f" Best partial result: {call.tool} gave {shown}."
    return ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
