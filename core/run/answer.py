"""What a run says at its end: its answer with the sources of it, or plainly why there is none."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from core.base.json_text import json_start
from core.base.text import counted, lazy_pattern, sentence, shorten
from core.turn import NO_PLAN_ANSWER, PlanFailed, PlanFailure, Step, ToolCall
from core.values import Json

PARTIAL_RESULT_CHARACTERS = 500
"""How much of a tool's result is told when a run has no answer."""

NOT_DONE_CHARACTERS = 500
"""How much is told of the arguments of a call that a person did not allow."""

NOT_DONE_CALLS = 5
"""How many calls are named that a person did not allow."""

QUOTED_CHARACTERS = 1_000
"""How much of the model's last reply is quoted when a run has no answer."""

WITHOUT_PLAN: Final = ("no_plan", "cut")
"""The failures of replies that held no plan, which are quoted."""

INTERRUPTED = "interrupted before there was an answer"
"""What a run says that was stopped."""

UNFINISHED = "unfinished, as far as it was written:"
"""Stands before what a model had written of an answer."""


def after_interruption(unfinished: str) -> str:
    """A person has stopped the run; `unfinished` is what the model had written of the answer."""
    return f"{INTERRUPTED}; {UNFINISHED}\n\n{unfinished}" if unfinished else INTERRUPTED


def after_failed_step(steps: Sequence[Step], failure: PlanFailure) -> str:
    """All plans of the last of `steps` failed, the last one with `failure`.

    One that was not run again is told with the failure that it had before.
    """
    if failure.kind in WITHOUT_PLAN:
        quoted = _quoted(steps)
        why = "" if quoted and failure.kind == "no_plan" else f"; {failure.for_person}"
        advice = f" ({failure.advice})." if failure.advice else "."
        plans = counted(steps[-1].attempt, "time")
        told = f"{NO_PLAN_ANSWER}: the model was asked {plans} and wrote no plan{why}{advice}"
        return f"{told}{_partial(steps)}{quoted}"
    last = steps[-1]
    same = (s.result for s in steps if s.number == last.number and s.plan.is_same_as(last.plan))
    if isinstance(first := next(same, last.result), PlanFailed):
        failure = first.failure
    plans, why = counted(last.attempt, "plan"), str(failure)
    return (
        f"No answer: {plans} for step {last.number} failed, the last so: {sentence(why)}"
        f"{_refused(steps, why)}{_partial(steps)}{_quoted(steps)}"
    )


def after_last_step(steps: Sequence[Step], max_steps: int) -> str:
    """The steps are spent, and the last one wanted another."""
    return (
        f"No answer within {counted(max_steps, 'step')}: the last one still asked for further "
        f"processing.{_refused(steps)}{_partial(steps)}{_quoted(steps)}"
    )


def after_no_answer(why: str) -> str:
    """A plan says itself that what is asked can't be had."""
    return f"No answer: {sentence(why)}"


def after_unanswerable(question: str) -> str:
    """A plan asks the user again where nobody answers."""
    return f"No answer: it can't be told what is meant, and nobody answers the question: {question}"


def after_person_said_no(
    calls: Iterable[ToolCall], forbidden: Sequence[ToolCall], answer: str
) -> str:
    """What was not done, as a person did not allow it, and which `calls` were made.

    `answer` is what the plan has claimed all the same; it may be empty.
    """
    made = ", ".join(dict.fromkeys(call.tool for call in calls if call.ok))
    before = f" Called before: {made}." if made else ""
    said = shorten(answer, QUOTED_CHARACTERS)
    claimed = f" The plan went on without it, and says: {said}" if said else ""
    return f"{_not_done(forbidden)}.{before}{claimed}"


def with_not_done(answer: str, forbidden: Sequence[ToolCall]) -> str:
    """The answer, followed by what a person did not allow; JSON stays as programs read it."""
    if answer.lstrip().startswith(("{", "[")):
        return answer
    return f"{answer}\n\nN{_not_done(forbidden)[1:]}."


def _not_done(forbidden: Sequence[ToolCall]) -> str:
    shown = (f"{c.tool} {json_start(c.arguments, NOT_DONE_CHARACTERS)}" for c in forbidden)
    calls = [*islice(dict.fromkeys(shown), NOT_DONE_CALLS + 1)]
    if len(calls) > NOT_DONE_CALLS:
        calls[-1] = "and more"
    return f"not done, for you said no: {'; '.join(calls)}"


def after_budget(steps: Sequence[Step], why: str) -> str:
    """The run may use no more of the model."""
    return f"No answer: {sentence(why)}{_partial(steps)}{_quoted(steps)}"


def _refused(steps: Sequence[Step], told: str = "") -> str:
    """Why the newest call that was not allowed was not made, unless that was `told`."""
    for step in reversed(steps):
        for call in reversed(step.result.calls):
            if call.refused:
                reason = str(call.result)
                return "" if reason in told else f" Refused: {sentence(reason)}"
    return ""


def _quoted(steps: Sequence[Step]) -> str:
    """The newest reply that held no plan, word for word, so that none is lost."""
    for step in reversed(steps):
        result = step.result
        if isinstance(result, PlanFailed) and result.failure.kind in WITHOUT_PLAN:
            reply = shorten(step.plan.source.strip(), QUOTED_CHARACTERS)
            return f"\nThe model's last reply without a plan:\n{reply}" if reply else ""
    return ""


def _partial(steps: Sequence[Step]) -> str:
    """The newest result of a tool that there is, as a sentence."""
    for step in reversed(steps):
        for call in reversed(step.result.calls):
            if call.ok:
                shown = json_start(call.result, PARTIAL_RESULT_CHARACTERS)
                return f" Best partial result: {call.tool} gave {shown}."
    return ""


SOURCES_NAMED = 5
"""How many sources an answer names that names none itself."""

SEARCHED_CHARACTERS = 200_000
"""How much of one result is searched for source marks."""

NAME_CHARACTERS = 300
"""Longest name of a source."""

MARKS_READ = 200
"""How many source marks of one result are looked at."""

_MARK = lazy_pattern(r"\[Source: ([^\]\n]{1,300})\]")
"""How document tools mark each piece of text: `[Source: file, ID: chunk]`."""


def with_sources(answer: str, steps: Sequence[Step]) -> str:
    """The answer, followed by its sources if tools read any and it names none of them."""
    calls = [call for step in steps for call in step.result.calls if call.ok]
    sources = list(islice(_distinct(calls), SOURCES_NAMED))
    if not sources or any(_names(answer, source) for source in sources):
        return answer
    return f"{answer}\n\nSources: {'; '.join(sources)}"


def _distinct(calls: Iterable[ToolCall]) -> Iterator[str]:
    seen: set[str] = set()
    for call in calls:
        for source in _sources(call):
            if source not in seen:
                seen.add(source)
                yield source


def _sources(call: ToolCall) -> Iterator[str]:
    """The files that a document tool's text names; the address of a page that was read."""
    if not isinstance(call.result, str):
        return
    for found in islice(_MARK.finditer(call.result[:SEARCHED_CHARACTERS]), MARKS_READ):
        yield found[1].partition(", ID:")[0].strip()
    if (address := _address(call.arguments)) is not None:
        yield address


def _address(arguments: Json) -> str | None:
    """The http address among a call's arguments, which may stand in the `input` wrapper."""
    if not isinstance(arguments, dict):
        return None
    for name, value in arguments.items():
        if name in ("url", "uri") and isinstance(value, str) and len(value) <= NAME_CHARACTERS:
            return value if value.startswith(("http://", "https://")) else None
    return _address(arguments.get("input"))


def _names(answer: str, source: str) -> bool:
    """Whether the answer names the source: a file by its name, a page by its address or host.

    A page's last part is often a word or a number that any answer may hold.
    """
    scheme, mark, place = source.rstrip("/").partition("://")
    name = place.partition("/")[0] if mark else scheme.rpartition("/")[2]
    whole_name = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    return bool(name) and re.search(whole_name, answer) is not None
